"""What is red, grouped by its cause for a person: one block a requirement, what knows it best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.controls import BASIC
from zenoh_conformance.verdict import GRAVE, Judgement, Verdict

_PLAIN: Final = frozenset(check for checks in BASIC.values() for check in checks)


@dataclass(frozen=True, slots=True)
class Cause:
    """Judgements about one requirement with one verdict, by whatever check, in whatever profile."""

    judgements: tuple[Judgement, ...]
    """What knows it best first."""

    @property
    def first(self) -> Judgement:
        """The one that is shown."""
        return self.judgements[0]

    @property
    def profiles(self) -> Sequence[str]:
        """Where it showed, in the order of the run."""
        return tuple(dict.fromkeys(one.key.profile for one in self.judgements))

    @property
    def checks(self) -> Sequence[str]:
        """By what it was seen."""
        return tuple(dict.fromkeys(one.key.check for one in self.judgements))

    @property
    def others(self) -> Sequence[Judgement]:
        """One of each further cause, with the first check that has it."""
        seen = {one.cause: one for one in reversed(self.judgements)}
        return tuple(one for cause, one in reversed(seen.items()) if cause != self.first.cause)


def found(judgement: Judgement) -> dict[str, Any]:
    """What its finding was, as `places.details_of` keeps it."""
    return dict(judgement.details.get("found", {}))


def rank(judgement: Judgement) -> tuple[bool, bool, int]:
    """How much a judgement tells of what is wrong, the most first: a plain session, then a byte, then cases, laws, models."""
    check = judgement.key.check
    kind = 2 if check.startswith("models/") else 1 if check.startswith("law/") else 0
    return check not in _PLAIN, "byte" not in found(judgement), kind


def causes(judgements: Iterable[Judgement], shown: Sequence[Verdict]) -> list[Cause]:
    """What is to be told: what makes a plain session fail first, then by verdict, and in each what tells most."""
    groups: dict[tuple[Verdict, str, str], list[Judgement]] = {}
    for one in judgements:
        if one.verdict in shown:
            groups.setdefault((one.verdict, one.key.role, one.key.requirement), []).append(one)
    every = [Cause(tuple(sorted(group, key=rank))) for group in groups.values()]
    return sorted(every, key=lambda cause: _order(cause, shown))


def _order(cause: Cause, shown: Sequence[Verdict]) -> tuple[bool, int, tuple[bool, bool, int]]:
    first = cause.first
    plain = first.key.check in _PLAIN and first.verdict not in GRAVE
    return not plain, shown.index(first.verdict), rank(first)
