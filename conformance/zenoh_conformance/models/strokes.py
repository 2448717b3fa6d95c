"""What a model of the handshake does that is not right, by state. No model of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from zenoh_conformance import sane
from zenoh_conformance.codec import encode, segments
from zenoh_conformance.conversation import Conversation, Side
from zenoh_conformance.dialogue import SN_MASK, Dialogue
from zenoh_conformance.finding import Departed
from zenoh_conformance.law import judge
from zenoh_conformance.messages import Fragment, Frame, Init, Join, KeepAlive, Oam, Open
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.requirement import requirements
from zenoh_conformance.session import START, Seen, State
from zenoh_conformance.wire.extensions import Exts, Unknown
from zenoh_conformance.wire.layer import Enc


@dataclass(slots=True)
class Modelled:
    """One link and where the model says it stands."""

    us: Dialogue
    state: State = START["responder"]
    syn: Init | None = None
    ack: Init | None = None
    steps: list[Seen] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """What was subscribed to on it."""


Stroke = Callable[[Modelled, int], Any]

init_fields = st.fixed_dictionaries(
    {},
    optional={
        "resolution": st.sampled_from([0x0A, 0x09, 0x08, 0x06, 0x05, 0x04, 0x02, 0x01, 0x00, 0x0B, 0x0F]),
        "batch_size": st.sampled_from([65535, 65534, 49152, 8192, 2048, 512, 256, 128]),
        "whatami": st.sampled_from([sane.CLIENT, sane.PEER, sane.ROUTER]),
        "exts": st.sampled_from(
            [(), ("QoS",), ("LowLatency",), ("Compression",), ("QoS", "LowLatency"), ("QoS", "Compression")]
        ).flatmap(lambda names: st.sampled_from([0, 1]).map(lambda patch: sane.offers(*names, patch=patch))),
    },
)
"""What a sane InitSyn may vary."""

open_fields = st.fixed_dictionaries(
    {"initial_sn": st.sampled_from([0, 1, 0x40, 0x7E, 0x7F])},
    optional={
        "lease": st.sampled_from(
            [{"lease_in_seconds": True, "lease": 60}, {"lease_in_seconds": False, "lease": 12_345}]
        )
    },
)
"""What a sane OpenSyn may vary, in any resolution."""


def odd(message: Any, value: int, *, mandatory: bool) -> Any:
    """The message with one extension more, which no page names."""
    enc, content = [(Enc.UNIT, None), (Enc.Z64, value), (Enc.ZBUF, bytes([value]))][value % 3]
    extra = Unknown(id=(0x9, 0xD, 0xF)[value // 3 % 3], mandatory=mandatory, enc=enc, value=content)
    return replace(message, exts=Exts((*message.exts, extra)))


def broken(message: Any) -> bytes:
    """The message with a chain of extensions that promises more than there is."""
    data = encode(message)
    return bytes([data[0] | 0x80]) + data[1:] + b"\x4e\x7f" if not message.exts else data[:-1] + b"\x8e"


def _packed(link: Modelled, value: int) -> Any:
    syn = segments(link.us.init_syn())
    return syn.replace("init.packed", bytes([syn.get("init.packed").data[0] | 3]))


def _cut_init(link: Modelled, value: int) -> Any:
    whole = segments(link.us.init_syn(exts=())).join()
    return whole[: 1 + value % (len(whole) - 1)]


def _acked(link: Modelled) -> tuple[Init, bytes]:
    assert link.ack is not None and link.ack.cookie
    return link.ack, link.ack.cookie


def _changed_cookie(link: Modelled, value: int) -> Any:
    ack, issued = _acked(link)
    cookie = bytearray(issued)
    cookie[value % len(cookie)] ^= 1 << value % 8
    return link.us.open_syn(ack, cookie=bytes(cookie))


def _short_cookie(link: Modelled, value: int) -> Any:
    ack, cookie = _acked(link)
    return link.us.open_syn(ack, cookie=cookie[: value % len(cookie)])


def _cut_open(link: Modelled, value: int) -> Any:
    whole = segments(link.us.open_syn(_acked(link)[0])).join()
    return whole[: 1 + value % (len(whole) - 1)]


def large_sn(link: Modelled, value: int) -> Any:
    """OpenSyn whose number is the first past the resolution."""
    ack = _acked(link)[0]
    code = sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution
    return link.us.open_syn(ack, initial_sn=SN_MASK[min(code & 3, 2)] + 1)


UNACCEPTABLE: dict[State, tuple[Stroke, ...]] = {
    State.AWAIT_INIT: (
        lambda link, value: link.us.init_syn(version=(sane.VERSION + 1 + value) % 256 if value < 255 else 0),
        _packed,
        lambda link, value: segments(link.us.init_syn()).replace("init.zid", bytes(len(link.us.zid))),
        _cut_init,
        lambda link, value: odd(link.us.init_syn(), value, mandatory=True),
        lambda link, value: broken(link.us.init_syn(exts=Exts())),
    ),
    State.INIT_ACKED: (
        _changed_cookie,
        _short_cookie,
        large_sn,
        _cut_open,
        lambda link, value: odd(link.us.open_syn(_acked(link)[0]), value, mandatory=True),
        lambda link, value: broken(link.us.open_syn(_acked(link)[0])),
    ),
}
"""The message that is due, with a content that must be refused."""

ABOUT: dict[Stroke, str] = {large_sn: "session-establishment/initial-sn-out-of-range-refused"}
"""Strokes whose refusal is a requirement of its own, from which a target may be known to depart."""

STEPS: dict[Seen, Callable[[Modelled], Any]] = {
    Seen.INIT_SYN: lambda link: link.us.init_syn(),
    Seen.INIT_ACK: lambda link: link.us.init_ack(link.us.init_syn()),
    Seen.OPEN_SYN: lambda link: Open(ack=False, lease=1000, initial_sn=0, cookie=b"\x5a" * 16),
    Seen.OPEN_ACK: lambda link: link.us.open_ack(),
    Seen.GARBAGE: lambda link: b"\xff\xff\xff",
}
"""Steps of a handshake for the moments when they are not due, and what is none."""

TRAFFIC: dict[Seen, Callable[[Modelled], Any]] = {
    Seen.KEEP_ALIVE: lambda link: KeepAlive(),
    Seen.FRAME: lambda link: Frame(sn=0, messages=()),
    Seen.FRAGMENT: lambda link: Fragment(more=True, sn=0, payload=b"x"),
    Seen.OAM: lambda link: Oam(id=0x3FFF, enc=Enc.UNIT),
    Seen.JOIN: lambda link: Join(
        version=sane.VERSION, whatami=WhatAmI(sane.PEER), zid=ZenohID(link.us.zid), lease_in_seconds=True, lease=10,
        next_sn_reliable=0, next_sn_best_effort=0,
    ),
}  # fmt: skip
"""What belongs to a session, or to multicast: it opens nothing."""


def judged(scene: Any, side: Side, known: frozenset[str]) -> None:
    """Let the laws judge the whole conversation. Raises Departed for the first finding against a MUST that is not known."""
    conversation: Conversation | None = getattr(scene, "conversation", None)
    for said in judge(conversation) if conversation is not None else ():
        musts = [
            f for f in said.findings if said.sender is side and f.requirement not in known and is_must(f.requirement)
        ]
        if musts:
            raise Departed(musts[0])


def is_must(requirement: str) -> bool:
    """Whether a departure from it is a failure, and not a warning."""
    told = requirements().get(requirement)
    return told is None or str(told.level) not in ("SHOULD", "SHOULD NOT", "MAY")


def ordered(table: dict[Seen, Any]) -> Sequence[Seen]:
    """The keys of a table in an order that does not change."""
    return sorted(table, key=lambda seen: seen.value)
