"""Every vector against one codec: what `zconform vectors check` prints, and what the tests of our own codec stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zenoh_vectors.judge import Judged, Outcome, judge
from zenoh_vectors.loader import Vector

Direction = Literal["decode", "encode"]
Decode = Callable[[str, bytes], Outcome]
"""Layer and bytes to what they mean, or why not.  Raises NotImplementedError for a layer that it does not have."""
Encode = Callable[[str, Mapping[str, Any]], bytes]
"""Layer and meaning to bytes.  Raises ValueError for a meaning that has none, NotImplementedError as above."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one direction of one vector, or of one step of it."""

    vector: Vector
    """Where it is a step of a conversation: with the conversation's id."""
    direction: Direction
    judged: Judged
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What is asked at once: a vector, or a step of a conversation."""

    vector: Vector
    step: int | None = None


def units(vectors: Iterable[Vector]) -> Iterator[Unit]:
    """Conversations taken apart, everything else as it is."""
    for vector in vectors:
        if vector.steps:
            for number, (_, step) in enumerate(vector.steps):
                yield Unit(step, number)
        else:
            yield Unit(vector)


def check(vectors: Iterable[Vector], decode: Decode, encode: Encode | None = None) -> Iterator[Finding]:
    """Judge a codec: each vector decoded, and each canonical one encoded again from its meaning."""
    for unit in units(vectors):
        try:
            outcome = decode(unit.vector.layer, unit.vector.data)
        except NotImplementedError:
            continue
        yield Finding(unit.vector, "decode", judge(unit.vector, outcome), unit.step)
        if encode is not None and unit.vector.canonical and unit.vector.means is not None:
            try:
                written = encode(unit.vector.layer, unit.vector.means)
            except NotImplementedError:
                continue
            except ValueError as refusal:
                yield Finding(unit.vector, "encode", written_nothing(unit.vector, str(refusal)), unit.step)
            else:
                yield Finding(unit.vector, "encode", judge_written(unit.vector, written), unit.step)


def written_nothing(vector: Vector, why: str) -> Judged:
    """The meaning of a canonical vector was refused."""
    if vector.needs:
        return Judged("not-applicable", f"needs {', '.join(vector.needs)}: {why}")
    return Judged("fail", f"cannot be written: {why}")


def judge_written(vector: Vector, data: bytes) -> Judged:
    """Whether these are the bytes of a canonical vector."""
    if data == vector.data:
        return Judged("pass")
    if vector.needs:
        return Judged("not-applicable", f"needs {', '.join(vector.needs)}")
    at = next((n for n, (a, b) in enumerate(zip(vector.data, data, strict=False)) if a != b), min(len(data), len(vector.data)))
    return Judged("fail", f"written otherwise from byte {at} on: {data[at : at + 8].hex() or 'nothing'}, expected {vector.data[at : at + 8].hex() or 'nothing'}")
