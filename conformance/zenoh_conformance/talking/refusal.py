"""Refusals, as a dialogue tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zenoh_conformance.reading.kinds import reason_name


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a target refused: the reason of its CLOSE, if it sent one, and what the link did then."""

    reason: int | None
    end: str

    @property
    def text_of(self) -> str:
        """`Close(INVALID)`, or `link shut` where no CLOSE came."""
        return "link shut" if self.reason is None else f"Close({reason_name(self.reason)})"


def refusals(reasons: Sequence[int] | None, by_close: bool) -> str:
    """Those that are allowed, for a cause."""
    if reasons is None:
        return "Close" if by_close else "a refusal"
    return " or ".join(f"Close({reason_name(code)})" for code in reasons)
