"""Fragmentation: a network message in pieces, and whole again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .messages.fragment import Drop, First, Fragment
from .messages.frame import Frame, QoS
from .wire.extensions import Exts

DATA = 5
"""The lane of what names none."""

LARGEST = 1 << 30
"""Bytes of one message, as the baseline bounds it."""


def fragment(
    data: bytes, *, sn: int, size: int, mask: int = 0x0FFFFFFF, reliable: bool = True, marks: bool = True,
    priority: int | None = None,
) -> Iterator[Fragment]:  # fmt: skip
    """`data`, one network message, in pieces of `size` bytes numbered from `sn`; `marks`: the first says that it is."""
    starts = range(0, max(len(data), 1), size)
    for index, start in enumerate(starts):
        lane: list[Any] = [] if priority is None else [QoS(value=priority)]
        yield Fragment(
            reliable=reliable,
            more=index + 1 < len(starts),
            sn=(sn + index) & mask,
            exts=Exts(lane + [First()] * (marks and not index)),
            payload=data[start : start + size],
        )


@dataclass(slots=True)
class Chain:
    """The pieces of one channel so far."""

    last: int | None = None
    """Sequence number of the last piece; None when nothing is pending."""

    pieces: list[bytes] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class Defragmenter:
    """Puts pieces together: one chain for each reliability and priority; what breaks a chain drops it."""

    mask: int = 0x0FFFFFFF
    """Of the negotiated sequence numbers."""

    marks: bool = False
    """The sender's Patch is 1 or more: a chain begins with First."""

    most: int = LARGEST
    """A message may not be longer."""

    dropped: str | None = None
    """Why the last message that was fed broke a chain, or began none; None when it did not."""

    _chains: dict[tuple[bool, int], Chain] = field(default_factory=dict)

    def feed(self, message: Frame | Fragment) -> bytes | None:
        """The bytes of the network message that this piece completes, or None."""
        self.dropped = None
        lane = message.exts.get(QoS)
        chain = self._chains.setdefault((message.reliable, lane.value & 7 if lane else DATA), Chain())
        if isinstance(message, Frame):
            if chain.last is not None:
                self._drop(chain, "a FRAME came between the pieces")
            return None
        if self._begins(chain, message):
            self._append(chain, message)
        if message.more or chain.last is None:
            return None
        whole = b"".join(chain.pieces)
        self._clear(chain)
        return whole

    def _begins(self, chain: Chain, piece: Fragment) -> bool:
        """Whether this piece belongs to the chain, which is dropped when it does not."""
        if piece.exts.get(Drop):
            self._drop(chain, "the sender gave the message up")
            return False
        if piece.exts.get(First):
            if chain.last is not None:
                self._drop(chain, "another message began")
            return True
        if chain.last is None:
            if self.marks:
                self._drop(chain, "the first piece is missing")
            return not self.marks
        if piece.sn != (chain.last + 1) & self.mask:
            self._drop(chain, f"piece {piece.sn} after {chain.last}")
            return False
        return True

    def _append(self, chain: Chain, piece: Fragment) -> None:
        chain.last = piece.sn
        chain.pieces.append(piece.payload)
        chain.size += len(piece.payload)
        if chain.size > self.most:
            self._drop(chain, f"more than {self.most} bytes")

    def _drop(self, chain: Chain, why: str) -> None:
        self.dropped = why
        self._clear(chain)

    @staticmethod
    def _clear(chain: Chain) -> None:
        chain.last, chain.size = None, 0
        chain.pieces.clear()
