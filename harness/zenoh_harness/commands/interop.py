"""`zconform interop`: two real nodes through a recording tap, and any to any."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.commands.run import command_line
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.places import check_folders
from zenoh_harness.interop import summary
from zenoh_harness.interop.run import InteropRun
from zenoh_harness.interop.scenario import all_scenarios, steps
from zenoh_harness.run.folder import claimed
from zenoh_harness.run.options import Options
from zenoh_harness.run.runner import Ran
from zenoh_harness.run.summary import as_json
from zenoh_harness.targets import named


@click.command()
@click.argument("targets", nargs=-1, metavar="A B [C...]", shell_complete=completing.targets)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    shell_complete=completing.scenarios,
    help="Only these scenarios or topics; may be repeated.",
)
@click.option("--both", is_flag=True, help="Then the other way round: B listens, A connects.")
@known_option
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path("zconform-interop"), show_default=True,
    help="Where to.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="`warn` and `slow` count as deviations too.")
@click.option("--list", "listed", is_flag=True, help="List the scenarios and leave.")
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
    """Let A listen and B connect to it through our tap, with applications on both sides; judge what arrives and the wire.

    Of more than two, each listens to each. A node without an application of its own gets a wheel client. Exit codes as
    for `run`; results, evidence and the whole recorded conversation of each pair are kept.

    \b
    Example:
      zconform interop wheel:1.10.2 wheel:1.0.4 --both
      zconform interop docker:eclipse/zenoh:1.10.2 wheel:1.9.0 --only reconnecting
    """
    if listed:
        return _list(shell)
    pairs = _pairs(targets, both=both)
    wanted = steps(only)
    check_folders(out)
    reached = {target: named.node(target).reach for target in targets}
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
    return _finished(shell, targets, ran)


def _pairs(targets: Sequence[str], *, both: bool) -> list[tuple[str, str]]:
    """(listens, connects): the two as given; of more, or with --both, each with each."""
    if len(targets) < 2:
        raise UsageError("interop needs at least two targets", step="interop", hint="zconform interop A B")
    if len(targets) > 2 and len(set(targets)) < len(targets):
        raise UsageError("a target is named twice", step="interop")
    if len(targets) == 2 and not (both and targets[0] != targets[1]):
        return [(targets[0], targets[1])]
    return list(permutations(targets, 2))


def _finished(shell: Shell, targets: Sequence[str], ran: dict[tuple[str, str], Ran | CannotGoOn]) -> int:
    cells = {pair: summary.cell(one) if isinstance(one, Ran) else "cannot be had" for pair, one in ran.items()}
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
    codes = {one.exit if isinstance(one, Ran) else Exit.CANNOT_GO_ON for one in ran.values()}
    order = (Exit.CANNOT_GO_ON, Exit.NOT_CONFORMING, Exit.NOTHING_JUDGED, Exit.CONFORMING)
    return int(next(code for code in order if code in codes))


def _list(shell: Shell) -> int:
    """Every scenario with its text."""
    every = all_scenarios().values()
    if shell.as_json:
        shell.print_json([{"id": one.id, "topic": one.topic, "about": one.about} for one in every])
        return int(Exit.CONFORMING)
    for one in every:
        first = one.about.partition("\n")[0]
        shell.out.print(plain(f"{one.topic:14}{one.id.removeprefix('interop/'):55}{first}"), soft_wrap=True)
    return int(Exit.CONFORMING)
