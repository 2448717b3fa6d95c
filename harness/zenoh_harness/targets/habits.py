"""Habits as values, and what follows from them: patience, restarts, instances, places, and how our sessions end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, Final

from zenoh_conformance.messages.sane import OFFERS
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_conformance.talking.fences import BY_QUERY, QUIET_ONES, Fence, Fencing
from zenoh_conformance.talking.scene import ANSWERS
from zenoh_harness.links.timing import stretched

UNIT: Final = 2.0
"""Seconds in which any healthy target answers, before scaling."""

CONNECT: Final = 5.0
"""Seconds that any node may take to accept a link, or to come to ours, before scaling."""

STALL: Final = 10.0
"""Seconds that a node which stands still is waited for before it hangs, before scaling."""

SETTLE: Final = 3.0
"""Seconds in which a node lets go of a link that has ended, and of its session, before scaling."""

TIMES: Final = 3
"""How many times its own habit a node may take."""

WORTH: Final = 4
"""How many times longer than a start it must take to come back before it is started again instead."""

QUICKEST_START: Final = 0.25
"""Seconds that even the quickest start counts."""

SESSIONS: Final = 1.5
"""Sessions that a case opens, about."""

ENOUGH: Final = 48
"""Half-open handshakes, or sessions, with which cases can be side by side as they like."""


OF_ONE_CASE: Final = 8
"""More sessions, or half-open handshakes, than one case ever holds."""


NOT_DONE: Final[Mapping[str, str]] = {
    "routing": "passes no data on between those who are connected to it",
    "finals": "does not finish a query that nobody serves",
    "interests": "does not answer an interest",
}
"""How it is told that a node does not do what everybody is taken to do."""


class SessionEnd(Enum):
    """How a link of ours ends, as the one who comes to us sees it."""

    CLOSE = "CLOSE of the session"
    FIN = "FIN of the session"
    RST = "RST of the session"
    REFUSED = "CLOSE for its InitSyn"
    DROPPED = "FIN for its InitSyn"
    SILENCE = "no answer to its InitSyn"


OURS: Final = (SessionEnd.FIN, SessionEnd.CLOSE, SessionEnd.RST)
"""The ways in which a session of ours may end; of equals the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """What a node that comes to us did after one kind of end."""

    after: float | None
    """Seconds until we had the next link; None when there was none while it was waited for."""
    waited: float = 0.0
    """Seconds that it was waited for, where it did not come."""
    ended: str = ""
    """How its program ended, where that ended; it was started again then."""

    def __str__(self) -> str:
        when = f"{self.after * 1000:.0f} ms" if self.after is not None else f"not within {self.waited:.0f} s"
        return f"its program ends ({self.ended}), started again after {when}" if self.ended else when


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetHabits:
    """What is known of how a node behaves while nothing odd is done."""

    answer: float = 0.0
    """The longest time, in seconds, that an answer in a handshake took."""
    start: float = 0.0
    """Seconds from its start to its first handshake."""
    fencing: Fencing = BY_QUERY
    returns: Mapping[SessionEnd, Return] = field(default_factory=dict)
    """Of a node that comes to us."""
    again: bool = False
    """Whether its program can be started again while we go on listening."""
    half_open: int | None = None
    """Handshakes that it answers at once; None: all that were tried."""
    sessions: int | None = None
    """Sessions that it holds at once; None: all that were tried."""
    turns_away: bool = False
    """Whether it ends a link at once that comes while as many handshakes are half open."""
    batch: int | None = None
    """The batch size that it settles for, where it is not the default."""
    message: int | None = None
    """The largest value that it was seen to pass on; None: all that were tried, or none."""
    leaves: bool = False
    """Whether it ends a sane session by itself."""
    offers: tuple[Any, ...] = OFFERS
    """What our InitSyn must offer for it to answer one that can be read."""
    lacks: frozenset[str] = frozenset()
    """What everybody is taken to do, and it was seen not to, as a case may need it (`routing`, `finals`, ..)."""
    brief: bool = False
    """Whether it listens for one link or session, and its program ends in order after it."""
    dies: SessionEnd | None = None
    """After which plain end its program died."""
    version: int | None = None
    """The protocol version at which it opens sessions, where that is not ours."""

    @property
    def unit(self) -> float:
        """Seconds in which it answers, scaled; longer on a machine that is busy."""
        return stretched(max(UNIT, ANSWERS * self.answer))

    @property
    def longest(self) -> float:
        """The longest that it was seen to take before it came back, in seconds."""
        return max((one.after for one in self.returns.values() if one.after is not None), default=0.0)

    @property
    def patience(self) -> float:
        """Seconds that it is waited for before it did not come, scaled; longer on a machine that is busy."""
        return stretched(max(CONNECT, TIMES * self.longest, TIMES * self.start))

    @property
    def stall(self) -> float:
        """Seconds that it may stand still before it hangs, scaled; longer on a machine that is busy."""
        return stretched(max(STALL, TIMES * self.longest, ANSWERS * self.answer))

    @property
    def linger(self) -> float:
        """Seconds after which starting it again is quicker than waiting for it; never, where it comes back soon."""
        if not self.again or all(one.after is not None and one.after <= self.worth for one in self.returns.values()):
            return inf
        quick = [one.after for one in self.returns.values() if one.after is not None and one.after <= self.worth]
        return max(quick, default=0.0) * TIMES

    @property
    def worth(self) -> float:
        """Seconds that it may take to come back before it is started again instead."""
        return WORTH * max(self.start, QUICKEST_START)

    @property
    def way(self) -> SessionEnd:
        """How our sessions end: so that it comes back soonest."""
        seen = {end: took for end in OURS if end in self.returns and (took := self.returns[end].after) is not None}
        return min(seen, key=lambda end: round(seen[end], 1), default=SessionEnd.FIN)

    def prepare(self, us: Dialogue) -> Dialogue:
        """Let a dialogue of ours take its target as it is."""
        us.fencing, us.offers = self.fencing, self.offers
        return us

    @property
    def few(self) -> bool:
        """Whether it serves so few at once that cases side by side would be in each other's way."""
        return any(limit is not None and limit < ENOUGH for limit in (self.half_open, self.sessions))

    @property
    def crowded(self) -> bool:
        """Whether it holds so few sessions that a case must wait until those of the one before are gone."""
        return self.sessions is not None and self.sessions < OF_ONE_CASE

    @property
    def narrow(self) -> bool:
        """Whether it answers so few handshakes at once, and turns others away, that a link must wait until those before are gone."""
        return self.turns_away and self.half_open is not None and self.half_open < OF_ONE_CASE

    def expected(self, cases: int, instances: int) -> float:
        """Seconds that so many cases take, about."""
        link = min(self.returns[self.way].after or self.worth, self.linger + self.start) if self.returns else 0.0
        return cases * (SESSIONS * 2 * self.answer + link + self.cost) / max(1, instances)

    @property
    def cost(self) -> float:
        """Seconds that a case takes beside handshakes and returns, about."""
        return 0.02 + (3 * self.fencing.quiet if self.fencing.how in QUIET_ONES else 0.0)

    def lines(self) -> list[str]:
        """What was found, for a person: only what is not as with everybody."""
        lines = []
        if self.answer > 0.1:
            lines.append(f"answers a handshake within {self.answer:.1f} s")
        if self.fencing.how is not Fence.QUERY:
            lines.append(f"is fenced by {self.fencing}")
        if self.offers != OFFERS:
            names = ", ".join(type(offer).__name__ for offer in self.offers) or "nothing"
            lines.append(f"answers only an InitSyn that offers {names}")
        if self.brief:
            lines.append("serves one session, and its program ends after it; it is started again each time")
        if self.leaves:
            lines.append("ends its sessions by itself")
        lines += [NOT_DONE[name] for name in sorted(self.lacks) if name in NOT_DONE]
        if self.half_open is not None:
            turned = ", and turns away who comes meanwhile" if self.turns_away else ""
            lines.append(f"answers {self.half_open} handshake{'s' * (self.half_open != 1)} at a time{turned}")
        if self.sessions is not None:
            lines.append(f"holds {self.sessions} session{'s' * (self.sessions != 1)} at once")
        if self.message is not None:
            lines.append(f"passes on values of {self.message} bytes, and not much larger ones")
        odd = {end: back for end, back in self.returns.items() if back.ended or back.after is None or back.after > 0.5}
        lines += [f"after {end.value}: {back}" for end, back in odd.items()]
        if self.linger < inf:
            lines.append("is started again where that is quicker than waiting")
        if odd and self.way is not SessionEnd.FIN:
            lines.append(f"our sessions end by {self.way.value}")
        return lines


UNKNOWN: Final = TargetHabits()
"""Of whom nothing is known yet."""


def habits_of(node: object) -> TargetHabits:
    """What is known of a node; nothing of one that nobody studied."""
    found = getattr(node, "habits", UNKNOWN)
    return found if isinstance(found, TargetHabits) else UNKNOWN
