"""The alerts of a gate for code hosts: new findings, and what concerns the list at its lines."""

from __future__ import annotations

from pathlib import Path

from zenoh_harness.files.code_scanning import Alert, alert_of, place_in_repository
from zenoh_harness.gate.comparison import GateItem, GateReason, GateResult


def alerts_of_gate(held: GateResult, listed: Path, location: Path | None) -> tuple[Alert, ...]:
    """Return one alert for each new finding, and for each check, role and other reason.

    `location` is where new deviations are shown, else the list.
    """
    groups: dict[tuple[str, ...], list[GateItem]] = {}
    for item in held.items:
        key = item.first.key
        if item.kind not in (GateReason.ERROR, GateReason.NEW):
            groups.setdefault((item.kind.value, key.role, key.requirement, key.check), []).append(item)
    new = (alert_of(fault, place_in_repository(location or listed), GateReason.NEW.value) for fault in held.findings)
    return (*new, *(_alert(items, listed, location) for items in groups.values()))


def _alert(items: list[GateItem], listed: Path, location: Path | None) -> Alert:
    first = items[0]
    lines = first.placed.lines if first.placed else None
    place = place_in_repository(listed, lines.first) if lines else place_in_repository(location or listed)
    gravest_first = sorted((item.first for item in items), key=lambda one: -one.verdict.severity)
    return Alert(tuple(gravest_first), place, first.kind.value)
