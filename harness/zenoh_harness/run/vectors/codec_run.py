"""Golden vectors against a codec target: one record for each requirement that a vector covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from threading import Event as Flag
from typing import Final, overload

from zenoh_conformance.judging.verdict import Key, Verdict, verdict_for
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.codecs.codec import Codec
from zenoh_harness.errors import UsageError
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.answers import VectorAnswer, judge_vector, requests
from zenoh_harness.run.write.register import Register
from zenoh_harness.run.write.resume import EarlierRun
from zenoh_harness.targets.reach import Reach
from zenoh_vectors.loader import Vector, VectorError, load

ROLE: Final = "codec"

PROBES: Final = 5
"""The most red vectors of a run that are also judged alone."""

ONLY_AFTER_OTHERS: Final = "it passes alone: what the codec read before changes its answer"


@cache
def golden() -> tuple[Vector, ...]:
    """The vectors that ship. Raises UsageError for a file that cannot be used."""
    try:
        return load()
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` writes them anew") from bad


class Shipped(Sequence[Vector]):
    """The vectors that ship, read when they are first looked at: a run of some cases never does."""

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(golden())

    def __iter__(self) -> Iterator[Vector]:
        return iter(golden())

    @overload
    def __getitem__(self, at: int) -> Vector: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Vector]: ...
    def __getitem__(self, at: int | slice) -> Vector | Sequence[Vector]:
        return golden()[at]


def shipped_for(selection: Selection) -> Sequence[Vector]:
    """The vectors that ship; none where no check of one and no requirement can be among what is selected."""
    if selection.may_take("vectors/") or selection.takes(*requirements()):
        return golden()
    return ()


class VectorRun:
    """The run of all vectors against one codec."""

    def __init__(
        self,
        codec: Codec,
        reach: Reach,
        options: Options,
        vectors: Iterable[Vector],
        fresh: Callable[[], Codec] | None = None,
    ) -> None:
        """`fresh` starts the same codec once more, to judge a red vector without those before it; None: not judged so."""
        self.codec, self.reach, self.options, self._fresh = codec, reach, options, fresh
        self._probes = PROBES
        self.identity, self.role, self.profiles = codec.identity, ROLE, ("default",)
        self.guarded, self.can_run_beside = False, False
        self.withheld: frozenset[str] = frozenset()
        self._done: set[tuple[str, str]] = set()
        self.stop = Flag()
        self.vectors = [
            vector for vector in vectors if any(True for _ in requirements_wanted(vector, options.selection))
        ]

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
        wanted = requirements_wanted(vector, self.options.selection)
        return [requirement for requirement in wanted if (check_of(vector), requirement) not in self._done]

    def run(self, register: Register) -> None:
        """Ask and judge, in the order of the ids."""
        answers = self.codec.ask(request for vector in self.vectors for request in requests(vector, self.codec.layers))
        for vector in self.vectors:
            answer = judge_vector(vector, self.codec.layers, answers)
            repeat = None
            if not answer.verdict.is_quiet and self._passes_alone(vector):
                answer = replace(answer, cause=f"{answer.cause} ({ONLY_AFTER_OTHERS})")
                repeat = register.repeat("vectors/*")
            for requirement in self._left(vector):
                self._record(register, vector, requirement, answer, repeat)
            self.options.advance(1, vector.id)

    def _passes_alone(self, vector: Vector) -> bool:
        """Whether a codec that has read nothing else passes; False too for a vector that comes after `PROBES` others."""
        if self._fresh is None or not self._probes:
            return False
        self._probes -= 1
        with self._fresh() as codec:
            return judge_vector(vector, codec.layers, codec.ask(requests(vector, codec.layers))).verdict.is_quiet

    def close(self) -> None:
        """End the codec."""
        self.codec.close()

    def _record(
        self, register: Register, vector: Vector, requirement: str, answer: VectorAnswer, repeat: str | None
    ) -> None:
        key = Key(
            target=self.reach.options.get("name", self.identity.name),
            version=self.identity.version,
            role=ROLE,
            profile="default",
            link="none",
            requirement=requirement,
            check=check_of(vector),
        )
        verdict = verdict_for(level_of(requirement)) if answer.verdict is Verdict.FAIL else answer.verdict
        details = {} if answer.verdict is Verdict.PASS else {"bytes": vector.data.hex(), "beside": dict(answer.seen)}
        register.add(key, verdict, cause=answer.cause, read=answer.reading, details=details, repeat=repeat)


def check_of(vector: Vector) -> str:
    """The check's id in results."""
    return f"vectors/{vector.id}"


def requirements_wanted(vector: Vector, selection: Selection) -> Iterator[str]:
    """The requirements that it covers and that are selected; all of them when the vector itself is.

    A vector that covers no requirement is judged under its own name.
    """
    if not selection.here(check_of(vector)):
        return iter(())
    every = selection.takes(check_of(vector))
    return (one for one in vector.covers or (check_of(vector),) if every or selection.takes(one))
