"""`zconform gate`: one run held against one list of known deviations; the list's first version, and its updates."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from zenoh_conformance.lock import lock, revisions
from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands import _flakes
from zenoh_harness.commands.run import accepted, command_line, export
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError, nearest, unknown
from zenoh_harness.files import judged as files_judged
from zenoh_harness.files import known, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.places import check_files, check_folders
from zenoh_harness.files.results import Header
from zenoh_harness.gate import editing, entries, telling
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.gate.judging import Held, ended, hold
from zenoh_harness.identity import Identity
from zenoh_harness.run import lists
from zenoh_harness.run.allowance import AT_FULL, Allowance, seconds_of
from zenoh_harness.run.checks import every_name
from zenoh_harness.run.folder import claimed
from zenoh_harness.run.options import DEPTHS, Options
from zenoh_harness.run.plan import Selection
from zenoh_harness.run.runner import Ran, nodes_of, parts_of, run_target
from zenoh_harness.targets.named import checked
from zenoh_harness.targets.reach import Reach

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""Where GitHub names the file that it shows on a build's page."""
OUT: Final = "zconform-gate"


class TargetOrVerb(click.Group):
    """`gate TARGET` is `gate judge TARGET`; `gate init`, `gate update` and `gate check` are verbs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with `judge` where no verb is named."""
        if (
            close := get_close_matches(args[0], [*self.commands], 1, 0.7)
            if args and args[0] not in self.commands
            else []
        ):
            raise UsageError(f"no verb {args[0]!r}", step="gate", hint=f"did you mean gate {close[0]}?")
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["judge", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Verbs, and targets."""
        more = completing.targets(ctx, self.commands["judge"].params[0], incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, more)]


@click.group(cls=TargetOrVerb)
def command() -> None:
    """Judge one target for a build: red for what is not as its list of known deviations says, and for nothing else.

    \b
    Example:  zconform gate init wheel --known ci/zenoh.known.toml
              zconform gate wheel --known ci/zenoh.known.toml
    Exit codes: 0 as listed, 1 not, 2 usage, 3 could not go on, 4 nothing was judged. `gate judge --help` has the options.
    """


def _run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What all three take: the target, the list, and how to run."""
    for option in (
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=OUT, show_default=True, help="Where to."),
        click.option("--jobs", type=click.IntRange(1, 256), default=8, show_default=True, help="Cases side by side."),
        click.option("--seed", type=int, default=0, show_default=True, help="What is drawn, is drawn from this."),
        click.option("--strict", is_flag=True, help="`warn` and `slow` count as deviations too."),
        click.option("--timeout", metavar="TIME", help="How long one case may take, as in 20s; a minute without it."),
        click.option("--fresh", is_flag=True, help="Give each judgement a new target."),
        click.option("--depth", type=click.Choice(DEPTHS), default="quick", show_default=True, help="How much of each check."),
        click.option(
            "--only", multiple=True, metavar="GLOB", shell_complete=completing.checks,
            help="Only these checks or requirements; may be repeated.",
        ),
        click.option(
            "--known", "path", required=True, metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
            help="The target's list of known deviations.",
        ),
        click.argument("target", shell_complete=completing.targets),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command("judge")
@_run_options
@click.option(
    "--summary", type=click.Path(path_type=Path, dir_okay=False), help="Write all of it as Markdown to this file."
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file.")
@click.option("--sarif", type=click.Path(path_type=Path, dir_okay=False), help="Write SARIF to this file.")
@click.option(
    "--require",
    "wanted",
    metavar="REVISION[,..]",
    shell_complete=completing.revisions,
    help="Hold it to these revisions; what came later is shown.",
)
@shell_options()
def judge(
    shell: Shell,
    target: str,
    path: Path,
    summary: Path | None,
    junit: Path | None,
    sarif: Path | None,
    wanted: str | None,
    **how: Any,
) -> int:
    """Judge TARGET once and hold it against the list: what is new, changed, fixed, expired or not judged any more is red.

    \b
    Example:  zconform gate wheel --known ci/zenoh.known.toml --summary gate.md --junit gate.xml
    """
    check_files(summary, junit, sarif, _page())
    reach, options = _options(target, how)
    asked = required(wanted)
    options = replace(options, required=frozenset().union(*asked.values()) if asked else None)
    placed = _placed(path)
    if judged_file(path).exists():
        files_judged.read(judged_file(path))
    ran = _run(shell, reach, options, [one.entry for one in placed], path)
    if ran is None:
        return int(Exit.NOTHING_JUDGED)
    export([ran], junit, sarif, strict=options.strict)
    told = _told(ran.header, _held(ran, placed, options), ran.exit, ran.out, path, how, asked)
    return _tell(shell, replace(told, why=ran.stopped.what if ran.stopped else ""), summary)


@command.command("init")
@_run_options
@click.option("--owner", default=editing.OWNER, help="Who looks after the entries.")
@shell_options()
def init(shell: Shell, target: str, path: Path, owner: str, **how: Any) -> int:
    """Judge TARGET once and write the first list: an entry a deviation, its reason to be written by you.

    \b
    Example:  zconform gate init wheel --known ci/zenoh.known.toml --owner protocol-team
    """
    if path.exists():
        raise UsageError(f"there is a {path} already", step="gate init", hint="gate update edits it")
    check_files(path)
    reach, options = _options(target, how)
    ran = _run(shell, reach, options, [], None)
    if ran is None or ran.stopped is not None:
        return _unwritten(shell, ran, path)
    held = _held(ran, [], options)
    editing.write(path, editing.first(held, ran.judgements, owner))
    return _written(shell, path, held, ran, options)


@command.command("update")
@_run_options
@click.option("--owner", default=editing.OWNER, help="Who looks after new entries.")
@shell_options()
def update(shell: Shell, target: str, path: Path, owner: str, **how: Any) -> int:
    """Judge TARGET once and edit the list: what is fixed goes, what is new or changed comes, the rest stays as you wrote it.

    \b
    Example:  zconform gate update wheel --known ci/zenoh.known.toml
    """
    reach, options = _options(target, how)
    placed = _placed(path)
    check_files(path, judged_file(path))
    editing.hold_editable(placed)
    ran = _run(shell, reach, options, [one.entry for one in placed], None)
    if ran is None or ran.stopped is not None:
        return _unwritten(shell, ran, path)
    held = _held(ran, placed, options)
    before = path.read_bytes().decode("utf-8")
    editing.write(path, editing.updated(before, held, ran.judgements, owner))
    return _written(shell, path, held, ran, options)


@command.command("results")
@click.argument("folder", metavar="RESULTS", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--known",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The target's list of known deviations.",
)
@click.option("--strict", is_flag=True, help="`warn` and `slow` count as deviations too.")
@click.option(
    "--summary", type=click.Path(path_type=Path, dir_okay=False), help="Write all of it as Markdown to this file."
)
@shell_options()
def from_results(shell: Shell, folder: Path, path: Path, strict: bool, summary: Path | None) -> int:
    """Hold RESULTS that are there against the list, as merged shards are; no target is started.

    \b
    Example:  zconform gate results whole --known ci/zenoh.known.toml
    """
    check_files(summary, _page())
    read, placed = results.read(folder), _placed(path)
    today = dt.datetime.now(dt.UTC).date()
    held = hold(read.judgements, placed, kind=read.header.kind, today=today, strict=strict, complete=read.complete)
    secret = read.footer.embargoed if read.footer else 0
    how = {"depth": "quick", "only": (), "strict": strict}
    code = ended(held, complete=read.complete, secret=secret > 0)
    why = "" if read.complete else f"{len(read.pending)} checks were pending"
    return _tell(
        shell,
        replace(_told(read.header, replace(held, embargoed=secret), code, folder, path, how, {}), why=why),
        summary,
    )


@command.command("check")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@shell_options()
def check(shell: Shell, paths: tuple[Path, ...]) -> int:
    """Read the lists FILE and say what is wrong in them, or does nothing any more; no target is started.

    \b
    Example:  zconform gate check ci/zenoh.known.toml
    """
    told = [_checked(shell, path) for path in paths]
    if shell.as_json:
        shell.print_json(told)
    return int(Exit.USAGE if any("wrong" in one for one in told) else Exit.CONFORMING)


def _checked(shell: Shell, path: Path) -> dict[str, Any]:
    """What is to be said of one list, told to people as it is found."""
    try:
        placed = entries.read(path)
    except FileFault as why:
        click.echo(f"zconform: {plain(str(why))}", err=True)
        return {"file": str(path), "wrong": why.why, "where": str(why.path), "line": why.line, "hint": why.hint}
    remarks = lists.remarks(one.entry for one in placed)
    due = sum(one.reason_is_due for one in placed)
    text = f"{path}: {len(placed)} entries" + (f", {due} with a reason or an owner to be written" if due else "")
    for remark in () if shell.as_json else (*(f"{path}: {remark}" for remark in remarks), text):
        shell.note(remark)
    return {"file": str(path), "entries": len(placed), "due": due, "remarks": remarks}


command.add_command(_flakes.command)


def _options(target: str, how: dict[str, Any]) -> tuple[Reach, Options]:
    """What is asked for, every name checked before any work."""
    selection = Selection(how["only"])
    selection.check(every_name())
    seconds = AT_FULL if how["depth"] == "full" else inf
    options = Options(
        out=how["out"], selection=selection, jobs=how["jobs"], seed=how["seed"], depth=how["depth"], strict=how["strict"],
        allowance=Allowance.of(seconds), fresh=how["fresh"],
        timeout=seconds_of(how["timeout"], "--timeout") if how["timeout"] else None,
    )  # fmt: skip
    check_folders(options.out)
    return checked(target), options


def _placed(path: Path) -> list[PlacedEntry]:
    if not path.exists():
        near = nearest(path.name, (each.name for each in path.parent.glob(f"*{known.SUFFIX}")))
        hint = near or f"zconform gate init TARGET --known {path} writes a first one"
        raise UsageError(f"there is no {path}", step="--known", hint=hint)
    return entries.read(path)


def _run(
    shell: Shell, reach: Reach, options: Options, listed: Sequence[known.ListedDeviation], strict_to: Path | None
) -> Ran | None:
    """One run. For a list (`strict_to`) that list alone counts; else what ships gives the reasons of what it knows."""
    parts = parts_of(reach, options)
    if not parts:
        shell.note(f"{reach}: nothing to judge is selected")
        return None
    who = parts[0].identity
    more = [] if strict_to else lists.read(_shipped(who))
    before = judged_file(strict_to) if strict_to else None
    options = replace(
        options, known=known.of([*listed, *more], kind=who.kind, nodes=nodes_of(parts)), told=shell.detail, found=shell.note,
        judged=before if before is not None and before.exists() else None,
    )  # fmt: skip
    with claimed(options.out), shell.progress(sum(part.size for part in parts), str(reach)) as advance:
        for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            part.options = replace(options, advance=advance, shares=left)
        ran = run_target(reach, options, parts, command=command_line())
    if ran.stopped is not None:
        click.echo(f"zconform: {ran.stopped}", err=True)
    return ran


def _shipped(who: Identity) -> list[Path]:
    return [path for path in known.shipped_lists() if path.name == f"{who.name}{known.SUFFIX}"]


def judged_file(path: Path) -> Path:
    """The list of what was judged, beside a list of deviations: `zenoh.judged` beside `zenoh.known.toml`."""
    return path.with_name(f"{path.name.removesuffix('.toml').removesuffix('.known')}.judged")


def _held(ran: Ran, placed: Sequence[PlacedEntry], options: Options) -> Held:
    today = dt.datetime.now(dt.UTC).date()
    return hold(
        ran.judgements, placed, kind=ran.header.kind, today=today, strict=options.strict, required=options.required,
        complete=ran.stopped is None,
    )  # fmt: skip


def required(text: str | None) -> dict[str, frozenset[str]]:
    """Revision to what it requires, of a text such as `1.0.0,1.1.0`. Raises UsageError for one without a lock."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in revisions():
            raise unknown("revision", name, revisions(), step="--require")
    now = requirements().aliases()
    return {name: frozenset(now.get(ident, ident) for ident in lock(name).levels) for name in names}


def _tell(shell: Shell, told: telling.Told, summary: Path | None) -> int:
    """Write and print what is told; the exit code."""
    text = telling.markdown(told)
    if summary is not None:
        summary.write_text(text, encoding="utf-8")
    if page := _page():
        with page.open("a", encoding="utf-8") as out:
            out.write(text)
    if shell.as_json:
        shell.print_json(telling.as_json(told))
    elif not shell.quiet:
        for line in telling.lines(told):
            shell.out.print(line, soft_wrap=True)
    return int(told.code)


def _page() -> Path | None:
    page = os.environ.get(STEP_SUMMARY)
    return Path(page) if page else None


def _told(
    header: Header, held: Held, code: Exit, out: Path, path: Path, how: dict[str, Any], asked: dict[str, frozenset[str]]
) -> telling.Told:
    words = ["zconform", "gate", "update", header.reach, "--known", str(path)]
    words += ["--depth", how["depth"]] if how["depth"] != "quick" else []
    words += [word for pattern in how["only"] for word in ("--only", pattern)]
    words += [f"--{name}" for name in ("strict", "fresh") if how.get(name)]
    words += ["--timeout", how["timeout"]] if how.get("timeout") else []
    return telling.Told(
        title=f"{header.name} {header.version}".strip() + f" as {header.role.replace('+', ' and ')}", held=held,
        code=code, out=out, update=shlex.join(words), revisions=asked,
    )  # fmt: skip


def _unwritten(shell: Shell, ran: Ran | None, path: Path) -> int:
    code = int(ran.exit if ran is not None else Exit.NOTHING_JUDGED)
    shell.tell(
        {"file": str(path), "written": False, "exit": code},
        f"{path} is left as it was: the run did not come to its end",
    )
    return code


def _written(shell: Shell, path: Path, held: Held, ran: Ran, options: Options) -> int:
    """Tell what was written, and keep what was judged beside it; 0, for the list says what is now."""
    now = entries.read(path)
    due = sum(one.reason_is_due for one in now)
    shell.note(
        f"{path}: {len(now)} entries" + (f", {due} of them with a reason or an owner to be written" if due else "")
    )
    for label in editing.left_out(held):
        shell.note(
            f"not taken in: {plain(label)}: it has no steady cause; an entry for it is written by hand, and ends one day"
        )
    if held.embargoed:
        shell.note(f"not taken in: {held.embargoed} under embargo, in your data folder")
    if options.selection.whole:
        accepted(shell, judged_file(path), ran)
    if shell.as_json:
        left = [str(label) for label in editing.left_out(held)]
        text = {"entries": len(now), "due": due, "left_out": left, "embargoed": held.embargoed}
        shell.print_json({"file": str(path), "written": True, "exit": int(Exit.CONFORMING)} | text)
    return int(Exit.CONFORMING)
