"""Judges what a codec answers for a golden vector; `vectors check` and runs use the same rules.

Refusals, remaining bytes and canonical bytes are judged without any capability. What a vector means is judged by the
meaning that the codec tells, and by reading back with our decoder whatever it wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from zenoh_conformance.judging.verdict import Verdict, worst
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.codecs.codec import Answer, AnswerKind, Request
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.codecs.written import UNREAD, fault_of, is_reduced, read_back, same_meaning
from zenoh_vectors.judge import VectorOutcome, VectorVerdict, judge, judge_mistake, judge_written
from zenoh_vectors.loader import Vector

_WITHOUT: Final[Mapping[AnswerKind, Verdict]] = {
    AnswerKind.UNIMPLEMENTED: Verdict.UNIMPLEMENTED,
    AnswerKind.CRASH: Verdict.CRASH,
    AnswerKind.HANG: Verdict.HANG,
    AnswerKind.GARBAGE: Verdict.ERROR,
    AnswerKind.DISORDER: Verdict.ERROR,
    AnswerKind.UNASKED: Verdict.ERROR,
}
"""Answers that are judged without a look at what they say."""


@dataclass(frozen=True, slots=True)
class VectorAnswer:
    """The verdict on the answers to one vector, before the level of a requirement applies."""

    verdict: Verdict
    """FAIL stands for a deviation, whatever the level."""
    cause: str = ""
    reading: str | None = None
    seen: Mapping[str, object] = field(default_factory=dict)
    """What stands beside the vector's bytes: see `beside`."""
    record: Conversation | None = field(default=None, compare=False)
    """The session with a node in which it was wrong."""
    breaks: str = ""
    """The requirement that is broken, where it is none that the vector covers."""


Answers = Sequence[tuple[Vector, VectorAnswer]]
"""Vectors, each with what a node did with it."""


def requests(vector: Vector, layers: frozenset[str]) -> Iterator[Request]:
    """Yield the requests for one vector, in the order in which `judge_vector` takes the answers."""
    for part in vector.parts:
        if part.layer in layers:
            yield Request.decode(part.layer, part.data)
            if part.means is not None:
                yield Request.encode(part.layer, part.means)


def judge_vector(vector: Vector, layers: frozenset[str], answers: Iterator[Answer]) -> VectorAnswer:
    """Return the verdict on the answers to the requests for a vector; of several steps the worst."""
    judged = [_judge_part(part, layers, answers) for part in vector.parts]
    bad = worst(part.verdict for part in judged)
    return next(part for part in judged if part.verdict is bad)


def _judge_part(vector: Vector, layers: frozenset[str], answers: Iterator[Answer]) -> VectorAnswer:
    if vector.layer not in layers:
        return VectorAnswer(Verdict.UNIMPLEMENTED, f"the codec does not implement the {vector.layer} layer")
    decoded = next(answers)
    encoded = next(answers) if vector.means is not None else None
    reading = of_decoding(vector, decoded)
    if not reading.verdict.is_quiet:
        return replace(reading, seen=beside(vector, decoded))
    wrong = of_writing(vector, decoded) or (of_encoding(vector, decoded, encoded) if encoded is not None else None)
    return reading if wrong is None else replace(wrong, seen=written(vector, decoded, encoded))


def of_decoding(vector: Vector, answer: Answer) -> VectorAnswer:
    """Return the verdict on the answer to `decode`: acceptance, bytes used, meaning.

    A codec that tells no meaning is judged by the one of the bytes that it wrote again.
    """
    if answer.kind in _WITHOUT:
        return VectorAnswer(_WITHOUT[answer.kind], f"decode: {answer.kind.value}: {answer.why}".removesuffix(": "))
    if answer.kind is AnswerKind.REFUSED:
        return answer_for(vector, judge(vector, VectorOutcome(None, answer.why, answer.at)))
    if answer.means is not None:
        return answer_for(vector, judge(vector, VectorOutcome(answer.means, size=answer.size)))
    whole = vector.refuses is None and answer.size == len(vector.data)
    if not whole or answer.data is None:
        judged = judge(vector, VectorOutcome({}, size=answer.size))
        if whole:
            return VectorAnswer(
                Verdict.UNIMPLEMENTED, "decode: the codec neither tells what it means nor writes it again"
            )
        return answer_for(vector, judged)
    read = read_back(vector.layer, answer.data)
    if isinstance(read, str):
        return VectorAnswer(Verdict.PASS)  # `of_writing` judges bytes that nobody can read
    others = (erratum.other_means for erratum in vector.errata)
    known = [means for means in (vector.means, *vector.also, *others) if means is not None]
    told = same_meaning(vector.layer, read, known) or read
    judged = judge(vector, VectorOutcome(told, size=answer.size))
    cause = judged.cause and f"decode: written again: {judged.cause}"
    return replace(answer_for(vector, judged), cause=cause)


