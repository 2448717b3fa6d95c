"""The faults, planted in a whole node in memory: which vectors show them from outside."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from mutation import by_hand, facts
from mutation.engine import Mutant, compiled
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import CodecError, Layer
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import HarnessError
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.carriers import carriers_at
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.handshakes import SMALL
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.rows import (
    IN_PROFILES,
    INITIATOR,
    NO_ROW,
    RECEIVER,
    ROUTER,
    choose_vectors,
    has_place,
    kinds_of,
    noticing_vectors,
    rows,
)
from zenoh_harness.run.vectors.rows import KINDS as KINDS_OF_SIDES
from zenoh_harness.run.vectors.rows import also_shown as also_shown_before
from zenoh_harness.run.vectors.rows import judged_on as judged_on_before
from zenoh_harness.run.vectors.standing import LARGEST, VectorInSession, standing
from zenoh_vectors.loader import Vector, load

KINDS: Final = {
    **{kind: side for side, kinds in KINDS_OF_SIDES.items() for kind in kinds},
    **dict.fromkeys(IN_PROFILES, Side.RESPONDER),
}
"""The kinds of nodes, with their sides."""

MOST_KEPT: Final = 6
"""Vectors that are kept of those that show the faults of one row."""

UNHEARD: Final = ("join/", "message-reference/join-", "scouting/")
"""Beginnings of the rows of messages that no session has."""

MOST_NEAR: Final = 24
"""The most vectors that are played at once for one row."""

MOST_GROUPS: Final = 8
"""So often as many more are played while none shows the fault."""

BESIDE: Final = 8
"""As many of them are of other rows of the message, where there are so many: what they show makes a missing effect a fault."""

WIDEST: Final = 9
"""Bytes of the longest integer."""

FEW_NEAR: Final = 6
"""With fewer vectors near a row, and none that shows the fault, the basic ones are played; for faults in no row, too."""


class Receiver(Reference):
    """Forwards nothing."""

    settings: ClassVar[dict[str, Any]] = {"whatami": sane.PEER}

    def receivers(self, *given: Any, **named: Any) -> list[Any]:
        return []


class Initiator(Receiver):
    """Connects to us, and forwards nothing."""

    settings: ClassVar[dict[str, Any]] = {"whatami": sane.CLIENT}


BASES: Final = {ROUTER: Reference, RECEIVER: Receiver, INITIATOR: Initiator, **dict.fromkeys(IN_PROFILES, Reference)}


def with_fault(base: type[Reference], plant: Callable[[], AbstractContextManager[None]]) -> type[Reference]:
    """A node whose codec has the fault, and nobody else's: it is planted for the time of each call."""

    class Faulty(base):  # type: ignore[misc, valid-type]
        def join_group(self, *given: Any) -> list[Action]:
            with plant(), suppress(CodecError):
                return super().join_group(*given)  # type: ignore[no-any-return]
            return []

        def tick(self, now: float) -> list[Action]:
            with plant(), suppress(CodecError):
                return super().tick(now)  # type: ignore[no-any-return]
            return []

    for name in ("connected", "received", "disconnected", "on_datagram", "on_scouting"):
        setattr(Faulty, name, _guarded(getattr(base, name), plant))
    return Faulty


def _guarded(method: Callable[..., list[Action]], plant: Callable[[], AbstractContextManager[None]]) -> Any:
    """The method of a node with the fault planted while it runs; a codec that falls over ends its link."""

    def guarded_call(node: Reference, name: str, *given: Any) -> list[Action]:
        try:
            with plant():
                return method(node, name, *given)
        except Exception:  # noqa: BLE001 - whatever it is
            node.actions.clear()
            return [Action(name, end=True, reset=True)] if name in node.links else []

    return guarded_call


def every_fault() -> list[Mutant]:
    """The faults made from facts and those made by hand."""
    return [*facts.mutants(), *by_hand.mutants()]


@cache
def controls(side: Side) -> tuple[Vector, ...]:
    """A well-formed vector of each kind of message, by which a node of that side is seen to read it."""
    kinds: dict[str, Vector] = {}
    for vector in load():
        stands = standing(vector, side) if vector.refuses is None else ""
        if isinstance(stands, VectorInSession):
            kinds.setdefault(stands.kind, vector)
    return tuple(kinds.values())


