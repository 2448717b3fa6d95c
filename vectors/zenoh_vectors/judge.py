"""Whether a codec did what a vector says: one rule for ours, for foreign ones, and for the plain consumer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zenoh_vectors.loader import Refusal, Vector

Verdict = Literal["pass", "fail", "not-applicable"]


@dataclass(frozen=True, slots=True)
class VectorOutcome:
    """What a decoder made of the bytes of a vector: a meaning, or a refusal."""

    means: Mapping[str, Any] | None = None
    """None: refused."""
    why: str = ""
    at: int | None = None
    """The byte at which it refused, if it says so."""
    size: int | None = None
    """How many bytes it took, if it says so; fewer than there are is a refusal of the rest."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one vector."""

    verdict: Verdict
    cause: str = ""
    reading: str | None = None
    """Which reading of an erratum the outcome follows; None where no erratum is touched, or neither is followed."""


def settled(outcome: VectorOutcome, vector: Vector) -> VectorOutcome:
    """The same, with bytes left over told as what they are."""
    if outcome.means is not None and outcome.size is not None and outcome.size < len(vector.data):
        return VectorOutcome(None, f"{len(vector.data) - outcome.size} bytes are left over", outcome.size)
    return outcome


def judge(vector: Vector, outcome: VectorOutcome) -> Judged:
    """What the outcome is worth.  A point that the text leaves open is named and never failed."""
    if outcome.size is not None and outcome.size > len(vector.data):
        return Judged("fail", f"{outcome.size} bytes are said to be used, of {len(vector.data)}")
    outcome = settled(outcome, vector)
    reading = vector.errata[0].reading if vector.errata else None
    if agrees(vector.refuses, outcome, vector.means, *vector.also):
        return Judged("pass", reading=reading)
    cause = difference(vector, outcome)
    if vector.needs and outcome.means is None:
        return Judged("not-applicable", f"needs {', '.join(vector.needs)}: {cause}")
    for erratum in vector.errata:
        known = erratum.other_means is not None or erratum.other_refuses is not None
        if known and agrees(erratum.other_refuses, outcome, erratum.other_means):
            other = "as written" if erratum.reading == "as erratum" else "as erratum"
            return Judged("pass" if vector.acceptable else "fail", f"{erratum.id}: {cause}", other)
    if vector.acceptable:
        return Judged("pass", f"open point {vector.errata[0].id}: {cause}")
    return Judged("fail", cause)


def judge_written(vector: Vector, data: bytes | None, why: str = "") -> Judged:
    """Whether these are the bytes of a canonical vector; None where its meaning was refused."""
    if data == vector.data:
        return Judged("pass")
    if vector.needs:
        return Judged("not-applicable", f"needs {', '.join(vector.needs)}")
    if vector.acceptable:
        return Judged("pass", f"open point {vector.errata[0].id}: written as {data.hex() if data else 'nothing'}")
    if data is None:
        return Judged("fail", f"cannot be written: {why or 'no reason given'}")
    pairs = enumerate(zip(data, vector.data, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(data), len(vector.data)))
    return Judged("fail", f"byte {at}{beside(vector, at)}: expected {vector.data.hex()}, written {data.hex()}")


def agrees(refuses: Refusal | None, outcome: VectorOutcome, *means: Mapping[str, Any] | None) -> bool:
    """Whether the outcome is one of these meanings, or a refusal where one is expected; the byte is not compared."""
    if refuses is not None:
        return outcome.means is None
    return outcome.means is not None and outcome.means in means


def difference(vector: Vector, outcome: VectorOutcome) -> str:
    """In one line: what was expected and what was found, at the first place where they part."""
    if vector.refuses is not None:
        refused = vector.refuses
        return (
            f"expected a refusal ({refused.why} at byte {refused.at}, {refused.path}), found {str(outcome.means)[:200]}"
        )
    if outcome.means is None:
        where = "" if outcome.at is None else f" at byte {outcome.at}{beside(vector, outcome.at)}"
        return f"refused{where}: {outcome.why or 'no reason given'}"
    path, want, got = next(parts(vector.means, outcome.means, ""), ("", "?", "?"))
    return f"{path}: expected {want!r:.80}, found {got!r:.80}"


def beside(vector: Vector, at: int) -> str:
    """The path of the segment that holds byte `at`, in brackets."""
    end = 0
    for segment in vector.segments:
        end += len(segment.data)
        if at < end:
            return f" ({segment.path})"
    return ""


def parts(want: Any, got: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Where two meanings differ: path, expected, found."""
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        for name in dict.fromkeys((*want, *got)):
            yield from parts(
                want.get(name, "(absent)"), got.get(name, "(absent)"), f"{path}.{name}" if path else str(name)
            )
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for place, pair in enumerate(zip(want, got, strict=True)):
            yield from parts(*pair, f"{path}[{place}]")
    elif want != got:
        yield path, want, got
