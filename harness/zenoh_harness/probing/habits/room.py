"""How many a node that listens serves at once: handshakes half open, and sessions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, Final

from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation
from zenoh_conformance.kinds import InitAck, OpenAck
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

TIMES: Final = 10
"""How many times its slowest answer each of them may take."""

_ZIDS = itertools.count(1)


def room(node: NodeInstance, answer: float, offers: Sequence[Any]) -> tuple[int | None, int | None]:
    """Half-open handshakes and sessions that it serves at once; None where all that were tried went."""
    if node.profile.credentials is not None or node.profile.sessions is not None:
        return None, node.profile.sessions
    within = max(scaled(LEAST), TIMES * answer)
    links = _links(node, offers)
    try:
        acks = _answered(links, within)
        half_open = len(acks)
        for us, ack in acks:
            us.send(us.open_syn(ack))
        live = [us for us, _ in acks if _heard(us, OpenAck, within)]
        sessions = len(live) if len(live) < half_open or half_open == len(links) else None
    finally:
        for us in links:
            us.leave()
    return _limit(half_open, len(links)), _limit(sessions, len(links))


def _limit(count: int | None, tried: int) -> int | None:
    """The count, where it is a limit; at least one, since one session was served before."""
    return None if count is None or count >= tried else max(1, count)


def _links(node: NodeInstance, offers: Sequence[Any]) -> list[Dialogue]:
    found: list[Dialogue] = []
    for _ in range(TRIED):
        zid = b"\x72\x6f" + next(_ZIDS).to_bytes(5, "big") + b"\x7a"
        try:
            wire = Recorder().wire(node, "room", Deadline.after(1))
        except CannotConnect:
            break
        us = Dialogue(wire, zid=zid, unit=1.0, requirement="target/habits")
        us.send(us.init_syn(exts=exts(*offers)))
        found.append(us)
    return found


def _answered(links: list[Dialogue], within: float) -> list[tuple[Dialogue, Init]]:
    """Who was answered while all of them waited; after the time is over nobody is waited for any more."""
    found = []
    until = time.monotonic() + within
    for us in links:
        ack = _heard(us, InitAck, max(0.0, until - time.monotonic()))
        if isinstance(ack, Init):
            found.append((us, ack))
            until = max(until, time.monotonic() + within / 4)
    return found


def _heard(us: Dialogue, what: object, within: float) -> object | None:
    try:
        return us.expect(what, within=within)  # type: ignore[arg-type]
    except Deviation:
        return None
