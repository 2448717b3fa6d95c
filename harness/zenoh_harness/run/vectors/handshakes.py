"""Golden vectors in a handshake, and CLOSE: what a responder answers to an InitSyn, an OpenSyn, and the end of a session.

An InitSyn is the first message of a link, and its session must be opened. An OpenSyn follows a sane InitSyn with the
cookie of the InitAck in place of its own. Where a node may decline what a vector asks for, its refusal is judged by nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.laws.decoding import WhatIsSaidDecodes
from zenoh_conformance.messages import Close, Init, Join, Open
from zenoh_conformance.messages.init import Compression, LowLatency, Patch, QoS
from zenoh_conformance.reading.kinds import InitAck, reason_name
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Unknown, vle
from zenoh_harness.errors import CannotConnect
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.effects import (
    NOT_REFUSED,
    SILENCE,
    SURVIVOR,
    answer_for_acceptance,
    answer_for_end,
    answer_for_fault,
    answer_for_reading,
    not_played,
    sets_reserved_bits,
)
from zenoh_harness.run.vectors.standing import MOST_SN, VectorInSession

SMALL: Final = 2048
"""Batches of fewer bytes a node may find too small. Of larger messages it makes FRAGMENTs for a session that states this size."""

FEWEST: Final = 4
"""Bytes of a ZenohID below which a drawn one may be that of another session."""

LONGEST: Final = 2**35
"""Milliseconds of the longest lease that is said, a little more than a year."""

LONG: Final = 2**31
"""Milliseconds of a lease from which on a reader of fewer bits takes it for another one."""

SHORT: Final = 2.0
"""Seconds of a lease that may be over before a session was looked at."""

UNREAD: Final = "undecodable bytes"
"""The end of a handshake in which the node answered, and with no message: it accepted what it was told."""

NEGOTIATED: Final = (QoS, LowLatency, Compression, Patch, Unknown)
"""Extensions of an InitSyn that a node accepts or leaves out of its InitAck."""


def answer_from_responder(us: Dialogue, one: VectorInSession) -> VectorAnswer:
    """Return the answer of a responder on a fresh link."""
    message = one.messages[0] if one.messages else None
    try:
        if one.kind == "Init" and message is not None and is_small(message):
            return not_played("its batch size is one that a node may refuse, which judges nothing")
        if one.kind == "Init":
            us.send(one.vector.data if message is None else with_zid(one, us.zid))
            return _after_init(us, one, message)
        ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
        if message is not None and (why := keep_terms(us, message)):
            return not_played(why)
        us.send(with_cookie(one, ack.cookie or b""))
        return _after_open(us, one, message)
    except Deviation as deviation:
        return answer_for_fault(one.vector, str(deviation)) if message is not None else NOT_REFUSED


def _after_init(us: Dialogue, one: VectorInSession, init: Init | None) -> VectorAnswer:
    ack, end = next_step(us, Init)
    if end == UNREAD:
        return not_played(f"its answer is no message, which {WhatIsSaidDecodes.id} judges")
    if init is None:
        return answer_for_acceptance(one.vector) if ack is not None else answer_for_end(one, end, us.closed)
    if ack is None:
        return SURVIVOR if may_decline(one, init) else answer_for_end(one, end, us.closed)
    if fault := beyond(init, ack):
        return answer_for_fault(one.vector, fault)
    us.send(us.open_syn(ack))
    opened, end = next_step(us, Open)
    if opened is None:
        return SURVIVOR if may_decline(one, init) else answer_for_end(one, f"after OpenSyn: {end}", us.closed)
    return works(us, one, may_end=may_decline(one, init))


def keep_terms(us: Dialogue, open_: Open) -> str:
    """Begin as an OPEN of a vector states; return why we cannot, empty if we can."""
    if open_.initial_sn > min(MOST_SN, us.sn_mask):
        return "its sequence number is beyond the resolution"
    if milliseconds(open_) > LONGEST:
        return "its lease is longer than a year, which nobody can see a node keep"
    us.initial_sn = open_.initial_sn
    return ""


def milliseconds(stated: Open | Join) -> int:
    """The lease that an OPEN or a JOIN states."""
    return stated.lease * (1000 if stated.lease_in_seconds else 1)


def is_unusual(us: Dialogue, open_: Open) -> bool:
    """Whether a node may end a session that an OPEN of a vector opens."""
    return any(not isinstance(ext, Unknown) for ext in open_.exts) or us.lease < SHORT


def _after_open(us: Dialogue, one: VectorInSession, open_: Open | None) -> VectorAnswer:
    ack, end = next_step(us, Open)
    if open_ is None:
        return answer_for_acceptance(one.vector) if ack is not None else answer_for_end(one, end, us.closed)
    unusual = is_unusual(us, open_)
    if ack is None:
        return SURVIVOR if unusual else answer_for_end(one, end, us.closed)
    if milliseconds(open_) >= LONG:
        us.listen(us.unit / 2)
    return works(us, one, may_end=unusual)


def works(us: Dialogue, one: VectorInSession, *, may_end: bool) -> VectorAnswer:
    """Return the answer of a node whose session has been opened: it works, or may end.

    Of a session that answers only when it is asked again a query was lost, which nothing in its handshake explains.
    """
    if not us.answers_a_fence():
        if may_end or (not us.is_over and us.answers_a_fence()):
            return SURVIVOR
        end = f"Close({reason_name(us.closed)})" if us.closed is not None else us.text_of(None)
        return answer_for_end(one, f"after OpenAck: {end}", us.closed)
    us.leave()
    us.listen(us.unit / 4)
    return answer_for_reading(one.vector)


def holds_sessions(scenes: Callable[[], AbstractContextManager[Scene]], *names: str, ids: int = 1) -> bool:
    """Whether a node serves sessions of ours side by side: one may serve one link at a time, which no second session looks at.

    `ids`: where the ids that we use begin.
    """
    with scenes() as scene, suppress(Deviation, CannotConnect):
        for name in names:
            us = scene.session(name)
            us.count_ids_from(ids)
            us.fence()
        return True
    return False


def next_step(us: Dialogue, kind: type[Any], *, ack: bool = True) -> tuple[Any, str]:
    """Return the node's next step of the handshake, or None and how the link ended."""
    for seen in us.stream():
        if isinstance(seen.message, kind) and seen.message.ack == ack:
            return seen.message, ""
        if isinstance(seen.message, Close):
            return None, f"Close({reason_name(seen.message.reason)})"
        if seen.kind == "undecodable":
            return None, UNREAD
    return None, us.text_of(None) if us.ended is not None else SILENCE


