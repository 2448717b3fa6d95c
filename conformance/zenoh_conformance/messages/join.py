"""JOIN: announces a sender's parameters on a multicast link; INIT and OPEN negotiate the same on unicast."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives import Resolution, Role, ZidAfterRole
from zenoh_conformance.wire import (
    NO_EXTS,
    U8,
    BytesRest,
    Composite,
    Exts,
    Fixed,
    Layer,
    Many,
    Vle,
    Z32Cut,
    batch_bytes,
    composite,
    duration,
    extension,
    flag,
    given,
    message,
)

from .init import Patch

REF = "join#extensions"


@composite(ref=REF, listed=True)
class NextSn:
    """The next sequence numbers of one priority."""

    reliable: Z32Cut
    """The next number on the reliable channel."""

    best_effort: Z32Cut
    """The next number on the best-effort channel."""


@extension(0x1, "zbuf", mandatory=True, ref=REF)
class QoS:
    """The next sequence numbers of each priority; they replace those in the body."""

    sns: Annotated[tuple[NextSn, ...], Many(Composite(NextSn), 8)]
    """One entry per priority, 0 Control to 7 Background."""


@extension(0x2, "zbuf", mandatory=True, ref=REF)
class Shm:
    """The shared-memory capabilities of the node."""

    payload: BytesRest
    """Opaque."""


@message(0x07, "Z|S|T", layer=Layer.TRANSPORT, ref="message-reference#join")
class Join:
    """Announces its sender; repeated periodically, and a receiver may send to that node from then on.

     7 6 5 4 3 2 1 0
    |Z|S|T|  0x07   |
    """

    version: U8 = 9
    """The version of the protocol."""

    whatami: Role
    """The role of the sender."""

    zid: ZidAfterRole
    """The ZenohID of the sender."""

    resolution: Resolution | None = given("S", default=None)
    """The widths of sequence numbers and request ids; 0x0a when absent."""

    batch_size: Annotated[int, Fixed(2, says=batch_bytes)] | None = given("S", default=None)
    """The largest batch that the sender takes; 8192 when absent."""

    lease_in_seconds: bool = flag("T", default=False)
    """T: set, `lease` is in seconds; clear, in milliseconds."""

    lease: Annotated[int, Vle(64, says=duration)]
    """The time without a message after which the node counts as gone, in the unit that T selects."""

    next_sn_reliable: Z32Cut
    """The next number on the reliable channel."""

    next_sn_best_effort: Z32Cut
    """The next number on the best-effort channel."""

    exts: Exts[QoS | Shm | Patch] = NO_EXTS
