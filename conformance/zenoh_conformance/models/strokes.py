"""What the models of the handshake say: legal values, and by state what is wrong, odd or out of turn. No model of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from zenoh_conformance.cases.establishment.circumstances import CHAINS, CONFIRMED, LEASE, OFFERED
from zenoh_conformance.judging.variation import Dimension
from zenoh_conformance.messages import Fragment, Frame, Init, Join, KeepAlive, Oam, Open, sane
from zenoh_conformance.messages.init import QoS, QoSLink
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import encode, segments
from zenoh_conformance.reading.kinds import reason_code
from zenoh_conformance.tables.session import SessionInput, State
from zenoh_conformance.talking import Sendable
from zenoh_conformance.wire import Enc, Exts, Segments, Unknown

from .blame import Way
from .modelled import FIRSTS, Modelled, mask_of

Stroke = Callable[[Modelled, int], Sendable]

_offers = st.sampled_from(
    [(), ("QoS",), ("LowLatency",), ("Compression",), ("QoS", "LowLatency"), ("QoS", "Compression")]
).flatmap(lambda names: st.sampled_from([0, 1]).map(lambda patch: sane.offers(*names, patch=patch)))


def _chains(dimension: Dimension) -> st.SearchStrategy[Exts[Any]]:
    """The chains of extensions that a dimension has."""
    return st.sampled_from([Exts(CHAINS[str(value)]()) for value in dimension.values])


_sizes = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "resolution": st.sampled_from([0x0A, 0x09, 0x08, 0x06, 0x05, 0x04, 0x02, 0x01, 0x00, 0x0B, 0x0F]),
            "batch_size": st.sampled_from([65535, 65534, 49152, 8192, 2048, 512, 256, 128]),
        },
    ),
    st.just({"resolution": None, "batch_size": None}),
)

init_fields = st.builds(
    lambda sizes, rest: sizes | rest,
    _sizes,
    st.fixed_dictionaries(
        {},
        optional={
            "whatami": st.sampled_from([sane.CLIENT, sane.PEER, sane.ROUTER]),
            "exts": st.one_of(_offers, _chains(OFFERED), st.just(Exts((QoSLink(value=0),)))),
        },
    ),
)
"""What a sane InitSyn may vary."""

LEASES: Sequence[dict[str, Any]] = (
    {"lease_in_seconds": True, "lease": 60},
    {"lease_in_seconds": False, "lease": 12_345},
    *({"lease_in_seconds": unit == "s", "lease": int(count)} for count, unit in map(str.split, map(str, LEASE.values))),
)
"""Leases that outlast a run, in both units; what 32 bits do not hold may be refused, and is said oddly."""

ways = st.builds(
    Way,
    init=init_fields,
    lease=st.one_of(
        st.sampled_from([{}, *LEASES]),
        st.builds(lambda lease, exts: {**lease, "exts": exts}, st.sampled_from(LEASES), _chains(CONFIRMED)),
    ),
    first=st.sampled_from(list(FIRSTS)),
    zid=st.sampled_from([8, 3, 4, 9, 15, 16]),
    pieces=st.sampled_from([0, 0, 0, 1, 7]),
)
"""A legal handshake."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """The message that is due, with a content that must be refused."""

    make: Stroke
    about: str
    """The requirement that it is about."""
    reasons: tuple[int, ...] | None = None
    """Reasons that a CLOSE may have."""
    why: str = ""
    """The requirement that these are about."""


INVALID, UNSUPPORTED = reason_code("INVALID"), reason_code("UNSUPPORTED")
MALFORMED = ((INVALID,), "close/malformed-is-invalid")
MANDATORY = ((reason_code("GENERIC"), UNSUPPORTED, INVALID), "primitives/unknown-mandatory-may-close")


def odd(message: Any, value: int, *, mandatory: bool) -> Any:
    """The message with one extension more, which no page names."""
    enc, content = [(Enc.UNIT, None), (Enc.Z64, value), (Enc.ZBUF, bytes([value]))][value % 3]
    extra = Unknown(id=(0x9, 0xD, 0xF)[value // 3 % 3], mandatory=mandatory, enc=enc, value=content)
    return replace(message, exts=Exts((*message.exts, extra)))


def broken(message: Init | Open) -> bytes:
    """The message with a chain of extensions that promises more than there is."""
    data = encode(message)
    return bytes([data[0] | 0x80]) + data[1:] + b"\x4e\x7f" if not message.exts else data[:-1] + b"\x8e"


def cut(message: Init | Open, value: int) -> bytes:
    """The message, but not to its end."""
    whole = segments(message).join()
    return whole[: 1 + value % (len(whole) - 1)]


def twice(message: Any) -> Any:
    """The message with one extension that is there twice."""
    return replace(message, exts=Exts((QoS(), QoS())))


def large(message: Any, size: int) -> Any:
    """The message with an extension to be skipped that makes it large."""
    return replace(message, exts=Exts((Unknown(id=0xD, mandatory=False, enc=Enc.ZBUF, value=bytes(size)),)))


def packed(message: Init, bits: int) -> Segments:
    """INIT with bits set beside its ZenohID's length."""
    parts = segments(message)
    return parts.replace("init.packed", bytes([parts.get("init.packed").data[0] | bits]))


def acked(link: Modelled) -> tuple[Init, bytes]:
    """The target's InitAck, and its cookie."""
    assert link.ack is not None and link.ack.cookie
    return link.ack, link.ack.cookie


