"""Golden vectors in the handshake of a node that connects: what it says after an InitAck, and whether it works after an OpenAck.

The node begins with its own InitSyn. An InitAck must be followed by an OpenSyn with its cookie; after an OpenAck the session must
work. Where a node may decline the terms of a vector, its refusal is judged by nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Init, Open, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitSyn, OpenSyn
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.talking.fences import QUIET_ONES, Fence
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.effects import (
    NOT_REFUSED,
    SILENCE,
    SURVIVOR,
    answer_for_acceptance,
    answer_for_end,
    answer_for_fault,
    not_played,
)
from zenoh_harness.run.vectors.handshakes import (
    UNREAD,
    answer_from_responder,
    beyond,
    is_small,
    is_unusual,
    keep_terms,
    may_decline,
    next_step,
    with_zid,
    works,
)
from zenoh_harness.run.vectors.standing import VectorInSession


def answer_from_initiator(us: Dialogue, one: VectorInSession) -> VectorAnswer:
    """Return the answer of an initiator on a fresh link."""
    message = one.messages[0] if one.messages else None
    if one.kind == "Init" and message is not None and is_small(message):
        return not_played("its batch size is one that a node may refuse, which judges nothing")
    try:
        syn = us.expect(InitSyn, step="not reached: init")
        if one.kind == "Init":
            us.send(one.vector.data if message is None else with_zid(one, us.zid))
            return _after_init(us, one, syn, message)
        us.ask(us.init_ack(syn), expect=OpenSyn, step="not reached: open")
    except Deviation as deviation:
        return not_played(str(deviation))
    if message is not None and (why := keep_terms(us, message)):
        return not_played(why)
    us.send(one.vector.data)
    return works(us, one, may_end=is_unusual(us, message)) if message is not None else _after_refused(us, one)


def _after_init(us: Dialogue, one: VectorInSession, syn: Init, ack: Init | None) -> VectorAnswer:
    opened, end = next_step(us, Open, ack=False)
    if end == UNREAD:
        return not_played("its answer is no message")
    if ack is None:
        return answer_for_acceptance(one.vector) if opened is not None else answer_for_end(one, end, us.closed)
    may_end = may_decline(one, ack) or bool(beyond(syn, ack)) or ack.whatami != sane.ROUTER
    if opened is None:
        return SURVIVOR if may_end else answer_for_end(one, end, us.closed)
    if opened.cookie != (ack.cookie or b""):
        return answer_for_fault(one.vector, f"open.cookie: expected {ack.cookie!r:.80}, found {opened.cookie!r:.80}")
    us.send(us.open_ack())
    return works(us, one, may_end=may_end)


def _after_refused(us: Dialogue, one: VectorInSession) -> VectorAnswer:
    """Look whether the session works after an OpenAck that is none; a node that only stays silent may wait for the right one."""
    try:
        us.fence()
    except Deviation:
        end = us.text_of(None) if us.is_over else SILENCE
        return answer_for_end(one, end, us.closed)
    is_shown = us.fencing.how not in QUIET_ONES | {Fence.NOTHING}
    return answer_for_acceptance(one.vector) if is_shown else NOT_REFUSED


ANSWERS_IN_HANDSHAKE: Final[Mapping[Side, Callable[[Dialogue, VectorInSession], VectorAnswer]]] = {
    Side.RESPONDER: answer_from_responder,
    Side.INITIATOR: answer_from_initiator,
}
"""How a vector is played in the handshake of a node of that side."""