def may_decline(one: VectorInSession, init: Init) -> bool:
    """Whether a node may refuse a well-formed InitSyn: another version, a bit that no sender may set, what only some nodes do."""
    is_odd = init.version != 9 or sets_reserved_bits(one.vector)
    return is_odd or any(not isinstance(ext, NEGOTIATED) for ext in init.exts)


def is_small(init: Init) -> bool:
    """Whether the batch size of an InitSyn is one that a node may find too small."""
    return init.batch_size is not None and init.batch_size < SMALL


def beyond(init: Init, ack: Init) -> str:
    """Return which term of an InitAck is beyond that of the InitSyn; empty if none."""
    for name in ("batch_size", "resolution"):
        asked, got = getattr(init, name), getattr(ack, name)
        if name == "resolution" and asked is not None and got is not None:
            if any(got >> at & 3 > asked >> at & 3 for at in (0, 2)):
                return f"init.resolution: expected at most {int(asked):#04x}, found {int(got):#04x}"
        elif asked is not None and got is not None and got > asked:
            return f"init.batch_size: expected at most {asked}, found {got}"
    for cls in (QoS, LowLatency, Compression):
        if ack.exts.get(cls) is not None and init.exts.get(cls) is None:
            return f"init.exts: {cls.__name__} was not offered"
    return ""


def with_cookie(one: VectorInSession, cookie: bytes) -> bytes:
    """The bytes of an OpenSyn with another cookie, where its own is whole."""
    paths = [segment.path for segment in one.vector.segments]
    if "open.cookie.length" not in paths or "open.cookie.bytes" not in paths:
        return one.vector.data
    own = {segment.path: segment.data for segment in one.vector.segments}
    stated, has = vle.decode(own["open.cookie.length"], 0)[0], len(own["open.cookie.bytes"])
    if stated < has:
        return one.vector.data
    # A length that lies still does: a node that takes what there is must not refuse it for another cookie.
    given = {"open.cookie.length": vle.encode(len(cookie) + stated - has), "open.cookie.bytes": cookie}
    return b"".join(given.get(segment.path, segment.data) for segment in one.vector.segments)


def with_zid(one: VectorInSession, zid: bytes) -> bytes:
    """The bytes of an InitSyn with a ZenohID of the same length that no other session has: its own may be that of the vector before."""

    def fresh(length: int) -> bytes:
        return (zid * 2)[:length]

    parts = ((segment.path, segment.data) for segment in one.vector.segments)
    return b"".join(fresh(len(data)) if path == "init.zid" and len(data) >= FEWEST else data for path, data in parts)


def answer_to_close(us: Dialogue, one: VectorInSession) -> VectorAnswer:
    """Return the answer of a node in a live session to a CLOSE: its link ends, which datagrams do not show."""
    us.send(one.vector.data)
    if us.shows_no_end:
        return SURVIVOR
    for _ in us.stream():
        pass
    return (
        answer_for_reading(one.vector) if us.ended is not None else answer_for_fault(one.vector, "the link stays open")
    )
