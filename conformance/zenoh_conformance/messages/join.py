"""JOIN: what INIT and OPEN settle, told to everybody on a multicast link."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives.zid import Resolution, Role, ZidAfterRole
from zenoh_conformance.wire.declare import NO_EXTS, Exts, composite, extension, flag, given, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.nested import Composite, Many
from zenoh_conformance.wire.notes import batch_bytes, duration
from zenoh_conformance.wire.types import U8, BytesRest, Fixed, Vle, Z32Cut

from .init import Patch

REF = "join#extensions"


@composite(ref=REF, listed=True)
class NextSn:
    """Where one priority is in its two sequences."""

    reliable: Z32Cut
    """Of the reliable channel."""

    best_effort: Z32Cut
    """Of the best-effort channel."""


@extension(0x1, "zbuf", mandatory=True, ref=REF)
class QoS:
    """Priorities have lanes of their own; these numbers count, not the body's."""

    sns: Annotated[tuple[NextSn, ...], Many(Composite(NextSn), 8)]
    """By priority, 0 Control to 7 Background."""


@extension(0x2, "zbuf", mandatory=True, ref=REF)
class Shm:
    """What the node can do with shared memory."""

    payload: BytesRest
    """Opaque."""


@message(0x07, "Z|S|T", layer=Layer.TRANSPORT, ref="message-reference#join")
class Join:
    """Sent again and again; whoever hears it may send to its sender.

     7 6 5 4 3 2 1 0
    |Z|S|T|  0x07   |
    """

    version: U8 = 9
    """Of the protocol."""

    whatami: Role
    """What the sender is."""

    zid: ZidAfterRole
    """Who the sender is."""

    resolution: Resolution | None = given("S", default=None)
    """How wide sequence numbers and request ids are; 0x0a when absent."""

    batch_size: Annotated[int, Fixed(2, says=batch_bytes)] | None = given("S", default=None)
    """The largest batch that the sender takes; 8192 when absent."""

    lease_in_seconds: bool = flag("T", default=False)
    """T: the unit of `lease`; milliseconds when clear."""

    lease: Annotated[int, Vle(64, says=duration)]
    """How long silence may last, in the unit that T names."""

    next_sn_reliable: Z32Cut
    """Of the reliable channel."""

    next_sn_best_effort: Z32Cut
    """Of the best-effort channel."""

    exts: Exts[QoS | Shm | Patch] = NO_EXTS
