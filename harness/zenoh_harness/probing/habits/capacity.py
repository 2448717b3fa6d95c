"""Measure how many half-open handshakes and sessions a responder serves at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Init
from zenoh_conformance.reading.kinds import InitAck, M, MessageKind, OpenAck
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.talking.budget import FEW, ReadBudget
from zenoh_conformance.wire import exts
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.timing import Deadline, strain, stretched
from zenoh_harness.links.wires import Recorder
from zenoh_harness.targets.habits import CONNECT, UNIT
from zenoh_harness.targets.target import NodeInstance

TRIED: Final = 48
"""Links that are tried: about as many as a run has open at once."""

LEAST: Final = 0.25
"""Seconds that all of them are given at least, before scaling."""

LONGEST: Final = 3.0
"""Seconds spent on opening sessions one by one, before scaling."""

TIMES: Final = 10
"""Each link may take this many times the slowest answer of the node."""

AGAIN: Final = 2
"""How often at most a node that seems to have a limit is tried again: a busy machine, or a short patience, looks like one."""

REQUIREMENT: Final = "target/habits"
_ZIDS = itertools.count(1)


class Capacity(NamedTuple):
    """How many links a node serves at once; None if it served all that were tried."""

    half_open: int | None
    """Number of half-open handshakes."""
    sessions: int | None
    turns_away: bool = False
    """Whether it ends a link that exceeds its capacity at once, instead of letting it wait."""


NOTHING_SHOWN: Final = Capacity(0, None)
"""What was measured of a node of which no link was to be had."""

HASTY: Final = 6
"""Links that are tried with a node that does not wait for long: as many as checks with several of them need."""


def measure_capacity(node: NodeInstance, answer: float, offers: Sequence[Any], impatient: bool = False) -> Capacity:
    """Measure how many half-open handshakes and sessions it serves at once, and how it treats further links.

    A limit is believed where two measurements in a row show the same one; of different ones the largest counts. An `impatient` node is
    tried with few, and each time: it may have given them up meanwhile. One that accepts no link any more shows no second time.
    """
    tried = HASTY if impatient else TRIED
    found = _capacity(node, answer, offers, tried)
    for _ in range(AGAIN):
        if found.half_open is None and found.sessions is None:
            break
        again = _capacity(node, answer, offers, tried)
        if again == NOTHING_SHOWN or (not impatient and again == found):
            break
        found = larger(found, again)
    if found == NOTHING_SHOWN:
        return Capacity(None, None)
    return found._replace(turns_away=found.turns_away and not impatient)


def larger(one: Capacity, other: Capacity) -> Capacity:
    """What a node served in the better of two measurements; it turns links away only where it did so in both."""
    half_open = None if None in (one.half_open, other.half_open) else max(one.half_open or 0, other.half_open or 0)
    sessions = None if None in (one.sessions, other.sessions) else max(one.sessions or 0, other.sessions or 0)
    return Capacity(half_open, sessions, half_open is not None and one.turns_away and other.turns_away)


def _capacity(node: NodeInstance, answer: float, offers: Sequence[Any], tried: int) -> Capacity:
    if node.profile.credentials is not None or node.profile.sessions is not None:
        return Capacity(None, node.profile.sessions)
    within = max(stretched(LEAST), TIMES * answer)
    links = [us for us in (open_link(node, 1.0, 1.0) for _ in range(tried)) if us is not None]
    if not links:
        return NOTHING_SHOWN
    try:
        for us in links:
            us.budget = ReadBudget(FEW)
            us.send(us.init_syn(exts=exts(*offers)))
        acks = _links_with_ack(links, within)
        for us, ack in acks if len(acks) == len(links) else ():
            us.send(us.open_syn(ack))
        live = [us for us, _ in acks if len(acks) == len(links) and _expect_or_none(us, OpenAck, within) is not None]
        served = live or [us for us, _ in acks]
        turned_away = any(us.is_over and us.theirs is None and us.closed is None for us in links)
    finally:
        _leave(links)
    if _sends_without_end(links) or is_scattered([links.index(us) for us in served]):
        return Capacity(None, None)
    if len(acks) == len(links):
        return Capacity(None, _limit(len(live), len(links)))
    return Capacity(max(1, len(acks)), _one_by_one(node, within, offers, tried), turned_away)


def _one_by_one(node: NodeInstance, within: float, offers: Sequence[Any], tried: int) -> int | None:
    """Count the sessions that it holds, opened one after the other; None if the time ran out before the limit."""
    links: list[Dialogue] = []
    until = time.monotonic() + max(stretched(LONGEST), within)
    try:
        while len(links) < tried and time.monotonic() < until and (us := open_link(node, 1.0, 1.0)) is not None:
            links.append(us)
            us.budget = ReadBudget(FEW)
            us.send(us.init_syn(exts=exts(*offers)))
            ack = _expect_or_none(us, InitAck, within)
            if isinstance(ack, Init):
                us.send(us.open_syn(ack))
            if not isinstance(ack, Init) or _expect_or_none(us, OpenAck, within) is None:
                return None if _sends_without_end(links) else max(1, len(links) - 1)
    finally:
        _leave(links)
    return None


def _sends_without_end(links: Sequence[Dialogue]) -> bool:
    """Whether the node sent more than we read: what it would have answered is not known, and is no limit."""
    return any(us.budget.spent is not None for us in links)


def _leave(links: Sequence[Dialogue]) -> None:
    for us in links:
        us.leave()


SCATTERED: Final = 8
"""The fewest links of which their order tells whether a limit chose them."""


def is_scattered(served: Sequence[int]) -> bool:
    """Whether many links between those that were served were not, by their numbers in order.

    A limit serves the first ones or the last ones. What fails in every other session, since it misreads a number that each draws,
    is a fault and no limit.
    """
    return len(served) >= SCATTERED and served[-1] - served[0] + 1 - len(served) > len(served) / 2


def _limit(count: int, tried: int) -> int | None:
    """Return the count if it is a limit; at least one, since the node served a session before."""
    return None if count >= tried else max(1, count)


def open_link(node: NodeInstance, within: float = CONNECT, unit: float | None = None) -> Dialogue | None:
    """Open a link; None if the node cannot be reached."""
    zid = b"\x68\x61" + next(_ZIDS).to_bytes(5, "big") + b"\x7a"
    try:
        wire = Recorder().wire(node, "habits", Deadline.after(strain() * within))
    except CannotConnect:
        return None
    return Dialogue(wire, zid=zid, unit=unit or stretched(max(UNIT, CONNECT)), requirement=REQUIREMENT)


def _links_with_ack(links: list[Dialogue], within: float) -> list[tuple[Dialogue, Init]]:
    """Return the links that were answered and are still up while all of them wait; after the deadline no link is waited for."""
    acks = []
    until = time.monotonic() + within
    for us in links:
        ack = _expect_or_none(us, InitAck, max(0.0, until - time.monotonic()))
        if isinstance(ack, Init):
            acks.append((us, ack))
            until = max(until, time.monotonic() + within / 4)
    return [(us, ack) for us, ack in acks if _still_up(us)]


def _still_up(us: Dialogue) -> bool:
    """Whether the node keeps the link, instead of dropping it for the next one."""
    us.next(0)
    return not us.is_over


def _expect_or_none(us: Dialogue, kind: MessageKind[M], within: float) -> M | None:
    try:
        return us.expect(kind, within=within)
    except Deviation:
        return None
