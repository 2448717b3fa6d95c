"""`zconform gate`: compare one run with one list of known deviations; write and update the list."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.spec.lock import lock, revisions
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands import _flakes
from zenoh_harness.commands._exports import Exports, export_options, sarif_options
from zenoh_harness.commands._options import (
    FILE,
    Command,
    calm_option,
    depth_option,
    fresh_option,
    jobs_option,
    only_option,
    seed_option,
    strict_option,
    timeout_option,
    vectors_option,
)
from zenoh_harness.commands.run import accept_judged, command_line, with_broken
from zenoh_harness.console import Shell, Verbs, out_option, plain, shell_options
from zenoh_harness.errors import UsageError, nearest, unknown
from zenoh_harness.files import judged as files_judged
from zenoh_harness.files import known, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.results import Header
from zenoh_harness.files.writable import check_files, check_folders, make_parents
from zenoh_harness.gate import editing, entries, report
from zenoh_harness.gate.alerts import alerts_of_gate
from zenoh_harness.gate.comparison import GateResult, compare, exit_code_of
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.identity import Identity
from zenoh_harness.run import known_deviations, repetitions
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.check_names import every_name
from zenoh_harness.run.overload import prevented_judgements
from zenoh_harness.run.plan.allowance import AT_FULL, Allowance, seconds_of
from zenoh_harness.run.plan.own_vectors import OwnVectors
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.report.summary import shares_of
from zenoh_harness.run.runner import Ran, nodes_of, parts_of, run_target
from zenoh_harness.run.store.run_folder import claimed
from zenoh_harness.targets.lookup import find_checked
from zenoh_harness.targets.reach import Reach

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""Environment variable in which GitHub names the file that it shows on a build's page."""
list_option: Final = click.option(
    "--known", "path", required=True, metavar="FILE", type=FILE, help="The target's list of known deviations."
)
at_least_option: Final = click.option(
    "--at-least",
    type=click.FloatRange(0, 100),
    default=95.0,
    show_default=True,
    metavar="PERCENT",
    help="Exit with 4 if a busy machine let less than this be judged of what was judged before.",
)
summary_option: Final = click.option("--summary", type=FILE, help="Write the summary as Markdown to this file.")


