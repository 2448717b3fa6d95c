"""Messages that went by in fragments, whole again, for who looks at conversations (companion fragmentation).

What is nested in FRAMEs comes from `connection`; this is the rest. A chain that yields no message yields one `unread`.
"""

from __future__ import annotations

from collections.abc import Iterator

from .codec import Layer, decode
from .connection import Seen, nested
from .conversation import SIDES, Side
from .fragments import Defragmenter
from .messages import Init
from .wire.errors import DecodeError

LARGEST = 1 << 26
"""Bytes of one message that are kept; a larger one is not looked at."""

SN_MASK = (0x7F, 0x3FFF, 0x0FFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF)
"""What numbers are taken modulo, by the FSN code of the resolution byte (erratum sn-fills-vle-bytes)."""

DEFAULT = 2
"""The FSN code of an INIT without S."""


class Pieces:
    """One defragmenter for each direction in which fragments were seen."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        """Connection to the FSN code that its INITs settled."""
        self._open: dict[tuple[str, Side], Defragmenter] = {}

    def feed(self, seen: Seen) -> Iterator[Seen]:
        """What this message completes: a network message and what it holds, as if it had stood in a FRAME."""
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
        pieces = self._open[key]
        whole = pieces.feed(seen.message)
        if whole is not None:
            yield from self._whole(seen, whole)
        elif pieces.dropped is not None:
            yield Seen(seen.event, "unread", pieces.dropped, "fragment", b"", (), (seen.message,), seen.channel)

    def _whole(self, seen: Seen, data: bytes) -> Iterator[Seen]:
        try:
            message = decode(data, Layer.NETWORK).message
        except DecodeError as refusal:
            yield Seen(seen.event, "unread", refusal, "fragment.payload", data, (), (seen.message,), seen.channel)
            return
        for inner in nested(seen.event, message, data):
            around = (seen.message, *inner.around)
            yield Seen(inner.event, inner.kind, inner.message, inner.path, data, (), around, seen.channel)

    def forget(self, connection: str) -> None:
        """The connection has ended."""
        self._codes.pop(connection, None)
        for side in SIDES:
            self._open.pop((connection, side), None)
