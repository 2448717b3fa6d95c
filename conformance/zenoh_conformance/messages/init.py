"""INIT: propose and settle the parameters of a session."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives.zid import Resolution, Role, ZidAfterRole
from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, flag, given, message, when
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import batch_bytes, link_use
from zenoh_conformance.wire.types import U8, Blob, BytesRest, BytesZ16, Fixed, Vle, Z8Cut

REF = "session-establishment#init-extensions"


@extension(0x1, "unit", ref=REF)
class QoS:
    """Priorities have lanes of their own, if both sides say so."""


@extension(0x1, "z64", ref=REF)
class QoSLink:
    """QoS, and what this link is for when a session has several."""

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
    """Network messages without FRAME, if both sides say so."""


@extension(0x6, "unit", ref=REF)
class Compression:
    """Compressed batches, if both sides say so."""


@extension(0x7, "z64", ref=REF)
class Patch:
    """Revision of the protocol within its version."""

    value: Z8Cut
    """From 1 on, fragments are marked First and Drop."""


@extension(0x8, "zbuf", ref=REF)
class RegionName:
    """The administrative region of the node."""

    name: Annotated[str, Blob(None, text=True, sizes=range(1, 33))]
    """1 to 32 bytes."""


@message(0x01, "Z|S|A", layer=Layer.TRANSPORT, ref="session-establishment#init")
class Init:
    """Sent by the initiator (A=0), answered by the responder with a cookie (A=1).

     7 6 5 4 3 2 1 0
    |Z|S|A|  0x01   |
    """

    ack: bool = flag("A")
    """A: this answers an InitSyn."""

    version: U8 = 9
    """Of the protocol."""

    whatami: Role
    """What the sender is."""

    zid: ZidAfterRole
    """Who the sender is."""

    resolution: Resolution | None = given("S", default=None)
    """How wide sequence numbers and request ids are; 0x0a when absent."""

    batch_size: Annotated[int, Fixed(2, says=batch_bytes)] | None = given("S", default=None)
    """The largest batch that the sender takes; 65535 when absent."""

    cookie: BytesZ16 | None = when("ack", default=None)
    """To be returned unchanged in OpenSyn."""

    exts: Exts[QoS | QoSLink | Shm | Auth | MultiLink | LowLatency | Compression | Patch | RegionName] = NO_EXTS
