"""Where batches begin in a stream that was not seen from its beginning, and in which form they come.

Pure functions over the bytes that there are. A place is believed when all whole batches from there on can be read; the
form is the one that explains most of both directions.
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
        merit = _merit(form, data, at)
        if merit >= least:
            return merit, at
    return 0, None


def _places(chunks: Sequence[bytes], size: int) -> Iterator[tuple[int, int]]:
    """Where a batch may begin, and the merit that is asked for there: most likely with a segment, else anywhere."""
    starts = [at for at in chain([0], accumulate(map(len, chunks))) if at < size]
    yield from ((at, 1) for at in starts)
    seen = set(starts)
    yield from ((at, 2 * SURE) for at in range(size) if at not in seen)


def _merit(form: Begins, data: bytes, at: int) -> int:
    """How many batches from `at` on can be read; less what no node says; 0 when one cannot."""
    prefix = LOWLATENCY_PREFIX if form is Begins.LOWLATENCY else STREAM_PREFIX
    ids = _BARE_IDS if form is Begins.LOWLATENCY else _TRANSPORT_IDS
    begins = prefix + (form is Begins.COMPRESSED)
    merit = read = 0
    while at + begins < len(data) and read < ENOUGH:
        size = int.from_bytes(data[at : at + prefix], "little")
        header = data[at + begins]
        is_block = form is Begins.COMPRESSED and data[at + prefix] & 1
        if (
            not size
            or (form is Begins.COMPRESSED and data[at + prefix] > 1)
            or (not is_block and header & 0x1F not in ids)
        ):
            return 0
        if at + prefix + size > len(data):
            break
        worth = _read(form, data[at + prefix : at + prefix + size])
        if not worth:
            return 0
        merit, read, at = merit + worth, read + 1, at + prefix + size
    return merit


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
