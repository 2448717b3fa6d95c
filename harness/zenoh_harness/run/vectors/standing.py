"""How a golden vector stands in a session: what the session needs for it, and what of a node can then be judged.

A vector of the network layer goes into a FRAME, one of the transport layer into a batch of its own. The pages say nothing of some
well-formed messages (an answer to a query that was never asked, the end of a declaration that was never made): a node may end the
session at those, and nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from zenoh_conformance.messages import (
    Close,
    Declare,
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Fragment,
    Frame,
    Init,
    Interest,
    InterestMode,
    InterestOptions,
    NetworkOam,
    Oam,
    Open,
    Push,
    Request,
    Response,
    ResponseFinal,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    WireExprExt,
    WireExprFlags,
)
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.reading.codec import Layer, from_json
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.wire import registry, vle
from zenoh_harness.run.vectors import keys_in_messages, whole_batches, whole_fragments
from zenoh_harness.run.vectors.our_numbers import with_our_number
from zenoh_vectors.loader import Vector

HANDSHAKE: Final = frozenset({"Init", "Open"})
"""Transport messages of a handshake."""

ACK: Final = 0x20
"""The flag A of INIT and OPEN."""

OTHERS_STEPS: Final = {
    Side.RESPONDER: "InitAck and OpenAck are no messages to a node that listens",
    Side.INITIATOR: "InitSyn and OpenSyn are no messages to a node that connects",
}
"""Why a step of a handshake is not sent to a node of that side."""

BATCH: Final = "Batch"
"""Stands for the kind of a vector that is a whole batch."""

NEVER_BEGUN: Final = "it ends an interest that we did not have"
"""Why an INTEREST that ends one is not sent to a node that connects, and why one that listens may end the session at it."""

OURS: Final = "zconform/vectors"
"""A key for declarations of ours."""

FENCED: Final = "zconform/fence/0/0"
"""A key like those of fences."""

LARGEST: Final = 40_000
"""Bytes of a vector that fit into one batch of every session of ours."""

MOST_SN: Final = (1 << 28) - 1
"""The largest sequence number of the resolution that our sessions negotiate."""

SCOPE: Final = "zconform/scope"
"""The key expression, less its number, that a vector's scope is declared for."""


class Family(Enum):
    """What a vector shares with those that one session plays."""

    PUSH = "passed on to a subscriber"
    REQUEST = "passed on to a queryable"
    EXCHANGE = "shown by what it does to another session"
    PLAIN = "read, and nothing shows it"
    ALONE = "on a link of its own"
    REFUSED = "refused, on a link of its own"
    HANDSHAKE = "a step of the handshake of a link of its own"
    CLOSE = "the end of a session"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorInSession:
    """A vector in a session."""

    vector: Vector
    family: Family
    kind: str
    """The kind of its message, by which refusals are compared with what is read."""
    batches: tuple[bytes, ...] = ()
    """Whole batches, where it is made of some."""
    mode: str = ""
    """The extension of INIT by which its session is settled; empty for none."""
    messages: tuple[Any, ...] = ()
    """The network messages that it holds, or the transport message."""
    scopes: frozenset[int] = frozenset()
    """Expression ids that it uses, and that we declare before."""
    claims: frozenset[tuple[str, int]] = frozenset()
    """Ids that it declares or ends: no other vector of its session may use them."""
    sn: int | None = None
    """The sequence number of its FRAME or FRAGMENT."""
    lanes: tuple[tuple[bool, int | None], ...] = ()
    """The channel and the priority of each of its FRAMEs and FRAGMENTs; None without QoS."""
    open_point: str = ""
    """Why a node may end the session although it is well-formed; empty where it may not."""

    @property
    def subject(self) -> str:
        """The kind of the message, of a DECLARE that of the declaration: what a node was seen to do with one, it does with others."""
        body = getattr(self.messages[0], "body", None) if self.kind == "Declare" else None
        return self.kind if body is None else type(body).__name__

    @property
    def begun(self) -> Any:
        """What its session says before it, so that it ends something; None if nothing."""
        return beginning(self.messages[0]) if len(self.messages) == 1 else None


def standing(vector: Vector, side: Side = Side.RESPONDER, *, routes: bool = True) -> VectorInSession | str:
    """Return how a vector stands in a session with a node of that side, or why it does not.

    `routes`: whether the node is expected to forward publications.
    """
    if keys_in_messages.is_undisputed(vector):
        vector = keys_in_messages.in_publication(vector)
    if (batches := whole_batches.of(vector)) is not None:
        return _in_batches(vector, batches)
    if vector.layer not in ("transport", "network"):
        return f"vectors of the layer {vector.layer} are no message of a session"
    if not vector.data:
        return "it has no bytes"
    if len(vector.data) > LARGEST:
        return "it is larger than a batch"
    layer = Layer(vector.layer)
    kind = _kind(layer, vector.data[0])
    if kind == "Join":
        return "JOIN is no message of a session"
    if kind in HANDSHAKE and bool(vector.data[0] & ACK) == (side is Side.RESPONDER):
        return OTHERS_STEPS[side]
    if vector.refuses is not None:
        if vector.refuses.why == "trailing-bytes":
            return "what follows a message in its batch is the next message"
        family = Family.HANDSHAKE if kind in HANDSHAKE else Family.REFUSED
        return _refusal(vector, family, kind)
    message = from_json(vector.means or {}, layer)
    if whole_fragments.is_any_payload(vector, message) and message.sn <= MOST_SN:
        return _in_fragments(vector, message, whole_fragments.PUBLICATION if routes else whole_fragments.QUERY)
    if side is Side.INITIATOR and _ends_an_interest(message):
        return NEVER_BEGUN
    return _well_formed(*with_our_number(vector, message), kind)


