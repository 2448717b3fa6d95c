"""Mutations of inputs: by segments where an input can be decoded, as bytes otherwise; each is credited with new coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from zenoh_conformance.reading.codec import Segments
from zenoh_conformance.wire import Segment
from zenoh_fuzz import inputs

from .edits import EDITS, DoesNotFitError, Edit
from .generate import an_input
from .segmented import segments_of

BytesMutator = Callable[[bytes, int], bytes]

FRESH, PLAIN = "generate", "bytes"
EARLY: Final = 6000
"""Number of first inputs among which new messages are drawn more often, since a corpus begins with one of each kind."""
_NAMES: Final = tuple(name for name in EDITS for _ in range(1 if name == "many" else 8))
"""The edits by weight: a message with hundreds of extensions takes as long as all others together."""


def mutate_bytes(data: bytes, most: int, random: Random) -> bytes:
    """Change, insert or cut a few bytes; replaces the engine's own mutators where there is no engine."""
    out = bytearray(data or b"\0")
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(out)) if out else 0
        match random.randrange(4):
            case 0 if out:
                out[at] = random.randrange(256)
            case 1:
                out[at:at] = random.randbytes(random.choice((1, 1, 2, 8)))
            case 2:
                del out[at : at + random.choice((1, 1, 2, 8))]
            case _ if out:
                out[at] ^= 1 << random.randrange(8)
    return bytes(out[:most])


class Mutator:
    """Changes inputs and counts which edits brought new coverage."""

    def __init__(self, engine: BytesMutator | None = None, layers: tuple[int, ...] = ()) -> None:
        """`engine` mutates bytes; `layers` are the allowed layer numbers, all if empty."""
        self._engine, self._layers = engine, layers
        self._count = 0
        self.last: tuple[str, ...] = ()
        """The names of the edits in the last input."""
        self.used: Counter[str] = Counter()
        self.brought: Counter[str] = Counter()

    def __call__(self, data: bytes, most: int, seed: int) -> bytes:
        """Return a changed input of at most `most` bytes; equal seeds give equal inputs."""
        random = Random(seed)
        made = self._mutate(data, most, random) or b"\0"
        if self._layers:
            number = made[0] % len(inputs.LAYERS)
            made = bytes([number if number in self._layers else random.choice(self._layers)]) + made[1:]
        self.used.update(self.last)
        return made[:most]

    def _mutate(self, data: bytes, most: int, random: Random) -> bytes:
        drawn = random.random()
        self._count += 1
        fresh = 0.35 if self._count < EARLY else 0.08
        if drawn < fresh or (len(data) < 3 and drawn < 0.5):
            self.last = (FRESH,)
            return an_input(random)
        if drawn < fresh + 0.17 or len(data) < 2:
            return self._bytes(data, most, random)
        found = segments_of(data)
        if found is None:
            return self._bytes(data, most, random)
        segments, rest = found
        self.last = ()
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            name = random.choice(_NAMES)
            try:
                segments = EDITS[name](segments, random)
            except (DoesNotFitError, LookupError, ValueError):
                continue  # this edit does not fit this message, or what an earlier one left of it
            self.last += (name,)
        return self._bytes(data, most, random) if not self.last else data[:1] + segments.join() + rest

    def _bytes(self, data: bytes, most: int, random: Random) -> bytes:
        self.last = (PLAIN,)
        return self._engine(data, most) if self._engine else mutate_bytes(data, most, random)

    def cross(self, data: bytes, other: bytes, most: int, seed: int) -> bytes:
        """Replace a part of `data` by a part of the same kind in `other`, or append `other`."""
        random = Random(seed)
        self.last = ("splice",)
        self.used.update(self.last)
        mine, theirs = segments_of(data), segments_of(other)
        if mine is None or theirs is None:
            cut = random.randint(0, len(data))
            return (data[:cut] + other[random.randint(0, len(other)) :])[:most]
        return (data[:1] + splice(mine[0], theirs[0], random).join() + mine[1])[:most]

    def credit(self) -> None:
        """Credit the edits of the last input, which reached new coverage."""
        self.brought.update(self.last)


def splice(mine: Segments, theirs: Segments, random: Random) -> Segments:
    """Return `mine` with a part of `theirs` in place of one with the same name, or appended."""
    like = {_name(path): path for path in theirs.paths()}
    shared = [path for path in mine.paths() if _name(path) in like]
    if shared and random.random() < 0.8:
        path = random.choice(shared)
        other = like[_name(path)]
        while random.random() < 0.6 and _name(path.rpartition(".")[0]) == _name(other.rpartition(".")[0]) != "":
            path, other = path.rpartition(".")[0], other.rpartition(".")[0]
        return mine.replace(path, theirs.get(other).data, recompute=random.random() < 0.7)
    return Segments((*mine, Segment("spliced", theirs.join())))


def _name(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


__all__ = ["EDITS", "Edit", "Mutator", "mutate_bytes", "segments_of", "splice"]
