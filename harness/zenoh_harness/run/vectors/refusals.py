"""What shows that a router has taken a message that it must refuse: its effect on a session, or that of what stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DQueryable,
    DToken,
    Err,
    Fragment,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Query,
    Request,
    Response,
    ResponseFinal,
)
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Fence
from zenoh_conformance.talking.fences import QUIET_ONES
from zenoh_conformance.wire import registry, vle
from zenoh_harness.run.vectors.carriers import standing_before
from zenoh_harness.run.vectors.exchanges import Exchange, Hearing, ask_through
from zenoh_harness.run.vectors.keys_in_messages import BAD_KEY
from zenoh_harness.run.vectors.passed_on import COMPLETE, OUR_IDS, SHORT_IDS, Sessions
from zenoh_harness.run.vectors.standing import VectorInSession
from zenoh_harness.run.vectors.whole_batches import messages_of

KEY: Final = "a"
"""The key of the messages that vectors are made of."""

SUFFIX: Final = ".suffix.bytes"
"""The end of the path of a key's suffix."""

IDS: Final = {
    layer: frozenset(registry.of(cls).id for cls in registry.kinds(layer).values())
    for layer in (Layer.TRANSPORT, Layer.NETWORK)
}
"""The ids of messages in the two layers of a session; behind a network message, one of a transport message may follow."""

CONTINUED: Final = 0x80
"""The bit of a byte of an integer behind which more follow."""

ENDLESS: Final = ("unknown-id", "wrong-body", "bad-enc")
"""Refusals of bytes that do not tell how long they are."""

Changes = dict[str, bytes]

Effect = Callable[[], str]
"""Return the effect that a vector had, empty if none is seen."""


def watch_for_effect(sessions: Sessions, one: VectorInSession) -> tuple[bytes, Effect]:
    """Prepare the sessions for a vector that must be refused; return its bytes there, and what looks for its effect."""
    watch = watch_of(one)
    if sessions.reader is None:
        return one.vector.data, partial(_own_answer, sessions.writer, one)
    if watch is None:
        return one.vector.data, lambda: ""
    far, near = sessions.reader, sessions.writer
    changes, effect = watch(near, far)
    if one.vector.refuses is not None and one.vector.refuses.why == BAD_KEY:
        effect = partial(_bad_key, far)
    before = len(far.heard)

    def any_effect() -> str:
        with suppress(Deviation):  # of a session that does not work nothing is seen
            far.fence()
            if any(seen.kind == "undecodable" for seen in far.heard[before:]):
                return "bytes that are no message are passed on"
            return effect()
        return ""

    return _bytes_with(one, _without_scopes(one) | changes), any_effect


def _without_scopes(one: VectorInSession) -> Changes:
    """The numbers before suffixes as 0: a node may drop a message for a number that nobody declared."""
    keys = (each.path.removesuffix(SUFFIX) for each in one.vector.segments if each.path.endswith(SUFFIX))
    refused = one.vector.refuses.path if one.vector.refuses else ""
    return {f"{key}.scope": b"\0" for key in keys if f"{key}.scope" != refused}


def _bytes_with(one: VectorInSession, changes: Mapping[str, bytes]) -> bytes:
    """The bytes of a vector, in which these segments are others."""
    return b"".join(changes.get(segment.path, segment.data) for segment in one.vector.segments)


def _bad_key(far: Dialogue) -> str:
    """A node that drops a publication to no canonical key expression, or makes its key canonical, sends none itself."""
    came = (key for _, key in Hearing(far).all(Push) if key is not None)
    return "a key that is no canonical key expression is passed on" if not all(map(keyexpr.is_canonical, came)) else ""


def _publication(near: Dialogue, far: Dialogue) -> tuple[Changes, Effect]:
    before = len(far.heard)
    return {}, lambda: "it is passed on" if _messages_to(far, Push, before) else ""


def _query(near: Dialogue, far: Dialogue) -> tuple[Changes, Effect]:
    far.declare(DQueryable(id=far.new_id(), key=plain("*"), exts=COMPLETE))
    with suppress(Deviation):
        far.fence()
    before = len(far.heard)
    return {}, lambda: "it is passed on" if _messages_to(far, Request, before) else ""


def _declaration(near: Dialogue, far: Dialogue) -> tuple[Changes, Effect]:
    far.say(Interest(id=far.new_id(), mode=InterestMode.FUTURE, options=int(InterestOptions.TOKENS)))
    before, mark = len(far.heard), b"zconform refused"

    def effect() -> str:
        if any(isinstance(declare.body, DToken) for declare in _messages_to(far, Declare, before)):
            return "its token is told"
        far.publish(KEY, mark)
        far.fence()
        near.fence()
        came = any(getattr(push.body, "payload", b"") == mark for push in _messages_to(near, Push))
        return "a publication comes to its subscriber" if came else ""

    return {}, effect


