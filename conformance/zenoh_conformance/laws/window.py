"""The receive window as an oracle: numbers and chains of FRAME and FRAGMENT, in each lane and channel, of both sides.

Pages: batching#frame, fragmentation#sequence, fragmentation#markers, message-reference#fragment. A receiver takes a number if it
is 1 to half the range ahead of the last one of its channel; numbers may be left out, as the baseline does after each fragmented
message. A sender may give a chain up without Drop; it may not go on with it later. One fold keeps the window, and the laws at the
end of the module have its findings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.judging.law import Law, Per, law
from zenoh_conformance.messages import Drop, First, Fragment, Frame, Patch
from zenoh_conformance.reading.codec import Layer, decode
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.wire import DecodeError

from .handshake import HandshakeLaw

MOST_BYTES: Final = 1 << 16
"""Bytes of a chain that are kept to see whether it was complete where another message begins."""

Channel = tuple[bool, int]
"""(reliable, priority)."""


@dataclass(slots=True)
class Lane:
    """One channel of one side."""

    last: int | None = None
    """The last number; None before the first one, and after one past the mask."""
    kind: str = ""
    """The kind of the message that had it."""
    open: bool = False
    """Whether the last message was a fragment with M set."""
    interrupted: bool = False
    """Whether a chain was left open where another message came: its later fragments would be between, or behind, that message."""
    broken: bool = False
    """Whether the last chain ended, and its bytes made no message."""
    data: bytearray | None = field(default_factory=bytearray)
    """The bytes of the open chain; None past `MOST_BYTES`."""


class Window(HandshakeLaw):
    """The fold: the window of each channel. A session of several links is left out: no order between two links is known."""

    per = Per.CONNECTION

    def __init__(self) -> None:
        super().__init__()
        self.by_law: dict[type[Law], Law] = {}
        self.lanes: dict[tuple[Side, Channel], Lane] = {}

    @property
    def parts(self) -> tuple[Law, ...]:
        return tuple(self.by_law.values())

    def part(self, law_: type[Law]) -> Law:
        """The law of one sentence; it is made when it has its first subject."""
        return self.by_law.get(law_) or self.by_law.setdefault(law_, law_())

    def judge(self, law_: type[Law], seen: Seen, holds: bool, path: str, expected: str, got: str) -> None:
        """Count a subject of a law, and note a finding unless it holds."""
        part = self.part(law_)
        part.subject(seen)
        part.require(holds, at=seen, path=path, expected=expected, got=got)

    @property
    def is_judged(self) -> bool:
        """Whether the order of all numbers was seen, and the resolution is known."""
        return (
            self.watched
            and not self.lossy
            and self.link.is_open
            and self.link.resolution is not None
            and not self.link.agreed("MultiLink")
        )

    @property
    def mask(self) -> int:
        """The largest number (erratum sn-fills-vle-bytes)."""
        return SN_MASK[(self.link.resolution or 0) & 3]

    @property
    def is_marking(self) -> bool:
        """Whether the first fragment of a chain has its marker: both stated patch 1 or above."""
        stated = (None if init is None else init.exts.get(Patch) for init in (self.link.init_syn, self.link.init_ack))
        return all(patch is not None and patch.value > 0 for patch in stated)

    # -- steps

    def on_frame(self, seen: Seen, frame: Frame) -> None:
        lane = self._note_number(seen, frame.sn)
        if lane is not None:
            self._leave(seen, lane)
            lane.broken = False

    def on_fragment(self, seen: Seen, fragment: Fragment) -> None:
        before = self.lanes.get((seen.sender, seen.channel or (True, 5)))
        last = before.last if before is not None else None
        lane = self._note_number(seen, fragment.sn)
        if lane is None:
            return
        if fragment.exts.get(Drop) is not None:
            lane.open, lane.data = False, bytearray()
            return
        if fragment.exts.get(First) is not None:
            self._leave(seen, lane)
        elif lane.open and last is not None and lane.last is not None:
            path, expected = "fragment.sn", "the number after that of the fragment before"
            self.judge(
                FragmentNumbersFollow, seen, lane.last == (last + 1) & self.mask, path, expected, "another number"
            )
        elif not lane.open and self.is_marking:
            self._judge_unmarked(seen, lane, follows=last is not None and fragment.sn == (last + 1) & self.mask)
        if self.is_marking and not lane.open:
            self.part(FirstFragmentsAreMarked).subject(seen)
        self._append(lane, fragment)

    def on_unread(self, seen: Seen, why: Any) -> None:
        """The bytes of a chain that ended are no message."""
        if isinstance(why, DecodeError) and seen.channel is not None:
            self.lanes.setdefault((seen.sender, seen.channel), Lane()).broken = True

    def end(self) -> None:
        """A chain that is open at the end is not judged: its last fragment may be under way."""

    # -- numbers

    def _note_number(self, seen: Seen, sn: int) -> Lane | None:
        """Judge a number against the window, and move it. Returns the lane; None where nothing is judged."""
        if not self.is_judged or seen.channel is None:
            return None
        lane = self.lanes.setdefault((seen.sender, seen.channel), Lane())
        if sn > self.mask:  # judged by sn-within-resolution
            lane.last, lane.kind = None, ""
            return lane
        if lane.last is not None:
            takes = 1 <= (sn - lane.last) & self.mask <= self.mask >> 1
            law_ = NumbersAreTaken if lane.kind == seen.kind else OneNumberSpace
            expected, got = "a number that a receiver takes next", "another number"
            self.judge(law_, seen, takes, f"{seen.kind}.sn", expected, got)
        lane.last, lane.kind = sn, seen.kind
        return lane

    # -- chains

    def _leave(self, seen: Seen, lane: Lane) -> None:
        """Another message begins on the channel: what came of an open chain must not be a whole message."""
        lane.interrupted = lane.open
        if lane.open and lane.data is not None:
            path, expected = "fragment.more", "M clear on the last fragment"
            self.judge(MoreUntilLast, seen, not is_whole(bytes(lane.data)), path, expected, "M set")
        lane.open, lane.data = False, bytearray()

    def _judge_unmarked(self, seen: Seen, lane: Lane, *, follows: bool) -> None:
        """File a fragment that begins no chain and continues none under what it breaks."""
        if lane.interrupted:
            lane.interrupted = False
            expected, got = "the fragments of a message without another one between", "a fragment of one that was left"
            self.judge(NothingBetweenFragments, seen, False, "fragment", expected, got)
        elif lane.broken and follows:
            self.judge(MoreUntilLast, seen, False, "fragment.more", "M set until the last fragment", "M clear")
        else:
            self.judge(FirstFragmentsAreMarked, seen, False, "fragment.exts.first", "First", "none")

    def _append(self, lane: Lane, fragment: Fragment) -> None:
        """Continue the chain, or end it."""
        if not lane.open:
            lane.data, lane.broken = bytearray(), False
        if lane.data is not None:
            lane.data += fragment.payload
            if len(lane.data) > MOST_BYTES:
                lane.data = None
        lane.open = fragment.more
        if not fragment.more:
            lane.data = bytearray()


def is_whole(data: bytes) -> bool:
    """Whether bytes are one network message."""
    try:
        return decode(data, Layer.NETWORK).size == len(data)
    except DecodeError:
        return False


class _OfWindow(Law):
    """A law of the window; `Window` feeds it."""

    fold = Window


@law("batching/sn-ahead-of-last")
class NumbersAreTaken(_OfWindow):
    """Each FRAME, and each FRAGMENT, has a number that a receiver takes after the one before on its channel."""


@law("message-reference/fragment-shares-frame-sn-space")
class OneNumberSpace(_OfWindow):
    """Where FRAME and FRAGMENT follow each other on a channel, the number of each is one that a receiver takes after the other."""


@law("fragmentation/fragments-consecutive")
class FragmentNumbersFollow(_OfWindow):
    """Each later fragment of a message has the number after that of the one before."""


@law("fragmentation/no-message-between-fragments")
class NothingBetweenFragments(_OfWindow):
    """Where markers are settled, no fragment continues a message that a FRAME, or the First of another message, has interrupted."""


@law("fragmentation/more-until-last")
class MoreUntilLast(_OfWindow):
    """Fragments that end with M clear make a message, or nothing follows them; those that make one do not end with M set."""


@law("fragmentation/first-marked")
class FirstFragmentsAreMarked(_OfWindow):
    """Where patch 1 is settled, a fragment that continues nothing carries First."""


LAWS: Final = (
    NumbersAreTaken, OneNumberSpace, FragmentNumbersFollow, NothingBetweenFragments, MoreUntilLast, FirstFragmentsAreMarked,
)  # fmt: skip
