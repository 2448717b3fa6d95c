"""The vectors as a seed corpus for fuzzers: one file of raw bytes per vector."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from zenoh_vectors.params import select


def corpus(*, layer: str | Collection[str] = (), refused: bool | None = None) -> dict[str, bytes]:
    """File name to bytes, without duplicates; a name is the vector's id with hyphens and a few digits of the bytes' hash."""
    out: dict[bytes, str] = {}
    for name, vector in select(layer=layer, refused=refused):
        plain = name.replace("/", "-").replace("[", "-").replace("]", "")
        out.setdefault(vector.data, f"{plain}-{sha256(vector.data).hexdigest()[:8]}")
    return {name: data for data, name in sorted(out.items(), key=lambda item: item[1])}


def write_corpus(folder: Path, *, layer: str | Collection[str] = (), refused: bool | None = None) -> int:
    """Write the corpus into a folder; return the number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = corpus(layer=layer, refused=refused)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return len(files)
