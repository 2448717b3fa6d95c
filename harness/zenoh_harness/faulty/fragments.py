"""Nodes that are wrong in how they take what comes in fragments, or many to a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.codec import Layer, decode, encode
from zenoh_conformance.connection import priority_of
from zenoh_conformance.messages import Fragment, Frame, KeepAlive
from zenoh_conformance.messages.fragment import First
from zenoh_conformance.messages.init import Patch
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

FRAGMENTS = "session-fragments"
PUT_TOGETHER = f"{FRAGMENTS}/pieces-are-put-together"
CHANNELS = f"{FRAGMENTS}/pieces-of-two-channels-are-told-apart"
LANES = f"{FRAGMENTS}/pieces-of-two-lanes-are-told-apart"


@faulty("takes-ten-fragments", caught_by=PUT_TOGETHER, also={"*": "what comes in more is lost"})
class TakesTenFragments(Reference):
    """Gives up a message that comes in more than ten fragments."""

    MOST: ClassVar = 10

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.count: dict[tuple[str, bool, int], int] = {}

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        channel = (link.name, fragment.reliable, priority_of(fragment))
        count = self.count.get(channel, 0) + 1
        self.count[channel] = count if fragment.more else 0
        if count <= self.MOST:
            super().on_fragment(link, fragment)
        else:
            link.partial.pop(channel[1:], None)


@faulty(
    "puts-no-best-effort-together",
    caught_by=(PUT_TOGETHER, CHANNELS),
    also={"establishment-patch/marked-pieces-of-two-channels-are-told-apart": "marked or not"},
)
class PutsNoBestEffortTogether(Reference):
    """Drops fragments that may be dropped."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        if fragment.reliable:
            super().on_fragment(link, fragment)


@faulty(
    "has-one-place-for-fragments",
    caught_by=(CHANNELS, LANES),
    also={"establishment-patch/marked-pieces-of-two-channels-are-told-apart": "marked or not"},
)
class HasOnePlaceForFragments(Reference):
    """Puts the fragments of all channels of a link behind each other."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        channel = (fragment.reliable, priority_of(fragment))
        for other in [one for one in link.partial if one != channel]:
            link.partial[channel] = link.partial.pop(other)
        super().on_fragment(link, fragment)


@faulty("forgets-fragments-for-any-frame", caught_by=CHANNELS)
class ForgetsFragmentsForAnyFrame(Reference):
    """Drops what came in fragments when a FRAME comes, of whatever channel."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, Frame):
            link.partial.clear()
        super().on_session(link, message)


@faulty("forgets-fragments-for-keep-alive", caught_by=CHANNELS)
class ForgetsFragmentsForKeepAlive(Reference):
    """Drops what came in fragments when a KEEP_ALIVE comes."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, KeepAlive):
            link.partial.clear()
        super().on_session(link, message)


@faulty("takes-a-dropped-message-for-whole", caught_by=f"{FRAGMENTS}/what-is-dropped-is-discarded")
class TakesADroppedMessageForWhole(Reference):
    """Knows no Drop: the last fragment completes a message, whatever its mark."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        kept = bytes(link.partial.get((fragment.reliable, priority_of(fragment)), b""))
        super().on_fragment(link, fragment)
        if not fragment.more and any(type(mark).__name__ == "Drop" for mark in fragment.exts):
            self.route_bytes(link, kept + bytes(4000), reliable=fragment.reliable)


@faulty("sees-no-hole", caught_by=f"{FRAGMENTS}/a-chain-with-a-hole-is-discarded")
class SeesNoHole(Reference):
    """Puts together what has come, though a number is missing, and fills what is missing with nothing."""

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        channel = (message.reliable, priority_of(message))
        kept = link.partial.get(channel)
        accepted = super().accepts_sn(link, message)
        if accepted and kept is not None and channel not in link.partial:
            link.partial[channel] = kept + bytes(len(kept))  # the first of equal pieces was kept
        return accepted


