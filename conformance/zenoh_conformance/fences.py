"""Fences: how to know that a node has dealt with all that was sent before, by what that node can do.

The best is a question whose answer the node must give: a query that nobody serves (query page), or an interest in what is
current (interests page). A node that answers neither is given a quiet time that follows from how fast it answers what it
does answer; what it did not say by then, it does not say. One that leaves by itself is not held to anything more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from .messages import Declare, DFinal, Interest, InterestMode, InterestOptions, Query, Request, ResponseFinal
from .primitives import WireExpr

if TYPE_CHECKING:
    from .dialogue import Dialogue


class Fence(Enum):
    """Ways to fence, the best first."""

    QUERY = "a query that nobody serves"
    INTEREST = "an interest in what is current"
    QUIET = "a quiet time"
    NOTHING = "nothing: it leaves by itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fencing:
    """How one node is fenced."""

    how: Fence = Fence.QUERY
    quiet: float = 0.0
    """Seconds, where `how` is a quiet time."""

    def __str__(self) -> str:
        return f"{self.how.value} of {self.quiet:.2g} s" if self.how is Fence.QUIET else self.how.value


BY_QUERY: Final = Fencing()
"""What every router can do."""


def by_query(us: Dialogue, key: str, within: float | None, step: str) -> None:
    """The final answer to a query for a key that nobody serves."""
    request = us.new_id()
    us.fences.add(request)
    us.say(Request(id=request, key=_named(key), body=Query()))
    us.expect(ResponseFinal, where=lambda final: final.id == request, within=within, step=step)


def by_interest(us: Dialogue, key: str, within: float | None, step: str) -> None:
    """The end of what is declared now on a key on which nothing is."""
    interest = us.new_id()
    wanted = InterestOptions.TOKENS | InterestOptions.RESTRICTED | InterestOptions.NAMED | InterestOptions.MAPPING
    us.say(Interest(id=interest, mode=InterestMode.CURRENT, options=wanted, key=_named(key)))
    us.expect(
        Declare,
        where=lambda told: told.interest_id == interest and isinstance(told.body, DFinal),
        within=within,
        step=step,
    )


def by_quiet(us: Dialogue, _key: str, _within: float | None, step: str) -> None:
    """The session outlives the quiet time, whatever is said meanwhile."""
    for _ in us.stream(us.fencing.quiet, silent=False):
        pass
    us.require(
        us.ended is None and us.closed is None,
        expected="a session that goes on", got=us.end() if us.closed is not None else us.text_of(None), step=step,
    )  # fmt: skip


def by_nothing(us: Dialogue, _key: str, _within: float | None, _step: str) -> None:
    """Whatever comes within the quiet time."""
    for _ in us.stream(us.fencing.quiet, silent=False):
        pass


PASSES: Final[Mapping[Fence, Callable[[Dialogue, str, float | None, str], None]]] = {
    Fence.QUERY: by_query,
    Fence.INTEREST: by_interest,
    Fence.QUIET: by_quiet,
    Fence.NOTHING: by_nothing,
}
"""How each is passed: raises Deviation where it is not."""


def _named(key: str) -> WireExpr:
    return WireExpr(scope=0, suffix=key, mapping=True)
