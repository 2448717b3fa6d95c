"""What carries the vectors of the network layer: a FRAME each, one for several, a mixed batch, FRAGMENTs; compressed, low latency.

These are dimensions of what is played, as of cases. A few vectors of each kind of message that the node was seen to read are played
again in each row of the covering array; what is red there only names the carrier, with as many defaults as keep it red.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.variation import Dimension, Row, default_row, describe, fewest, rows_of, variation_of
from zenoh_conformance.messages import KeepAlive, Push, Put, sane
from zenoh_conformance.messages.init import Compression, LowLatency
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.fragments import fragment
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import Exts
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.effects import NOT_PLAYED
from zenoh_harness.run.vectors.standing import Family, VectorInSession

SESSION: Final = Dimension.of("session", "in a session with {}", "defaults", "Compression", "LowLatency")
PACKING: Final = Dimension.of(
    "packing", "in {}", "a FRAME", "FRAGMENTs", "one FRAME with others", "a batch with other messages"
)
CARRIERS: Final = (SESSION, PACKING)

_MODES: Final = {"Compression": Compression, "LowLatency": LowLatency}

FEW: Final = {"quick": 1, "full": 2, "nightly": 8}
"""How many vectors of each kind of message are played in each carrier, by depth."""

SMALL: Final = 1024
"""Bytes of a vector, at most, that is played in each carrier."""

BESIDE: Final = encode(Push(key=plain("zconform/carrier"), body=Put(payload=b"beside")))
"""What stands beside a vector."""

Packing = Callable[[Dialogue, Sequence[bytes]], None]


class Carrier:
    """One row."""

    def __init__(self, row: Row = ()) -> None:
        """`row`: of `CARRIERS`; the default one where empty."""
        variation = variation_of(CARRIERS, row or default_row(CARRIERS))
        self._mode, self._pack = _MODES.get(str(variation[SESSION])), PACKINGS[str(variation[PACKING])]

    @property
    def offers(self) -> Mapping[str, Exts[Any]]:
        """The changes of our INIT, by which the session is settled."""
        return {} if self._mode is None else {"exts": sane.offers(self._mode.__name__)}

    def is_settled(self, us: Dialogue) -> bool:
        """Whether the node has accepted what a live session needs."""
        return self._mode is None or (us.theirs is not None and us.theirs.exts.get(self._mode) is not None)

    @contextmanager
    def carrying(self, us: Dialogue) -> Iterator[None]:
        """All that a session says is carried so."""
        us.say = lambda *messages, **_lane: self.say(us, [encode(one) for one in messages])  # type: ignore[method-assign]
        try:
            yield
        finally:
            del us.say

    @contextmanager
    def said(self, us: Dialogue, messages: Sequence[bytes]) -> Iterator[None]:
        """Say network messages; what is said next stands behind the last of them in its FRAME, where others stand beside them."""
        if self._mode is LowLatency or self._pack is not say_together:
            self.say(us, messages)
            yield
            return
        *before, last = _fitting(us, [BESIDE, *messages, BESIDE])
        for some in before:
            us.send(encode(us.frame()) + b"".join(some))
        with standing_before(us, b"".join(last), in_frame=True):
            yield

    def say(self, us: Dialogue, messages: Sequence[bytes]) -> None:
        """Say network messages, given as bytes; a session with low latency has no FRAME."""
        (say_bare if self._mode is LowLatency else self._pack)(us, messages)


@contextmanager
def standing_before(us: Dialogue, before: bytes, *, in_frame: bool) -> Iterator[None]:
    """What the session says next stands behind these bytes in its batch, `in_frame` in one FRAME with them, where it has room."""

    def say(*messages: Any, **_lane: Any) -> None:
        data = b"".join(map(encode, messages))
        if not rest:
            us.send(encode(us.frame()) + data)
            return
        head, between = (encode(us.frame()), b"") if in_frame else (b"", encode(us.frame()))
        together = head + rest.pop() + between + data
        if len(together) <= us.room:
            us.send(together)
        else:
            us.send(head + before)
            us.send((between or encode(us.frame())) + data)

    rest = [before]
    us.say = say  # type: ignore[method-assign]
    try:
        yield
    finally:
        del us.say


def carriers_at(depth: str) -> tuple[Row, ...]:
    """The rows of a depth but the default one; a session with low latency has one packing."""
    rows = rows_of(CARRIERS, depth)[1:]
    return tuple(row for row in rows if row[0] != LowLatency.__name__ or row[1] == PACKING.default)


def say_bare(us: Dialogue, messages: Sequence[bytes]) -> None:
    """A batch for each, without a FRAME."""
    for data in messages:
        us.send(data)


def say_frames(us: Dialogue, messages: Sequence[bytes]) -> None:
    """A FRAME for each."""
    for data in messages:
        us.send(encode(us.frame()) + data)


def say_together(us: Dialogue, messages: Sequence[bytes]) -> None:
    """FRAMEs with as many as fit, between two messages of ours."""
    for some in _fitting(us, [BESIDE, *messages, BESIDE]):
        us.send(encode(us.frame()) + b"".join(some))


def say_mixed(us: Dialogue, messages: Sequence[bytes]) -> None:
    """Batches with several FRAMEs, a KEEP_ALIVE before each."""
    for some in _fitting(us, [BESIDE, *messages, BESIDE]):
        us.send(b"".join(encode(KeepAlive()) + encode(us.frame()) + data for data in some))


def say_fragments(us: Dialogue, messages: Sequence[bytes]) -> None:
    """A chain of two FRAGMENTs for each; a FRAME for a message of one byte."""
    for data in messages:
        if len(data) < 2:
            say_frames(us, [data])
            continue
        size = -(-len(data) // 2)
        pieces = fragment(data, sn=us.next_sn(), size=size, mask=us.sn_mask, reliable=True, marks=us.patch > 0)
        for count, piece in enumerate(pieces):
            if count:
                us.next_sn()
            us.send(piece)


PACKINGS: Final[Mapping[str, Packing]] = dict(
    zip(map(str, PACKING.values), (say_frames, say_fragments, say_together, say_mixed), strict=True)
)


def _fitting(us: Dialogue, messages: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Groups of messages that fit into a batch, with a FRAME and a KEEP_ALIVE for each."""
    some: list[bytes] = []
    size = 0
    for data in messages:
        if some and size + len(data) + OVERHEAD > us.room:
            yield some
            some, size = [], 0
        some.append(data)
        size += len(data) + OVERHEAD
    if some:
        yield some