def _refusal(vector: Vector, family: Family, kind: str) -> VectorInSession:
    sn = _number(vector)
    return VectorInSession(
        vector=vector, family=family, kind=kind, sn=sn, lanes=((True, None),) if sn is not None else ()
    )


def _in_batches(vector: Vector, batches: tuple[bytes, ...]) -> VectorInSession | str:
    """Whole batches, on a link of their own."""
    if not all(batches):
        return "it has no bytes"
    layer = Layer.LOWLATENCY if vector.layer == Layer.LOWLATENCY else Layer.TRANSPORT
    mode = whole_batches.MODES.get(layer, "")
    vector = replace(vector, data=b"".join(batches), means=vector.means or {}, steps=())
    if vector.refuses is not None:
        return replace(_refusal(vector, Family.REFUSED, BATCH), batches=batches, mode=mode)
    messages = whole_batches.messages_of(batches, layer)
    if any(type(one).__name__ in {*HANDSHAKE, "Join"} for one in messages):
        return "a step of a handshake is no message of a session"
    if isinstance(messages[-1], Close):
        return "that a batch is read to its end is for the checks of batches"
    stands = _well_formed(vector, messages, BATCH)
    if isinstance(stands, str):
        return stands
    if stands.scopes & {number for name, number in stands.claims if name == "expr"}:
        return "it uses a number that it declares"
    if stands.scopes and stands.sn is not None:
        return "its sequence number comes before that of the declaration of its key"
    family = Family.ALONE if mode else stands.family
    return replace(stands, batches=batches, mode=mode, family=family)


def _in_fragments(vector: Vector, message: Fragment, whole: Push | Request) -> VectorInSession:
    """A chain of fragments that is a whole message."""
    vector, batches = whole_fragments.with_message(vector, message, whole, MOST_SN)
    lane = (message.reliable, _priority(message))
    return VectorInSession(
        vector=vector,
        family=Family.ALONE,
        kind=Fragment.__name__,
        batches=batches,
        messages=(whole,),
        sn=message.sn,
        lanes=(lane,) * len(batches),
    )


def _kind(layer: Layer, header: int) -> str:
    kinds = {registry.of(cls).id: name for name, cls in registry.kinds(layer).items()}
    return kinds.get(header & 0x1F, f"{layer} id {header & 0x1F:#04x}")


def _number(vector: Vector) -> int | None:
    """The sequence number that the bytes state, where it is whole."""
    data = next((one.data for one in vector.segments if one.path.endswith(("frame.sn", "fragment.sn"))), b"")
    number = vle.decode(data, 0)[0] if data and data[-1] < 0x80 else None
    return number if number is not None and number <= MOST_SN else None


def _well_formed(vector: Vector, message: Any, kind: str) -> VectorInSession | str:
    outer = message if isinstance(message, list) else [message]
    parts = list(whole_batches.network_messages(outer)) if kind == BATCH else _inside(message)
    for part in parts:
        for key, mapping in _keys(part):
            if fault := _unusable(key, mapping):
                return fault
    framed = [one for one in outer if isinstance(one, Frame | Fragment)]
    lanes = [(one.reliable, _priority(one)) for one in framed]
    if framed and max(one.sn for one in framed) > MOST_SN:
        return "its sequence number is beyond the resolution"
    if any(one.sn != framed[0].sn + lanes[:at].count(lanes[at]) for at, one in enumerate(framed)):
        return "its sequence numbers do not follow each other"
    return VectorInSession(
        vector=vector,
        family=_family(outer[0]) if len(outer) == 1 else Family.ALONE,
        kind=kind,
        messages=tuple(parts),
        scopes=frozenset(key.scope for part in parts for key, _ in _keys(part) if key.scope),
        claims=frozenset(claim for part in parts for claim in _claims(part)),
        sn=framed[0].sn if framed else None,
        lanes=tuple(lanes),
        open_point=next((point for part in parts if (point := open_point(part, begun=len(parts) == 1))), ""),
    )


def _inside(message: Any) -> Sequence[Any]:
    return message.messages if isinstance(message, Frame) else (message,)


def _priority(carrier: Frame | Fragment) -> int | None:
    return next((getattr(ext, "value", 0) & 7 for ext in carrier.exts if type(ext).__name__ == "QoS"), None)


