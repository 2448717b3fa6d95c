"""Extensions that several data messages share."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives.payload import Payload
from zenoh_conformance.primitives.zid import ZidAlone
from zenoh_conformance.wire.declare import extension
from zenoh_conformance.wire.types import Z32Cut

REF = "push#common-data-extensions"


@extension(0x1, "zbuf", ref=REF)
class SourceInfo:
    """Which entity this comes from, and which of its messages it is."""

    zid: ZidAlone
    """The node."""

    eid: Z32Cut
    """The entity in that node."""

    sn: Z32Cut
    """Counts the messages of that entity."""


@extension(0x2, "unit", mandatory=True, ref=REF)
class Shm:
    """The payload is in slices, some of which may stand in shared memory."""


PayloadField = Annotated[bytes, Payload(Shm)]
