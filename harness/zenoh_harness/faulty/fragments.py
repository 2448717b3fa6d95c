"""Nodes with faults in fragments, in batches of several messages, and at the size limit of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from zenoh_conformance.messages import Drop, First, Frame, KeepAlive, Patch
from zenoh_conformance.reading.codec import Layer, decode, encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import INVALID, Link, Reference, before, refuse
from zenoh_harness.reference.speaking import FRAGMENT_HEAD

from . import fault, faulty

FRAGMENTS = "session-fragments"
PUT_TOGETHER = f"{FRAGMENTS}/pieces-are-put-together"
CHANNELS = f"{FRAGMENTS}/pieces-of-two-channels-are-told-apart"
HEARS = "application-terms/an-application-hears-every-channel"
LANES = f"{FRAGMENTS}/pieces-of-two-lanes-are-told-apart"
PATCH = "establishment-patch"
MARKED = f"{PATCH}/the-first-fragment-is-marked"
SIZES = "session-sizes"
MORE, RELIABLE = 0x40, 0x20
"""Bits of the header of a FRAGMENT."""


class _ChangesFragments(Reference):
    """Base of nodes that change the batches of fragmented messages."""

    whole = b""
    """The message that the node fragments now."""

    def say_fragments(self, link, data, sn, reliable, priority):
        self.whole = data
        super().say_fragments(link, data, sn, reliable, priority)
        self.whole = b""

    def send_batch(self, link, batch):
        super().send_batch(link, self.fragment(link, batch) if self.whole else batch)

    def fragment(self, link, batch):
        """The batch to send instead."""
        raise NotImplementedError


def with_bits(batch: bytes, bits: int) -> bytes:
    """A batch with more bits set in its header."""
    return bytes([batch[0] | bits]) + batch[1:]


def forget_for(kind: type[Any]) -> Callable[..., None]:
    """An `on_session` that drops unfinished messages when a message of a kind comes."""

    def on_session(base: Callable[..., None], link: Link, message: Any) -> None:
        if isinstance(message, kind):
            link.partial.clear()
        base()

    return on_session


fault(
    "puts-no-best-effort-together",
    "Drops best-effort fragments.",
    on_fragment=lambda base, fragment: base() if fragment.reliable else None,
    caught_by=(PUT_TOGETHER, CHANNELS, HEARS),
    also={"establishment-patch/marked-pieces-of-two-channels-are-told-apart": "with and without marks"},
)
fault(
    "takes-back-what-came-later-only",
    "Does not send the undeclaration of an entity that a snapshot declared.",
    tell=lambda base, interest, once: base(once=once or interest is not None),
    caught_by="interest-changes/what-a-snapshot-told-is-taken-back",
)
fault(
    "never-marks-a-first-fragment",
    "Does not mark first fragments, whatever patch was negotiated.",
    marks_first=lambda: False,
    caught_by=MARKED,
)
fault(
    "takes-eight-messages-of-a-frame",
    "Forwards only the first eight messages of a FRAME.",
    on_session=lambda base, message: (
        base(message=replace(message, messages=message.messages[:8])) if isinstance(message, Frame) else base()
    ),
    caught_by=f"{FRAGMENTS}/every-message-of-a-batch-is-taken",
)
fault(
    "forgets-fragments-for-any-frame",
    "Drops an unfinished message at a FRAME of any channel.",
    on_session=forget_for(Frame),
    caught_by=(CHANNELS, HEARS),
)
fault(
    "forgets-fragments-for-a-frame-of-another-lane",
    "Drops an unfinished message at a FRAME of the same reliability in another lane.",
    on_session=before(
        lambda link, message: [
            link.partial.pop(channel)
            for channel in list(link.partial)
            if isinstance(message, Frame) and channel[0] == message.reliable
        ]
    ),
    caught_by=(CHANNELS, HEARS),
)
fault(
    "has-no-room-for-a-full-fragment",
    "Closes on a FRAGMENT that fills its batch.",
    on_batch=before(
        lambda node, link, batch: (
            refuse(INVALID)
            if link.live and batch[:1] and batch[0] & 0x1F == 6 and len(batch) == node.room(link)
            else None
        )
    ),
    caught_by=f"{SIZES}/a-batch-as-large-as-settled-is-taken",
)
fault(
    "forgets-fragments-for-keep-alive",
    "Drops an unfinished message at KEEP_ALIVE.",
    on_session=forget_for(KeepAlive),
    caught_by=CHANNELS,
)
fault(
    "has-room-for-multiples-of-16",
    "Rounds the negotiated batch size down to a multiple of 16, and closes on a larger batch.",
    on_batch=lambda base, link, batch: (
        refuse(INVALID) if link.live and len(batch) + 2 > max(16, link.terms.batch_size // 16 * 16) else base()
    ),
    caught_by=f"{SIZES}/a-batch-as-large-as-settled-is-taken",
    also=dict.fromkeys(
        (
            "push-delivery/a-value-of-any-size-comes-whole",
            "routing-sizes/an-answer-of-any-size-comes-whole",
            "routing-sizes/an-error-of-any-size-comes-whole",
        ),
        "large messages come in batches of the largest size",
    ),
)
fault(
    "fills-batches-beside-their-compression-header",
    "Fills batches to the negotiated size without counting the compression header.",
    room=lambda base, link: link.terms.batch_size if link.terms.compression else base(),
    caught_by=f"{SIZES}/what-does-not-shrink-fits-with-its-compression-header",
    also={"law/batch-size-is-receive-limit": "its batch is one byte too large"},
)
fault(
    "never-ends-what-fills-its-fragments",
    "Sets M on the last fragment if the message fills it.",
    of=_ChangesFragments,
    fragment=lambda node, link, batch: (
        with_bits(batch, MORE) if len(node.whole) % (node.room(link) - FRAGMENT_HEAD) == 0 else batch
    ),
    caught_by=f"{SIZES}/a-chain-ends-whatever-its-size",
)
fault(
    "ends-what-is-best-effort-reliably",
    "Sends the last fragment on the reliable channel, whatever the channel of the others.",
    of=_ChangesFragments,
    fragment=lambda batch: batch if batch[0] & MORE else with_bits(batch, RELIABLE),
    caught_by=f"{SIZES}/a-chain-to-us-is-of-one-channel",
    also={"law/what-is-said-decodes": "the last fragment alone is no message"},
)


@faulty(
    "on_fragment",
    caught_by=(CHANNELS, LANES),
    also={"establishment-patch/marked-pieces-of-two-channels-are-told-apart": "with and without marks"},
)
def has_one_place_for_fragments(base, link, fragment):
    """Collects the fragments of all channels of a link in one buffer."""
    channel = (fragment.reliable, priority_of(fragment))
    for other in [one for one in link.partial if one != channel]:
        link.partial[channel] = link.partial.pop(other)
    base()


@faulty("on_fragment", caught_by=f"{FRAGMENTS}/what-is-dropped-is-discarded")
def takes_a_dropped_message_for_whole(node, base, link, fragment):
    """Ignores Drop: the last fragment completes the message."""
    kept = bytes(link.partial.get((fragment.reliable, priority_of(fragment)), b""))
    base()
    if not fragment.more and any(type(mark).__name__ == "Drop" for mark in fragment.exts):
        node.route_bytes(link, kept + bytes(4000), reliable=fragment.reliable)


fault(
    "discards-nothing-that-has-a-rest",
    "Ignores Drop on a fragment with a payload.",
    on_fragment=lambda base, fragment: base(
        fragment=replace(fragment, exts=Exts(mark for mark in fragment.exts if not isinstance(mark, Drop)))
        if fragment.payload
        else fragment
    ),
    caught_by=f"{FRAGMENTS}/what-is-dropped-is-discarded",
)


@faulty("accepts_sn", caught_by=f"{FRAGMENTS}/a-chain-with-a-hole-is-discarded")
def sees_no_hole(base, link, message):
    """Reassembles a message with a missing fragment, and fills the gap with zeros."""
    channel = (message.reliable, priority_of(message))
    kept = link.partial.get(channel)
    accepted = base()
    if accepted and kept is not None and channel not in link.partial:
        link.partial[channel] = kept + bytes(len(kept))  # the first of equal pieces was kept
    return accepted


fault(
    "takes-no-gap",
    "Drops all messages of a channel after a gap in the sequence numbers.",
    accepts_sn=lambda node, base, link, message: (
        (message.sn - link.rx.get((message.reliable, priority_of(message)), message.sn - 1)) & node.sn_mask(link) == 1
        and base()
    ),
    caught_by=f"{FRAGMENTS}/a-chain-with-a-hole-is-discarded",
)


fault(
    "marks-first-fragments-for-patch-one-exactly",
    "Marks first fragments only if the peer offered patch 1 exactly, and not if it offered a later patch.",
    marks_first=lambda link: link.theirs is not None and Patch(value=1) in link.theirs.exts,
    caught_by=MARKED,
)


fault(
    "forgets-others-when-a-chain-begins",
    "Drops the unfinished messages of all channels at a marked first fragment.",
    on_fragment=before(lambda link, fragment: link.partial.clear() if fragment.exts.get(First) is not None else None),
    caught_by=f"{PATCH}/marked-pieces-of-two-channels-are-told-apart",
)


fault(
    "insists-on-marks-once-it-saw-some",
    "Drops chains without First in all sessions once one session negotiated a patch.",
    on_fragment=before(
        lambda node, link: (
            setattr(link, "terms", replace(link.terms, patch=1))
            if any(other.live and other.terms.patch for other in node.links.values())
            else None
        )
    ),
    caught_by=f"{PATCH}/without-patch-no-first-is-needed-beside-one-with-it",
)


@faulty(
    "on_fragment",
    caught_by=PUT_TOGETHER,
    also={"*": "it drops messages of more fragments"},
    state={"counts": Counter},
)
def takes_ten_fragments(node, base, link, fragment):
    """Drops a message of more than ten fragments."""
    channel = (link.name, fragment.reliable, priority_of(fragment))
    count = node.counts[channel] + 1
    node.counts[channel] = count if fragment.more else 0
    if count <= 10:
        base()
    else:
        link.partial.pop(channel[1:], None)


@faulty(caught_by=f"{FRAGMENTS}/every-message-of-a-batch-is-taken")
class ReadsUpToKeepAlive(Reference):
    """Ignores what follows a KEEP_ALIVE in its batch."""

    deaf = cached_property(lambda node: set[str]())

    def on_batch(self, link, batch):
        self.deaf.discard(link.name)
        super().on_batch(link, batch)

    def on_session(self, link, message):
        if link.name not in self.deaf:
            super().on_session(link, message)
        if isinstance(message, KeepAlive):
            self.deaf.add(link.name)


@faulty(
    "fragment",
    of=_ChangesFragments,
    caught_by=MARKED,
    also={"law/what-is-said-decodes": "each of its fragments begins a new message"},
)
def marks_every_fragment(link, batch):
    """Marks all fragments as first if a patch was negotiated."""
    piece = decode(batch, Layer.TRANSPORT).message
    marked = not link.terms.patch or piece.exts.get(First) is not None
    return batch if marked else encode(replace(piece, exts=Exts((*piece.exts, First()))))