OVERHEAD: Final = 9
"""Bytes before a message, at most: KEEP_ALIVE, the header of FRAME and its number."""


def has_carrier(carrier: Carrier, open_writer: Callable[[], Dialogue]) -> bool:
    """Whether the node settles what the carrier needs, and reads a fence of ours that stands in it.

    wheel:1.5.1 reads only the first FRAME of a batch: that is one public fault, and none of each row.
    """
    try:
        us = open_writer()
        with carrier.carrying(us):
            us.fence()
    except Deviation:
        return False
    return carrier.is_settled(us)


def kind_of(one: VectorInSession) -> tuple[str, str]:
    """The kind of a message, with its body's."""
    return one.subject, type(getattr(one.messages[0], "body", None)).__name__


def few_of_each(stands: Iterable[VectorInSession], most: int, prefer: Collection[str]) -> list[VectorInSession]:
    """So many vectors of each kind of network message; `prefer`: ids that come first."""
    here = [one for one in stands if one.vector.layer == "network" and one.family is not Family.REFUSED]
    kinds: dict[tuple[str, str], list[VectorInSession]] = {}
    for one in sorted(here, key=lambda one: one.vector.id not in prefer):
        same = kinds.setdefault(kind_of(one), [])
        if len(one.vector.data) <= SMALL and len(same) < most:
            same.append(one)
    return [one for same in kinds.values() for one in same]


Played = Sequence[tuple[VectorInSession, VectorAnswer]]


def wrong_in_carriers(
    rows: Iterable[Row],
    some: Sequence[VectorInSession],
    has: Callable[[Row], bool],
    play: Callable[[Row, Sequence[VectorInSession]], Played],
    carried: MutableMapping[str, int],
) -> Iterator[tuple[str, VectorAnswer]]:
    """Play vectors that were right in each carrier; yield the ids and answers of those that are wrong in one of them.

    `has`: whether the node settles what a carrier needs. `carried` notes how many vectors were read in each.
    """

    def is_wrong_in(row: Row, one: VectorInSession) -> bool:
        return (
            row != default_row(CARRIERS) and has(row) and any(answer.verdict.is_wrong for _, answer in play(row, [one]))
        )

    for row in filter(has, rows):
        found = [(one, answer) for one, answer in play(row, some) if not answer.cause.startswith(NOT_PLAYED)]
        wrong = [(one, answer) for one, answer in found if answer.verdict.is_wrong]
        carried[describe(CARRIERS, row)] = len(found) - len(wrong)
        least = dict[str, Row]()  # by cause
        for one, answer in (
            wrong if len(wrong) < len(found) else ()
        ):  # all: that is for the checks of sessions and batches
            if answer.cause not in least:
                least[answer.cause] = fewest(CARRIERS, row, partial(is_wrong_in, one=one))
            yield one.vector.id, replace(answer, cause=f"{answer.cause} ({describe(CARRIERS, least[answer.cause])})")
