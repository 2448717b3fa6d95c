"""What changed from one results file to another: judgement by judgement, told by requirement, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Any

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.files.results import Results, check_label


class ChangeKind(Enum):
    """How a judgement changed."""

    WORSE = "for the worse"
    BETTER = "for the better"
    LOST = "not judged any more"
    FRESH = "judged now"
    OTHER = "otherwise"
    """Another cause, or right and slow."""


@dataclass(frozen=True, slots=True)
class Change:
    """One judgement that is not what it was."""

    before: Judgement | None
    after: Judgement | None

    @property
    def way(self) -> ChangeKind:
        """In which direction; a deviation that is listed is one all the same."""
        was, now = _grade(self.before), _grade(self.after)
        if now is None or was is None:
            if now == was:
                return ChangeKind.OTHER
            return ChangeKind.LOST if now is None else ChangeKind.WORSE if now else ChangeKind.FRESH
        return ChangeKind.OTHER if now == was else ChangeKind.WORSE if now > was else ChangeKind.BETTER

    @property
    def red(self) -> bool:
        """Whether it deviates now, is not listed, and did not or less gravely so; or was judged and is not there."""
        was = self.before.verdict.severity if self.before else 0
        now = self.after.verdict.severity if self.after else 0
        return now > max(was, Verdict.KNOWN.severity) or (self.after is None and self.before is not None)

    @property
    def key(self) -> Key:
        """Whose it is."""
        one = self.after or self.before
        assert one is not None
        return one.key

    @property
    def level(self) -> str:
        """The requirement's."""
        one = self.after or self.before
        return one.level if one else ""


def _grade(one: Judgement | None) -> int | None:
    """How bad the target is: 0 for right, the deviation's severity; None where it was not judged."""
    if one is None or not one.verdict.is_judged:
        return None
    if one.verdict is Verdict.KNOWN:
        return Verdict(dict(one.details).get("known", {}).get("expected", Verdict.KNOWN.value)).severity
    return one.verdict.severity if one.verdict.is_wrong else 0


def told(one: Judgement | None) -> str:
    """Verdict and cause in one line."""
    if one is None:
        return "not judged"
    return f"{one.verdict.value}: {one.cause}" if one.cause else one.verdict.value


Said = Callable[[Judgement | None], str]
"""A judgement in one line: what differs there is a change."""


def changes(old: Results, new: Results, said: Said = told) -> list[Change]:
    """The judgements of which not the same is said (verdict and cause), the worse ones first; who and which version is not compared.

    What only one side has is left out where the other has findings under embargo: it might be one of them.
    """
    was, now = ({place_of(one.key): one for one in side.judgements if not one.embargo} for side in (old, new))
    pairs = (Change(was.get(place), now.get(place)) for place in dict.fromkeys((*was, *now)))
    found = [
        pair for pair in pairs
        if said(pair.before) != said(pair.after) and not (_silent(pair.before) and _silent(pair.after))
        and not (pair.after is None and _secrets(new)) and not (pair.before is None and _secrets(old))
    ]  # fmt: skip
    return sorted(found, key=lambda pair: (list(ChangeKind).index(pair.way), pair.key.requirement, pair.key.check))


def _silent(one: Judgement | None) -> bool:
    """Whether it says nothing, and is no fault of ours: that there is no answer for another reason is no news."""
    return one is None or one.verdict.says_nothing


def _secrets(one: Results) -> bool:
    counted = one.footer is not None and one.footer.embargoed > 0
    return counted or any(judgement.embargo for judgement in one.judgements)


def place_of(key: Key) -> tuple[object, ...]:
    """What makes two judgements answers to the same question, of whatever target and version."""
    return (key.role, key.profile, key.link, key.requirement, key.check, key.parameters)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Changes of one check that are alike but for parameters, profile and evidence."""

    first: Change
    labels: tuple[str, ...]
    """Profile and parameters of each."""
    said: Said = told

    @property
    def was(self) -> str:
        """Verdict and cause before."""
        return self.said(self.first.before)

    @property
    def now(self) -> str:
        """Verdict and cause after."""
        return self.said(self.first.after)

    def as_json(self) -> dict[str, Any]:
        """The same as data; evidence and command are those of the side that deviates, the newer one's where both do."""
        key = self.first.key
        shown = next((one for one in (self.first.after, self.first.before) if one is not None and one.evidence), None)
        return {
            "way": self.first.way.value, "requirement": key.requirement, "level": self.first.level, "role": key.role,
            "check": key.check, "with": list(self.labels), "before": self.was, "after": self.now,
            "evidence": shown.evidence if shown else None, "repeat": shown.repeat if shown else "",
        }  # fmt: skip


def gathered(found: Iterable[Change], said: Said = told) -> list[Comparison]:
    """Those that are alike as one, in the same order."""

    def alike(change: Change) -> tuple[object, ...]:
        key = change.key
        return (
            list(ChangeKind).index(change.way), key.requirement, key.check, key.role, said(change.before), said(change.after)
        )  # fmt: skip

    groups = (list(group) for _, group in groupby(sorted(found, key=alike), key=alike))
    return [Comparison(group[0], tuple(_label(one.key) for one in group), said) for group in groups]


def _label(key: Key) -> str:
    profile = "" if key.profile == "default" else f"profile {key.profile}"
    return " ".join(part for part in (check_label("", key.parameters), profile) if part)


def counted(found: Sequence[Change]) -> str:
    """`12 judgements of 5 requirements changed: 2 for the worse, 10 for the better`; `nothing changed`."""
    if not found:
        return "nothing changed"
    ways = [f"{number} {way.value}" for way in ChangeKind if (number := sum(one.way is way for one in found))]
    requirements = len({one.key.requirement for one in found})
    return (
        f"{len(found)} judgement{'s' * (len(found) > 1)} of {requirements} requirement{'s' * (requirements > 1)}"
        f" changed: {', '.join(ways)}"
    )
