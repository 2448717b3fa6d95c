"""The foreign implementations that agree with each vector: kept beside the data; the builder copies them into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from zenoh_vectors.loader import Vector, data_folder

Table = dict[str, dict[str, list[str]]]
"""Vector id to digest to witnesses."""


def file() -> Path:
    """The file of confirmations."""
    return data_folder().parent / "confirmed.json"


def read(path: Path | None = None) -> Table:
    """All confirmations; an empty table without a file."""
    path = path or file()
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def digest_of(layer: str, data: bytes, means: Mapping[str, Any] | None, refuses: Mapping[str, Any] | None) -> str:
    """The digest of bytes and expectation; a changed vector has another digest and must be confirmed again."""
    outcome = json.dumps([means, refuses is not None], sort_keys=True)
    return sha256(layer.encode() + b"\0" + data + outcome.encode()).hexdigest()[:16]


def digest(vector: Vector) -> str:
    """The digest of a loaded vector; a conversation has the joint digest of its steps."""
    if vector.steps:
        return join_digests(digest(step) for _, step in vector.steps)
    return digest_of(vector.layer, vector.data, vector.means, vector.refuses._asdict() if vector.refuses else None)


def join_digests(digests: Iterable[str]) -> str:
    """One digest for several."""
    return sha256("".join(digests).encode()).hexdigest()[:16]


def record(vectors: Iterable[Vector], witness: str, agreed: Iterable[str], path: Path | None = None) -> int:
    """Record which of `vectors`, all of which the witness was asked about, it agreed with; return their number.

    This replaces the witness's earlier answers about these vectors, and drops all confirmations of bytes that have changed.
    """
    path = path or file()
    table, confirmed, count = read(path), set(agreed), 0
    for vector in vectors:
        mark = digest(vector)
        witnesses = {*table.get(vector.id, {}).get(mark, ())} - {witness}
        if vector.id in confirmed:
            witnesses.add(witness)
            count += 1
        table.pop(vector.id, None)
        if witnesses:
            table[vector.id] = {mark: sorted(witnesses)}
    rows = ",\n".join(f"{json.dumps(ident)}: {json.dumps(marks)}" for ident, marks in sorted(table.items()))
    path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    return count
