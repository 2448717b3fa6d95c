"""Where batches begin in a stream that was not seen from its beginning, and in which form they come.

Pure functions over the bytes that there are. A place is believed when the whole batches from there on can be read, all or
all but a few; the form is the one that explains most of both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from zenoh_conformance.batch import LOWLATENCY_PREFIX, STREAM_PREFIX, decode_batch, decompress
from zenoh_conformance.codec import Layer
from zenoh_conformance.conversation import Begins, Side
from zenoh_conformance.messages import Oam
from zenoh_conformance.wire.errors import DecodeError

LOOKED_AT: Final = 1 << 17
"""Bytes of a direction that are tried."""
ENOUGH: Final = 24
"""Batches that are read to believe a place."""
SURE: Final = 3
"""Batches that make a place believed that is not the beginning of a segment."""
FORMS: Final = (Begins.MIDDLE, Begins.COMPRESSED, Begins.LOWLATENCY)
_TRANSPORT_IDS: Final = frozenset(range(7))
_BARE_IDS: Final = frozenset({3, 4, *range(0x19, 0x20)})


class Entry(NamedTuple):
    """Where a session that was met under way can be read from."""

    merit: int
    """How much speaks for it: two for each batch that was read to find it, one for an odd one."""
    form: Begins
    skip: dict[Side, int | None]
    """How many bytes of each side come before its first whole batch; None where no batch was found."""


def entry(said: Mapping[Side, Sequence[bytes]], forms: Iterable[Begins] = FORMS) -> Entry | None:
    """The best place and form, of what each side said, segment by segment; None where no batch was found at all."""
    best: Entry | None = None
    for form in forms:
        places = {side: _place(form, chunks) for side, chunks in said.items()}
        merit = sum(read for read, _ in places.values())
        if merit > 0 and (best is None or merit > best.merit):
            best = Entry(merit, form, {side: at for side, (_, at) in places.items()})
    return best


def _place(form: Begins, chunks: Sequence[bytes]) -> tuple[int, int | None]:
    """How much speaks for the first believable place, and that place; (0, 0) where nothing was said."""
    data = b"".join(chunks)[:LOOKED_AT]
    if not data:
        return 0, 0
    for at, least in _places(chunks, len(data)):
        merit, bad = _merit(form, data, at)
        if merit >= least and (not bad or least == 1):
            return merit, at
    return 0, None


def _places(chunks: Sequence[bytes], size: int) -> Iterator[tuple[int, int]]:
    """Where a batch may begin, and the merit that is asked for there: most likely with a segment, else anywhere."""
    starts = [at for at in chain([0], accumulate(map(len, chunks))) if at < size]
    yield from ((at, 1) for at in starts)
    seen = set(starts)
    yield from ((at, 2 * SURE) for at in range(size) if at not in seen)


def _merit(form: Begins, data: bytes, at: int) -> tuple[int, int]:
    """What speaks for batches from `at` on, and how many cannot be read: a sender may be at fault in one of four."""
    prefix = LOWLATENCY_PREFIX if form is Begins.LOWLATENCY else STREAM_PREFIX
    merit = read = bad = 0
    while at + prefix < len(data) and read < ENOUGH:
        size = int.from_bytes(data[at : at + prefix], "little")
        batch = data[at + prefix : at + prefix + size]
        if not size or not _may_begin(form, batch):
            bad += 1
        elif len(batch) < size:
            break
        else:
            worth = _read(form, batch)
            merit, bad = merit + worth, bad + (not worth)
        read, at = read + 1, at + prefix + size
        if bad > 1 and bad * 4 > read:
            return 0, bad
    return (0 if bad * 4 > read else merit), bad


def _may_begin(form: Begins, batch: bytes) -> bool:
    """Whether a batch's first bytes are those of one: this is told before the rest of it is there."""
    if form is Begins.LOWLATENCY:
        return batch[0] & 0x1F in _BARE_IDS
    if form is Begins.MIDDLE:
        return batch[0] & 0x1F in _TRANSPORT_IDS
    return batch[0] == 1 or (batch[0] == 0 and (len(batch) < 2 or batch[1] & 0x1F in _TRANSPORT_IDS))


def _read(form: Begins, batch: bytes) -> int:
    """2 for a batch that can be read, 1 where it says what is hardly ever said; 0 for one that cannot."""
    if form is Begins.COMPRESSED:
        try:
            batch = decompress(batch)
        except DecodeError:
            return 0
    layer = Layer.LOWLATENCY if form is Begins.LOWLATENCY else Layer.TRANSPORT
    found = list(decode_batch(batch, layer))
    if not found or any(isinstance(each, DecodeError) for each in found):
        return 0
    odd = any(isinstance(each.message, Oam) or each.diagnostics for each in found if not isinstance(each, DecodeError))
    return 1 if odd else 2
