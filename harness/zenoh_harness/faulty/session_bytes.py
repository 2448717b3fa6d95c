"""Nodes that put into a session what cannot be read."""

from __future__ import annotations

from zenoh_conformance.batch import decode_batch
from zenoh_conformance.codec import Decoded
from zenoh_conformance.messages import Frame
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty


class _Spoils(Reference):
    """Changes the batches of its live sessions that hold a FRAME."""

    def spoilt(self, batch: bytes) -> bytes:
        """What is sent in place of a batch."""
        raise NotImplementedError

    def send_batch(self, link: Link, batch: bytes) -> None:
        found = next(iter(decode_batch(batch)), None) if link.live else None
        framed = isinstance(found, Decoded) and isinstance(found.message, Frame)
        super().send_batch(link, self.spoilt(batch) if framed else batch)


@faulty(
    "cuts-its-messages-short",
    caught_by="law/frame-holds-complete-messages",
    also={"*": "nobody gets what is waited for"},
)
class CutsItsMessagesShort(_Spoils):
    """Leaves out the last byte of each FRAME."""

    def spoilt(self, batch: bytes) -> bytes:
        return batch[:-1]


@faulty(
    "says-what-no-page-assigns",
    caught_by="law/transport-ids-only",
    also={"*": "what cannot be read in a session ends it"},
)
class SaysWhatNoPageAssigns(_Spoils):
    """Lets a message of id 0x0b follow each FRAME."""

    def spoilt(self, batch: bytes) -> bytes:
        return batch + b"\x0b"
