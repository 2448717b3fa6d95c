"""The measured habits of a target, and the waiting times, restarts and limits that the harness derives from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, Final

from zenoh_conformance.judging.kept_waiting import SHARE, Waits, is_impatient
from zenoh_conformance.messages.sane import OFFERS
from zenoh_conformance.talking import ANSWERS, Dialogue
from zenoh_conformance.talking.fences import BY_QUERY, QUIET_ONES, Fence, Fencing
from zenoh_harness.links.timing import stretched

UNIT: Final = 2.0
"""Seconds within which any healthy target answers, before scaling."""

BRIEF_UNIT: Final = 0.2
"""The same, in seconds before scaling, for a check on whose verdict nothing depends."""

CONNECT: Final = 5.0
"""Seconds that any node may take to accept a link or, as initiator, to connect to us, before scaling."""

STALL: Final = 10.0
"""Seconds without progress after which a node counts as hanging, before scaling."""

SETTLE: Final = 3.0
"""Seconds within which a node releases an ended link and its session, before scaling."""

LONG_ENOUGH: Final = 0.25
"""Seconds of silence in a handshake after which a node counts as patient: a busy machine is that late seldom."""

TIMES: Final = 3
"""A node may take this many times its measured duration before it counts as late."""

WORTH: Final = 4
"""An initiator that reconnects this many times slower than it starts is restarted instead."""

QUICKEST_START: Final = 0.25
"""The least seconds that a start is assumed to take."""

SESSIONS: Final = 1.5
"""The average number of sessions that a case opens."""

ENOUGH: Final = 48
"""With this many half-open handshakes and sessions, any number of cases can run in parallel."""


OF_ONE_CASE: Final = 8
"""More sessions, or half-open handshakes, than any case holds."""


NOT_DONE: Final[Mapping[str, str]] = {
    "routing": "passes no data on between those who are connected to it",
    "finals": "does not finish a query that nobody serves",
    "interests": "does not answer an interest",
}
"""Capability that every node is assumed to have, to the text that reports its absence."""


class SessionEnd(Enum):
    """How the harness ends a link, as a target that is an initiator sees it."""

    CLOSE = "CLOSE of the session"
    FIN = "FIN of the session"
    RST = "RST of the session"
    REFUSED = "CLOSE for its InitSyn"
    DROPPED = "FIN for its InitSyn"
    SILENCE = "no answer to its InitSyn"


OURS: Final = (SessionEnd.FIN, SessionEnd.CLOSE, SessionEnd.RST)
"""The ways in which the harness may end a session, the preferred one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """How a target that is an initiator reconnected after one kind of end."""

    after: float | None
    """Seconds until the next link; None if it did not connect within `waited` seconds."""
    waited: float = 0.0
    """Seconds of waiting, if it did not connect."""
    ended: str = ""
    """How its program ended, after which it was started again; empty if the program continued."""

    def __str__(self) -> str:
        when = f"{self.after * 1000:.0f} ms" if self.after is not None else f"not within {self.waited:.0f} s"
        return f"its program ends ({self.ended}), started again after {when}" if self.ended else when


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetHabits:
    """The measured behaviour of a node in ordinary exchanges."""

    answer: float = 0.0
    """The longest time, in seconds, that the node took to answer in a handshake."""
    start: float = 0.0
    """Seconds from its start to its first handshake."""
    fencing: Fencing = BY_QUERY
    returns: Mapping[SessionEnd, Return] = field(default_factory=dict)
    """For an initiator: how it reconnects, by the way in which the harness ended the link before."""
    again: bool = False
    """Whether its program can be started again while the harness continues to listen."""
    half_open: int | None = None
    """The most half-open handshakes that it answers at a time; None if it answered all that were tried."""
    sessions: int | None = None
    """The most sessions that it holds at a time; None if it held all that were tried."""
    turns_away: bool = False
    """Whether it immediately ends a link that is opened while `half_open` handshakes are half open."""
    batch: int | None = None
    """The batch size that it negotiates; None for the default."""
    forwards: bool | None = None
    """Whether it forwards a publication to another session; None if that was not looked at."""
    message: int | None = None
    """The largest value, in bytes, that it forwarded or told its application; None if it did so with all that were tried, or none."""
    leaves: bool = False
    """Whether it ends a sane session by itself."""
    offers: tuple[Any, ...] = OFFERS
    """The extensions that our InitSyn must offer to get a decodable answer."""
    lacks: frozenset[str] = frozenset()
    """Capabilities that every node is assumed to have and this one lacks (`routing`, `finals`, ..)."""
    brief: bool = False
    """Whether its program serves one link or session and then ends with exit code 0."""
    dies: SessionEnd | None = None
    """The ordinary end of a session after which its program crashed; None if it survived all."""
    version: int | None = None
    """The protocol version with which it opens sessions; None if it is ours."""
    waits: Waits = field(default_factory=dict)
    """Seconds that it waits for our next message of a handshake, by what it has said last, as far as that was measured."""
    states: str = ""
    """What its first InitAck states that is not expected of it, as `version 0, role client`; empty if nothing."""

    @property
    def unit(self) -> float:
        """Seconds within which it answers, scaled, and longer while the machine is overloaded."""
        return stretched(max(UNIT, ANSWERS * self.answer))

    @property
    def brief_unit(self) -> float:
        """The same for a check that judges nothing, because what it rests on did not pass."""
        return stretched(max(BRIEF_UNIT, ANSWERS * self.answer))

    @property
    def longest(self) -> float:
        """The longest time, in seconds, that it took to reconnect."""
        return max((one.after for one in self.returns.values() if one.after is not None), default=0.0)

    @property
    def patience(self) -> float:
        """Seconds to wait until it connects, scaled, and longer while the machine is overloaded."""
        return stretched(max(CONNECT, TIMES * self.longest, TIMES * self.start))

    @property
    def stall(self) -> float:
        """Seconds without progress until it counts as hanging, scaled, and longer while the machine is overloaded."""
        return stretched(max(STALL, TIMES * self.longest, ANSWERS * self.answer))

    @property
    def linger(self) -> float:
        """Seconds after which a restart is quicker than waiting until it reconnects; infinite if it reconnects soon."""
        if not self.again or all(one.after is not None and one.after <= self.worth for one in self.returns.values()):
            return inf
        quick = [one.after for one in self.returns.values() if one.after is not None and one.after <= self.worth]
        return max(quick, default=0.0) * TIMES

    @property
    def worth(self) -> float:
        """Seconds that it may take to reconnect; an initiator that takes longer is restarted."""
        return WORTH * max(self.start, QUICKEST_START)

    @property
    def way(self) -> SessionEnd:
        """The way to end sessions after which it reconnects soonest."""
        seen = {end: took for end in OURS if end in self.returns and (took := self.returns[end].after) is not None}
        return min(seen, key=lambda end: round(seen[end], 1), default=SessionEnd.FIN)

    def prepare(self, us: Dialogue) -> Dialogue:
        """Set the fence and the offered extensions of a dialogue to those that the target needs; return the dialogue."""
        us.fencing, us.offers = self.fencing, self.offers
        return us

    @property
    def impatient(self) -> bool:
        """Whether it gives a handshake up before a busy machine may have answered."""
        return is_impatient(self.waits)

    @property
    def waits_at_least(self) -> float | None:
        """Seconds for which it was seen to wait for a message of the handshake; None if it was not studied."""
        return min(self.waits.values(), default=LONG_ENOUGH) if self.answer else None

    @property
    def stale_after(self) -> float:
        """Seconds for which a link of an initiator may have waited for us and is still worth an answer; infinite if not known."""
        return SHARE * min(self.waits.values(), default=inf)

    @property
    def few(self) -> bool:
        """Whether cases in parallel would disturb each other: its limits are small, or it does not wait for our turn."""
        return self.impatient or any(limit is not None and limit < ENOUGH for limit in (self.half_open, self.sessions))

    @property
    def crowded(self) -> bool:
        """Whether it holds so few sessions that a case must wait until the sessions of the previous case are gone."""
        return self.sessions is not None and self.sessions < OF_ONE_CASE

    @property
    def narrow(self) -> bool:
        """Whether a new link must wait until earlier handshakes are gone: it answers few at a time and ends other links."""
        return self.turns_away and self.half_open is not None and self.half_open < OF_ONE_CASE

    def expected(self, cases: int, instances: int) -> float:
        """Return the estimated seconds that this number of cases takes on this number of instances of the target."""
        back = self.returns.get(self.way)
        after = back.after if back is not None else None
        link = min(after or self.worth, self.linger + self.start) if self.returns else 0.0
        return cases * (SESSIONS * 2 * self.answer + link + self.cost) / max(1, instances)

    @property
    def cost(self) -> float:
        """The estimated seconds that a case takes besides handshakes and reconnections."""
        return 0.02 + (3 * self.fencing.quiet if self.fencing.how in QUIET_ONES else 0.0)

    def lines(self) -> list[str]:
        """Return one line of text for each habit that differs from the usual one."""
        lines = []
        if self.answer > 0.1:
            lines.append(f"answers a handshake within {self.answer:.1f} s")
        if self.impatient:
            lines.append(f"waits {min(self.waits.values()) * 1000:.0f} ms for a message of the handshake")
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
            does = "passes on" if self.forwards else "tells its application"
            lines.append(f"{does} values of {self.message} bytes, and not much larger ones")
        odd = {end: back for end, back in self.returns.items() if back.ended or back.after is None or back.after > 0.5}
        lines += [f"after {end.value}: {back}" for end, back in odd.items()]
        if self.linger < inf:
            lines.append("is started again where that is quicker than waiting")
        if odd and self.way is not SessionEnd.FIN:
            lines.append(f"our sessions end by {self.way.value}")
        return lines


UNKNOWN: Final = TargetHabits()
"""The habits of a node that was not measured."""


def habits_of(node: object) -> TargetHabits:
    """Return the habits of a node; `UNKNOWN` for one that was not measured."""
    found = getattr(node, "habits", UNKNOWN)
    return found if isinstance(found, TargetHabits) else UNKNOWN
