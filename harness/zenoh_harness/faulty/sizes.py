"""Nodes that are wrong at the edge of a batch: in what they take, what they fill, and how they end what they fragment."""

from __future__ import annotations

from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.speaking import FRAGMENT_HEAD

from . import faulty

SIZES = "session-sizes"
MORE, RELIABLE = 0x40, 0x20
"""Bits of the header of a FRAGMENT."""


@faulty(
    "has-room-for-multiples-of-16",
    caught_by=f"{SIZES}/a-batch-as-large-as-settled-is-taken",
    also=dict.fromkeys(
        (
            "push-delivery/a-value-of-any-size-comes-whole", "routing-sizes/an-answer-of-any-size-comes-whole",
            "routing-sizes/an-error-of-any-size-comes-whole",
        ),
        "what is large comes in batches as large as they may be",
    ),
)  # fmt: skip
class HasRoomForMultiplesOf16(Reference):
    """Rounds the settled size down to a multiple of 16, and ends a session whose batch is larger."""

    def on_batch(self, link: Link, batch: bytes) -> None:
        super().on_batch(link, batch)
        if link.live and len(batch) + 2 > max(16, link.terms.batch_size // 16 * 16):
            raise Refused(INVALID, "no room for it")


@faulty("never-ends-what-fills-its-fragments", caught_by=f"{SIZES}/a-chain-ends-whatever-its-size")
class NeverEndsWhatFillsItsFragments(Reference):
    """Sets M on the last fragment, too, where the message fills it."""

    full = False

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        self.full = len(data) % (self.room(link) - FRAGMENT_HEAD) == 0
        super().say_fragments(link, data, sn, reliable, priority)
        self.full = False

    def send_batch(self, link: Link, batch: bytes) -> None:
        if self.full:
            batch = bytes([batch[0] | MORE]) + batch[1:]
        super().send_batch(link, batch)


@faulty(
    "ends-what-is-best-effort-reliably",
    caught_by=f"{SIZES}/a-chain-to-us-is-of-one-channel",
    also={"law/what-is-said-decodes": "what stands in the last fragment is no message"},
)
class EndsWhatIsBestEffortReliably(Reference):
    """Sends the last fragment on the reliable channel, whatever the others are on."""

    last = False

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        self.last = True
        super().say_fragments(link, data, sn, reliable, priority)
        self.last = False

    def send_batch(self, link: Link, batch: bytes) -> None:
        if self.last and not batch[0] & MORE:
            batch = bytes([batch[0] | RELIABLE]) + batch[1:]
        super().send_batch(link, batch)


@faulty(
    "fills-batches-beside-their-compression-header",
    caught_by=f"{SIZES}/what-does-not-shrink-fits-with-its-compression-header",
    also={"law/batch-size-is-receive-limit": "a batch that is one byte too large"},
)
class FillsBatchesBesideTheirCompressionHeader(Reference):
    """Fills batches to the settled size and puts the compression header before that."""

    def room(self, link: Link) -> int:
        return link.terms.batch_size if link.terms.compression else super().room(link)
