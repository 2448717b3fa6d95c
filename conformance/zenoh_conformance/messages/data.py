"""Extensions that several data messages share."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives import ZidAlone
from zenoh_conformance.primitives.payload import Payload
from zenoh_conformance.wire import Z32Cut, extension

REF = "push#common-data-extensions"


@extension(0x1, "zbuf", ref=REF)
class SourceInfo:
    """The entity that published this message, and the message's number there."""

    zid: ZidAlone
    """The node."""

    eid: Z32Cut
    """The entity in that node."""

    sn: Z32Cut
    """The number of this message among those of the entity."""


@extension(0x2, "unit", mandatory=True, ref=REF)
class Shm:
    """Marks a payload that is a list of slices; a slice may lie in shared memory."""


PayloadField = Annotated[bytes, Payload(Shm)]
