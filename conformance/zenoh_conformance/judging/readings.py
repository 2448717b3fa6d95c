"""The verdict on what the text of an erratum allows: its stance decides, the same for each target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zenoh_conformance.spec.errata import Stance, by_name

from .finding import Finding
from .verdict import Verdict, verdict_for

OF_STANCE: Final[Mapping[Stance, Verdict]] = {
    Stance.PIN: Verdict.WARN,
    Stance.BOTH: Verdict.PASS,
    Stance.GAP: Verdict.PASS,
}
"""The verdict on a target that follows the text; with stance DEV nobody does who deviates."""


def verdict_of(finding: Finding, level: str) -> Verdict:
    """The verdict on a deviation from a requirement of that level."""
    due = verdict_for(level)
    return OF_STANCE.get(by_name(finding.follows).stance, due) if finding.follows else due
