"""INIT: negotiates the parameters of a session."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives import Resolution, Role, ZidAfterRole
from zenoh_conformance.wire import (
    NO_EXTS,
    U8,
    Blob,
    BytesRest,
    BytesZ16,
    Exts,
    Fixed,
    Layer,
    Vle,
    Z8Cut,
    extension,
    flag,
    given,
    message,
    when,
)
from zenoh_conformance.wire.notes import batch_bytes, link_use

REF = "session-establishment#init-extensions"


@extension(0x1, "unit", ref=REF)
class QoS:
    """Offers one sequence of numbers per priority; used if both sides offer it."""


@extension(0x1, "z64", ref=REF)
class QoSLink:
    """QoS, and the messages that this link carries when the session has several links."""

    value: Annotated[int, Vle(64, says=link_use)]
    """Bit 0: a range of priorities follows, from bits 10:3 to 18:11; bit 1: reliability follows, in bit 19."""


@extension(0x2, "zbuf", ref=REF)
class Shm:
    """A probe for shared memory."""

    payload: BytesRest
    """Opaque."""


@extension(0x3, "zbuf", ref=REF)
class Auth:
    """A step of authentication."""

    payload: BytesRest
    """An extension chain, keyed by method."""


@extension(0x4, "zbuf", ref=REF)
class MultiLink:
    """A probe for several links in one session."""

    payload: BytesRest
    """Opaque."""


@extension(0x5, "unit", ref=REF)
class LowLatency:
    """Offers network messages without FRAME; used if both sides offer it."""


@extension(0x6, "unit", ref=REF)
class Compression:
    """Offers compressed batches; used if both sides offer it."""


@extension(0x7, "z64", ref=REF)
class Patch:
    """The patch level of the protocol version."""

    value: Z8Cut
    """From 1 on, FRAGMENTs carry the extensions First and Drop."""


@extension(0x8, "zbuf", ref=REF)
class RegionName:
    """The administrative region of the node."""

    name: Annotated[str, Blob(None, text=True, sizes=range(1, 33))]
    """1 to 32 bytes."""


@message(0x01, "Z|S|A", layer=Layer.TRANSPORT, ref="session-establishment#init")
class Init:
    """Proposes parameters (A=0, from the initiator) or accepts them with a cookie (A=1, from the responder).

     7 6 5 4 3 2 1 0
    |Z|S|A|  0x01   |
    """

    ack: bool = flag("A")
    """A: this answers an InitSyn."""

    version: U8 = 9
    """The version of the protocol."""

    whatami: Role
    """The role of the sender."""

    zid: ZidAfterRole
    """The ZenohID of the sender."""

    resolution: Resolution | None = given("S", default=None)
    """The widths of sequence numbers and request ids; 0x0a when absent."""

    batch_size: Annotated[int, Fixed(2, says=batch_bytes)] | None = given("S", default=None)
    """The largest batch that the sender takes; 65535 when absent."""

    cookie: BytesZ16 | None = when("ack", default=None)
    """Bytes that the initiator returns unchanged in OpenSyn."""

    exts: Exts[QoS | QoSLink | Shm | Auth | MultiLink | LowLatency | Compression | Patch | RegionName] = NO_EXTS
