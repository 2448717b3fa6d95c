"""`zconform interop`: connect real nodes through a recording tap and judge the traffic."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.commands._options import strict_option
from zenoh_harness.commands.run import command_line, joined_exit
from zenoh_harness.console import Shell, out_option, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.writable import check_folders
from zenoh_harness.interop import summary
from zenoh_harness.interop.run import InteropRun
from zenoh_harness.interop.scenario import all_scenarios, steps
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.report.summary import as_json
from zenoh_harness.run.runner import Ran
from zenoh_harness.run.store.run_folder import claimed
from zenoh_harness.targets import lookup


@click.command()
@click.argument("targets", nargs=-1, metavar="A B [C...]", shell_complete=completing.targets)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    shell_complete=completing.scenarios,
    help="Run only the scenarios whose id or topic matches; repeatable.",
)
@click.option("--both", is_flag=True, help="Run a second time with the roles exchanged: B listens, A connects.")
@known_option
@out_option("zconform-interop")
@strict_option
@click.option("--list", "listed", is_flag=True, help="List the scenarios and exit.")
@shell_options()
def command(
    shell: Shell,
    targets: tuple[str, ...],
    only: tuple[str, ...],
    both: bool,
    known: tuple[Path, ...],
    out: Path,
    strict: bool,
    listed: bool,
) -> int:
    """Connect real nodes to each other and judge the traffic.

    A listens, B connects to it through a recording tap, and applications on both sides exchange data. The data that arrive and
    the recorded conversation are judged. Of more than two nodes, every ordered pair is run. A node without an application of
    its own gets a wheel client. Results, evidence and the recording of each pair are kept.

    \b
    Example:
      zconform interop wheel:1.10.2 wheel:1.0.4 --both
      zconform interop docker:eclipse/zenoh:1.10.2 wheel:1.9.0 --only reconnecting
    Exit codes: as for `run`.
    """
    if listed:
        return _list(shell)
    pairs = _pairs(targets, both=both)
    wanted = steps(only)
    check_folders(out)
    reached = {target: lookup.open_checked(target).reach for target in targets}
    ran: dict[tuple[str, str], Ran | CannotGoOn] = {}
    for pair in pairs:
        here = out if len(pairs) == 1 else out / slug(f"{pair[0]} and {pair[1]}")
        options = Options(out=here, strict=strict, told=shell.note)
        began = time.monotonic()
        try:
            run = InteropRun(reached[pair[0]], reached[pair[1]], wanted, options, known)
            with claimed(here), shell.progress(len(wanted), " <- ".join(pair)) as advance:
                run.options = Options(out=here, strict=strict, told=shell.note, advance=advance)
                ran[pair] = done = run.run(command_line())
        except CannotGoOn as why:
            if len(pairs) == 1:
                raise
            ran[pair] = why
            shell.note(f"{pair[0]} <- {pair[1]}: {why}")
            continue
        if not shell.as_json and not shell.quiet:
            summary.show(done, shell.out, seconds=time.monotonic() - began, verbose=bool(shell.verbose))
        if done.footer.why == "interrupted":
            break
    return _finish(shell, targets, ran)


def _pairs(targets: Sequence[str], *, both: bool) -> list[tuple[str, str]]:
    """Return pairs (listens, connects): the two targets as given; of more, or with --both, every ordered pair."""
    if len(targets) < 2:
        raise UsageError("interop needs at least two targets", step="interop", hint="zconform interop A B")
    if len(targets) > 2 and len(set(targets)) < len(targets):
        raise UsageError("the same target is named twice", step="interop")
    if len(targets) == 2 and not (both and targets[0] != targets[1]):
        return [(targets[0], targets[1])]
    return list(permutations(targets, 2))


def _finish(shell: Shell, targets: Sequence[str], ran: dict[tuple[str, str], Ran | CannotGoOn]) -> int:
    cells = {pair: summary.cell(one) if isinstance(one, Ran) else "not available" for pair, one in ran.items()}
    if shell.as_json:
        shell.print_json(
            [
                {"listens": pair[0], "connects": pair[1], "cell": cells[pair]}
                | (as_json(one) if isinstance(one, Ran) else {"exit": int(Exit.CANNOT_GO_ON), "stopped": str(one)})
                for pair, one in ran.items()
            ]
        )
    elif len(ran) > 1:
        shell.out.print()
        shell.out.print(summary.any_to_any(list(dict.fromkeys(targets)), cells))
    return joined_exit(one.exit if isinstance(one, Ran) else Exit.CANNOT_GO_ON for one in ran.values())


def _list(shell: Shell) -> int:
    """Print every scenario with the first line of its description."""
    rows = [{"id": it.id, "topic": it.topic, "about": it.about} for it in all_scenarios().values()]
    lines = (
        f"{it['topic']:14}{it['id'].removeprefix('interop/'):55}{it['about'].partition(chr(10))[0]}" for it in rows
    )
    shell.show(rows, lines)
    return int(Exit.CONFORMING)