def _interest(near: Dialogue, far: Dialogue) -> tuple[Changes, Effect]:
    far.declare(DToken(id=far.new_id(), key=plain(KEY)))

    def effect() -> str:
        answers = (declare.interest_id for declare in _messages_to(near, Declare))
        return "it is answered" if any(number is not None and number < OUR_IDS for number in answers) else ""

    return {}, effect


def _answer(near: Dialogue, far: Dialogue) -> tuple[Changes, Effect]:
    number, came = ask_through(Exchange(Hearing(near), Hearing(far)), KEY)
    if came is None:
        return {}, lambda: ""

    def effect() -> str:
        return "it is passed on" if any(answer.id == number for answer in _messages_to(far, Response)) else ""

    return {"response.id": vle.encode(came.id)}, effect


def _own_answer(us: Dialogue, one: VectorInSession) -> str:
    """The effect on the session that says it: the id in it is answered, and not with an error."""
    path = f"{one.kind.lower()}.id"
    own = [
        vle.decode(each.data, 0)[0] for each in one.vector.segments if each.path == path and each.data[-1] < CONTINUED
    ]
    refused = one.vector.refuses
    if not own or own[0] >= SHORT_IDS or refused is None or refused.path == path:
        return ""
    errors = {answer.id for answer in _messages_to(us, Response) if isinstance(answer.body, Err)}
    ended = {
        "Request": {final.id for final in _messages_to(us, ResponseFinal)} - errors,
        "Interest": {told.interest_id for told in _messages_to(us, Declare) if isinstance(told.body, DFinal)},
    }
    return "it is answered" if own[0] in ended.get(one.kind, set()) else ""


def _messages_to(us: Dialogue, kind: type[Any], since: int = 0) -> list[Any]:
    return [seen.message for seen in us.heard[since:] if isinstance(seen.message, kind)]


Watch = Callable[[Dialogue, Dialogue], tuple[Changes, Effect]]
"""Prepare the session that says a vector, and the other one; return segments to change, and what looks for the effect."""

WATCHES: Final[Mapping[str, Watch]] = {
    "Push": _publication,
    "Request": _query,
    "Declare": _declaration,
    "Interest": _interest,
    "Response": _answer,
}
"""How the effect of each kind of message is looked for."""


def watch_of(one: VectorInSession) -> Watch | None:
    """How the effect of a vector is looked for, None if it has none that shows; before what is refused in a batch others may stand."""
    if one.batches:
        return (
            None if one.vector.refuses is None or _holds_some(one.batches[0][: one.vector.refuses.at]) else _publication
        )
    return WATCHES.get(one.kind)


def _holds_some(before: bytes) -> bool:
    """Whether the beginning of a batch holds network messages, whose effect shows."""
    messages = messages_of((before,), Layer.TRANSPORT)
    return any(isinstance(one, Fragment) or getattr(one, "messages", ()) for one in messages)


def effect_behind(us: Dialogue, one: VectorInSession) -> str:
    """The effect of what stands behind such bytes in the same batch, empty if none: nobody knows where it begins."""
    refused, data = one.vector.refuses, one.vector.data
    if refused is None or refused.why not in ENDLESS or refused.at >= len(data):
        return ""
    mid, in_frame = data[refused.at] & 0x1F, one.vector.layer == "network"
    if refused.why == "unknown-id" and mid in IDS[Layer.TRANSPORT] | (IDS[Layer.NETWORK] if in_frame else frozenset()):
        return ""
    return _answer_behind(us, data, [True, False] if in_frame and refused.why == "unknown-id" else [in_frame])


def _answer_behind(us: Dialogue, data: bytes, frames: Sequence[bool]) -> str:
    """Say these bytes with a request behind them, in one FRAME with them or in the next one."""
    for in_frame in frames:
        with suppress(Deviation), standing_before(us, data, in_frame=in_frame):
            if _asks_behind(us):
                return "a request behind it in its batch is answered"
    return ""


def _asks_behind(us: Dialogue) -> bool:
    """Whether what is said next is answered; a query that is not, is behind a later one that is. Time that passes is no answer."""
    if us.fencing.how in QUIET_ONES | {Fence.NOTHING}:
        return False
    if us.fencing.how is not Fence.QUERY:
        us.fence(within=us.unit)
        return True
    behind, already = us.new_id(), len(us.heard)
    us.fences.add(behind)
    us.say(Request(id=behind, key=plain(f"zconform/behind/{us.zid.hex()}"), body=Query()))
    with suppress(Deviation):
        us.fence(within=us.unit)
    return any(isinstance(seen.message, ResponseFinal) and seen.message.id == behind for seen in us.heard[already:])
