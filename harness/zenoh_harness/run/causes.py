"""What is red, grouped by its cause for a person: one block a requirement, what knows it best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.cases.controls import BASIC
from zenoh_conformance.judging.verdict import Judgement, Verdict

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


def order(verdict: Verdict) -> tuple[bool, int]:
    """Sort key: failures first, since they often explain the deaths; then the worst first."""
    return verdict is not Verdict.FAIL, -verdict.severity


def is_told(verdict: Verdict) -> bool:
    """Whether a summary shows each of these: what is wrong and not listed, late, or an error of ours."""
    return not verdict.is_quiet and verdict is not Verdict.KNOWN


def causes(judgements: Iterable[Judgement]) -> list[Cause]:
    """What is to be told: what makes a plain session fail first, then by verdict, and in each what tells most."""
    groups: dict[tuple[Verdict, str, str], list[Judgement]] = {}
    for one in judgements:
        if is_told(one.verdict):
            groups.setdefault((one.verdict, one.key.role, one.key.requirement), []).append(one)
    every = [Cause(tuple(sorted(group, key=rank))) for group in groups.values()]
    return sorted(every, key=_order)


def _order(cause: Cause) -> tuple[bool, tuple[bool, int], tuple[bool, bool, int]]:
    first = cause.first
    plain = first.key.check in _PLAIN and not first.verdict.is_grave
    return not plain, order(first.verdict), rank(first)
