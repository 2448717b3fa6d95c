"""One judgement for each requirement, from what a node did with the vectors that cover it.

A requirement is judged by vectors only where a planted misreading of its row is noticed on that kind of node: the table
`judged_on.json` names the vectors that noticed one. What other vectors pass is counted, and judges nothing.

A router in another profile than the default one is judged by the vectors which only that profile has a place for: JOIN and SCOUT
in groups, batches with low latency. Its kind is named as the profile.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Final, Self

from zenoh_conformance.cases.faults import COMES
from zenoh_conformance.judging.verdict import Verdict, verdict_for
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.answers import Answers, VectorAnswer
from zenoh_harness.run.vectors.effects import NOT_PLAYED, SILENCE, SURVIVED, SURVIVOR
from zenoh_harness.run.vectors.in_groups import group_of
from zenoh_harness.run.vectors.shared_causes import shared_causes
from zenoh_harness.run.vectors.standing import VectorInSession, standing
from zenoh_vectors.loader import Vector

ROUTER: Final = "router"
RECEIVER: Final = "receiver"
INITIATOR: Final = "initiator"
"""The kinds of nodes: those that listen and forward publications, others that listen, and those that connect."""

KINDS: Final = {Side.RESPONDER: (ROUTER, RECEIVER), Side.INITIATOR: (INITIATOR,)}
"""The kinds of the nodes of one side; what only survives on one of the last kind may show that it is read."""

LOW_LATENCY: Final = "low-latency"
"""The profile in which a node settles sessions without FRAME."""

IN_PROFILES: Final = (LOW_LATENCY, *(name for name, profile in PROFILES.items() if profile.groups))
"""The profiles that have vectors of their own."""

QUICK: Final = "quick"

MOST: Final = {QUICK: 1, "full": 12}
"""The most vectors for one requirement, and refusals for one kind of message, by the depth of the run; all where it is deeper."""

MOST_NAMED: Final = 16
"""The most red vectors that a judgement names."""

_EXTENSION: Final = re.compile(r"\.exts\.(\w+)\.header$")

NO_ROW: Final = ""
"""Stands in tables for a fault that no requirement names."""

UNUSED, REFUSED = "-not-used", "-refused"
"""The ends of two rows about one value: that nobody writes it, and that a reader refuses it."""


@cache
def judged_on() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Kind of node to requirement to the vectors that notice a planted misreading of its row."""
    return _table("judged_on.json")


