"""Fences: how to know that a node has dealt with all that was sent before, by what that node can do.

The best is a question whose answer the node must give: a query that nobody serves (query page), or an interest in what is
current (interests page). Some declare back what is declared to them. A node that answers none of it is given a quiet time that follows
from how fast it answers what it does answer; what it did not say by then, it does not say. Where it ends links after our CLOSE (close
page), that shows in the end that it heard us until then. One that leaves by itself is not held to anything more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DSubscriber,
    Interest,
    InterestMode,
    InterestOptions,
    Query,
    Request,
    ResponseFinal,
    USubscriber,
    sane,
)
from zenoh_conformance.reading.names import plain, undeclared_key

if TYPE_CHECKING:
    from .dialogue import Dialogue


class Fence(Enum):
    """Ways to fence, the best first."""

    QUERY = "a query that nobody serves"
    INTEREST = "an interest in what is current"
    DECLARATION = "a declaration that is answered"
    END = "the end of the link after our CLOSE, and until then a quiet time"
    QUIET = "a quiet time"
    NOTHING = "nothing: it leaves by itself"


QUIET_ONES: Final = frozenset({Fence.END, Fence.QUIET})
"""Fences for which time must pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fencing:
    """How one node is fenced."""

    how: Fence = Fence.QUERY
    quiet: float = 0.0
    """Seconds, where `how` is a quiet time."""

    def __str__(self) -> str:
        return f"{self.how.value} of {self.quiet:.2g} s" if self.how in QUIET_ONES else self.how.value


BY_QUERY: Final = Fencing()
"""What every router can do."""


def by_query(us: Dialogue, key: str, within: float | None, step: str) -> None:
    """The final answer to a query for a key that nobody serves."""
    request = us.new_id()
    us.fences.add(request)
    us.say(Request(id=request, key=plain(key), body=Query()))
    us.expect(ResponseFinal, where=lambda final: final.id == request, within=within, step=step)


def by_interest(us: Dialogue, key: str, within: float | None, step: str) -> None:
    """The end of what is declared now on a key on which nothing is."""
    interest = us.new_id()
    wanted = InterestOptions.TOKENS | InterestOptions.RESTRICTED | InterestOptions.NAMED | InterestOptions.MAPPING
    us.say(Interest(id=interest, mode=InterestMode.CURRENT, options=wanted, key=plain(key)))
    us.expect(
        Declare,
        where=lambda told: told.interest_id == interest and isinstance(told.body, DFinal),
        within=within,
        step=step,
    )


def by_declaration(us: Dialogue, key: str, within: float | None, step: str) -> None:
    """What it declares of a key to which we subscribe; it is taken back after that."""
    entity = us.new_id()
    us.declare(DSubscriber(id=entity, key=plain(key)))
    try:
        us.expect(Declare, where=lambda told: is_about(told, key), within=within, step=step)
    finally:
        us.declare(USubscriber(id=entity, exts=undeclared_key(plain(key))))


def is_about(told: Declare, key: str) -> bool:
    """Whether something is declared of that key, written out."""
    of = getattr(told.body, "key", None)
    return of is not None and of.suffix == key


def by_quiet(us: Dialogue, _key: str, _within: float | None, step: str) -> None:
    """The session outlives the quiet time, whatever is said meanwhile."""
    for _ in us.stream(us.fencing.quiet, silent=False):
        pass
    us.require(
        not us.is_over,
        expected="a session that goes on", got=us.end() if us.closed is not None else us.text_of(None), step=step,
    )  # fmt: skip


def by_nothing(us: Dialogue, _key: str, _within: float | None, _step: str) -> None:
    """Whatever comes within the quiet time."""
    for _ in us.stream(us.fencing.quiet, silent=False):
        pass


PASSES: Final[Mapping[Fence, Callable[[Dialogue, str, float | None, str], None]]] = {
    Fence.QUERY: by_query,
    Fence.INTEREST: by_interest,
    Fence.DECLARATION: by_declaration,
    Fence.END: by_quiet,
    Fence.QUIET: by_quiet,
    Fence.NOTHING: by_nothing,
}
"""How each is passed: raises Deviation where it is not."""


def settle(dialogues: Iterable[Dialogue]) -> None:
    """What is left open by fences that show in the end only: the link of each live session ends after our CLOSE. Raises Deviation."""
    for us in dialogues:
        if us.fencing.how is Fence.END and us.fenced and us.is_live:
            ended = ends_with_our_close(us)
            us.require(
                ended,
                expected="the end of the link after our CLOSE",
                got="a link that stays open",
                step="the session works",
            )


def ends_with_our_close(us: Dialogue, within: float | None = None) -> bool:
    """Say CLOSE; whether the target ends the link."""
    us.send(sane.close())
    for _ in us.stream(within):
        pass
    return us.ended is not None


ASKED: Final = (Fence.QUERY, Fence.QUERY, Fence.INTEREST, Fence.INTEREST, Fence.DECLARATION, Fence.QUIET)
"""The order in which a node is asked for a fence."""


def best(us: Dialogue, within: float, quiet: float) -> tuple[Fencing, frozenset[Fence]]:
    """The best fence that a live session passes, each within so many seconds, and those that it does not; it may leave meanwhile.

    What every router can do is asked twice: a single answer that is late makes no other node of it. The session is over where it came
    to its end.
    """
    missed: set[Fence] = set()
    for at, how in enumerate(ASKED):
        us.fencing = Fencing(how=how, quiet=quiet)
        with suppress(Deviation):
            PASSES[how](us, f"zconform/habits/{us.zid.hex()}/{how.name.lower()}/{at}", within, "fence")
            missed.discard(how)
            if how is Fence.QUIET and ends_with_our_close(us, within):
                return Fencing(how=Fence.END, quiet=quiet), frozenset(missed)
            return (us.fencing if how is not Fence.QUERY else BY_QUERY), frozenset(missed)
        if us.is_over:
            break
        missed.add(how)
    return Fencing(how=Fence.NOTHING, quiet=quiet), frozenset((Fence.QUERY, Fence.INTEREST))
