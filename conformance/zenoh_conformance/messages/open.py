"""OPEN: activate the session whose parameters INIT settled."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, flag, message, when
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import duration
from zenoh_conformance.wire.types import Z64, BytesRest, BytesZ64, Vle, Z8Cut, Z32Cut

from .init import Auth, Compression, LowLatency, QoS

REF = "session-establishment#open-syn-extensions"


@extension(0x2, "z64", ref=REF)
class Shm:
    """The answer to a probe for shared memory."""

    value: Z64
    """Opaque."""


@extension(0x2, "zbuf", ref=REF)
class ShmAnswer:
    """The same in the layout that the baseline has sent since 1.10; the text of the pages has the other alone."""

    payload: BytesRest
    """Opaque."""


@extension(0x4, "zbuf", ref=REF, only="not ack")
class MultiLinkSyn:
    """A step of the proof that a further link belongs to this session."""

    payload: BytesRest
    """Opaque."""


@extension(0x4, "unit", ref="session-establishment#open-ack-extensions", only="ack")
class MultiLinkAck:
    """The further link is accepted."""


@extension(0x7, "z64", ref=REF)
class RemoteBound:
    """A hint for routing: on which side of a region the sender stands."""

    value: Z8Cut
    """0 north, 1 south."""


@message(0x02, "Z|T|A", layer=Layer.TRANSPORT, ref="session-establishment#open")
class Open:
    """Sent by the initiator (A=0, with the cookie), answered by the responder (A=1).

     7 6 5 4 3 2 1 0
    |Z|T|A|  0x02   |
    """

    ack: bool = flag("A")
    """A: this answers an OpenSyn."""

    lease_in_seconds: bool = flag("T", default=False)
    """T: the unit of `lease`; milliseconds when clear."""

    lease: Annotated[int, Vle(64, says=duration)]
    """How long silence may last, in the unit that T names."""

    initial_sn: Z32Cut
    """First sequence number that the sender will use; inside the negotiated resolution."""

    cookie: BytesZ64 | None = when("not ack", default=None)
    """The responder's cookie, unchanged."""

    exts: Exts[QoS | Shm | ShmAnswer | Auth | MultiLinkSyn | MultiLinkAck | LowLatency | Compression | RemoteBound] = (
        NO_EXTS
    )