def _family(message: Any) -> Family:
    if isinstance(message, Frame | Fragment):
        return Family.ALONE
    if isinstance(message, Push):
        return Family.PUSH
    if isinstance(message, Request):
        return Family.REQUEST
    if isinstance(message, Init | Open):
        return Family.HANDSHAKE
    if isinstance(message, Close):
        return Family.CLOSE
    return Family.EXCHANGE if _is_exchanged(message) else Family.PLAIN


def _is_exchanged(message: Any) -> bool:
    """Whether another session can be shown what it does."""
    if isinstance(message, Response | ResponseFinal | Interest):
        return True
    if not isinstance(message, Declare) or message.interest_id is not None or isinstance(message.body, DFinal):
        return False
    body = message.body
    if isinstance(body, UQueryable):
        return False  # a router may ask late
    if isinstance(body, DQueryable):
        return not keyexpr.intersects(FENCED, whole(body.key))
    return not isinstance(body, DKeyExpr | UKeyExpr) or body.expr_id != 0


def _keys(message: Any) -> Iterator[tuple[WireExpr, bool]]:
    """The key of a message, and whether its scope is one of the sender's."""
    holder = message.body if isinstance(message, Declare) else message
    key = getattr(holder, "key", None)
    if isinstance(key, WireExpr):
        yield key, isinstance(holder, DKeyExpr) or key.mapping
    named = named_key(holder)
    if named is not None and not _unusable(named, named.mapping):
        yield named, True


def named_key(body: Any) -> WireExpr | None:
    """The key that an undeclaration names in its extension; None if it names none."""
    if not isinstance(body, USubscriber | UQueryable | UToken):
        return None
    ext = body.exts.get(WireExprExt)
    if ext is None:
        return None
    ours = bool(ext.flags & WireExprFlags.SENDERS_SCOPE)
    return WireExpr(scope=ext.scope, suffix=ext.suffix, mapping=ours)


def undeclared_key(body: Any) -> str | None:
    """The whole key of which to declare what a vector undeclares; None where that is nothing that we can declare."""
    key = named_key(body)
    if key is None:
        return OURS
    return None if _unusable(key, key.mapping) else whole(key)


def _unusable(key: WireExpr, of_sender: bool) -> str:
    if key.scope and not of_sender:
        return "its key is a number that the node would have to declare"
    return "" if keyexpr.is_canonical(whole(key)) else "its key expression is not canonical"


def whole(key: WireExpr) -> str:
    """The whole key expression, where we declared its scope."""
    return (scope_key(key.scope) if key.scope else "") + (key.suffix or "")


def concrete(key: str) -> str:
    """A key without wildcards that a key expression matches."""
    return key.replace("$*", "a").replace("**", "a").replace("*", "a")


def scope_key(scope: int) -> str:
    """The key expression that we declare for an expression id."""
    return f"{SCOPE}-{scope}"


def _claims(message: Any) -> Iterator[tuple[str, int]]:
    if isinstance(message, Declare):
        body = message.body
        name, number = ("expr", body.expr_id) if isinstance(body, DKeyExpr | UKeyExpr) else ("", 0)
        yield (name, number) if name else (type(body).__name__.lstrip("DU"), getattr(body, "id", 0))
    elif isinstance(message, Interest | Request | Response | ResponseFinal):
        yield type(message).__name__, message.id


def _ends_an_interest(message: Any) -> bool:
    return isinstance(message, Interest) and message.mode == InterestMode.FINAL


BEGINNINGS: Final = {USubscriber: DSubscriber, UQueryable: DQueryable, UToken: DToken}
"""An undeclaration, and the declaration that it ends."""


def beginning(message: Any) -> Any:
    """What begins that which a message ends; None where it ends nothing, or nothing that we can declare."""
    if _ends_an_interest(message):
        return Interest(id=message.id, mode=InterestMode.FUTURE, options=int(InterestOptions.TOKENS))
    body: Any = message.body if isinstance(message, Declare) and message.interest_id is None else None
    if isinstance(body, UKeyExpr) and body.expr_id:
        return Declare(body=DKeyExpr(expr_id=body.expr_id, key=WireExpr(suffix=f"{OURS}/ended")))
    begins, key = BEGINNINGS.get(type(body)), undeclared_key(body)
    return Declare(body=begins(id=body.id, key=plain(key))) if body is not None and begins and key is not None else None


def open_point(message: Any, *, begun: bool = False) -> str:
    """Why a node may end the session at a well-formed message; empty where it may not.

    `begun`: whether the session says before it what it ends, where it can.
    """
    if begun and beginning(message) is not None:
        return ""
    if isinstance(message, Response | ResponseFinal):
        return "it answers a query that the node did not ask"
    if isinstance(message, Oam | NetworkOam):
        return "what OAM means is left open"
    if isinstance(message, Fragment):
        return "its fragments are no message"
    if _ends_an_interest(message):
        return NEVER_BEGUN
    if isinstance(message, Declare):
        body = message.body
        if message.interest_id is not None:
            return "it answers an interest that the node did not have"
        if isinstance(body, DKeyExpr):
            return "it declares the id 0, which is none" if body.expr_id == 0 else ""
        if not isinstance(body, DSubscriber | DQueryable | DToken):
            return "it ends what was not declared"
    return ""
