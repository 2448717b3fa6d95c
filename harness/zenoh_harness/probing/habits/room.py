"""How many a node that listens serves at once: handshakes half open, and sessions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation
from zenoh_conformance.kinds import InitAck, Kind, M, OpenAck
from zenoh_conformance.messages import Init
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.links.wires import Recorder
from zenoh_harness.targets.target import NodeInstance

TRIED: Final = 48
"""How many are tried: as many as a run has under way, about."""

LEAST: Final = 0.25
"""Seconds that all of them are waited for at least, before scaling."""

LONGEST: Final = 3.0
"""Seconds that are spent on opening sessions one by one, before scaling."""

TIMES: Final = 10
"""How many times its slowest answer each of them may take."""

_ZIDS = itertools.count(1)


class Room(NamedTuple):
    """How many a node serves at once; None where all that were tried went."""

    half_open: int | None
    """Handshakes that are half open."""
    sessions: int | None
    turns_away: bool = False
    """Whether it ends a link at once for which it has no room, and does not let it wait."""


def room(node: NodeInstance, answer: float, offers: Sequence[Any]) -> Room:
    """Half-open handshakes and sessions that it serves at once, and what becomes of a link beyond them."""
    if node.profile.credentials is not None or node.profile.sessions is not None:
        return Room(None, node.profile.sessions)
    within = max(scaled(LEAST), TIMES * answer)
    links = [us for us in (_link(node) for _ in range(TRIED)) if us is not None]
    try:
        for us in links:
            us.send(us.init_syn(exts=exts(*offers)))
        acks = _answered(links, within)
        for us, ack in acks if len(acks) == len(links) else ():
            us.send(us.open_syn(ack))
        live = [us for us, _ in acks if len(acks) == len(links) and _heard(us, OpenAck, within) is not None]
        turned_away = any(us.is_over and us.theirs is None and us.closed is None for us in links)
    finally:
        _leave(links)
    if len(acks) == len(links):
        return Room(None, _limit(len(live), len(links)))
    return Room(max(1, len(acks)), _one_by_one(node, within, offers), turned_away)


def _one_by_one(node: NodeInstance, within: float, offers: Sequence[Any]) -> int | None:
    """Sessions that it holds, opened one after the other; None where it held all that there was time for."""
    links: list[Dialogue] = []
    until = time.monotonic() + max(scaled(LONGEST), within)
    try:
        while len(links) < TRIED and time.monotonic() < until and (us := _link(node)) is not None:
            links.append(us)
            us.send(us.init_syn(exts=exts(*offers)))
            ack = _heard(us, InitAck, within)
            if isinstance(ack, Init):
                us.send(us.open_syn(ack))
            if not isinstance(ack, Init) or _heard(us, OpenAck, within) is None:
                return max(1, len(links) - 1)
    finally:
        _leave(links)
    return None


def _leave(links: Sequence[Dialogue]) -> None:
    for us in links:
        us.leave()


def _limit(count: int, tried: int) -> int | None:
    """The count, where it is a limit; at least one, since one session was served before."""
    return None if count >= tried else max(1, count)


def _link(node: NodeInstance) -> Dialogue | None:
    zid = b"\x72\x6f" + next(_ZIDS).to_bytes(5, "big") + b"\x7a"
    try:
        wire = Recorder().wire(node, "room", Deadline.after(1))
    except CannotConnect:
        return None
    return Dialogue(wire, zid=zid, unit=1.0, requirement="target/habits")


def _answered(links: list[Dialogue], within: float) -> list[tuple[Dialogue, Init]]:
    """Who was answered, and is not given up, while all of them wait; once the time is over nobody is waited for any more."""
    found = []
    until = time.monotonic() + within
    for us in links:
        ack = _heard(us, InitAck, max(0.0, until - time.monotonic()))
        if isinstance(ack, Init):
            found.append((us, ack))
            until = max(until, time.monotonic() + within / 4)
    return [(us, ack) for us, ack in found if _still_up(us)]


def _still_up(us: Dialogue) -> bool:
    """Whether the node has not given it up meanwhile, to look at the next one."""
    us.next(0)
    return not us.is_over


def _heard(us: Dialogue, what: Kind[M], within: float) -> M | None:
    try:
        return us.expect(what, within=within)
    except Deviation:
        return None