def _opening(link: Modelled, **changes: Any) -> Open:
    return link.us.open_syn(acked(link)[0], **changes)


def _changed_cookie(link: Modelled, value: int) -> Open:
    cookie = bytearray(acked(link)[1])
    cookie[value % len(cookie)] ^= 1 << value % 8
    return _opening(link, cookie=bytes(cookie))


def _another_version(link: Modelled, value: int) -> Init:
    return link.us.init_syn(version=(sane.VERSION + 1 + value) % 256 if value < 255 else 0)


SE = "session-establishment"

UNACCEPTABLE: dict[State, tuple[Wrong, ...]] = {
    State.AWAIT_INIT: (
        Wrong(_another_version, f"{SE}/refused-version-closes", (UNSUPPORTED,), f"{SE}/unknown-version-is-unsupported"),
        Wrong(lambda link, value: packed(link.us.init_syn(), 3), "primitives/whatami-3-refused", *MALFORMED),
        Wrong(
            lambda link, value: segments(link.us.init_syn()).replace("init.zid", bytes(len(link.us.zid))),
            f"{SE}/init-zid",
            *MALFORMED,
        ),
        Wrong(lambda link, value: cut(link.us.init_syn(exts=()), value), "primitives/truncated-is-refused", *MALFORMED),
        Wrong(
            lambda link, value: odd(link.us.init_syn(), value, mandatory=True),
            "primitives/unknown-mandatory-rejected",
            *MANDATORY,
        ),
        Wrong(lambda link, value: broken(link.us.init_syn(exts=Exts())), "primitives/truncated-is-refused"),
    ),
    State.INIT_ACKED: (
        Wrong(_changed_cookie, f"{SE}/cookie-must-match"),
        Wrong(
            lambda link, value: _opening(link, cookie=acked(link)[1][: value % len(acked(link)[1])]),
            f"{SE}/cookie-must-match",
        ),
        Wrong(
            lambda link, value: _opening(link, cookie=acked(link)[1] + bytes([value])),
            f"{SE}/cookie-must-match",
        ),
        Wrong(
            lambda link, value: _opening(link, initial_sn=mask_of(link.ack) + 1),
            f"{SE}/initial-sn-out-of-range-refused",
        ),
        Wrong(lambda link, value: cut(_opening(link), value), "primitives/truncated-is-refused"),
        Wrong(
            lambda link, value: odd(_opening(link), value, mandatory=True),
            "primitives/unknown-mandatory-rejected",
            *MANDATORY,
        ),
        Wrong(lambda link, value: broken(_opening(link)), "primitives/truncated-is-refused"),
    ),
}

ODD: dict[State, tuple[Stroke, ...]] = {
    State.AWAIT_INIT: (
        lambda link, value: twice(link.us.init_syn()),
        lambda link, value: packed(link.us.init_syn(), 4 << value % 2),
        lambda link, value: link.us.init_syn(resolution=sane.DEFAULT_RESOLUTION | 0x10 << value % 4),
        lambda link, value: large(link.us.init_syn(), (9_000, 40_000)[value % 2]),
        lambda link, value: replace(link.us.init_syn(), zid=ZenohID(link.us.zid[:-1] + b"\0")),
    ),
    State.INIT_ACKED: (
        lambda link, value: twice(_opening(link)),
        lambda link, value: segments(_opening(link)).join() + b"\x04" * (1 + value),
        lambda link, value: _opening(link, lease_in_seconds=False, lease=2 ** (33 + value % 15)),
    ),
}
"""The message that is due, with something of which no page says what is made of it: it is answered or closed, and no more than that."""

STEPS: dict[SessionInput, Callable[[Modelled], Sendable]] = {
    SessionInput.INIT_SYN: lambda link: link.us.init_syn(),
    SessionInput.INIT_ACK: lambda link: link.us.init_ack(link.us.init_syn(exts=())),
    SessionInput.OPEN_SYN: lambda link: invented(),
    SessionInput.OPEN_ACK: lambda link: link.us.open_ack(),
    SessionInput.GARBAGE: lambda link: b"\xff\xff\xff",
}
"""Steps of a handshake for the moments when they are not due, and what is none."""

TRAFFIC: dict[SessionInput, Callable[[Modelled], Sendable]] = {
    SessionInput.KEEP_ALIVE: lambda link: KeepAlive(),
    SessionInput.FRAME: lambda link: Frame(sn=0, messages=()),
    SessionInput.FRAGMENT: lambda link: Fragment(more=True, sn=0, payload=b"x"),
    SessionInput.OAM: lambda link: Oam(id=0x3FFF, enc=Enc.UNIT),
    SessionInput.JOIN: lambda link: Join(
        version=sane.VERSION, whatami=WhatAmI(sane.PEER), zid=ZenohID(link.us.zid), lease_in_seconds=True, lease=10,
        next_sn_reliable=0, next_sn_best_effort=0,
    ),
    SessionInput.GARBAGE: lambda link: b"",
}  # fmt: skip
"""What belongs to a session, or to multicast, and a batch of nothing: it opens nothing."""


def invented() -> Open:
    """OpenSyn with a cookie that nobody issued."""
    return Open(ack=False, lease=1000, initial_sn=0, cookie=b"\x5a" * 16)


def ordered(table: Iterable[SessionInput]) -> Sequence[SessionInput]:
    """The keys of a table in an order that does not change."""
    return sorted(table, key=lambda seen: seen.value)