@cache
def also_shown() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Kind of node to requirement to a vector for each other fault in its row that people make; "" for those in no row."""
    return _table("also_shown.json")


def _table(file: str) -> dict[str, dict[str, tuple[str, ...]]]:
    text = resources.files("zenoh_harness.run.vectors").joinpath(file).read_text(encoding="utf-8")
    return {
        kind: {requirement: tuple(vectors) for requirement, vectors in rows.items()}
        for kind, rows in json.loads(text).items()
    }


def kinds_of(side: Side, profile: str = DEFAULT) -> tuple[str, ...]:
    """The kinds of the nodes of one side in a profile: none where vectors judge nothing."""
    if profile == DEFAULT:
        return KINDS[side]
    return (profile,) if profile in IN_PROFILES and side is Side.RESPONDER else ()


def has_place(vector: Vector, profile: str) -> bool:
    """Whether a vector is one that only this profile has a place for; every vector, where it is the default one."""
    if profile == LOW_LATENCY:
        return vector.layer == Layer.LOWLATENCY
    return profile == DEFAULT or group_of(vector) in PROFILES[profile].groups


def check_of(requirement: str) -> str:
    """The id of the check."""
    return f"vectors/{requirement}"


def rows(selection: Selection, side: Side, profile: str = DEFAULT) -> tuple[str, ...]:
    """The requirements that vectors judge, or find broken, on some kind of node, as far as they are selected."""
    tables = [table()[kind] for kind in kinds_of(side, profile) for table in (judged_on, also_shown)]
    every = sorted({row for table in tables for row in table} - {NO_ROW})
    return tuple(one for one in every if selection.here(check_of(one)) and selection.takes(check_of(one), one))


def _for_readers(row: str) -> str:
    """The row that a node breaks by what it reads: of two about one value that which asks to refuse it."""
    other = row.removesuffix(UNUSED) + REFUSED
    return other if row.endswith(UNUSED) and other in requirements() else row


def choose_vectors(
    vectors: Iterable[Vector],
    requirements: Iterable[str],
    depth: str,
    side: Side = Side.RESPONDER,
    profile: str = DEFAULT,
) -> list[Vector]:
    """The vectors that are played: first those that notice a misreading, and refusals by which a kind is seen to be read."""
    most, wanted = MOST.get(depth), set(requirements)
    noticing = noticing_vectors(wanted, most, kinds_of(side, profile))
    every = tuple(vector for vector in vectors if has_place(vector, profile))
    counts = Counter(row for vector in every if vector.id in noticing for row in vector.covers)
    kinds: Counter[tuple[str, int]] = Counter()
    found = []
    for vector in every:
        rows = wanted.intersection(vector.covers)
        if vector.id in noticing:
            found.append(vector)
        elif vector.refuses is not None and (most is None or kinds[_head(vector)] < most):
            kinds[_head(vector)] += 1
            found.append(vector)
        elif rows and depth != QUICK and (most is None or any(counts[row] < most for row in rows)):
            counts.update(rows)
            found.append(vector)
    return found


def _head(vector: Vector) -> tuple[str, int]:
    """The layer and id of a message."""
    return vector.layer, vector.data[0] & 0x1F if vector.data else 0


def noticing_vectors(requirements: set[str], most: int | None, kinds: Iterable[str]) -> set[str]:
    """The ids of vectors that notice a misreading of these rows, or of no row in particular, by a node of these kinds."""
    rows = {*requirements, NO_ROW}
    by_row = [
        (table, limit) for kind in kinds for table, limit in ((judged_on()[kind], most), (also_shown()[kind], None))
    ]
    return {ident for table, most in by_row for row in rows for ident in table.get(row, ())[:most]}


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """What the vectors say of one requirement."""

    verdict: Verdict
    cause: str
    reading: str | None
    details: Mapping[str, Any]
    record: Conversation | None = None
    """The session in which the vector that decides was taken wrongly."""
    breaks: str = ""
    """The requirement that is broken, where it is another one."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a node did with the vectors of a run."""

    answers: Answers = ()
    routes: bool = False
    side: Side = Side.RESPONDER
    profile: str = DEFAULT
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Id of a vector to the kind of its message."""
    read: frozenset[str] = frozenset()
    """The kinds of messages of which the node was seen to refuse malformed ones: those it reads, whatever it does with them."""
    covering: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Requirement to the places of the answers whose vectors cover it."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Id of a vector to the place of its answer."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """An extension that the node refused where it stood alone, and the requirement that breaks."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """Id of a red vector to the requirement that breaks, where what it shares with others explains it."""

    @property
    def kind(self) -> str:
        """The kind of the node."""
        kinds = kinds_of(self.side, self.profile)
        return kinds[0 if self.routes else -1]

    @classmethod
    def of(cls, answers: Answers, *, routes: bool, side: Side = Side.RESPONDER, profile: str = DEFAULT) -> Self:
        """The answers, with the kinds of the messages."""
        stands = {vector.id: standing(vector, side) for vector, _ in answers}
        kinds = {ident: one.kind for ident, one in stands.items() if isinstance(one, VectorInSession)}
        refused = (one.id for one, each in answers if one.refuses is not None and each.verdict is Verdict.PASS)
        read = frozenset(kinds[ident] for ident in refused if ident in kinds)
        covering: dict[str, list[int]] = {}
        for place, (vector, _) in enumerate(answers):
            for row in vector.covers:
                covering.setdefault(row, []).append(place)
        places = {vector.id: place for place, (vector, _) in enumerate(answers)}
        shared = shared_causes(answers)
        unread = _unread_extensions(answers, covering, shared)
        return cls(answers, routes, side, profile, kinds, read, covering, places, unread, shared)

    def explain(self, vector: Vector, answer: VectorAnswer) -> VectorAnswer:
        """The answer, with the requirement that breaks: of an extension refused also alone, or of what red vectors share."""
        rows = [self.unread[name] for name in sorted(_extensions_of(vector)) if name in self.unread]
        if rows and _is_unread(vector, answer):
            return replace(answer, breaks=rows[0])
        return replace(answer, breaks=self.shared.get(vector.id, answer.breaks))

    def about(self, requirement: str, noticing: Iterable[str]) -> list[tuple[Vector, VectorAnswer]]:
        """The answers about a requirement, in their order; `noticing`: ids of vectors by which a misreading of it shows."""
        places = {self.places[ident] for ident in noticing if ident in self.places}
        return [self.answers[place] for place in sorted(places.union(self.covering.get(requirement, ())))]

    def is_read(self, vector: Vector, answer: VectorAnswer) -> bool:
        """Whether the node survived the vector and was seen to read messages of its kind."""
        return answer is SURVIVOR and self.kinds.get(vector.id) in self.read


def _extensions_of(vector: Vector) -> frozenset[str]:
    """The names of the extensions in a vector."""
    return frozenset(name for one in vector.segments for name in _EXTENSION.findall(one.path))


def _is_unread(vector: Vector, answer: VectorAnswer) -> bool:
    return vector.refuses is None and answer.verdict is Verdict.FAIL and answer.cause.startswith("refused")


def _unread_extensions(
    answers: Answers, covering: Mapping[str, Sequence[int]], explained: Collection[str]
) -> dict[str, str]:
    """The extensions that the node refused alone, each with the covered requirement that the fewest others passed, or cover.

    `explained`: ids of the vectors whose refusal has another reason.
    """

    def contradictions(row: str) -> tuple[int, int, str]:
        others = [answers[place][1].verdict for place in covering[row]]
        return others.count(Verdict.PASS), len(others), row

    refused = [
        (one, _extensions_of(one))
        for one, each in answers
        if one.covers and one.id not in explained and _is_unread(one, each)
    ]
    return {
        name: min(one.covers, key=contradictions)
        for one, names in reversed(refused)
        if len(names) == 1
        for name in names
    }


def judge_row(requirement: str, played: Played) -> RowVerdict:
    """Fold the answers about a requirement into one."""
    noticing, surviving = (
        judged_on()[kind].get(requirement, ()) for kind in (played.kind, kinds_of(played.side, played.profile)[-1])
    )
    about = played.about(requirement, (*noticing, *surviving, *also_shown()[played.kind].get(requirement, ())))
    counts = counts_of(each for _, each in about)
    red = [
        (one, played.explain(one, each))
        for one, each in about
        if each.verdict.is_wrong and (requirement in one.covers or not one.covers)
    ]
    if red:
        vector, answer = max(red, key=lambda pair: (pair[1].verdict.severity, pair[1].breaks in ("", requirement)))
        breaks = answer.breaks or _for_readers(requirement)
        verdict = verdict_for(level_of(breaks)) if answer.verdict is Verdict.FAIL else answer.verdict
        named = [one.id for one, each in red if each.breaks == answer.breaks][:MOST_NAMED]
        details = {**counts, "bytes": vector.data.hex(), "vectors": named}
        return RowVerdict(verdict, answer.cause, answer.reading, details, answer.record, breaks)
    for one, each in about:
        is_shown = each.verdict is Verdict.PASS and one.id in noticing
        if is_shown or (one.id in surviving and played.is_read(one, each)):
            return RowVerdict(Verdict.PASS, "", each.reading, counts)
    why = f"{SURVIVED}: nothing shows how it is read" if counts["survived"] or counts["passed"] else NOT_PLAYED
    return RowVerdict(Verdict.NOT_OBSERVED, why, None, counts)


def judge_fences(lost: Sequence[tuple[str, Conversation]], asked: int) -> Iterator[tuple[str, RowVerdict]]:
    """What a node lost of the fences among vectors, by requirement: it came when the same was said again."""
    for requirement in sorted({COMES[awaited] for awaited, _ in lost if awaited in COMES}):
        sessions = [record for awaited, record in lost if COMES.get(awaited) == requirement]
        awaited = next(awaited for awaited, _ in lost if COMES.get(awaited) == requirement)
        found = {"path": "asked again", "expected": awaited, "got": SILENCE}
        details = {"found": found, "lost": {"times": len(sessions), "of": asked}}
        cause = f"{awaited} did not come, and came when it was asked for again"
        yield requirement, RowVerdict(Verdict.FLAKY, cause, None, details, sessions[0])


def counts_of(answers: Iterable[VectorAnswer]) -> dict[str, Any]:
    """Return how many vectors passed and survived, as the details of a judgement."""
    passed = survived = 0
    for answer in answers:
        passed += answer.verdict is Verdict.PASS
        survived += answer.verdict.says_nothing and not answer.cause.startswith(NOT_PLAYED)
    return {"by": "node", "passed": passed, "survived": survived}
