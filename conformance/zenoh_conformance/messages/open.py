"""OPEN: opens the session whose parameters INIT negotiated."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.wire import (
    NO_EXTS,
    Z64,
    BytesRest,
    BytesZ64,
    Exts,
    Layer,
    Vle,
    Z8Cut,
    Z32Cut,
    duration,
    extension,
    flag,
    message,
    when,
)

from .init import Auth, Compression, LowLatency, QoS

REF = "session-establishment#open-syn-extensions"


@extension(0x2, "z64", ref=REF)
class Shm:
    """The answer to a probe for shared memory."""

    value: Z64
    """Opaque."""


@extension(0x2, "zbuf", ref=REF)
class ShmAnswer:
    """The answer in the layout that the baseline has sent since 1.10; the pages describe only the other one."""

    payload: BytesRest
    """Opaque."""


@extension(0x4, "zbuf", ref=REF, only="not ack")
class MultiLinkSyn:
    """A step of the proof that a further link belongs to this session."""

    payload: BytesRest
    """Opaque."""


@extension(0x4, "unit", ref="session-establishment#open-ack-extensions", only="ack")
class MultiLinkAck:
    """Accepts a further link of the session."""


@extension(0x7, "z64", ref=REF)
class RemoteBound:
    """A hint for routing: the side of the region on which the sender is."""

    value: Z8Cut
    """0 north, 1 south."""


@message(0x02, "Z|T|A", layer=Layer.TRANSPORT, ref="session-establishment#open")
class Open:
    """Opens the session (A=0 with the cookie, from the initiator) or accepts it (A=1, from the responder).

     7 6 5 4 3 2 1 0
    |Z|T|A|  0x02   |
    """

    ack: bool = flag("A")
    """A: this answers an OpenSyn."""

    lease_in_seconds: bool = flag("T", default=False)
    """T: set, `lease` is in seconds; clear, in milliseconds."""

    lease: Annotated[int, Vle(64, says=duration)]
    """The time without a message after which the session ends, in the unit that T selects."""

    initial_sn: Z32Cut
    """The first sequence number that the sender will use, inside the negotiated resolution."""

    cookie: BytesZ64 | None = when("not ack", default=None)
    """The responder's cookie, unchanged."""

    exts: Exts[QoS | Shm | ShmAnswer | Auth | MultiLinkSyn | MultiLinkAck | LowLatency | Compression | RemoteBound] = (
        NO_EXTS
    )
