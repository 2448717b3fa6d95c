"""Seeds and dictionaries: the golden vectors as inputs, and strings from the declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import Final

from zenoh_conformance.reading import batch
from zenoh_conformance.wire import Enc, registry, vle
from zenoh_fuzz import inputs
from zenoh_vectors.loader import Vector, load

EDGES: Final = tuple(
    sorted(
        {
            0,
            1,
            2,
            127,
            128,
            255,
            256,
            16383,
            16384,
            65535,
            65536,
            (1 << 28) - 1,
            1 << 28,
            (1 << 32) - 1,
            1 << 32,
            (1 << 33) - 1,
            (1 << 56) - 1,
            1 << 56,
            1 << 62,
            (1 << 63) - 1,
            1 << 63,
            vle.MOST,
        }
    )
)
"""Values at which widths, VLE lengths and signs change (primitives#vle)."""


@cache
def vectors() -> tuple[Vector, ...]:
    """Return the golden vectors, with conversations split into messages."""
    return tuple(part for vector in load() for part in vector.parts)


def message_seeds() -> Iterator[bytes]:
    """Yield every vector of an input layer, valid or not; of streams, the batches."""
    for vector in vectors():
        if vector.layer in inputs.LAYERS:
            yield inputs.make_input(vector.layer, vector.data)
        elif vector.layer == "stream":
            for one in batch.split(vector.data)[0]:
                yield inputs.make_input("batch", one)


def key_seeds() -> Iterator[bytes]:
    """Yield the key expressions of the vectors in pairs, one per line."""
    keys = [vector.data for vector in vectors() if vector.layer == "keyexpr"]
    for first, second in zip(keys, [*keys[1:], *keys[:1]], strict=True):
        yield first + b"\n" + second


def message_words() -> Iterator[bytes]:
    """Yield headers of messages and extensions, and edge integers."""
    for cls in (*registry.MESSAGES, *registry.EXTENSIONS):
        number = registry.of(cls).id
        yield bytes([number])
        yield bytes([number | 0x80])
    for value in EDGES:
        yield vle.encode(value)
    for enc in Enc:
        yield bytes([enc << 5 | 0x0E])
        yield bytes([enc << 5 | 0x1E])


def key_words() -> Iterator[bytes]:
    """Yield the pieces of key expressions."""
    yield from (
        b"/",
        b"*",
        b"**",
        b"$*",
        b"$*$*",
        b"@",
        b"@a",
        b"/**/",
        b"/*/**",
        b"**/*",
        b"a",
        b"ab",
        b"#",
        b"?",
        b"\n",
        b"\xc3\xa9",
    )


def dictionary(words: Iterable[bytes]) -> str:
    """Return a libFuzzer dictionary with each distinct word."""
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in sorted(set(words)) if word]
    return "\n".join(lines) + "\n"


def write_corpus(folder: Path, seeds: Iterable[bytes], *, largest: int) -> int:
    """Write each distinct seed to a file named as libFuzzer names it; return their number. Longer seeds are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {sha1(seed, usedforsecurity=False).hexdigest(): seed for seed in seeds if 0 < len(seed) <= largest}
    for name, seed in names.items():
        (folder / name).write_bytes(seed)
    return len(names)
