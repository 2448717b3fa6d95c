"""`zconform run`: cases, laws, vectors and models against each target."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from threading import Event
from typing import Final

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import OtherVersion, UsageError
from zenoh_harness.files import judged as files_judged
from zenoh_harness.files import junit as files_junit
from zenoh_harness.files import results
from zenoh_harness.files import sarif as files_sarif
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.places import check_files, check_folders
from zenoh_harness.run import again, debugging, lists, summary
from zenoh_harness.run.allowance import AT_FULL, Allowance, seconds_of
from zenoh_harness.run.checks import every_name
from zenoh_harness.run.folder import claimed
from zenoh_harness.run.options import DEPTHS, Options
from zenoh_harness.run.plan import Selection, Shard
from zenoh_harness.run.runner import Ran, known_for, nodes_of, parts_of, run_target
from zenoh_harness.targets.named import checked
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeInstance

OUT: Final = "zconform-results"


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET...]", shell_complete=completing.targets)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    shell_complete=completing.checks,
    help="Only these checks or requirements; may be repeated.",
)
@click.option("--jobs", type=click.IntRange(1, 256), default=8, show_default=True, help="Cases side by side.")
@click.option("--seed", type=int, default=0, show_default=True, help="What is drawn, is drawn from this.")
@click.option("--shuffle", type=int, metavar="SEED", help="Run the cases in an order drawn from this.")
@click.option("--depth", type=click.Choice(DEPTHS), default="full", show_default=True, help="How much of each check.")
@click.option(
    "--budget", metavar="TIME", help="How long it may take: 90s, 10m, 1h, none. Default: 10m at `full`, else none."
)
@click.option("--timeout", metavar="TIME", help="How long one case may take, as in 20s; a minute without it.")
@click.option("--fresh", is_flag=True, help="Give each judgement a new target.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=OUT, show_default=True, help="Where to."
)
@known_option
@click.option(
    "--judged", type=click.Path(path_type=Path, dir_okay=False), help="What was judged before, and must be again."
)
@click.option("--accept", is_flag=True, help="Write what is judged now into the file of --judged.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@click.option("--sarif", type=click.Path(path_type=Path, dir_okay=False), help="Write SARIF to this file too.")
@click.option("--strict", is_flag=True, help="`warn` and `slow` count as deviations too.")
@click.option("--with-embargoed", is_flag=True, help="Run what is kept back in your data folder, too.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts; `zconform merge` makes one of them again.")
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, metavar="N", help="Run N times; what differs is `flaky`."
)
@click.option(
    "--last-failed", is_flag=True, help="Judge what was red in --out once more, and put it into those results."
)
@click.option("--max-fail", type=click.IntRange(1), metavar="N", help="End after N deviations.")
@click.option(
    "--debug",
    metavar="CHECK",
    shell_complete=completing.checks,
    help="Judge this one: tell process and port, wait before each step, leave the target up.",
)
@click.option("--keep", is_flag=True, help="Leave the target up and tell how to attach to it.")
@shell_options()
def command(
    shell: Shell,
    targets: tuple[str, ...],
    only: tuple[str, ...],
    jobs: int,
    seed: int,
    shuffle: int | None,
    depth: str,
    budget: str | None,
    timeout: str | None,
    fresh: bool,
    out: Path,
    known: tuple[Path, ...],
    judged: Path | None,
    accept: bool,
    junit: Path | None,
    sarif: Path | None,
    strict: bool,
    with_embargoed: bool,
    shard: str | None,
    repeat: int,
    last_failed: bool,
    max_fail: int | None,
    debug: str | None,
    keep: bool,
) -> int:
    """Judge each TARGET; the default is the real zenoh-rust, `wheel`.

    \b
    Example:  zconform run wheel:1.10.2 --only 'session-establishment/*'
    A target is reached by one string: wheel:VERSION, docker:IMAGE, exec:COMMAND, tcp/HOST:PORT, stdio:COMMAND,
    reference, faulty:NAME. Exit codes: 0 conforming, 1 not conforming, 2 usage, 3 could not go on, 4 nothing was judged.
    """
    only, keep = ((debug,), True) if debug else (only, keep)
    selection = Selection(only, Shard.read(shard) if shard else None)
    selection.check(every_name())
    seconds = seconds_of(budget) if budget else AT_FULL if depth == "full" and not debug else inf
    longest = seconds_of(timeout, "--timeout") if timeout else debugging.PATIENCE if debug else None
    check_files(junit, sarif)
    check_folders(out)
    wanted = [checked(target) for target in targets or ("wheel",)]
    check_judged(judged, accept=accept, targets=len(wanted), selected=not selection.whole or last_failed)
    check_repetition(repeat=repeat, last_failed=last_failed, keep=keep, only=bool(only))
    pause = debugging.pause(shell, debug, wanted, depth) if debug else None
    ran: list[Ran | None] = []
    kept: list[NodeInstance] = []
    for reach in wanted:
        here = out if len(wanted) == 1 else out / slug(str(reach))
        options = Options(
            out=here, selection=selection, jobs=jobs, seed=seed, shuffle=shuffle, depth=depth, judged=None if accept else judged,
            strict=strict, kept=kept if keep else None, told=shell.detail, found=shell.note, with_embargoed=with_embargoed,
            allowance=Allowance.of(seconds), max_fail=max_fail, timeout=longest, fresh=fresh, pause=pause,
        )  # fmt: skip
        ran.append(some_runs(shell, reach, options, known, repeat=repeat, last_failed=last_failed))
        if ran[-1] is not None and ran[-1].stopped is not None and ran[-1].footer.why == "interrupted":
            break
    export(ran, junit, sarif, strict=strict)
    if judged is not None and accept:
        accepted(shell, judged, ran[0])
    if len(wanted) > 1 and not shell.as_json and not shell.quiet:
        summary.show_together(ran, shell.out)
    code = finished(shell, ran)
    hold(shell, kept)
    return code


def check_repetition(*, repeat: int, last_failed: bool, keep: bool, only: bool) -> None:
    """Raise UsageError for ways to repeat that do not go together."""
    if repeat > 1 and (last_failed or keep):
        raise UsageError(
            "--repeat starts a new target each time", step="--repeat", hint="leave out --last-failed and --keep"
        )
    if last_failed and only:
        raise UsageError("--last-failed selects by itself", step="--last-failed", hint="leave out --only")


def check_judged(judged: Path | None, *, accept: bool, targets: int, selected: bool) -> None:
    """Raise UsageError where a list of what was judged is to be used or written, and cannot be."""
    if judged is None and accept:
        raise UsageError(
            "--accept says what to do with a file that is not named", step="--accept", hint="--judged FILE"
        )
    if judged is None:
        return
    if targets > 1:
        raise UsageError("one list is one target's", step="--judged", hint="run the targets one by one")
    if accept and selected:
        raise UsageError("a selection judges less than there is to judge", step="--accept", hint="leave out --only")
    if not accept and not judged.exists():
        raise UsageError(
            f"there is no {judged}", step="--judged", hint="--accept writes it, once you agree with what is judged"
        )
    if accept:
        check_files(judged)
    else:
        files_judged.read(judged)


def accepted(shell: Shell, path: Path, ran: Ran | None) -> None:
    """Write what a whole run judged; what was stopped says nothing about the rest."""
    if ran is None or ran.stopped is not None:
        shell.note(f"{path.name} is left as it was: the run did not come to its end")
        return
    lines = files_judged.judged(ran.judgements)
    files_judged.write(path, lines)
    shell.note(f"{path.name}: {len(lines)} lines of what was judged")


def hold(shell: Shell, kept: Sequence[NodeInstance]) -> None:
    """Leave instances up until somebody interrupts us: whatever we start ends with us."""
    try:
        for node in kept:
            shell.err.print(f"kept up: {plain(node.attach())}", soft_wrap=True)
        if kept:
            shell.err.print("Ctrl-C ends it")
            Event().wait()
    except KeyboardInterrupt:
        shell.note("ended")
    finally:
        for node in kept:
            node.stop()


def export(ran: Iterable[Ran | None], junit: Path | None, sarif: Path | None, *, strict: bool = False) -> None:
    """The same records in the forms that other tools read."""
    read = [results.read(one.out) for one in ran if one is not None] if junit or sarif else []
    if junit is not None:
        files_junit.write(read, junit, strict=strict)
    if sarif is not None:
        files_sarif.write(read, sarif)


def some_runs(
    shell: Shell, reach: Reach, options: Options, known: Sequence[Path], *, repeat: int, last_failed: bool
) -> Ran | None:
    """One run of a target, several that are made one, or one of what was red; and its summary."""
    if repeat == 1 and not last_failed:
        return one_target(shell, reach, options, known)

    def run(how: Options) -> Ran | None:
        return one_target(shell, reach, how, known, show=False)

    if last_failed:
        before = again.results_before(options.out)
        with claimed(options.out, keep=True):
            ran = again.last_failed(run, options, before, command_line())
    else:
        with claimed(options.out):
            ran = again.repeated(run, options, repeat, command_line())
    if ran is not None and not shell.as_json and not shell.quiet:
        summary.show(ran, shell.out, verbose=bool(shell.verbose))
    return ran


def one_target(
    shell: Shell, reach: Reach, options: Options, known: Sequence[Path] = (), *, show: bool = True
) -> Ran | None:
    """Run one target and print its summary, if that is to be shown; None when nothing is to be run against it."""
    parts = parts_of(reach, options)
    if not parts:
        shell.note(f"{reach}: nothing to judge is selected")
        return None
    who = parts[0].identity
    options = replace(options, known=known_for(who.name, known, kind=who.kind, nodes=nodes_of(parts)))
    for remark in lists.remarks(options.known.deviations):
        shell.note(remark)
    with claimed(options.out), shell.progress(sum(part.size for part in parts), str(reach)) as advance:
        for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            part.options = replace(options, advance=advance, shares=left)
        ran = run_target(reach, options, parts, command=command_line())
    if show and not shell.as_json and not shell.quiet and not isinstance(ran.stopped, OtherVersion):
        summary.show(ran, shell.out, verbose=bool(shell.verbose))
    if ran.stopped is not None:
        click.echo(f"zconform: {ran.stopped}", err=True)
    return ran


def command_line() -> str:
    """The command as it was given, for the results' header; empty when we are not the program."""
    program = Path(sys.argv[0])
    ours = program.name == "zconform" or program.parts[-2:] == (
        "zenoh_harness",
        "cli.py",
    )  # `python -m`, as a matrix does
    return shlex.join(["zconform", *sys.argv[1:]]) if ours else ""


def finished(shell: Shell, ran: Iterable[Ran | None]) -> int:
    """The exit code of several targets; with `--format json`, all summaries as one document."""
    every = list(ran)
    if shell.as_json:
        shell.print_json([summary.as_json(one) for one in every if one is not None])
    codes = {one.exit if one is not None else Exit.NOTHING_JUDGED for one in every}
    order = (Exit.CANNOT_GO_ON, Exit.NOT_CONFORMING, Exit.NOTHING_JUDGED, Exit.CONFORMING)
    return int(next(code for code in order if code in codes))
