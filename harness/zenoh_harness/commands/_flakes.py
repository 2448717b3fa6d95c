"""`zconform gate flakes`: what was right and wrong over several results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import click

from zenoh_conformance.verdict import Verdict
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.results import check_label
from zenoh_harness.gate import entries, flakes
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.gate.flakes import Seen


@click.command("flakes")
@click.argument("paths", metavar="RESULTS...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--known", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The target's list; its entries with verdict `flaky` are the quarantine.",
)  # fmt: skip
@shell_options()
def command(shell: Shell, paths: tuple[Path, ...], known: Path | None) -> int:
    """Count over RESULTS of several runs which checks were right and wrong of one version: how often, since when, whose.

    \b
    Example:  zconform gate flakes nightly/* --known ci/zenoh.known.toml
    Exit codes: 0 nothing is unsteady but what is in quarantine, 1 something is, 4 nothing was judged.
    """
    placed = entries.read(known) if known is not None else []
    runs = [results.read(path) for path in paths]
    names = sorted({run.header.name for run in runs})
    if len(names) > 1:
        raise UsageError(
            f"results of several targets: {', '.join(names)}", step="gate flakes", hint="one target at a time"
        )
    found, today = flakes.seen(runs, placed), dt.datetime.now(dt.UTC).date()
    code = flakes.code(found, today)
    unsteady = [one for one in found if one.flaky]
    idle = _idle(placed, found, today)
    if shell.as_json:
        judged = sum(one.times for one in found)
        shell.print_json(
            {"exit": int(code), "runs": len(runs), "checks": len(found), "judged": judged,
             "flaky": [one.as_json(today) for one in unsteady], "quarantine_over": idle}
        )  # fmt: skip
        return int(code)
    for line in (*_lines(unsteady, len(runs), len(found), today), *idle, f"Exit {int(code)}"):
        shell.out.print(plain(line), soft_wrap=True)
    return int(code)


def _lines(unsteady: list[Seen], runs: int, checks: int, today: dt.date) -> Iterator[str]:
    yield f"{runs} runs, {checks} checks: {len(unsteady)} unsteady"
    for one in sorted(unsteady, key=lambda each: -each.wrong / each.times):
        key = one.key
        yield f"FLAKY    {check_label(key.check, key.parameters)}  ({key.version}, {key.role}, {key.profile})"
        since = f"; first seen {one.first}" if one.first else ""
        yield f"  wrong    {one.wrong} of {one.times} times, {one.wrong / one.times:.1%}{since}"
        yield from (f"  seen     {count} times: {cause}" for cause, count in one.causes.most_common(3))
        yield f"  whose    {_whose(one, today)}"


def _whose(one: Seen, today: dt.date) -> str:
    if one.quarantine is None:
        return "nobody's: no entry with verdict 'flaky', owner and expires"
    entry = one.quarantine.entry
    if entry.over(today):
        return f"{entry.owner}'s quarantine ended on {entry.expires} ({one.quarantine.place})"
    return f"{entry.owner}, until {entry.expires} ({one.quarantine.place})"


def _idle(placed: list[PlacedEntry], found: list[Seen], today: dt.date) -> list[str]:
    """Quarantines of what was steady in all of it."""
    over = []
    for one in placed:
        about = [each for each in found if one.entry.about(each.key)]
        if one.entry.verdict is Verdict.FLAKY and about and not any(each.flaky for each in about):
            times = sum(each.times for each in about)
            over.append(
                f"steady in {times} times: {one.entry.name} may leave its quarantine ({one.place}, {one.entry.owner})"
            )
        elif one.entry.verdict is Verdict.FLAKY and one.entry.over(today):
            over.append(
                f"ended on {one.entry.expires}: the quarantine of {one.entry.name} ({one.place}, {one.entry.owner})"
            )
    return over
