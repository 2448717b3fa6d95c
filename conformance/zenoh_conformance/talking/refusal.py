"""Refusals, as a dialogue tells of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zenoh_conformance.judging.finding import NOT_REACHED, Deviation
from zenoh_conformance.reading.kinds import M, MessageKind, reason_name

if TYPE_CHECKING:
    from .dialogue import Dialogue
    from .speaker import Sendable

GONE = ("silence", "link shut", "link reset")
"""What is seen of a target that neither answers nor refuses."""


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


def reach(us: Dialogue, what: Sendable, answer: MessageKind[M], stage: str, *, odd: bool = True) -> M:
    """The answer that a check of something else needs. Deviates as not reached where it is refused by CLOSE, which is lawful.

    Silence, or an end without CLOSE, is judged here if the message is `odd`: no other check may say it.
    """
    try:
        return us.ask(what, expect=answer, step=f"{NOT_REACHED}: {stage}")
    except Deviation as found:
        if not odd or us.closed is not None or found.finding.got not in GONE or found.finding.reached:
            raise
        rule = "session-establishment/refusal-is-close"
        due = f"{answer.name} or Close"
        raise Deviation(replace(found.finding, requirement=rule, path=f"stage {stage}", expected=due)) from None


@contextmanager
def allowed_as_written(erratum: str, got: str) -> Iterator[None]:
    """What deviates meanwhile by that message is what the text of an erratum allows."""
    try:
        yield
    except Deviation as found:
        follows = erratum if found.finding.got == got else ""
        raise Deviation(replace(found.finding, follows=follows)) from None
