"""Inputs of live campaigns: acts on links.

An act sends one batch of transport messages as segments, so that the mutators of codec campaigns apply to it. A sequence
number that is `NEXT` is count_anew when the act runs: the same act fits at any place of any session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Final

from zenoh_conformance.messages import Frame, KeepAlive, sane
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.codec import Segments
from zenoh_conformance.wire import DecodeError, Segment, vle
from zenoh_fuzz import inputs
from zenoh_fuzz.mutators import segments_of

NEXT: Final = "the next number of its channel"
"""The note of a sequence number that is count_anew when the act runs."""
LINKED, GREETED, LIVE = "linked", "greeted", "live"
"""The stages of a session in which an act is sent: before INIT, between InitAck and OPEN, after OPEN."""
NOTHING: Final = Segments(())
STAGES: Final = (LIVE, GREETED, LINKED)
RELIABLE: Final = 0x20
_SN: Final = ("frame.sn", "fragment.sn")
_LANE: Final = ("frame.exts.qos.value", "fragment.exts.qos.value")
_HEAD: Final = ("frame.header", "fragment.header")
_PLACE: Final = re.compile(r"^(?:m\[\d+\]\.)+")
ROOM: Final = 60_000
"""Most bytes of an act that shares its batch with a fence."""

Channel = tuple[bool, int]
"""Reliability and priority."""
NextNumber = Callable[[bool, int], int]
"""Return the next sequence number of a channel, which it uses up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One batch on one link, sent one or more times; without segments a wait."""

    link: str = "a"
    segments: Segments = NOTHING
    times: int = 1
    seconds: float = 0.0
    """The duration of a wait."""
    stage: str = LIVE
    """The stage of the session; one before OPEN has a link of its own."""

    @property
    def counts(self) -> bool:
        """Whether all its sequence numbers are the next ones."""
        return all(one.note == NEXT for one in self.segments if one.path.endswith(_SN))

    def batch(self, next_number: NextNumber) -> bytes:
        """Return the bytes of the batch, without its length, with its sequence numbers."""
        return b"".join(vle.encode(next_number(*on)) if on else one.data for one, on in self.on_channels())

    def on_channels(self) -> Iterator[tuple[Segment, Channel | None]]:
        """Yield its segments, each with the channel whose next number it is; None for all that are no such number."""
        channel = (True, sane.DEFAULT_PRIORITY)
        for index, one in enumerate(self.segments):
            if one.path.endswith(_HEAD) and one.data:
                channel = (bool(one.data[0] & RELIABLE), _priority(self.segments[index + 1 :]))
            yield one, channel if one.note == NEXT else None


Input = tuple[Act, ...]
"""What a campaign tries at once."""


def _priority(following: Iterable[Segment]) -> int:
    """Return the priority that the extensions of a FRAME or FRAGMENT give."""
    for one in following:
        if one.path.endswith(_HEAD):
            break
        if one.path.endswith(_LANE) and one.data:
            return one.data[0] & 7
    return sane.DEFAULT_PRIORITY


def trace_batch(batch: bytes) -> Segments:
    """Return a batch as segments whose sequence numbers are the next ones; what cannot be decoded is one segment."""
    found = segments_of(inputs.make_input("batch", batch))
    if found is None:
        return Segments([Segment("raw", batch)])
    rest = [Segment("raw", found[1])] if found[1] else []
    return count_anew([*found[0], *rest])


def count_anew(segments: Iterable[Segment]) -> Segments:
    """Return segments whose sequence numbers are the next ones."""
    return Segments(one._replace(data=b"", note=NEXT) if one.path.endswith(_SN) else one for one in segments)


def in_frame(message: Segments, *, reliable: bool = True) -> Segments:
    """Return the segments of a FRAME with one network message."""
    head = [Segment("frame.header", bytes([0x05 | RELIABLE * reliable])), Segment("frame.sn", b"", NEXT)]
    place = "frame.messages[0]."
    return Segments([*head, *(_below(place, one) for one in message)])


def _below(place: str, one: Segment) -> Segment:
    measure = one.measure and one.measure._replace(of=place + one.measure.of)
    return one._replace(path=place + one.path, measure=measure)


def join_batches(first: Segments, second: Segments) -> Segments:
    """Return two batches as one."""
    return Segments([*first, *(_below("m[1].", one) for one in second)])


def in_message(path: str) -> str:
    """Return a path without the place of its message in the batch."""
    return _PLACE.sub("", path)


def is_lawful(made: Input) -> bool:
    """Return whether our codec reads every act without a remark, and all are numbered in order after OPEN."""
    return all(_is_lawful(act) for act in made)


@lru_cache(maxsize=1 << 13)
def _is_lawful(act: Act) -> bool:
    if act.stage != LIVE or not act.counts:
        return False
    batch = act.batch(lambda _reliable, _priority: 0)
    try:
        read, _ = inputs.messages(inputs.BATCH, batch)
    except DecodeError:
        return not batch
    if not all(isinstance(one.message, Frame | KeepAlive) for one in read):
        return False
    # A part of another message may hold whole FRAMEs with numbers and keys of their own, in one segment.
    traced = trace_batch(batch)
    rightly = _places_of_numbers(act.segments) == _places_of_numbers(traced) and all(map(_names_rightly, traced))
    return rightly and not inputs.remarks(inputs.BATCH, batch)


def _places_of_numbers(segments: Segments) -> list[int]:
    """Return where the numbers that are counted when an act runs stand, in bytes without them."""
    ends = accumulate(len(one.data) for one in segments)
    return [end for one, end in zip(segments, ends, strict=True) if one.note == NEXT]


def _names_rightly(one: Segment) -> bool:
    """Return whether a key is written out, and in canonical form: a scope must have been declared."""
    if one.path.endswith("key.scope"):
        return one.data == b"\x00"
    if not one.path.endswith(("key.suffix.bytes", "wire_expr.suffix")):
        return True
    return keyexpr.is_canonical(one.data.decode(errors="replace"))


def runs_of(made: Input) -> tuple[Input, ...]:
    """Return an input in parts that are fenced one by one.

    A lawful one is cut where the link changes: what two links carry arrives in any order, and a trigger that needs one would come
    and not come again. After odd messages a fence may remain unanswered with right.
    """
    if not is_lawful(made):
        return (made,)
    return tuple(tuple(acts) for _, acts in groupby(made, lambda act: act.link))


def rides(made: Input) -> bool:
    """Return whether the last act shares its batch with the fence: where all of it is lawful."""
    if not made or made[-1].times > 1 or made[-1].seconds or not is_lawful(made):
        return False
    return sum(len(piece.data) for piece in made[-1].segments) < ROOM
