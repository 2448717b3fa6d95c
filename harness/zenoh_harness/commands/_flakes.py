"""`zconform gate flakes`: find the checks whose verdict changes from run to run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import click

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.results import check_label
from zenoh_harness.gate import entries, flakes
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.gate.flakes import CheckHistory


@click.command("flakes")
@click.argument("paths", metavar="RESULTS...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--known",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The target's list of known deviations; its entries with verdict `flaky` are in quarantine.",
)
@shell_options()
def command(shell: Shell, paths: tuple[Path, ...], known: Path | None) -> int:
    """List the checks that both passed and failed in several runs.

    Compares RESULTS of several runs of one version, and prints how often each flaky check failed, since when, and its owner.

    \b
    Example:  zconform gate flakes nightly/* --known ci/zenoh.known.toml
    Exit codes: 0 every flaky check is in quarantine, 1 one is not, 2 usage, 4 nothing was judged.
    """
    placed = entries.read_entries(known) if known is not None else []
    runs = [results.read(path) for path in paths]
    names = sorted({run.header.name for run in runs})
    if len(names) > 1:
        raise UsageError(
            f"results of several targets: {', '.join(names)}", step="gate flakes", hint="name results of one target"
        )
    found, today = flakes.check_histories(runs, placed), dt.datetime.now(dt.UTC).date()
    code = flakes.exit_code_of(found, today)
    flaky = [check for check in found if check.flaky]
    ended = _quarantine_lines(placed, found, today)
    value = {
        "exit": int(code),
        "runs": len(runs),
        "checks": len(found),
        "judged": sum(check.times for check in found),
        "flaky": [check.as_json(today) for check in flaky],
        "quarantine_over": ended,
    }
    shell.show(value, (*_lines(flaky, len(runs), len(found), today), *ended, f"Exit {int(code)}"))
    return int(code)


def _lines(flaky: list[CheckHistory], runs: int, checks: int, today: dt.date) -> Iterator[str]:
    yield f"{runs} runs, {checks} checks: {len(flaky)} flaky"
    for check in sorted(flaky, key=lambda check: -check.wrong / check.times):
        key = check.key
        yield f"FLAKY    {check_label(key.check, key.parameters)}  ({key.version}, {key.role}, {key.profile})"
        since = f", since {check.first}" if check.first else ""
        yield f"  failed   {check.wrong} of {check.times} times, {check.wrong / check.times:.1%}{since}"
        yield from (f"  cause    {count} times: {cause}" for cause, count in check.causes.most_common(3))
        yield f"  owner    {_owner(check, today)}"


def _owner(check: CheckHistory, today: dt.date) -> str:
    if check.quarantine is None:
        return "none: the list has no entry with verdict 'flaky', owner and expires"
    entry = check.quarantine.entry
    if entry.over(today):
        return f"{entry.owner}; the quarantine ended on {entry.expires} ({check.quarantine.place})"
    return f"{entry.owner}, until {entry.expires} ({check.quarantine.place})"


def _quarantine_lines(placed: list[PlacedEntry], found: list[CheckHistory], today: dt.date) -> list[str]:
    """Return a line for each quarantine that has expired, and for each whose checks were steady in every run."""
    lines = []
    for entry, place in ((one.entry, one.place) for one in placed if one.entry.verdict is Verdict.FLAKY):
        about = [check for check in found if entry.about(check.key)]
        if about and not any(check.flaky for check in about):
            times = sum(check.times for check in about)
            lines.append(f"{entry.name} was steady {times} times: remove its entry ({place}, {entry.owner})")
        elif entry.over(today):
            lines.append(f"the quarantine of {entry.name} ended on {entry.expires} ({place}, {entry.owner})")
    return lines
