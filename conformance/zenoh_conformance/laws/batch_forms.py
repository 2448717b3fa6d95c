"""The form of batches in a session: sizes, FRAMEs that are not empty, low latency, compression (batching, message-reference#frame)."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Frame
from zenoh_conformance.reading.batch import STREAM_PREFIX, decode_batch, decompress
from zenoh_conformance.reading.codec import Layer, decode_whole
from zenoh_conformance.reading.connection import Nature, Seen, SeenBatch
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_conformance.wire import DecodeError

from .handshake import HandshakeLaw


@law("message-reference/frame-not-empty")
class FramesAreNotEmpty(Law):
    """A FRAME carries a network message; one whose first message cannot be read is judged by another law."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})

    def __init__(self) -> None:
        super().__init__()
        self.empty: dict[Side, Seen] = {}
        """The last FRAME of each side if it was empty, until it is known whether its rest can be read."""

    def on_alone(self, seen: Seen, message: Any) -> None:
        """What follows an empty FRAME."""
        before = self.empty.pop(seen.sender, None)
        if before is not None and not (seen.kind == "undecodable" and seen.event is before.event):
            self._find(before)

    def on_frame(self, seen: Seen, frame: Frame) -> None:
        if frame.messages:
            self.subject(seen)
        else:
            self.empty[seen.sender] = seen

    def end(self) -> None:
        for seen in self.empty.values():
            self._find(seen)

    def _find(self, seen: Seen) -> None:
        self.subject(seen)
        self.require(False, at=seen, path="frame.messages", expected="a network message", got="none")


@law("message-reference/join-multicast-only")
class JoinOnMulticastOnly(Law):
    """Nobody says JOIN on a unicast link."""

    def on_init(self, seen: Seen, init: Any) -> None:
        self.subject(seen)

    def on_join(self, seen: Seen, join: Any) -> None:
        self.subject(seen)
        self.require(False, at=seen, path="join", expected="no JOIN on a unicast link", got="JOIN")


@law("batching/unit-fits-batch-size")
class UnitFitsBatchSize(HandshakeLaw):
    """On a stream, a batch and its prefix fit the negotiated size (erratum batch-size-counts-prefix); not in a low-latency session."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        if self.link.batch_size is None or self.datagrams or not self.link.is_open or self.link.agreed("LowLatency"):
            return
        self.subject(seen)
        fits = len(batch) + STREAM_PREFIX <= self.link.batch_size
        as_written = "batch-size-counts-prefix" if len(batch) <= self.link.batch_size else ""
        expected, got = "the negotiated size at most, prefix included", "a larger batch"
        self.require(fits, at=seen, path="batch", expected=expected, got=got, follows=as_written)


@law("primitives/datagram-has-no-prefix")
class DatagramsHaveNoPrefix(Law):
    """No datagram begins with its own length: one that does, is no message, and holds one behind it."""

    natures = frozenset(Nature)

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        if self.datagrams and isinstance(seen, SeenBatch) and not seen.compressed:
            self.subject(seen)
            expected, got = "a batch", "its length, and a batch"
            self.require(not has_prefix(batch), at=seen, path="batch", expected=expected, got=got)


def has_prefix(datagram: bytes) -> bool:
    """Whether a datagram makes sense as a length and what follows it, and not as it stands."""
    length = int.from_bytes(datagram[:STREAM_PREFIX], "little")
    return length == len(datagram) - STREAM_PREFIX and not _is_read(datagram) and _is_read(datagram[STREAM_PREFIX:])


def _is_read(datagram: bytes) -> bool:
    """Whether bytes are messages of a session, or one of scouting."""
    try:
        decode_whole(datagram, Layer.SCOUTING)
    except DecodeError:
        return not any(isinstance(decoded, DecodeError) for decoded in decode_batch(datagram))
    return True


@law("batching/low-latency-framing")
class LowLatencyFraming(HandshakeLaw):
    """In a low-latency session each batch has a length of four bytes (erratum low-latency-u32-prefix), and holds no FRAME."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        if self.link.agreed("LowLatency") and self.link.is_open:
            self.subject(seen)

    def on_undecodable(self, seen: Seen, refusal: DecodeError) -> None:
        if self.link.agreed("LowLatency") and self.link.is_open and seen.event.kind is Happened.BYTES:
            expected = "network messages, KEEP_ALIVE or CLOSE behind a length of four bytes"
            self.require(False, at=seen, path="batch", expected=expected, got="other bytes")


@law("batching/compressed-batch-form")
class CompressedBatchForm(HandshakeLaw):
    """In a session with compression, the header byte of a batch says whether the rest is an LZ4 block (erratum compression-header)."""

    def __init__(self) -> None:
        super().__init__()
        self.batch: dict[Side, bytes] = {}
        """The last batch of each side."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        if self.link.agreed("Compression") and self.link.is_open:
            self.subject(seen)
            self.batch[seen.sender] = batch

    def on_undecodable(self, seen: Seen, refusal: DecodeError) -> None:
        batch = self.batch.get(seen.sender)
        if batch is None or seen.event.kind is not Happened.BYTES:
            return
        if refusal.path in ("batch.compression", "batch.block"):
            self.require(False, at=seen, path=refusal.path, expected="a header byte, and what it says", got=refusal.why)
        elif not batch[0] & 1 and reads_compressed(batch):
            self.require(
                False, at=seen, path="batch.compression", expected="bit 0 set", got="an LZ4 block behind bit 0 clear"
            )


def reads(batch: bytes) -> bool:
    """Whether a batch holds messages, and nothing else."""
    decoded = list(decode_batch(batch))
    return bool(decoded) and not isinstance(decoded[-1], DecodeError)


def reads_compressed(batch: bytes) -> bool:
    """Whether what follows the header byte is an LZ4 block of messages."""
    try:
        return reads(decompress(b"\x01" + batch[1:]))
    except DecodeError:
        return False
