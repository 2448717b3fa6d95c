"""Fragmentation: splits a network message into FRAGMENTs and reassembles it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from zenoh_conformance.messages import Drop, First, Fragment
from zenoh_conformance.messages.frame import Frame, QoS
from zenoh_conformance.wire import Exts

DATA = 5
"""The priority of a message without a QoS extension."""

LARGEST = 1 << 30
"""Bytes of the largest message, as in the baseline."""

TOO_MUCH = "the incomplete messages take more than"
"""How the reason begins for which a chain above the bound is dropped."""


def fragment(
    data: bytes,
    *,
    sn: int,
    size: int,
    mask: int = 0x0FFFFFFF,
    reliable: bool = True,
    marks: bool = True,
    priority: int | None = None,
) -> Iterator[Fragment]:
    """Split a network message into pieces of `size` bytes numbered from `sn`; `marks`: the first piece carries First."""
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
    """The pieces of an incomplete message on one channel."""

    last: int | None = None
    """Sequence number of the last piece; None without an incomplete message."""

    data: bytearray = field(default_factory=bytearray)
    """The payloads of the pieces so far; one object, since a list of small pieces takes many times their bytes."""


@dataclass(slots=True)
class Defragmenter:
    """Reassembles messages, one chain per reliability and priority; a chain with a gap is dropped."""

    mask: int = 0x0FFFFFFF
    """The largest sequence number."""

    marks: bool = False
    """Whether a chain must begin with First: the sender's Patch is 1 or more."""

    most: int = LARGEST
    """Bytes of incomplete messages that are held, on all channels together, and so of the longest message."""

    dropped: str | None = None
    """Why the last message broke a chain or could not begin one; None when it did neither."""

    _chains: dict[tuple[bool, int], Chain] = field(default_factory=dict)

    _held: int = 0
    """Bytes of all chains."""

    def feed(self, message: Frame | Fragment) -> bytes | None:
        """The bytes of the network message that this piece completes, or None."""
        self.dropped = None
        lane = message.exts.get(QoS)
        chain = self._chains.setdefault((message.reliable, lane.value & 7 if lane else DATA), Chain())
        if isinstance(message, Frame):
            if chain.last is not None:
                self._drop(chain, "a FRAME came between the pieces")
            return None
        if self._fits(chain, message):
            self._append(chain, message)
        if message.more or chain.last is None:
            return None
        whole = bytes(chain.data)
        self._clear(chain)
        return whole

    def _fits(self, chain: Chain, piece: Fragment) -> bool:
        """Whether this piece begins or continues the chain; drop the chain if it does not."""
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
        chain.data += piece.payload
        self._held += len(piece.payload)
        if self._held > self.most:
            self._drop(chain, f"{TOO_MUCH} {self.most} bytes")

    def _drop(self, chain: Chain, why: str) -> None:
        self.dropped = why
        self._clear(chain)

    def _clear(self, chain: Chain) -> None:
        self._held -= len(chain.data)
        chain.last = None
        chain.data.clear()
