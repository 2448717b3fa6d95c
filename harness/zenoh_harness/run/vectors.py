"""Golden vectors against a codec target: one record for each requirement that a vector covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Event as Flag
from typing import Final

from zenoh_conformance.judging.verdict import Key, Verdict, verdict_for, worst
from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec, Request
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.errors import UsageError
from zenoh_harness.run.decide import level_of
from zenoh_harness.run.options import Options
from zenoh_harness.run.plan import Selection
from zenoh_harness.run.register import Register
from zenoh_harness.run.resume import EarlierRun
from zenoh_harness.targets.reach import Reach
from zenoh_vectors.judge import VectorOutcome, VectorVerdict, judge, judge_written
from zenoh_vectors.loader import Vector, VectorError, load

ROLE: Final = "codec"
CONVERSATION: Final = "conversation"

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
    """What came of one vector, before its level."""

    verdict: Verdict
    """FAIL stands for a deviation, whatever the level."""
    cause: str = ""
    reading: str | None = None
    seen: Mapping[str, object] = field(default_factory=dict)
    """What stands beside the vector's bytes: see `beside`."""


@cache
def golden() -> tuple[Vector, ...]:
    """The vectors that ship. Raises UsageError for a file that cannot be used."""
    try:
        return load()
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` writes them anew") from bad


class VectorRun:
    """The run of all vectors against one codec."""

    def __init__(self, codec: Codec, reach: Reach, options: Options, vectors: Iterable[Vector]) -> None:
        self.codec, self.reach, self.options = codec, reach, options
        self.identity, self.role, self.profiles = codec.identity, ROLE, ("default",)
        self.guarded, self.can_run_beside = False, False
        self.withheld: frozenset[str] = frozenset()
        self._done: set[tuple[str, str]] = set()
        self.stop = Flag()
        self.vectors = [vector for vector in vectors if any(True for _ in _wanted(vector, options.selection))]

    def planned(self) -> Iterator[str]:
        """Every vector; one that covers several requirements is several records."""
        for vector in self.vectors:
            yield f"{ROLE} default {check_of(vector)}"

    @property
    def size(self) -> int:
        """How many steps `advance` is told of."""
        return len(self.vectors)

    def take_up(self, earlier: EarlierRun) -> None:
        """Leave out what was judged before the run was resumed."""
        self._done = {(one.key.check, one.key.requirement) for one in earlier.kept if one.key.role == ROLE}
        before, self.vectors = len(self.vectors), [vector for vector in self.vectors if self._left(vector)]
        self.options.advance(before - len(self.vectors), "judged before")

    def _left(self, vector: Vector) -> list[str]:
        """The requirements that the vector is still to be judged by."""
        wanted = _wanted(vector, self.options.selection)
        return [requirement for requirement in wanted if (check_of(vector), requirement) not in self._done]

    def run(self, register: Register) -> None:
        """Ask and judge, in the order of the ids."""
        answers = self.codec.ask(request for vector in self.vectors for request in requests(vector, self.codec.layers))
        for vector in self.vectors:
            text = self._told(vector, answers)
            for requirement in self._left(vector):
                self._record(register, vector, requirement, text)
            self.options.advance(1, vector.id)

    def close(self) -> None:
        """End the codec."""
        self.codec.close()

    def _told(self, vector: Vector, answers: Iterator[Answer]) -> VectorAnswer:
        parts = [self._part(part, answers) for part in parts_of(vector)]
        bad = worst(part.verdict for part in parts)
        return next(part for part in parts if part.verdict is bad)

    def _part(self, vector: Vector, answers: Iterator[Answer]) -> VectorAnswer:
        if vector.layer not in self.codec.layers:
            return VectorAnswer(Verdict.UNIMPLEMENTED, f"the codec does not do the {vector.layer} layer")
        decoded = next(answers)
        encoded = next(answers) if writes(vector) else None
        text = of_decoding(vector, decoded)
        if text.verdict is not Verdict.PASS:
            return replace(text, seen=beside(vector, decoded))
        wrong = of_encoding(vector, decoded, encoded) if encoded is not None else None
        return text if wrong is None else replace(wrong, seen=written(vector, decoded, encoded))

    def _record(self, register: Register, vector: Vector, requirement: str, text: VectorAnswer) -> None:
        key = Key(
            target=self.reach.options.get("name", self.identity.name),
            version=self.identity.version,
            role=ROLE,
            profile="default",
            link="none",
            requirement=requirement,
            check=check_of(vector),
        )
        verdict = verdict_for(level_of(requirement)) if text.verdict is Verdict.FAIL else text.verdict
        details = {} if text.verdict is Verdict.PASS else {"bytes": vector.data.hex(), "beside": dict(text.seen)}
        register.add(key, verdict, cause=text.cause, read=text.reading, details=details)


def beside(vector: Vector, answer: Answer) -> Mapping[str, object]:
    """What a reader made of a vector, so that it can be shown byte by byte: `how` it went, `at` which byte, or as bytes, `seen`.

    `refused` (at this byte), `taken` (it must be refused at this byte), `read` (the bytes that its meaning is).
    """
    what = {"bytes": vector.data.hex(), "layer": vector.layer}
    if answer.kind is AnswerKind.REFUSED:
        return {**what, "how": "refused", **({} if answer.at is None else {"at": answer.at})}
    if answer.kind is not AnswerKind.DECODED or answer.means is None:
        return what
    if vector.refuses is not None:
        return {**what, "how": "taken", "at": vector.refuses.at}
    meant = OwnCodec().encode(vector.layer, answer.means).data
    return what if meant is None else {**what, "how": "read", "seen": meant.hex()}


def written(vector: Vector, decoded: Answer, encoded: Answer | None) -> Mapping[str, object]:
    """The same of a writer: `written`, the bytes that came instead."""
    own = encoded is not None and encoded.kind is AnswerKind.ENCODED
    data = encoded.data if encoded is not None and own else decoded.data
    what = {"bytes": vector.data.hex(), "layer": vector.layer}
    return what if data is None else {**what, "how": "written", "seen": data.hex()}


def check_of(vector: Vector) -> str:
    """The check's id in results."""
    return f"vectors/{vector.id}"


def _wanted(vector: Vector, selection: Selection) -> Iterator[str]:
    """The requirements that it covers and that are selected; all of them when the vector itself is."""
    if not selection.here(check_of(vector)):
        return iter(())
    every = selection.takes(check_of(vector))
    return (one for one in vector.covers if every or selection.takes(one))


def parts_of(vector: Vector) -> Sequence[Vector]:
    """The vector itself, or the messages of a conversation."""
    return [part for _, part in vector.steps] if vector.layer == CONVERSATION else [vector]


def writes(vector: Vector) -> bool:
    """Whether a writer that is given the meaning must write these bytes."""
    return vector.canonical and vector.means is not None


def requests(vector: Vector, layers: frozenset[str]) -> Iterator[Request]:
    """What is asked for one vector, in the order in which the answers are read."""
    for part in parts_of(vector):
        if part.layer in layers:
            yield Request.decode(part.layer, part.data)
            if writes(part):
                yield Request.encode(part.layer, part.means or {})


def of_decoding(vector: Vector, answer: Answer) -> VectorAnswer:
    """What the answer to `decode` is worth."""
    if answer.kind in _WITHOUT:
        return VectorAnswer(_WITHOUT[answer.kind], f"decode: {answer.kind.value}: {answer.why}".removesuffix(": "))
    refused = answer.kind is AnswerKind.REFUSED
    outcome = VectorOutcome(None, answer.why, answer.at) if refused else VectorOutcome(answer.means, size=answer.size)
    if answer.kind is AnswerKind.DECODED and answer.means is None:
        return VectorAnswer(Verdict.UNIMPLEMENTED, "decode: the codec reads it and does not tell what it means")
    return _of(vector, judge(vector, outcome))


def _of(vector: Vector, judged: VectorVerdict) -> VectorAnswer:
    verdict = Verdict(judged.verdict)
    reading = judged.reading
    if reading == "as erratum" and vector.errata:
        reading = f"as erratum:{vector.errata[0].id}"
    return VectorAnswer(verdict, judged.cause, reading)


def of_encoding(vector: Vector, decoded: Answer, answer: Answer) -> VectorAnswer | None:
    """What is wrong with the answer to `encode`; None if nothing. What it decoded and wrote again stands in for it."""
    data = answer.data if answer.kind is AnswerKind.ENCODED else None
    if answer.kind is AnswerKind.UNIMPLEMENTED:
        if decoded.data is None:
            return None
        data = decoded.data
    elif answer.kind in _WITHOUT:
        return VectorAnswer(_WITHOUT[answer.kind], f"encode: {answer.kind.value}: {answer.why}".removesuffix(": "))
    judged = judge_written(vector, data, answer.why)
    if judged.verdict != "pass":
        return replace(_of(vector, judged), cause=f"encode: {judged.cause}")
    return None
