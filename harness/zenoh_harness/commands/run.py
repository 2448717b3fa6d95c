"""`zconform run`: judge targets by cases, laws, vectors and models."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from threading import Event
from typing import Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._exports import Exports, export_options
from zenoh_harness.commands._known import known_option
from zenoh_harness.commands._options import (
    FILE,
    calm_option,
    depth_option,
    fresh_option,
    jobs_option,
    only_option,
    resume_option,
    seed_option,
    strict_option,
    timeout_option,
    vectors_option,
)
from zenoh_harness.console import Shell, out_option, plain, shell_options
from zenoh_harness.errors import OtherVersion, UsageError
from zenoh_harness.files import judged as files_judged
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.writable import check_files, check_folders
from zenoh_harness.run import known_deviations, repetitions
from zenoh_harness.run.attempt import debugging
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.check_names import every_name
from zenoh_harness.run.plan.allowance import AT_FULL, Allowance, seconds_of
from zenoh_harness.run.plan.own_vectors import OwnVectors
from zenoh_harness.run.plan.plan import Selection, Shard
from zenoh_harness.run.report import summary
from zenoh_harness.run.runner import Ran, known_for, nodes_of, parts_of, run_target
from zenoh_harness.run.store.run_folder import claimed
from zenoh_harness.run.write import resume as resuming
from zenoh_harness.targets.lookup import find_checked
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeInstance

OUT: Final = "zconform-results"


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET...]", shell_complete=completing.targets)
@only_option
@jobs_option
@seed_option
@click.option("--shuffle", type=int, metavar="SEED", help="Run the cases in a random order, from this seed.")
@depth_option("full")
@click.option(
    "--budget",
    metavar="TIME",
    help="Time limit of the run: 90s, 10m, 1h or none. Default: 10m at depth full, else none.",
)
@timeout_option
@fresh_option
@out_option(OUT)
@known_option
@vectors_option
@click.option("--judged", type=FILE, help="List of what an earlier run judged; fail if this run judges less.")
@click.option("--accept", is_flag=True, help="Write the list of --judged from this run.")
@export_options
@strict_option
@click.option("--with-embargoed", is_flag=True, help="Also run the embargoed scripts in your data folder.")
@click.option("--shard", metavar="I/N", help="Run part I of N; `zconform merge` merges the results.")
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    metavar="N",
    help="Run N times; a check with different verdicts is `flaky`.",
)
@click.option(
    "--last-failed", is_flag=True, help="Run only the checks that are red in --out, and update those results."
)
@resume_option
@calm_option
@click.option("--max-fail", type=click.IntRange(1), metavar="N", help="Stop after N deviations.")
@click.option(
    "--debug",
    metavar="CHECK",
    shell_complete=completing.checks,
    help="Run this check step by step: print process and port, wait for Enter, keep the target running.",
)
@click.option("--keep", is_flag=True, help="Keep the target running afterwards, and print how to attach to it.")
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
    folder: Path | None,
    judged: Path | None,
    accept: bool,
    exports: Exports,
    strict: bool,
    with_embargoed: bool,
    shard: str | None,
    repeat: int,
    last_failed: bool,
    resume: bool,
    calm: bool,
    max_fail: int | None,
    debug: str | None,
    keep: bool,
) -> int:
    """Judge targets; write results and evidence.

    TARGET is a target string: wheel:VERSION, docker:IMAGE, exec:COMMAND, tcp/HOST:PORT, stdio:COMMAND, lib:PATH, reference,
    faulty:NAME or variant:NAME. The default is wheel, the real zenoh-rust.

    \b
    Example:  zconform run wheel:1.10.2 --only 'session-establishment/*'
    Exit codes: 0 conforming, 1 not conforming, 2 usage, 3 harness or target failed, 4 nothing was judged.
    """
    only, keep = ((debug,), True) if debug else (only, keep)
    selection, own = checked_selection(only, shard, folder)
    seconds = seconds_of(budget) if budget else AT_FULL if depth == "full" and not debug else inf
    check_outputs(exports, out)
    wanted = [find_checked(target) for target in targets or ("wheel",)]
    check_judged(judged, accept=accept, targets=len(wanted), selected=not selection.whole or last_failed)
    check_repetition(repeat=repeat, last_failed=last_failed, keep=keep, only=bool(only), resume=resume, calm=calm)
    kept: list[NodeInstance] = []
    options = Options(
        out=out,
        selection=selection,
        jobs=jobs,
        seed=seed,
        shuffle=shuffle,
        depth=depth,
        judged=None if accept else judged,
        strict=strict,
        kept=kept if keep else None,
        told=shell.detail,
        found=shell.note,
        own_vectors=own,
        with_embargoed=with_embargoed,
        max_fail=max_fail,
        timeout=seconds_of(timeout, "--timeout") if timeout else debugging.PATIENCE if debug else None,
        fresh=fresh,
        resume=resume,
        pause=debugging.pause(shell, debug, wanted, depth) if debug else None,
    )
    ran = run_each(shell, wanted, options, known, seconds=seconds, repeat=repeat, last_failed=last_failed, calm=calm)
    exports.write(shell, exports.read(ran), strict=strict, lists=known)
    if judged is not None and accept:
        accept_judged(shell, judged, ran[0])
    return keep_running(shell, kept, with_broken(shell, own, finish_runs(shell, ran)))


def check_outputs(exports: Exports, out: Path) -> None:
    """Raise UsageError if a file of the exports, or the folder, cannot be written."""
    exports.check()
    check_folders(out)


def checked_selection(only: tuple[str, ...], shard: str | None, folder: Path | None) -> tuple[Selection, OwnVectors]:
    """Return what --only and --shard select, and the vectors of the folder. Raises UsageError for a pattern without a match."""
    own = OwnVectors.read(folder)
    selection = Selection(only, Shard.read(shard) if shard else None)
    selection.check(chain(own.names, every_name()))
    return selection, own


def with_broken(shell: Shell, own: OwnVectors, code: int) -> int:
    """Print which vectors of the user's folder could not be used; return 2 if there are any, else the run's exit code."""
    for line in own.remarks:
        click.echo(f"zconform: {plain(line)}", err=True)
    return int(Exit.USAGE) if own.broken else code


def run_each(
    shell: Shell,
    targets: Sequence[Reach],
    options: Options,
    known: tuple[Path, ...],
    *,
    seconds: float,
    repeat: int,
    last_failed: bool,
    calm: bool = False,
) -> list[Ran | None]:
    """Judge targets one after the other, each with its own budget of seconds and folder; ends after an interrupted run."""
    ran: list[Ran | None] = []
    for reach in targets:
        here = options.out if len(targets) == 1 else options.out / slug(str(reach))
        mine = replace(options, out=here, allowance=Allowance.of(seconds))
        ran.append(some_runs(shell, reach, mine, known, repeat=repeat, last_failed=last_failed, calm=calm))
        if ran[-1] is not None and ran[-1].stopped is not None and ran[-1].footer.why == "interrupted":
            break
    return ran


def check_repetition(
    *, repeat: int, last_failed: bool, keep: bool, only: bool, resume: bool = False, calm: bool = False
) -> None:
    """Raise UsageError for options of repetition that exclude each other."""
    if calm and (repeat > 1 or last_failed or keep):
        hint = "leave out --repeat, --last-failed, --keep and --debug"
        raise UsageError("--calm is for one whole run", step="--calm", hint=hint)
    if resume and (repeat > 1 or last_failed):
        raise UsageError("--resume goes on with one run", step="--resume", hint="leave out --repeat and --last-failed")
    if repeat > 1 and (last_failed or keep):
        raise UsageError(
            "--repeat starts a new target for each run", step="--repeat", hint="leave out --last-failed and --keep"
        )
    if last_failed and only:
        raise UsageError("--last-failed selects the checks itself", step="--last-failed", hint="leave out --only")


def check_judged(judged: Path | None, *, accept: bool, targets: int, selected: bool) -> None:
    """Raise UsageError if the list of --judged cannot be read or written as asked."""
    if judged is None and accept:
        raise UsageError("--accept needs --judged", step="--accept", hint="name the list: --judged FILE")
    if judged is None:
        return
    if targets > 1:
        raise UsageError("--judged takes the list of one target", step="--judged", hint="run the targets one by one")
    if accept and selected:
        raise UsageError(
            "--accept needs a run of all checks", step="--accept", hint="leave out --only, --shard and --last-failed"
        )
    if not accept and not judged.exists():
        raise UsageError(f"there is no {judged}", step="--judged", hint="add --accept to write it from this run")
    if accept:
        check_files(judged)
    else:
        files_judged.read(judged)


def accept_judged(shell: Shell, path: Path, ran: Ran | None) -> None:
    """Write the list of what a complete run judged; an incomplete run leaves the file as it is."""
    if ran is None or ran.stopped is not None:
        shell.note(f"{path.name} is unchanged: the run was not complete")
        return
    lines = files_judged.judged_lines(ran.judgements)
    files_judged.write(path, lines)
    shell.note(f"wrote {path.name}: {len(lines)} judged requirements")


def keep_running(shell: Shell, kept: Sequence[NodeInstance], code: int) -> int:
    """Keep instances running until the user interrupts; then stop them. Returns `code`."""
    try:
        for node in kept:
            shell.err.print(f"running: {plain(node.attach())}", soft_wrap=True)
        if kept:
            shell.err.print("Ctrl-C stops it")
            Event().wait()
    except KeyboardInterrupt:
        shell.note("stopped")
    finally:
        for node in kept:
            node.stop()
    return code


def some_runs(
    shell: Shell, reach: Reach, options: Options, known: Sequence[Path], *, repeat: int, last_failed: bool, calm: bool
) -> Ran | None:
    """Run a target once, several times, or for its last failures; print the summary."""
    if repeat == 1 and not (last_failed or calm):
        return one_target(shell, reach, options, known)

    def run(how: Options) -> Ran | None:
        return one_target(shell, reach, how, known, show=False)

    if calm and (first := run(options)) is not None:
        with claimed(options.out, keep=True):
            ran: Ran | None = repetitions.alone_when_calm(
                run, replace(options, resume=False), first, shell.note, command_line()
            )
    elif calm:
        return None
    elif last_failed:
        before = repetitions.results_before(options.out)
        with claimed(options.out, keep=True):
            ran = repetitions.last_failed(run, options, before, command_line())
    else:
        with claimed(options.out):
            ran = repetitions.repeated(run, options, repeat, command_line())
    if ran is not None and not shell.as_json and not shell.quiet:
        summary.show(ran, shell.out, verbose=bool(shell.verbose))
    return ran


def one_target(
    shell: Shell, reach: Reach, options: Options, known: Sequence[Path] = (), *, show: bool = True
) -> Ran | None:
    """Run one target and print its summary; return None if no check is selected for it."""
    parts = parts_of(reach, options)
    if not parts:
        shell.note(f"{reach}: no check is selected")
        return None
    who = parts[0].identity
    options = replace(options, known=known_for(who.name, known, kind=who.kind, nodes=nodes_of(parts)))
    for remark in known_deviations.remarks(options.known.deviations):
        shell.note(remark)
    if options.resume and resuming.before(options.out) is None:
        shell.note(f"{options.out} has no run to resume: starting from the beginning")
    with (
        claimed(options.out, keep=options.resume),
        shell.progress(sum(part.size for part in parts), str(reach)) as advance,
    ):
        for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            part.options = replace(options, advance=advance, shares=left, forks=True)
        ran = run_target(reach, options, parts, command=command_line())
    if ran.stopped is not None and summary.never_began(ran):
        click.echo(f"zconform: {ran.stopped}", err=True)  # the reason first: nothing else is of interest
    if show and not shell.as_json and not shell.quiet and not isinstance(ran.stopped, OtherVersion):
        summary.show(ran, shell.out, verbose=bool(shell.verbose))
    if ran.stopped is not None and not summary.never_began(ran):
        click.echo(f"zconform: {ran.stopped}", err=True)
    return ran


def command_line() -> str:
    """Return the command line, for the results' header; empty if `zconform` is used as a library."""
    program = Path(sys.argv[0])
    as_module = program.parts[-2:] == ("zenoh_harness", "cli.py")  # `python -m`, as a matrix does
    ours = program.name == "zconform" or as_module
    return shlex.join(["zconform", *sys.argv[1:]]) if ours else ""


def finish_runs(shell: Shell, ran: Sequence[Ran | None]) -> int:
    """Print what several targets have in common. Returns their exit code."""
    if shell.as_json:
        shell.print_json([summary.as_json(run) for run in ran if run is not None])
    elif len(ran) > 1 and not shell.quiet:
        summary.show_together(ran, shell.out)
    return joined_exit(run.exit if run is not None else Exit.NOTHING_JUDGED for run in ran)


def joined_exit(codes: Iterable[Exit]) -> int:
    """Return the exit code of several runs: the first of 3, 1, 4 and 0 that occurs."""
    order = (Exit.CANNOT_GO_ON, Exit.NOT_CONFORMING, Exit.NOTHING_JUDGED, Exit.CONFORMING)
    return int(min(codes, key=order.index))