def of_writing(vector: Vector, decoded: Answer) -> VectorAnswer | None:
    """Return what is wrong with the bytes that it wrote again after decoding, None if nothing."""
    if decoded.kind is not AnswerKind.DECODED or decoded.data is None or vector.means is None:
        return None
    if decoded.size < len(vector.data):
        return None  # it refuses the rest, and wrote a part
    others = (erratum.other_means for erratum in vector.errata)
    known = [means for means in (decoded.means, vector.means, *vector.also, *others) if means is not None]
    return _mistake(vector, "decode", fault_of(vector.layer, decoded.data, *known))


def of_encoding(vector: Vector, decoded: Answer, answer: Answer) -> VectorAnswer | None:
    """Return what is wrong with the answer to `encode`, None if nothing.

    The bytes of a canonical vector are compared; those of others are read back. What the codec wrote again after decoding
    stands in for a codec without `encode`.
    """
    if answer.kind in _WITHOUT and answer.kind is not AnswerKind.UNIMPLEMENTED:
        return VectorAnswer(_WITHOUT[answer.kind], f"encode: {answer.kind.value}: {answer.why}".removesuffix(": "))
    data = answer.data if answer.kind is AnswerKind.ENCODED else None
    if not vector.canonical:
        known = (vector.means or {}, *vector.also)
        return None if data is None else _mistake(vector, "encode", fault_of(vector.layer, data, *known))
    if answer.kind is AnswerKind.UNIMPLEMENTED:
        if decoded.data is None:
            return None
        data = decoded.data
    if data is not None and is_reduced(vector.layer, data, vector.means or {}):
        return None  # the bytes are those of another meaning
    judged = judge_written(vector, data, answer.why)
    if judged.verdict == "pass":
        return None
    return replace(answer_for(vector, judged), cause=f"encode: {judged.cause}")


def _mistake(vector: Vector, step: str, fault: str) -> VectorAnswer | None:
    if not fault:
        return None
    judged = judge_mistake(vector, fault, legible=not fault.startswith(UNREAD))
    return None if judged.verdict == "pass" else replace(answer_for(vector, judged), cause=f"{step}: {judged.cause}")


def answer_for(vector: Vector, judged: VectorVerdict) -> VectorAnswer:
    """Return the answer that carries a verdict of `zenoh_vectors.judge`, with the reading that it follows."""
    reading = judged.reading
    if reading == "as erratum" and vector.errata:
        reading = f"as erratum:{vector.errata[0].id}"
    return VectorAnswer(Verdict(judged.verdict), judged.cause, reading)


def beside(vector: Vector, answer: Answer) -> Mapping[str, object]:
    """Return what a reader made of a vector, to be shown byte by byte: `how` it ended, `at` which byte, or as bytes, `seen`.

    `refused` (at this byte), `taken` (it must be refused at this byte), `read` (the bytes that its meaning is).
    """
    what = {"bytes": vector.data.hex(), "layer": vector.layer}
    if answer.kind is AnswerKind.REFUSED:
        return {**what, "how": "refused", **({} if answer.at is None else {"at": answer.at})}
    if answer.kind is not AnswerKind.DECODED:
        return what
    if vector.refuses is not None:
        return {**what, "how": "taken", "at": vector.refuses.at}
    meant = answer.data if answer.means is None else _bytes_of(vector.layer, answer.means)
    return what if meant is None else {**what, "how": "read", "seen": meant.hex()}


def _bytes_of(layer: str, means: Mapping[str, Any]) -> bytes | None:
    return OwnCodec().encode(layer, means).data


def written(vector: Vector, decoded: Answer, encoded: Answer | None) -> Mapping[str, object]:
    """Return the same of a writer: `written`, the bytes that it wrote instead."""
    own = encoded is not None and encoded.kind is AnswerKind.ENCODED
    data = encoded.data if encoded is not None and own else decoded.data
    what = {"bytes": vector.data.hex(), "layer": vector.layer}
    return what if data is None else {**what, "how": "written", "seen": data.hex()}