def profile_of(kind: str) -> str:
    """The profile in which a node of that kind is started."""
    return kind if kind in IN_PROFILES else DEFAULT


@cache
def playable(kind: str) -> tuple[Vector, ...]:
    """The vectors that a node of that kind may be played."""
    if kind in IN_PROFILES:
        return tuple(one for one in load() if has_place(one, kind))
    return tuple(one for one in load() if isinstance(standing(one, KINDS[kind]), VectorInSession))


def rows_of_vectors(kind: str) -> frozenset[str]:
    """The requirements that vectors cover which a node of that kind may be played."""
    return frozenset(row for one in playable(kind) for row in one.covers)


def near(mutant: Mutant, kind: str) -> Iterator[list[Vector]]:
    """Vectors that may show the fault, the nearest ones first: those that cover its row, with some of its message beside the first.

    Of either those of both come first, then well-formed ones, then basic ones.
    """
    first = mutant.first or ("?",)
    plays = sorted(playable(kind), key=lambda one: (one.refuses is not None, not one.core))
    about = [one for one in plays if mutant.requirement in one.covers]
    about.sort(key=lambda one: not one.id.startswith(first))
    beside = [one for one in plays if mutant.requirement not in one.covers and one.id.startswith(first)]
    least = min(len(beside), BESIDE)
    yield [*about[: MOST_NEAR - least], *beside[: max(least, MOST_NEAR - len(about))]]
    rest = [*about[MOST_NEAR - least :], *beside[max(least, MOST_NEAR - len(about)) :]]
    for at in range(0, min(len(rest), MOST_NEAR * MOST_GROUPS), MOST_NEAR):
        yield rest[at : at + MOST_NEAR]


def basic(vectors: Sequence[Vector]) -> list[Vector]:
    """The basic vectors, those with an integer of nine bytes, whole batches, large messages, and a refusal of each kind for each
    kind of message.
    """
    kinds = {(one.layer, one.data[:1], one.refuses.why): one for one in reversed(vectors) if one.refuses is not None}
    return [*(one for one in vectors if one.core or _is_wide(one) or _is_large(one)), *kinds.values()]


def _is_large(vector: Vector) -> bool:
    """Whether a vector is several messages, or one that goes on in FRAGMENTs to a session with small batches."""
    return vector.layer in (Layer.BATCH, "stream") or bool(vector.steps) or SMALL < len(vector.data) <= LARGEST


def _is_wide(vector: Vector) -> bool:
    """Whether a well-formed vector has an integer of nine bytes, all of which say that more follow."""
    wide = any(len(one.data) == WIDEST and min(one.data) >= 0x80 for one in vector.segments)
    return wide and vector.refuses is None


@cache
def of_a_run(depth: str, kind: str) -> tuple[Vector, ...]:
    """The vectors that a run of that depth plays to a node of that kind."""
    profile = profile_of(kind)
    return tuple(choose_vectors(golden(), rows(Selection(), KINDS[kind], profile), depth, KINDS[kind], profile))


def player_for(kind: str, node: type[Reference], **how: Any) -> Player:
    """Play to a node of that kind in memory."""
    side, profile = KINDS[kind], profile_of(kind)
    return Player(
        lambda number: nullcontext(MemoryScene("", node, role=side, profile=profile, seed=number)),
        routes=BASES[kind] is Reference,
        side=side,
        profile=PROFILES[profile],
        **how,
    )


def is_judged(vector: Vector, kind: str) -> bool:
    """Whether what a node does with a vector is judged: in a row that it covers, or for which the tables name it."""
    tables = [table()[kind] for table in (judged_on_before, also_shown_before)]
    return bool(vector.covers) or any(
        vector.id in ids for table in tables for row, ids in table.items() if row != NO_ROW
    )


