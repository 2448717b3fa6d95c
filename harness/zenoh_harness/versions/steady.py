"""What holds when it is asked again: a change stands when both sides say again what they said; the rest is told with its rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Key
from zenoh_harness.files.results import Results, check_label
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.report.compare import Change, ChangeKind, Said, changes, place_of, told
from zenoh_harness.run.report.summary import public
from zenoh_harness.versions.matrix import Done

TOLD: Final = (ChangeKind.WORSE, ChangeKind.BETTER, ChangeKind.OTHER)
"""What is told from version to version; the rest is in the results."""
Place = tuple[object, ...]
Ask = Callable[[str, Sequence[str]], Results | None]
"""Asks a target again: its target string, and the checks that matter, none for all; None when it could not be had."""


def behaviour(one: Judgement | None) -> str:
    """Verdict, cause, reading and how the link ended; whether by FIN or RST is a matter of time, and left out."""
    if one is None or not one.verdict.is_judged:
        return told(one)
    end = {"": "", "fin": "shut", "rst": "shut"}.get(one.end, one.end)
    about = ", ".join(part for part in (one.reading or "", f"link {end}" if end else "") if part)
    return f"{told(one)} ({about})" if about else told(one)


@dataclass(frozen=True, slots=True)
class Unsteady:
    """A check of which a target said now this, now that."""

    reach: str
    key: Key
    said: tuple[tuple[str, int], ...]
    """What it said, and how often; the most frequent first."""

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        key = self.key
        return {
            "reach": self.reach, "requirement": key.requirement, "check": check_label(key.check, key.parameters),
            "said": [{"text": text, "times": times} for text, times in self.said],
        }  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One target, with all that it said each time that it was asked."""

    done: Done
    agains: Sequence[Results] = ()
    times: int = 0
    """How often it was to be asked again."""

    @property
    def reach(self) -> str:
        """Its target string."""
        return self.done.reach

    @cached_property
    def results(self) -> Results | None:
        """What it said first; of what is public."""
        found = self.done.results
        return None if found is None else replace(found, judgements=public(found.judgements))

    @cached_property
    def judgements(self) -> Mapping[Place, Judgement]:
        """Those of the first time, by place."""
        return {place_of(one.key): one for one in (self.results.judgements if self.results else ())}

    @cached_property
    def _said(self) -> Mapping[Place, list[Judgement]]:
        said: dict[Place, list[Judgement]] = {}
        for results in (self.results, *self.agains):
            for one in public(results.judgements) if results is not None else ():
                if one.verdict.is_judged:
                    said.setdefault(place_of(one.key), []).append(one)
        return said

    def answers(self, place: Place) -> list[Judgement]:
        """What it said of one check each time that it judged it."""
        return list(self._said.get(place, ()))

    def steady(self, place: Place, said: Said = told) -> bool:
        """Whether it was asked again and said the same each time; of what it did not judge at first, that it never did."""
        first, answers = self.judgements.get(place), self.answers(place)
        if first is None or not first.verdict.is_judged:
            return not answers
        return len({said(one) for one in answers}) == 1 and len(answers) > min(self.times, 1)


def telling(before: Column, after: Column) -> list[Change]:
    """What differs between two targets, and is about them and not about a list."""
    if before.results is None or after.results is None:
        return []
    found = changes(before.results, after.results, said=behaviour)
    return [change for change in found if change.way in TOLD and not _a_list_is_wrong(change)]


def standing(before: Column, after: Column) -> list[Change]:
    """Of what differs, that by which both sides stood when they were asked again."""
    return [change for change in telling(before, after) if not _doubted(change, before, after)]


def _doubted(change: Change, *sides: Column) -> list[Column]:
    """Those of both sides that did not stand by it: by the verdict where that changed, else by all that they did."""
    said = behaviour if change.way is ChangeKind.OTHER else told
    return [side for side in sides if not side.steady(place_of(change.key), said)]


def doubtful(columns: Sequence[Column]) -> list[Unsteady]:
    """What differed from one target to the next, and did not stand; where only a cause or an end did, nothing."""
    found: dict[tuple[object, ...], Unsteady] = {}
    for before, after in judged(columns):
        for change in telling(before, after):
            for side in _doubted(change, before, after) if change.way is not ChangeKind.OTHER else ():
                place = place_of(change.key)
                counted = Counter(map(told, side.answers(place)))
                found[side.reach, place] = Unsteady(side.reach, change.key, tuple(counted.most_common()))
    return list(found.values())


def judged(columns: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
    """Each target that was judged, and the next such."""
    return pairwise(column for column in columns if column.judgements)


def asked_again(done: Sequence[Done], ask: Ask, times: int) -> list[Column]:
    """Each target, asked so often again for what differs from its neighbours."""
    wanted = wants([Column(one) for one in done]) if times else {}
    return [Column(one, _answers(one.reach, wanted.get(one.reach), ask, times), times) for one in done]


def wants(columns: Sequence[Column]) -> Mapping[str, list[str]]:
    """Target string to the checks to be asked again; empty for all, where only a whole run can tell."""
    labels: dict[str, list[str]] = {}
    whole = set()
    for before, after in judged(columns):
        for key in (change.key for change in telling(before, after)):
            for reach in (before.reach, after.reach):
                labels.setdefault(reach, []).append(check_label(key.check, key.parameters))
                if key.check == STAYS_UP or key.check.startswith("law/"):
                    whole.add(reach)
    return {reach: [] if reach in whole else sorted(set(some)) for reach, some in labels.items()}


def _answers(reach: str, wanted: Sequence[str] | None, ask: Ask, times: int) -> list[Results]:
    if wanted is None:
        return []
    return [results for results in (ask(reach, wanted) for _ in range(times)) if results is not None]


def _a_list_is_wrong(change: Change) -> bool:
    """Whether it is about the list of known deviations, and not the target."""
    return change.key.check.partition("/")[0] in ("known", "judged")