@faulty("takes-no-gap", caught_by=f"{FRAGMENTS}/a-chain-with-a-hole-is-discarded")
class TakesNoGap(Reference):
    """Takes nothing more of a channel on which a number is missing."""

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        channel, mask = (message.reliable, priority_of(message)), self.sn_mask(link)
        last = link.rx.get(channel)
        if last is not None and (message.sn - last) & mask != 1:
            return False
        return super().accepts_sn(link, message)


@faulty("takes-eight-messages-of-a-frame", caught_by=f"{FRAGMENTS}/every-message-of-a-batch-is-taken")
class TakesEightMessagesOfAFrame(Reference):
    """Passes the first eight messages of a FRAME on."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, Frame):
            message = replace(message, messages=message.messages[:8])
        super().on_session(link, message)


@faulty("reads-up-to-keep-alive", caught_by=f"{FRAGMENTS}/every-message-of-a-batch-is-taken")
class ReadsUpToKeepAlive(Reference):
    """Takes a KEEP_ALIVE for the end of its batch."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.deaf: set[str] = set()

    def on_batch(self, link: Link, batch: bytes) -> None:
        self.deaf.discard(link.name)
        super().on_batch(link, batch)

    def on_session(self, link: Link, message: Any) -> None:
        if link.name not in self.deaf:
            super().on_session(link, message)
        if isinstance(message, KeepAlive):
            self.deaf.add(link.name)


@faulty("takes-back-what-came-later-only", caught_by="interest-changes/what-a-snapshot-told-is-taken-back")
class TakesBackWhatCameLaterOnly(Reference):
    """Forgets what a snapshot told: that it goes is told to nobody."""

    def tell(
        self, to: Link, owner: Link, kind: str, entity: int, interest: int | None = None, *, once: bool = False
    ) -> None:
        super().tell(to, owner, kind, entity, interest, once=once or interest is not None)


PATCH = "establishment-patch"
MARKED = f"{PATCH}/the-first-fragment-is-marked"


@faulty("never-marks-a-first-fragment", caught_by=MARKED)
class NeverMarksAFirstFragment(Reference):
    """Marks no first fragment, whatever patch was settled."""

    def marks_first(self, link: Link) -> bool:
        return False


@faulty("marks-first-fragments-for-patch-one-exactly", caught_by=MARKED)
class MarksFirstFragmentsForPatchOneExactly(Reference):
    """Marks first fragments toward who offered patch 1, and not toward who offered a later one and was answered 1."""

    def marks_first(self, link: Link) -> bool:
        offered = link.theirs.exts.get(Patch) if link.theirs else None
        return offered is not None and offered.value == 1


@faulty(
    "marks-every-fragment",
    caught_by=MARKED,
    also={"law/what-is-said-decodes": "each of its fragments begins another message"},
)
class MarksEveryFragment(Reference):
    """Marks all fragments as the first one where a patch was settled."""

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        self.marking = bool(link.terms.patch)
        super().say_fragments(link, data, sn, reliable, priority)
        self.marking = False

    marking = False

    def send_batch(self, link: Link, batch: bytes) -> None:
        if self.marking:
            piece = decode(batch, Layer.TRANSPORT).message
            if piece.exts.get(First) is None:
                batch = encode(replace(piece, exts=Exts((*piece.exts, First()))))
        super().send_batch(link, batch)


@faulty("forgets-others-when-a-chain-begins", caught_by=f"{PATCH}/marked-pieces-of-two-channels-are-told-apart")
class ForgetsOthersWhenAChainBegins(Reference):
    """Drops what came of chains on every other channel when a marked one begins."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        if fragment.exts.get(First) is not None:
            link.partial.clear()
        super().on_fragment(link, fragment)


@faulty("insists-on-marks-once-it-saw-some", caught_by=f"{PATCH}/without-patch-no-first-is-needed-beside-one-with-it")
class InsistsOnMarksOnceItSawSome(Reference):
    """Drops chains without First in each session, as soon as one session has settled on a patch."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        if any(other.live and other.terms.patch for other in self.links.values()):
            link.terms = replace(link.terms, patch=1)
        super().on_fragment(link, fragment)
