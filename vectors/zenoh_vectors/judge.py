"""Judges whether a codec does what a vector says: the same rules for ours and for foreign codecs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from zenoh_vectors.loader import Vector, VectorRefusal

LONGEST: Final = 64
"""Bytes of a vector that a cause shows in full."""

Verdict = Literal["pass", "fail", "not-applicable"]


@dataclass(frozen=True, slots=True)
class VectorOutcome:
    """The result of decoding a vector: a meaning, or a refusal."""

    means: Mapping[str, Any] | None = None
    """None: refused."""
    why: str = ""
    at: int | None = None
    """The byte at which the decoder refused, if it reports one."""
    size: int | None = None
    """The number of bytes that it read, if it reports one; leaving bytes counts as a refusal of them."""


@dataclass(frozen=True, slots=True)
class VectorVerdict:
    """The verdict on one vector."""

    verdict: Verdict
    cause: str = ""
    reading: str | None = None
    """The reading of an erratum that the outcome follows; None for a vector without an erratum, or for neither reading."""


def refuse_surplus(outcome: VectorOutcome, vector: Vector) -> VectorOutcome:
    """The outcome; a refusal if bytes are left over."""
    if outcome.means is not None and outcome.size is not None and outcome.size < len(vector.data):
        return VectorOutcome(None, f"{len(vector.data) - outcome.size} bytes are left over", outcome.size)
    return outcome


def judge(vector: Vector, outcome: VectorOutcome) -> VectorVerdict:
    """The verdict on an outcome.  A point that the text leaves open is named and never fails."""
    if outcome.size is not None and outcome.size > len(vector.data):
        return VectorVerdict("fail", f"{outcome.size} bytes are said to be used, of {len(vector.data)}")
    outcome = refuse_surplus(outcome, vector)
    reading = vector.errata[0].reading if vector.errata else None
    if agrees(vector.refuses, outcome, vector.means, *vector.also):
        return VectorVerdict("pass", reading=reading)
    cause = difference(vector, outcome)
    if vector.needs and outcome.means is None:
        return VectorVerdict("not-applicable", f"needs {', '.join(vector.needs)}: {cause}")
    for erratum in vector.errata:
        known = erratum.other_means is not None or erratum.other_refuses is not None
        if known and agrees(erratum.other_refuses, outcome, erratum.other_means):
            other = "as written" if erratum.reading == "as erratum" else "as erratum"
            return VectorVerdict("pass" if vector.acceptable else "fail", f"{erratum.id}: {cause}", other)
    if vector.acceptable:
        return VectorVerdict("pass", f"open point {vector.errata[0].id}: {cause}")
    return VectorVerdict("fail", cause)


def judge_written(vector: Vector, data: bytes | None, why: str = "") -> VectorVerdict:
    """The verdict on the bytes that an encoder wrote for a canonical vector; `data` is None if it refused the meaning."""
    if data == vector.data:
        return VectorVerdict("pass")
    if vector.needs:
        return VectorVerdict("not-applicable", f"needs {', '.join(vector.needs)}")
    if vector.acceptable:
        return VectorVerdict(
            "pass", f"open point {vector.errata[0].id}: written as {data.hex() if data else 'nothing'}"
        )
    if data is None:
        return VectorVerdict("fail", f"cannot be written: {why or 'no reason given'}")
    pairs = enumerate(zip(data, vector.data, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(data), len(vector.data)))
    where = f"byte {at}{path_at(vector, at)}"
    return VectorVerdict("fail", f"{where}: expected {_around(vector.data, at)}, written {_around(data, at)}")


def _around(data: bytes, at: int) -> str:
    """The bytes in hexadecimal; of more than `LONGEST` those around one of them."""
    if len(data) <= LONGEST:
        return data.hex()
    first, last = max(at - LONGEST // 4, 0), at + LONGEST // 2
    return f"{'..' if first else ''}{data[first:last].hex()}{'..' if last < len(data) else ''} ({len(data)} bytes)"


def judge_mistake(vector: Vector, fault: str, *, legible: bool = True) -> VectorVerdict:
    """The verdict on bytes that an encoder wrote and that mean something else; an open point never fails.

    A codec that need not do what the vector is about may write something else, and nothing that is not `legible`.
    """
    if vector.needs and legible:
        return VectorVerdict("not-applicable", f"needs {', '.join(vector.needs)}: {fault}")
    if vector.acceptable:
        return VectorVerdict("pass", f"open point {vector.errata[0].id}: {fault}")
    return VectorVerdict("fail", fault)


def agrees(refuses: VectorRefusal | None, outcome: VectorOutcome, *means: Mapping[str, Any] | None) -> bool:
    """Whether the outcome is one of these meanings, or the expected refusal; the byte of the refusal is not compared."""
    if refuses is not None:
        return outcome.means is None
    return outcome.means is not None and outcome.means in means


def difference(vector: Vector, outcome: VectorOutcome) -> str:
    """The first difference between the expected and the actual outcome, in one line."""
    if vector.refuses is not None:
        why, at, path = vector.refuses
        found = f"found {str(outcome.means)[:200]}" if outcome.means else "it is accepted"
        return f"expected a refusal ({why} at byte {at}, {path}), {found}"
    if outcome.means is None:
        where = "" if outcome.at is None else f" at byte {outcome.at}{path_at(vector, outcome.at)}"
        return f"refused{where}: {outcome.why or 'no reason given'}"
    path, want, got = next(parts(vector.means, outcome.means, ""), ("", "?", "?"))
    return f"{path}: expected {excerpt(want, got)}, found {excerpt(got, want)}"


def excerpt(value: Any, other: Any, size: int = 80) -> str:
    """The value as Python writes it; of one longer than `size` characters the stretch where it begins to differ from the other."""
    text = repr(value)
    if len(text) <= size:
        return text
    at = next((place for place, pair in enumerate(zip(text, repr(other), strict=False)) if pair[0] != pair[1]), 0)
    first = max(at - size // 4, 0)
    return f"{'..' if first else ''}{text[first : first + size]}{'..' if first + size < len(text) else ''}"


def path_at(vector: Vector, at: int) -> str:
    """The path of the segment with byte `at`, in brackets."""
    end = 0
    for segment in vector.segments:
        end += len(segment.data)
        if at < end:
            return f" ({segment.path})"
    return ""


def parts(want: Any, got: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The differences between two meanings: path, expected, actual."""
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        for name in dict.fromkeys((*want, *got)):
            below = f"{path}.{name}" if path else str(name)
            yield from parts(want.get(name, "(absent)"), got.get(name, "(absent)"), below)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for place, pair in enumerate(zip(want, got, strict=True)):
            yield from parts(*pair, f"{path}[{place}]")
    elif want != got:
        yield path, want, got
