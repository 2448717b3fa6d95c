"""Find the protocol version of a node that opens no session at ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenAck, OpenSyn
from zenoh_conformance.talking import Dialogue
from zenoh_harness.links.timing import Deadline

OTHERS: Final = (8, 10, 7, 11, 6, 12, 5)
"""Versions to try, the likeliest first."""

PATIENCE: Final = 15.0
"""Seconds after which no further version is tried."""


def other_version(side: Side, visit: Callable[[], Dialogue | None]) -> int | None:
    """Return the version at which it opens a session; None if it opens none or cannot be reached."""
    tries = _toward_responder if side is Side.RESPONDER else _toward_initiator
    us = visit()
    if us is None:
        return None
    first: Dialogue | None = us
    deadline = Deadline.after(PATIENCE)
    for version in OTHERS if side is Side.RESPONDER else (0,):
        us = first or (None if deadline.passed else visit())
        first = None
        if us is None:
            return None
        try:
            return tries(us, version)
        except Deviation:
            continue
        finally:
            us.hang_up()
    return None


def _toward_responder(us: Dialogue, version: int) -> int:
    ack = us.ask(us.init_syn(version=version), expect=InitAck)
    us.ask(us.open_syn(ack), expect=OpenAck)
    return version


def _toward_initiator(us: Dialogue, _version: int) -> int | None:
    """An initiator states its version itself; it refused ours already."""
    syn = us.expect(InitSyn)
    if syn.version == sane.VERSION:
        return None
    us.ask(us.init_ack(syn, version=syn.version), expect=OpenSyn)
    return int(syn.version)
