"""Nodes with other batches than the reference node: additional messages, smaller fragments, longer encoded numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, zip_longest
from typing import Any, ClassVar

from zenoh_conformance.messages import Fragment, KeepAlive, NetworkOam, Oam, sane
from zenoh_conformance.messages.network import QoS, TimestampExt
from zenoh_conformance.primitives import Timestamp, ZenohID
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import Enc, Exts
from zenoh_harness.reference import Base, Link, Reference

from . import variant

OAM_IDS = (1, 0x7FFF, 0xFFFF, 0)


@variant(
    "say", permitted="message-reference#oam-0x1f: OAM of the network, any id, each encoding", state={"turn": count}
)
def talks_management(node: Any, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Sends a network OAM before and after every message, in each encoding, on several lanes, and sometimes a large one."""
    if link.inside is None:
        base(link, next_oam(node), **how)
    base(link, message, **how)
    if link.inside is None:
        base(link, next_oam(node), reliable=False)


def next_oam(node: Any) -> NetworkOam:
    """Another OAM each time."""
    at = next(node.turn)
    number = OAM_IDS[at % len(OAM_IDS)]
    if at % 3 == 0:
        return NetworkOam(id=number, enc=Enc.UNIT)
    if at % 3 == 1:
        return NetworkOam(id=number, enc=Enc.Z64, exts=Exts((QoS(value=at % 8),)), body=2**64 - 1)
    stamp = Timestamp(time=0x6A00_0000_0000_0001 + at, zid=ZenohID(node.config.zid))
    large = b"of our own" * (200 if at % 50 == 2 else 1)
    return NetworkOam(id=number, enc=Enc.ZBUF, exts=Exts((TimestampExt(timestamp=stamp),)), body=large)


@variant(
    permitted="fragmentation: no page tells how large fragments are, nor what other channels say between",
)
class SaysOtherThingsBetweenFragments(Reference):
    """Sends everything in fragments, the last one empty, with KEEP_ALIVE, OAM and fragments of another channel in between."""

    BESIDE: ClassVar = encode(NetworkOam(id=0x7FFF, enc=Enc.ZBUF, body=b"beside"))
    """What is said in fragments of its own on the other channel."""

    def room(self, link: Link) -> int:
        return min(super().room(link), 24)

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        size = max(1, min(max(9, len(data) // 60), super().room(link) - 16))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        beside = [self.BESIDE[:2], self.BESIDE[2:5], self.BESIDE[5:]] if len(pieces) >= 3 else []
        last = self.next_sn(link, not reliable, priority) if beside else 0
        ours = self.fragments(link, [*pieces, b""], sn, reliable, priority)
        theirs = self.fragments(link, beside, last, not reliable, priority)
        for at, (our, their) in enumerate(zip_longest(ours, theirs)):
            self.send_batch(link, our)
            if their is not None:
                self.send_batch(link, their)
            if at < len(pieces):
                self.send(link, KeepAlive(), Oam(id=0x7FFF, enc=Enc.UNIT))

    def fragments(self, link: Link, pieces: list[bytes], sn: int, reliable: bool, priority: int) -> Iterator[bytes]:
        """Send one message on one channel; its sequence numbers are assigned while it is sent."""
        lane = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
        for at, piece in enumerate(pieces):
            exts: Exts[Any] = Exts((*lane, sane.first()) if not at and self.marks_first(link) else lane)
            more = at + 1 < len(pieces)
            yield encode(Fragment(reliable=reliable, more=more, sn=sn, exts=exts, payload=piece))
            if more:
                sn = self.next_sn(link, reliable, priority)


LONG = 5
"""Bytes of a number that is written in as many as it may take."""

NUMBERS = {0x02: 2, 0x05: 1, 0x06: 1}
"""How many numbers OPEN, FRAME and FRAGMENT begin with."""


@variant(
    permitted="erratum vle-overlong-accepted: a z32 takes at most 5 bytes; nothing forbids all of them",
)
class WritesLongNumbers(Reference):
    """Encodes each sequence number and lease in five bytes."""

    def room(self, link: Link) -> int:
        return super().room(link) - LONG + 1

    def send_batch(self, link: Link, batch: bytes) -> None:
        if batch and not link.terms.lowlatency:
            head, rest = batch[:1], batch[1:]
            for _ in range(NUMBERS.get(batch[0] & 0x1F, 0)):
                end = next(at for at, byte in enumerate(rest) if byte < 0x80) + 1
                head, rest = head + long(rest[:end]), rest[end:]
            batch = head + rest
        super().send_batch(link, batch)


def long(number: bytes) -> bytes:
    """Return an encoded number in five bytes, unless it has as many already."""
    if len(number) >= LONG:
        return number
    return bytes(byte | 0x80 for byte in number) + b"\x80" * (LONG - 1 - len(number)) + b"\0"
