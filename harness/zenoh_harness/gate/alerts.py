"""The alerts of a gate for code hosts: what makes it red, at the lines of the list."""

from __future__ import annotations

from pathlib import Path

from zenoh_harness.files.code_scanning import Alert, place_in_repository
from zenoh_harness.gate.comparison import GateItem, GateReason, GateResult


def alerts_of_gate(held: GateResult, listed: Path, location: Path | None) -> tuple[Alert, ...]:
    """Return one alert for each check, role and reason; `location` is where new deviations are shown, else the list."""
    groups: dict[tuple[str, ...], list[GateItem]] = {}
    for item in held.items:
        key = item.first.key
        if item.kind is not GateReason.ERROR:
            groups.setdefault((item.kind.value, key.role, key.requirement, key.check), []).append(item)
    return tuple(_alert(items, listed, location) for items in groups.values())


def _alert(items: list[GateItem], listed: Path, location: Path | None) -> Alert:
    first = items[0]
    lines = first.placed.lines if first.placed else None
    place = place_in_repository(listed, lines.first) if lines else place_in_repository(location or listed)
    return Alert(tuple(item.first for item in items), place, first.kind.value)
