"""How the transport model divides publications into batches, FRAMEs and FRAGMENTs, and what it says wrongly. No model of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from zenoh_conformance.cases.establishing import with_unknown
from zenoh_conformance.cases.routing.circumstances import FIELDS, TERMS
from zenoh_conformance.cases.session.batch_effects import RESTS
from zenoh_conformance.cases.session.chains import PAST_THE_RANGE
from zenoh_conformance.cases.session.extensions import ODD
from zenoh_conformance.cases.session.fragments import PUSH_HEAD, in_pieces, push
from zenoh_conformance.cases.session.varied import AMID, PASSER, PIECES
from zenoh_conformance.messages import Fragment, Frame, KeepAlive, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Party
from zenoh_conformance.talking.speaker import FRAGMENT_HEAD, Sendable

from .modelled import FIRSTS

Channel = tuple[bool, int]
"""(reliable, priority)."""

LANES: Final = tuple(range(8))
MANY: Final = 40
"""Small publications: after three times as many a number of 8 bits has come again."""
SIZES: Final = (4, 40, 128, 900, 600, 5000)
"""Bytes of a value: around 7 bits of a length, and in one, two and many batches of the subscriber."""


class Publication(NamedTuple):
    """How one publication is said."""

    channel: int
    """A place in the channels of the run."""
    size: int
    pieces: int
    """Fragments; 1 for a FRAME."""
    joins: bool
    """Whether it goes into the FRAME before, if that is of its channel."""
    behind: bool
    """Whether it goes behind what is in the batch."""
    amid: str
    """What stands between its fragments."""
    skips: int
    """Numbers of its channel that are left out before it."""
    times: int
    """How often it is said, each time with another value."""


channels = st.integers(0, 3)
amids = st.sampled_from([str(each) for each in AMID.values if each != PASSER])
said = st.builds(
    Publication, channels, st.sampled_from(SIZES), st.sampled_from((1, 2, *map(int, map(str, PIECES.values)))),
    st.booleans(), st.booleans(), amids, st.sampled_from((0, 0, 1, 20)), st.sampled_from((1, 1, 3, MANY)),
)  # fmt: skip
resolutions: Final[Mapping[str, Any]] = {f"fsn {code}": {"resolution": code | 2 << 2} for code in (0, 1, 2)}
terms = st.tuples(
    st.sampled_from((*resolutions.values(), *(dict(FIELDS[str(each)]) for each in TERMS.values))),
    st.sampled_from(tuple(FIRSTS)),
    st.sampled_from(({}, {"lease": 3600}, {"lease_in_seconds": False, "lease": 12_345})),
)
"""What a session settles: fields of INIT, its first number, its lease."""


def pieces_of(who: Party, channel: Channel, value: bytes, count: int) -> list[Fragment]:
    """Return a publication in at least so many fragments, which take the next numbers of the channel."""
    message = push(who, "k", value, channel[1])
    needed = -(-len(encode(message)) // (who.us.room - FRAGMENT_HEAD))
    return in_pieces(who, message, max(count, needed), reliable=channel[0], priority=channel[1])


def frame_of(who: Party, channel: Channel, value: bytes) -> Frame:
    """Return a publication in a FRAME, which takes the next number of the channel."""
    lane = None if channel[1] == sane.DEFAULT_PRIORITY else channel[1]
    return who.us.frame(push(who, "k", value, channel[1]), reliable=channel[0], priority=lane)


def divide(who: Party, several: Sequence[tuple[Publication, Channel, bytes]]) -> Iterator[list[Any]]:
    """Yield batches of transport messages; a FRAGMENT is the last one of its batch."""
    batches: list[list[Any]] = []
    units: list[Any]
    for each, channel, value in several:
        last = batches[-1][-1] if batches else None
        if (
            each.joins
            and each.pieces == 1
            and isinstance(last, Frame)
            and (last.reliable, priority_of(last)) == channel
        ):
            joined = replace(last, messages=(*last.messages, push(who, "k", value, channel[1])))
            if len(encode(joined)) <= who.us.room:
                batches[-1][-1] = joined
                continue
        for _ in range(each.skips):
            who.us.next_sn(*channel)
        in_frame = each.pieces == 1 and len(value) + PUSH_HEAD <= who.us.room
        units = [frame_of(who, channel, value)] if in_frame else pieces_of(who, channel, value, each.pieces)
        for at, unit in enumerate(units):
            batches += between(who, each.amid, unit) if at else ()
            behind = each.behind and batches and not isinstance(batches[-1][-1], Fragment)
            batches[-1].append(unit) if behind else batches.append([unit])
    for batch in batches:
        yield from fitting(who, batch)


def between(who: Party, amid: str, unit: Fragment) -> Iterator[list[Any]]:
    """Yield the batches that stand before a later fragment of a message."""
    if amid.startswith("KEEP_ALIVE"):
        yield [KeepAlive()]
    elif amid == "another channel":
        yield [who.us.frame(push(who, "amid", b"1"), reliable=not unit.reliable)]


def fitting(who: Party, batch: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield a batch, or its messages one by one if it is too large."""
    if sum(len(encode(unit)) for unit in batch) <= who.us.room:
        yield list(batch)
    else:
        yield from ([unit] for unit in batch)


# -- what no receiver may take

Wrongly = Callable[[Party, Channel, bytes], Sequence[Sendable]]


def _past(pieces: Callable[[Party, Channel, bytes], Sequence[Any]]) -> Wrongly:
    """Return messages whose numbers are past the resolution; none where it has no number past it in both readings."""

    def make(who: Party, channel: Channel, value: bytes) -> Sequence[Sendable]:
        excess = next((past for code, past in PAST_THE_RANGE.items() if who.us.sn_mask == SN_MASK[code]), None)
        return () if excess is None else [replace(each, sn=each.sn + excess) for each in pieces(who, channel, value)]

    return make


def _behind(rest: bytes) -> Wrongly:
    return lambda who, channel, value: (encode(frame_of(who, channel, value)) + rest,)


def _of_no_message(mid: int) -> Wrongly:
    """Return a FRAME whose header has an id that no message has."""

    def make(who: Party, channel: Channel, value: bytes) -> Sequence[Sendable]:
        batch = bytearray(encode(frame_of(who, channel, value)))
        batch[0] = batch[0] & ~0x1F | mid
        return (bytes(batch),)

    return make


def _mandatory(pieces: Callable[[Party, Channel, bytes], Sequence[Any]]) -> Wrongly:
    return lambda who, channel, value: [
        with_unknown(each, **ODD["unit"], mandatory=True) for each in pieces(who, channel, value)
    ]


def _two(who: Party, channel: Channel, value: bytes) -> Sequence[Fragment]:
    return pieces_of(who, channel, value, 2)


def _frame(who: Party, channel: Channel, value: bytes) -> Sequence[Frame]:
    return (frame_of(who, channel, value),)


WRONG: Final[Sequence[tuple[str, Wrongly]]] = (
    *(("batching/sn-outside-resolution-rejected", _past(pieces)) for pieces in (_two, _frame)),
    *(("batching/batch-decoded-before-processing", _behind(rest)) for rest in RESTS.values()),
    *(("primitives/unknown-mandatory-rejected", _mandatory(pieces)) for pieces in (_two, _frame)),
    *(("message-reference/unassigned-id-refused", _of_no_message(mid)) for mid in (0x0D, 0x15, 0x0E)),
)
"""Publications that must not be forwarded: the requirement, and what is sent."""
