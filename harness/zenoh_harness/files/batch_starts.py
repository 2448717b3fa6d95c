"""Find where the batches begin in a stream whose beginning was not captured, and the form in which they are encoded.

Pure functions over the captured bytes. An offset is accepted if the complete batches from there on decode, with at most
one in four excepted. The form (plain, compressed, low latency) is the one in which most batches of both directions decode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from zenoh_conformance.messages import Oam
from zenoh_conformance.reading.batch import LOWLATENCY_PREFIX, STREAM_PREFIX, decode_batch, decompress
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.conversation import Begins, Side
from zenoh_conformance.wire import DecodeError

LOOKED_AT: Final = 1 << 17
"""The first bytes of a direction that are searched."""
ENOUGH: Final = 24
"""The most batches that are decoded to accept an offset."""
SURE: Final = 3
"""Batches that must decode at an offset inside a TCP segment; at the beginning of a segment one is enough."""
FORMS: Final = (Begins.MIDDLE, Begins.COMPRESSED, Begins.LOWLATENCY)
_TRANSPORT_IDS: Final = frozenset(range(7))
_BARE_IDS: Final = frozenset({3, 4, *range(0x19, 0x20)})


class BatchStart(NamedTuple):
    """The offsets from which a session that began before the capture can be decoded."""

    merit: int
    """Two points for each decoded batch; one for a decoded batch with OAM or with diagnostics."""
    form: Begins
    skip: dict[Side, int | None]
    """Bytes of each side before its first complete batch; None for a side without a complete batch."""


def find_batch_start(said: Mapping[Side, Sequence[bytes]], forms: Iterable[Begins] = FORMS) -> BatchStart | None:
    """Return the best offsets and form for the TCP segments of each side; None if no batch was found."""
    best: BatchStart | None = None
    for form in forms:
        places = {side: _place(form, chunks) for side, chunks in said.items()}
        merit = sum(read for read, _ in places.values())
        if merit > 0 and (best is None or merit > best.merit):
            best = BatchStart(merit, form, {side: at for side, (_, at) in places.items()})
    return best


def _place(form: Begins, chunks: Sequence[bytes]) -> tuple[int, int | None]:
    """Return (merit, offset) of the first accepted offset; (0, 0) without bytes, (0, None) without accepted offset."""
    data = b"".join(chunks)[:LOOKED_AT]
    if not data:
        return 0, 0
    for at, least in _places(chunks, len(data)):
        merit, bad = _merit(form, data, at)
        if merit >= least and (not bad or least == 1):
            return merit, at
    return 0, None


def _places(chunks: Sequence[bytes], size: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets to try, each with the merit that it must reach: first beginnings of segments, then all others."""
    starts = [at for at in chain([0], accumulate(map(len, chunks))) if at < size]
    yield from ((at, 1) for at in starts)
    seen = set(starts)
    yield from ((at, 2 * SURE) for at in range(size) if at not in seen)


def _merit(form: Begins, data: bytes, at: int) -> tuple[int, int]:
    """Return the merit of the batches from `at` on, and how many do not decode; the merit is 0 if more than 1 in 4 do not.

    A few undecodable batches are accepted, since the captured sender itself may be faulty.
    """
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
    """Return whether the first one or two bytes can begin a batch: a cheap test before the batch is decoded."""
    if form is Begins.LOWLATENCY:
        return batch[0] & 0x1F in _BARE_IDS
    if form is Begins.MIDDLE:
        return batch[0] & 0x1F in _TRANSPORT_IDS
    return batch[0] == 1 or (batch[0] == 0 and (len(batch) < 2 or batch[1] & 0x1F in _TRANSPORT_IDS))


def _read(form: Begins, batch: bytes) -> int:
    """Return 2 for a batch that decodes, 1 for one with OAM or with diagnostics, 0 for one that does not decode."""
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
