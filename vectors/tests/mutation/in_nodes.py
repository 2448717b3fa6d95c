"""The faults, planted in a whole node in memory: which vectors show them from outside."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from mutation import by_hand, facts
from mutation.engine import Mutant, compiled
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import HarnessError
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.carriers import carriers_at
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.rows import choose_vectors, noticing_vectors, rows
from zenoh_harness.run.vectors.standing import VectorInSession, standing
from zenoh_vectors.loader import Vector, load

KINDS: Final = {"router": True, "receiver": False}
"""The kinds of nodes, with whether they forward publications."""


MOST_KEPT: Final = 6
"""Vectors that are kept of those that show the faults of one row."""

UNHEARD: Final = ("join/", "scouting/")
"""Pages whose messages no session has."""

MOST_NEAR: Final = 24
"""The most vectors that are played for one row."""

FEW_NEAR: Final = 6
"""With fewer vectors near a row, and none that shows the fault, those of a whole run are played."""


class Receiver(Reference):
    """Forwards nothing."""

    def receivers(self, *given: Any, **named: Any) -> list[Any]:
        return []


BASES: Final = {"router": Reference, "receiver": Receiver}


def with_fault(base: type[Reference], plant: Callable[[], AbstractContextManager[None]]) -> type[Reference]:
    """A node whose codec has the fault, and nobody else's: it is planted for the time of each call."""

    class Faulty(base):  # type: ignore[misc, valid-type]
        def _guarded(self, call: Callable[..., list[Action]], name: str, *given: Any) -> list[Action]:
            try:
                with plant():
                    return call(name, *given)
            except Exception:  # noqa: BLE001 - a codec that falls over ends its link
                self.actions.clear()
                return [Action(name, end=True, reset=True)] if name in self.links else []

        def connected(self, name: str, *given: Any) -> list[Action]:
            return self._guarded(super().connected, name, *given)

        def received(self, name: str, *given: Any) -> list[Action]:
            return self._guarded(super().received, name, *given)

        def disconnected(self, name: str, *given: Any) -> list[Action]:
            return self._guarded(super().disconnected, name, *given)

        def tick(self, now: float) -> list[Action]:
            with plant():
                return super().tick(now)  # type: ignore[no-any-return]

    return Faulty


def every_fault() -> list[Mutant]:
    """The faults made from facts and those made by hand."""
    return [*facts.mutants(), *by_hand.mutants()]


@cache
def controls() -> tuple[Vector, ...]:
    """A well-formed vector of each kind of message, by which a node is seen to read it."""
    kinds: dict[str, Vector] = {}
    for vector in load():
        stands = standing(vector) if vector.refuses is None else ""
        if isinstance(stands, VectorInSession):
            kinds.setdefault(stands.kind, vector)
    return tuple(kinds.values())


def near(mutant: Mutant, vectors: Sequence[Vector]) -> list[Vector]:
    """Vectors that may show the fault: those that cover its row, and some of its message; what can be played, well-formed first."""
    found = [one for one in vectors if mutant.requirement in one.covers]
    found += [one for one in vectors if one.id.startswith(mutant.first or ("?",)) and one not in found]
    plays = [one for one in found if isinstance(standing(one), VectorInSession)]
    plays.sort(key=lambda one: (mutant.requirement not in one.covers, one.refuses is not None, not one.core))
    return plays[:MOST_NEAR]


@cache
def of_a_run(depth: str) -> tuple[Vector, ...]:
    """The vectors that a run of that depth plays to a node that listens."""
    return tuple(choose_vectors(golden(), rows(Selection(), Side.RESPONDER), depth))


def red_in_run(mutant: Mutant, kind: str, depth: str = "quick") -> bool:
    """Whether a run's vectors are red on a node with the fault, or it opens no session with it."""
    player = Player(
        lambda number: nullcontext(MemoryScene("", node, seed=number)),
        routes=KINDS[kind],
        exchanged=frozenset(noticing_vectors({*rows(Selection(), Side.RESPONDER)})),
        rows=carriers_at(depth),
    )
    node = with_fault(BASES[kind], compiled(mutant))
    try:
        return any(answer.verdict.is_wrong for _, answer in player.play(of_a_run(depth), golden()))
    except HarnessError:
        return True


def shown(mutant: Mutant, kind: str, vectors: Sequence[Vector]) -> Iterator[Vector]:
    """Yield the vectors near its row that are red on a node with the fault."""
    node = with_fault(BASES[kind], compiled(mutant))
    player = Player(lambda number: nullcontext(MemoryScene("", node, seed=number)), routes=KINDS[kind])
    answers = player.play(near(mutant, vectors), controls())
    if len(answers) < FEW_NEAR and not any(answer.verdict.is_wrong for _, answer in answers):
        answers = player.play(of_a_run("full"), controls())
    yield from (vector for vector, answer in answers if answer.verdict.is_wrong)


def judged_on(kind: str, vectors: Sequence[Vector]) -> dict[str, list[str]]:
    """Each requirement with the vectors that show a fault planted in its row, the basic ones first; without those that none shows."""
    found: dict[str, list[str]] = {}
    core = {one.id for one in vectors if one.core}
    for fault in every_fault():
        if not fault.requirement or fault.requirement in found or fault.requirement.startswith(UNHEARD):
            continue
        with suppress(HarnessError):
            if red := [one.id for one in shown(fault, kind, vectors)]:
                found[fault.requirement] = sorted(red, key=lambda ident: (ident not in core, ident))[:MOST_KEPT]
    return dict(sorted(found.items()))


def write(folder: Path) -> None:
    """Write the table that the player of vectors reads."""
    vectors = load()
    table = {kind: judged_on(kind, vectors) for kind in KINDS}
    (folder / "judged_on.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