class TargetOrVerb(Verbs):
    """The group `gate`: `gate TARGET` means `gate judge TARGET`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `judge` if the first word is not a verb. Raises UsageError for a misspelt verb."""
        unknown_verb = bool(args) and args[0] not in self.commands
        if unknown_verb and (close := get_close_matches(args[0], [*self.commands], 1, 0.7)):
            raise UsageError(f"no verb {args[0]!r}", step="gate", hint=f"did you mean gate {close[0]}?")
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["judge", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete verbs and targets."""
        more = completing.targets(ctx, self.commands["judge"].params[0], incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, more)]


@click.group(cls=TargetOrVerb)
def command() -> None:
    """Judge one target against its list of known deviations.

    For continuous integration: fails if the target differs from what its list says, and only then. `gate TARGET` means
    `gate judge TARGET`.

    \b
    Example:  zconform gate init wheel --known ci/zenoh.known.toml
              zconform gate wheel --known ci/zenoh.known.toml
    Exit codes: 0 as listed, 1 not as listed, 2 usage, 3 harness or target failed, 4 nothing, or too little, was judged.
    """


def _run_options(function: Command) -> Command:
    """Add the arguments and options of `judge`, `init` and `update`."""
    for option in (
        out_option("zconform-gate"),
        jobs_option,
        seed_option,
        strict_option,
        timeout_option,
        fresh_option,
        depth_option("quick"),
        only_option,
        vectors_option,
        list_option,
        click.argument("target", shell_complete=completing.targets),
    ):
        function = option(function)
    return function


@command.command("judge")
@_run_options
@summary_option
@export_options
@click.option(
    "--require",
    "wanted",
    metavar="REVISION[,..]",
    shell_complete=completing.revisions,
    help="Fail only for requirements of these revisions; print later ones.",
)
@calm_option
@at_least_option
@shell_options()
def judge(
    shell: Shell,
    target: str,
    path: Path,
    summary: Path | None,
    exports: Exports,
    wanted: str | None,
    calm: bool,
    at_least: float,
    **how: Any,
) -> int:
    """Judge a target once and compare it with its list.

    Fails for each deviation that is new, changed, fixed or expired, and for each requirement that is no longer judged.

    \b
    Example:  zconform gate wheel --known ci/zenoh.known.toml --summary gate.md --junit gate.xml
    """
    exports.check(summary, _page())
    reach, options = _options(target, how)
    by_revision = requirements_of(wanted)
    options = replace(options, required=frozenset().union(*by_revision.values()) if by_revision else None)
    placed = _read_list(path)
    earlier = files_judged.read(judged_file(path)) if judged_file(path).exists() else frozenset()

    def run(how: Options) -> Ran | None:
        return _run(shell, reach, how, [one.entry for one in placed], path)

    ran = run(options)
    if ran is None:
        return int(Exit.NOTHING_JUDGED)
    if calm:
        with claimed(options.out, keep=True):
            ran = repetitions.alone_when_calm(run, options, ran, shell.note, command_line())
    held = _compare_run(ran, placed, options)
    exports.write(
        shell,
        exports.read([ran]),
        strict=options.strict,
        alerts=lambda: alerts_of_gate(held, path, exports.sarif_location),
    )
    share = files_judged.share_judged(earlier, ran.judgements)
    code = Exit.NOTHING_JUDGED if ran.exit is Exit.CONFORMING and share * 100 < at_least else ran.exit
    verdict = _verdict(ran.header, held, code, ran.out, path, how, by_revision)
    verdict = replace(verdict, late=len(prevented_judgements(ran.judgements)), share=share)
    why = ran.stopped.what if ran.stopped else ""
    published = _publish(shell, replace(verdict, why=why, shares=shares_of(ran.judgements, ran.header.role)), summary)
    return with_broken(shell, options.own_vectors, published)


@command.command("init")
@_run_options
@click.option("--owner", default=editing.OWNER, help="Owner of the entries.")
@shell_options()
def init(shell: Shell, target: str, path: Path, owner: str, **how: Any) -> int:
    """Judge a target once and write its first list.

    Writes one entry per deviation. The reason of each entry is left for you to write.

    \b
    Example:  zconform gate init wheel --known ci/zenoh.known.toml --owner protocol-team
    """
    if path.exists():
        raise UsageError(f"{path} exists", step="gate init", hint="zconform gate update edits it")
    reach, options = _options(target, how)
    make_parents(path)
    check_files(path, judged_file(path))
    ran = _run(shell, reach, options, [], None)
    if ran is None or ran.stopped is not None:
        return _report_unwritten(shell, ran, path)
    held = _compare_run(ran, [], options)
    text = editing.new_list(held, ran.judgements, owner)
    try:
        editing.write_list(path, text)
    except UsageError as why:  # the folder went while the target was judged, or the disk is full: the run is not lost
        _keep_beside_results(text, options.out / path.name, why)
        raise
    return with_broken(shell, options.own_vectors, _report_written(shell, path, held, ran, options))


def _keep_beside_results(text: str, kept: Path, why: UsageError) -> None:
    """Write a list that cannot be written where it belongs into the folder of the results, and say so in the error."""
    editing.write_list(kept, text)
    why.hint = f"the list is in {kept}: move it to its place"


@command.command("update")
@_run_options
@click.option("--owner", default=editing.OWNER, help="Owner of new entries.")
@shell_options()
def update(shell: Shell, target: str, path: Path, owner: str, **how: Any) -> int:
    """Judge a target once and update its list.

    Removes the entries of fixed deviations, adds new and changed ones, and keeps the rest as you wrote it.

    \b
    Example:  zconform gate update wheel --known ci/zenoh.known.toml
    """
    reach, options = _options(target, how)
    placed = _read_list(path)
    check_files(path, judged_file(path))
    editing.check_editable(placed)
    ran = _run(shell, reach, options, [one.entry for one in placed], None)
    if ran is None or ran.stopped is not None:
        return _report_unwritten(shell, ran, path)
    held = _compare_run(ran, placed, options)
    before = path.read_bytes().decode("utf-8")
    editing.write_list(path, editing.updated_list(before, held, ran.judgements, owner))
    return with_broken(shell, options.own_vectors, _report_written(shell, path, held, ran, options))


@command.command("results")
@click.argument("folder", metavar="RESULTS", type=click.Path(path_type=Path, exists=True))
@list_option
@strict_option
@summary_option
@sarif_options
@shell_options()
def from_results(shell: Shell, folder: Path, path: Path, strict: bool, summary: Path | None, exports: Exports) -> int:
    """Compare existing results with the list.

    Starts no target. RESULTS may be merged shards.

    \b
    Example:  zconform gate results whole --known ci/zenoh.known.toml
    """
    exports.check(summary, _page())
    read, placed = results.read(folder), _read_list(path)
    today = dt.datetime.now(dt.UTC).date()
    held = compare(read.judgements, placed, kind=read.header.kind, today=today, strict=strict, complete=read.complete)
    secret = read.footer.embargoed if read.footer else 0
    late = len(prevented_judgements(read.judgements))
    exports.write(shell, [(read, folder)], alerts=lambda: alerts_of_gate(held, path, exports.sarif_location))
    how = {"depth": "quick", "only": (), "strict": strict}
    code = exit_code_of(held, complete=read.complete, secret=secret > 0)
    pending = f"{len(read.pending)} checks were pending" if read.pending else "the results have no end"
    early = read.footer.why if read.footer and not read.complete else ""
    why = "" if read.complete else early or pending
    verdict = _verdict(read.header, replace(held, embargoed=secret), code, folder, path, how, {})
    return _publish(
        shell, replace(verdict, why=why, late=late, shares=shares_of(read.judgements, read.header.role)), summary
    )


@command.command("check")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@shell_options()
def check(shell: Shell, paths: tuple[Path, ...]) -> int:
    """Check lists for errors and for entries without effect.

    Starts no target.

    \b
    Example:  zconform gate check ci/zenoh.known.toml
    Exit codes: 0 the lists are valid, 2 one is not.
    """
    checks = [_check(shell, path) for path in paths]
    if shell.as_json:
        shell.print_json(checks)
    return int(Exit.USAGE if any("wrong" in result for result in checks) else Exit.CONFORMING)


def _check(shell: Shell, path: Path) -> dict[str, Any]:
    """Check one list; print its faults and remarks as text, and return them for JSON."""
    try:
        placed = entries.read_entries(path)
    except FileFault as why:
        click.echo(f"zconform: {plain(str(why))}", err=True)
        return {"file": str(path), "wrong": why.why, "where": str(why.path), "line": why.line, "hint": why.hint}
    remarks = known_deviations.remarks(one.entry for one in placed)
    due = sum(one.reason_is_due for one in placed)
    for note in () if shell.as_json else (*(f"{path}: {remark}" for remark in remarks), _count_line(path, placed)):
        shell.note(note)
    return {"file": str(path), "entries": len(placed), "due": due, "remarks": remarks}


def _count_line(path: Path, placed: Sequence[PlacedEntry]) -> str:
    due = sum(entry.reason_is_due for entry in placed)
    return f"{path}: {len(placed)} entries" + (f", {due} of them without a reason or an owner" if due else "")


command.add_command(_flakes.command)


def _options(target: str, how: dict[str, Any]) -> tuple[Reach, Options]:
    """Return target and options; every name is checked before any work."""
    selection, own = Selection(how["only"]), OwnVectors.read(how["folder"])
    selection.check(chain(own.names, every_name()))
    seconds = AT_FULL if how["depth"] == "full" else inf
    options = Options(
        selection=selection,
        own_vectors=own,
        allowance=Allowance.of(seconds),
        timeout=seconds_of(how["timeout"], "--timeout") if how["timeout"] else None,
        **{name: how[name] for name in ("out", "jobs", "seed", "depth", "strict", "fresh")},
    )
    check_folders(options.out)
    return find_checked(target), options


def _read_list(path: Path) -> list[PlacedEntry]:
    if not path.exists():
        near = nearest(path.name, (each.name for each in path.parent.glob(f"*{known.SUFFIX}")))
        hint = near or f"zconform gate init TARGET --known {path} writes it"
        raise UsageError(f"{path} does not exist", step="--known", hint=hint)
    return entries.read_entries(path)


def _run(
    shell: Shell, reach: Reach, options: Options, listed: Sequence[known.ListedDeviation], strict_to: Path | None
) -> Ran | None:
    """Run the target once. With `strict_to` only that list counts; without it, shipped lists supply reasons too."""
    parts = parts_of(reach, options)
    if not parts:
        shell.note(f"{reach}: no check is selected")
        return None
    who = parts[0].identity
    more = [] if strict_to else known_deviations.read(_shipped_lists(who))
    before = judged_file(strict_to) if strict_to else None
    options = replace(
        options,
        known=known.of([*listed, *more], kind=who.kind, nodes=nodes_of(parts)),
        told=shell.detail,
        found=shell.note,
        judged=before if before is not None and before.exists() else None,
    )
    with claimed(options.out), shell.progress(sum(part.size for part in parts), str(reach)) as advance:
        for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            part.options = replace(options, advance=advance, shares=left)
        ran = run_target(reach, options, parts, command=command_line())
    if ran.stopped is not None:
        click.echo(f"zconform: {ran.stopped}", err=True)
    return ran


def _shipped_lists(who: Identity) -> list[Path]:
    return [path for path in known.shipped_lists() if path.name == f"{who.name}{known.SUFFIX}"]


def judged_file(path: Path) -> Path:
    """Return the list of judged requirements beside a list of deviations: `zenoh.judged` beside `zenoh.known.toml`."""
    return path.with_name(f"{path.name.removesuffix('.toml').removesuffix('.known')}.judged")


def _compare_run(ran: Ran, placed: Sequence[PlacedEntry], options: Options) -> GateResult:
    today = dt.datetime.now(dt.UTC).date()
    return compare(
        ran.judgements,
        placed,
        kind=ran.header.kind,
        today=today,
        strict=options.strict,
        required=options.required,
        complete=ran.stopped is None,
    )


def requirements_of(text: str | None) -> dict[str, frozenset[str]]:
    """Return revision to its requirements, for a text such as `1.0.0,1.1.0`. Raises UsageError for an unknown revision."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in revisions():
            raise unknown("revision", name, revisions(), step="--require")
    now = requirements().aliases()
    return {name: frozenset(now.get(ident, ident) for ident in lock(name).levels) for name in names}


def _publish(shell: Shell, verdict: report.GateReport, summary: Path | None) -> int:
    """Write and print the gate's verdict; return the exit code."""
    text = report.as_markdown(verdict)
    if summary is not None:
        summary.write_text(text, encoding="utf-8")
    if page := _page():
        with page.open("a", encoding="utf-8") as out:
            out.write(text)
    if shell.as_json:
        shell.print_json(report.as_json(verdict))
    elif not shell.quiet:
        for line in report.screen_lines(verdict):
            shell.out.print(line, soft_wrap=True)
    return int(verdict.code)


def _page() -> Path | None:
    page = os.environ.get(STEP_SUMMARY)
    return Path(page) if page else None


def _verdict(
    header: Header,
    held: GateResult,
    code: Exit,
    out: Path,
    path: Path,
    how: dict[str, Any],
    by_revision: dict[str, frozenset[str]],
) -> report.GateReport:
    words = ["zconform", "gate", "update", header.reach, "--known", str(path)]
    words += ["--depth", how["depth"]] if how["depth"] != "quick" else []
    words += [word for pattern in how["only"] for word in ("--only", pattern)]
    words += ["--vectors", str(how["folder"])] if how.get("folder") else []
    words += [f"--{name}" for name in ("strict", "fresh") if how.get(name)]
    words += ["--timeout", how["timeout"]] if how.get("timeout") else []
    return report.GateReport(
        title=f"{header.name} {header.version}".strip() + f" as {header.role.replace('+', ' and ')}",
        held=held,
        code=code,
        out=out,
        update=shlex.join(words),
        revisions=by_revision,
    )


def _report_unwritten(shell: Shell, ran: Ran | None, path: Path) -> int:
    code = int(ran.exit if ran is not None else Exit.NOTHING_JUDGED)
    shell.tell(
        {"file": str(path), "written": False, "exit": code},
        f"{path} is not written: the run was not complete{'' if ran is None else f'; its results are in {ran.out}'}",
    )
    return code


def _report_written(shell: Shell, path: Path, held: GateResult, ran: Ran, options: Options) -> int:
    """Print what was written, write the list of judged requirements beside it, and return exit code 0."""
    now = entries.read_entries(path)
    skipped = [str(label) for label in editing.unlistable(held)]
    shell.note(_count_line(path, now))
    for label in skipped:
        shell.note(f"not listed: {label}: its cause is not steady; write its entry by hand, with `expires`")
    if held.embargoed:
        shell.note(f"not listed: {held.embargoed} findings under embargo; they are in your data folder")
    if options.selection.whole:
        accept_judged(shell, judged_file(path), ran)
    if shell.as_json:
        due = sum(entry.reason_is_due for entry in now)
        value = {"file": str(path), "written": True, "exit": int(Exit.CONFORMING), "entries": len(now), "due": due}
        shell.print_json(value | {"left_out": skipped, "embargoed": held.embargoed})
    return int(Exit.CONFORMING)
