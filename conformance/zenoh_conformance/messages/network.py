"""Extensions that several network messages share."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives import Timestamp
from zenoh_conformance.wire import U8, BytesZ64, Composite, Fixed, Many, Vle, Z16Cut, composite, extension
from zenoh_conformance.wire.notes import treatment

REF = "message-reference#common-extensions"


@extension(0x1, "z64", ref=REF)
class QoS:
    """Priority and congestion control of the message; 0x05 when absent."""

    value: Annotated[int, Vle(8, cut=True, reserved=0xC0, says=treatment)]
    """Bits 2:0 priority, 3 D do not drop, 4 E express, 5 F do not drop the first."""

    @property
    def priority(self) -> int:
        """0 Control to 7 Background."""
        return self.value & 7

    @property
    def block(self) -> bool:
        """D: under congestion the message is not dropped."""
        return self.value & 0x08 != 0

    @property
    def express(self) -> bool:
        """E: the message is sent at once, not batched with later ones."""
        return self.value & 0x10 != 0

    @property
    def block_first(self) -> bool:
        """F: under congestion the first message waits, and later ones are dropped."""
        return self.value & 0x20 != 0


@extension(0x2, "zbuf", ref=REF, name="Timestamp")
class TimestampExt:
    """The time at which the message was made."""

    timestamp: Timestamp
    """Time and clock."""


@extension(0x3, "z64", mandatory=True, ref=REF)
class NodeId:
    """The node of the routing tree that the message comes from."""

    value: Z16Cut
    """The node's number in that tree."""


@composite(ref="errata#timestamp-stack-extension")
class TsEntry:
    """One stamp of a TsStack."""

    flags: U8
    """The place where the stamp was made; 0x80: the stamp is in the application's own form."""

    stamp: BytesZ64
    """A Timestamp, unless `flags` say otherwise."""


@extension(0x7, "zbuf", ref="errata#timestamp-stack-extension")
class TsStack:
    """Timestamps that the nodes on the route add; newer than the text of the pages."""

    conf_flags: Annotated[int, Fixed(1, least=1)]
    """The nodes that add a stamp: 1 senders, 2 routers, 4 receivers; at least one bit is set."""

    entries: Annotated[tuple[TsEntry, ...], Many(Composite(TsEntry), Vle(8))]
    """In the order in which they were added."""
