"""`zconform diff`: compare two results."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.files import results
from zenoh_harness.files.results import Results
from zenoh_harness.run.report.compare import Change, ChangeKind, Comparison, changes, counted, gathered

STYLES: Final = {ChangeKind.WORSE: "red", ChangeKind.LOST: "red", ChangeKind.BETTER: "green"}
FEW: Final = 8
"""Sets of parameters that are named; the rest is not."""


@click.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@shell_options()
def command(shell: Shell, before: Path, after: Path) -> int:
    """Compare two results and list the verdicts that changed.

    BEFORE and AFTER are results of two versions, two days or two targets. For each requirement whose verdict changed, prints
    both verdicts with their causes, and the evidence.

    \b
    Example:  zconform diff results-1.9.0 results-1.10.2
    Exit codes: 0 nothing got worse, 1 AFTER has a new deviation that is not known, or lacks a judgement, 2 usage.
    """
    old, new = results.read(before), results.read(after)
    found = changes(old, new)
    shell.answer(
        lambda: [one.as_json() | {"evidence": _evidence(one, before, after)} for one in gathered(found)],
        lambda: _show(shell, (before, after), (old, new), found),
    )
    return int(Exit.NOT_CONFORMING if any(change.red for change in found) else Exit.CONFORMING)


def _evidence(one: Comparison, before: Path, after: Path) -> str | None:
    """Return the evidence file of the side that deviates; if both do, of the newer side."""
    for judgement, place in ((one.first.after, after), (one.first.before, before)):
        if judgement is not None and judgement.evidence:
            return str((place if place.is_dir() else place.parent) / judgement.evidence)
    return None


def _show(shell: Shell, places: tuple[Path, Path], both: tuple[Results, Results], found: list[Change]) -> None:
    names = [f"{one.header.name} {one.header.version} ({one.header.reach})" for one in both]
    shell.out.print(plain(" -> ".join(names)), soft_wrap=True)
    for one in both:
        if not one.complete:
            text = f"incomplete: {one.header.reach}, {len(one.pending)} checks pending"
            shell.out.print(plain(text), style="red", soft_wrap=True)
    for way, same in groupby(gathered(found), key=lambda one: one.first.way):
        if way is ChangeKind.FRESH and not shell.verbose:
            continue
        shell.out.print(f"\n{way.value.capitalize()}", style=STYLES.get(way, ""))
        for requirement, group in groupby(same, key=lambda one: one.first.key.requirement):
            _tell(shell, requirement, list(group), places)
    shell.out.print(f"\n{counted(found)}" if found else "nothing changed")
    if any(one.way is ChangeKind.FRESH for one in found) and not shell.verbose:
        shell.out.print(f"-v also lists what is {ChangeKind.FRESH.value} and as required.")


def _tell(shell: Shell, requirement: str, group: list[Comparison], places: tuple[Path, Path]) -> None:
    """Print the changes of one requirement: the check, both verdicts, and the evidence."""
    shell.out.print(plain(f"  {requirement}  ({group[0].first.level})"), soft_wrap=True)
    for one in group:
        labels = [label for label in one.labels if label]
        values = f"  {', '.join(labels[:FEW])}{', ..' if len(labels) > FEW else ''}" if labels else ""
        evidence = _evidence(one, *places)
        rows = [
            f"    {one.first.key.check}  ({one.first.key.role}){values}", f"      was      {one.was}", f"      is       {one.now}",
            f"      evidence {evidence}" if evidence else "",
        ]  # fmt: skip
        for row in filter(None, rows):
            shell.out.print(plain(row), soft_wrap=True)
