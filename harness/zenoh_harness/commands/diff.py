"""`zconform diff`: what changed from one results file to another."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.files import results
from zenoh_harness.files.results import Results
from zenoh_harness.run.compare import Change, Comparison, Way, changes, counted, gathered

STYLES: Final = {Way.WORSE: "red", Way.LOST: "red", Way.BETTER: "green"}
FEW: Final = 8
"""The most sets of parameters that are named."""


@click.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@shell_options()
def command(shell: Shell, before: Path, after: Path) -> int:
    """Which requirements changed verdict from results BEFORE to results AFTER, and what shows it.

    \b
    Example:  zconform diff results-1.9.0 results-1.10.2
    Another version, another day, or another target. Exit code 1 when something deviates that did not and is not listed
    as known, or is no longer among the results.
    """
    old, new = results.read(before), results.read(after)
    found = changes(old, new)
    if shell.as_json:
        shell.print_json([_as_json(one, before, after) for one in gathered(found)])
    else:
        _show(shell, (before, after), (old, new), found)
    return int(Exit.NOT_CONFORMING if any(change.red for change in found) else Exit.CONFORMING)


def _as_json(one: Comparison, before: Path, after: Path) -> dict[str, Any]:
    return {**one.as_json(), "evidence": _evidence(one, before, after)}


def _evidence(one: Comparison, before: Path, after: Path) -> str | None:
    """The file that shows it, of the side that deviates; the newer one's where both do."""
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
        if way is Way.FRESH and not shell.verbose:
            continue
        shell.out.print(f"\n{way.value.capitalize()}", style=STYLES.get(way, ""))
        for requirement, group in groupby(same, key=lambda one: one.first.key.requirement):
            _tell(shell, requirement, list(group), places)
    shell.out.print(f"\n{counted(found)}" if found else "nothing changed")
    if any(one.way is Way.FRESH for one in found) and not shell.verbose:
        shell.out.print(f"-v shows what is {Way.FRESH.value} and as required")


def _tell(shell: Shell, requirement: str, group: list[Comparison], places: tuple[Path, Path]) -> None:
    """One requirement: each check, what it was, what it is, where that is shown, how it is repeated."""
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
