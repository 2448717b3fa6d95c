"""Reassembles the fragmented messages of a conversation (companion fragmentation).

`connection` decodes the messages in FRAMEs; this module adds those in FRAGMENTs. A chain of fragments that holds no message
yields one `unread`.
"""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.messages import Init
from zenoh_conformance.wire import DecodeError

from .codec import Layer, decode
from .connection import Seen, unnest
from .conversation import SIDES, Side
from .fragments import Defragmenter

LARGEST = 1 << 26
"""Bytes of incomplete messages that are held for one direction of a connection, and so of the largest message."""

SN_MASK = (0x7F, 0x3FFF, 0x0FFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF)
"""The largest sequence number, by the FSN code of the resolution byte (erratum sn-fills-vle-bytes)."""

SN_AS_WRITTEN = tuple((1 << (8 << code)) - 1 for code in range(4))
"""The largest sequence number as the text has it, by the same code."""


def may_be_first(sn: int, *, announced: int, mask: int, reliable: bool) -> bool:
    """Whether a channel may begin with the number `sn` after OPEN announced another, or this.

    The reliable channel begins with what was announced. Best effort may lose its first messages before they are sent, so it may
    begin as far ahead as a receiver takes: up to half the range (batching#frame, session-establishment#negotiation).
    """
    ahead = (sn - announced) & mask
    return ahead == 0 or (not reliable and ahead <= mask >> 1)


DEFAULT = 2
"""The FSN code of an INIT without S."""


class Pieces:
    """One defragmenter for each direction with fragments."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        """Connection to the FSN code that its INITs negotiated."""
        self._open: dict[tuple[str, Side], Defragmenter] = {}

    def feed(self, seen: Seen) -> Iterator[Seen]:
        """The network message that this message completes, and its content, as if a FRAME had carried them."""
        if isinstance(seen.message, Init):
            code = DEFAULT if seen.message.resolution is None else seen.message.resolution & 3
            self._codes[seen.connection] = min(code, self._codes.get(seen.connection, 3))
        elif seen.kind in ("fragment", "frame") and not seen.around:
            yield from self._piece(seen)

    def _piece(self, seen: Seen) -> Iterator[Seen]:
        key = (seen.connection, seen.sender)
        if key not in self._open:
            if seen.kind == "frame":
                return
            mask = SN_MASK[self._codes.get(seen.connection, DEFAULT)]
            self._open[key] = Defragmenter(mask=mask, most=LARGEST)
        defragmenter = self._open[key]
        whole = defragmenter.feed(seen.message)
        if whole is not None:
            yield from self._whole(seen, whole)
        elif defragmenter.dropped is not None:
            yield Seen(seen.event, "unread", defragmenter.dropped, "fragment", b"", (), (seen.message,), seen.channel)

    def _whole(self, seen: Seen, data: bytes) -> Iterator[Seen]:
        try:
            message = decode(data, Layer.NETWORK).message
        except DecodeError as refusal:
            yield Seen(seen.event, "unread", refusal, "fragment.payload", data, (), (seen.message,), seen.channel)
            return
        for inner in unnest(seen.event, message, data):
            around = (seen.message, *inner.around)
            yield Seen(inner.event, inner.kind, inner.message, inner.path, data, (), around, seen.channel)

    def forget(self, connection: str) -> None:
        """Drop the state of a connection that has ended."""
        self._codes.pop(connection, None)
        for side in SIDES:
            self._open.pop((connection, side), None)
