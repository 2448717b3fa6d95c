"""Seeds: golden vectors as inputs of an oracle, and their strings as a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from zenoh_conformance.wire.layer import Layer
from zenoh_vectors.loader import load

from .oracles.decode import LAYERS


def decode_seeds() -> Iterator[bytes]:
    """Every vector of a message layer, valid or not, behind the byte that chooses its layer; in order of id."""
    for vector in load():
        if vector.layer in LAYERS:
            yield bytes([LAYERS.index(Layer(vector.layer))]) + vector.data


def write_corpus(folder: Path, seeds: Iterator[bytes]) -> int:
    """One file a distinct seed, named by its digest; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {sha256(seed).hexdigest()[:16]: seed for seed in seeds}
    for name, seed in names.items():
        (folder / name).write_bytes(seed)
    return len(names)