def red_in_run(mutant: Mutant, kind: str, depth: str = "quick") -> bool:
    """Whether a run's vectors are red, in some row, on a node with the fault, or it opens no session with it."""
    side, profile = KINDS[kind], profile_of(kind)
    node = with_fault(BASES[kind], compiled(mutant))
    every = {*rows(Selection(), side, profile)}
    exchanged = frozenset(noticing_vectors(every, None, kinds_of(side, profile)))
    player = player_for(kind, node, exchanged=exchanged, rows=carriers_at(depth))
    try:
        answers = player.play(of_a_run(depth, kind), golden())
        return any(answer.verdict.is_wrong and is_judged(one, kind) for one, answer in answers)
    except HarnessError:
        return True


def shown(mutant: Mutant, kind: str, vectors: Sequence[Vector]) -> Iterator[Vector]:
    """Yield the vectors near its row that are red on a node with the fault."""
    node = with_fault(BASES[kind], compiled(mutant))
    player, side, count = player_for(kind, node), KINDS[kind], 0
    for some in near(mutant, kind):
        count += len(some)
        if red := [vector for vector, answer in player.play(some, controls(side)) if answer.verdict.is_wrong]:
            yield from red
            return
    if kind not in IN_PROFILES and (count < FEW_NEAR or not mutant.requirement):
        answers = player.play(basic(vectors), controls(side))
        yield from (vector for vector, answer in answers if answer.verdict.is_wrong)


@cache
def rows_to_try(kind: str) -> frozenset[str]:
    """The requirements whose faults are tried on a node of that kind: in a profile of its own those that no kind before it judges."""
    if kind in IN_PROFILES:
        before = (ROUTER, *IN_PROFILES[: IN_PROFILES.index(kind)])
        return rows_of_vectors(kind).difference(*(judged_on_before()[one] for one in before))
    return frozenset(
        one.requirement for one in every_fault() if one.requirement and not one.requirement.startswith(UNHEARD)
    )


def judged_on(kind: str, vectors: Sequence[Vector], only: Collection[str] = ()) -> dict[str, list[str]]:
    """Each requirement with the vectors that show a fault planted in its row, the basic ones first; without those that none shows.

    `only`: the requirements that are tried; all where empty.
    """
    found: dict[str, list[str]] = {}
    core = {one.id for one in vectors if one.core}
    for fault in every_fault():
        if fault.requirement not in (only or rows_to_try(kind)) or fault.requirement in found:
            continue
        with suppress(HarnessError):
            if red := [one.id for one in shown(fault, kind, vectors)]:
                found[fault.requirement] = sorted(red, key=lambda ident: (ident not in core, ident))[:MOST_KEPT]
    return dict(sorted(found.items()))


def also_shown(kind: str, vectors: Sequence[Vector], faults: Iterable[Mutant]) -> dict[str, list[str]]:
    """Each row with a vector for each of these faults that no vector of a quick run shows; "" for faults in no row.

    In a profile of its own: that none shows in the default one either.
    """
    found: dict[str, set[str]] = defaultdict(set)
    before = frozenset(ident for ids in also_shown_before()[kind].values() for ident in ids)
    played = {
        one.id for one in of_a_run("quick", kind) if is_judged(one, kind)
    } - before  # what the table holds now is derived again
    for fault in faults:
        with suppress(HarnessError):
            rows_here = rows_of_vectors(kind) if kind in IN_PROFILES else rows_to_try(kind)
            is_tried = not fault.requirement or fault.requirement in rows_here
            if is_tried and kind in IN_PROFILES:
                is_tried = not red_in_run(fault, ROUTER)
            red = [one.id for one in shown(fault, kind, vectors)] if is_tried else []
            if red and not played.union(found[fault.requirement]).intersection(red):
                found[fault.requirement].add(red[0])
    return {row: sorted(ids) for row, ids in sorted(found.items()) if ids}


def write(folder: Path) -> None:
    """Write the tables that the player of vectors reads."""
    vectors = load()
    table: dict[str, Any] = {kind: {} for kind in KINDS}
    for kind in KINDS:  # what one kind is judged on, those after it need not be
        table[kind] = judged_on(kind, vectors)
        _write(folder / "judged_on.json", table)
        for before in (judged_on_before, rows_to_try, of_a_run):
            before.cache_clear()
    _write(folder / "also_shown.json", {kind: also_shown(kind, vectors, by_hand.mutants()) for kind in KINDS})


def _write(file: Path, table: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
