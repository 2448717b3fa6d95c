"""Faults: the deviating judgements of a run, folded by their cause, so that one fault of a target is told once.

Which judgements share a cause is told by `causes.py`; a fault is told under the requirement that it breaks.

A fault that is listed as known is never folded with one that is not: lists match judgements, and a known fault has known places only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict, worst
from zenoh_conformance.laws.decoding import WhatIsSaidDecodes

from .case import all_cases
from .causes import CHOICE, FRAGMENT, PLAIN, by_cause, found, is_own, is_varied, vectors_of
from .losses import A_SESSION, OF_A_QUERY, is_field, is_loss, lost_message

_STAGES: Final = (("stage init", "init."), ("stage open", "open."))
"""How the step or the field of a finding begins, by stage of the handshake."""


@dataclass(frozen=True)
class TargetFault:
    """One cause: the judgements in which it shows, what tells most of it first."""

    judgements: tuple[Judgement, ...]

    @property
    def first(self) -> Judgement:
        """The judgement that stands for all: of the requirement that is broken."""
        return self.judgements[0]

    @property
    def requirement(self) -> str:
        """The requirement that the fault breaks: of a message that is lost at times, that it comes."""
        return COMES.get(_lost_at_times(self.judgements), self.first.key.requirement)

    @property
    def rate(self) -> str:
        """How often it showed, as in `3 of 75`; of one that shows each time, in how many places."""
        lost = [one.details["lost"] for one in self.judgements if "lost" in one.details]
        return f"{sum(one['times'] for one in lost)} of {sum(one['of'] for one in lost)}" if lost else ""

    @cached_property
    def verdict(self) -> Verdict:
        """The worst verdict of its places."""
        return worst(one.verdict for one in self.judgements)

    @property
    def wrote(self) -> Sequence[str]:
        """The last lines that the target wrote while it was found, as far as they are known."""
        return next((tuple(map(str, one.details["wrote"])) for one in self.judgements if one.details.get("wrote")), ())

    @property
    def said(self) -> str:
        """The line of those that says what happened: of a panic, an error, a warning; empty if none is one of these."""
        return next((line for sign in _SIGNS for line in self.wrote if sign.search(line)), "")

    @property
    def sentence(self) -> str:
        """Verdict, requirement, cause, and where it shows, on one line."""
        number = len(self.judgements)
        where = f"{self.rate} times" if self.rate else f"in {number} place{'s' * (number > 1)}"
        return f"{self.first.verdict.value} {self.requirement}: {self.first.cause} ({where})"

    @property
    def profiles(self) -> Sequence[str]:
        """The profiles in which it shows, in the order of the run."""
        return tuple(dict.fromkeys(one.key.profile for one in self.judgements))

    @property
    def roles(self) -> Sequence[str]:
        """The roles in which it shows."""
        return tuple(dict.fromkeys(one.key.role for one in self.judgements))

    @property
    def checks(self) -> Sequence[str]:
        """The checks that it fails."""
        return tuple(dict.fromkeys(one.key.check for one in self.judgements))

    @property
    def elsewhere(self) -> Sequence[str]:
        """The other requirements that the checks are about in which it shows."""
        return tuple(
            dict.fromkeys(one.key.requirement for one in self.judgements if one.key.requirement != self.requirement)
        )

    @property
    def others(self) -> Sequence[Judgement]:
        """One judgement of each further cause, with the first check that has it."""
        seen = {one.cause: one for one in reversed(self.judgements)}
        return tuple(one for cause, one in reversed(seen.items()) if cause != self.first.cause)


def is_told(verdict: Verdict) -> bool:
    """Whether a summary shows each of these: what is wrong and not listed, late, or an error of ours."""
    return not verdict.is_quiet and verdict is not Verdict.KNOWN


def faults(judgements: Iterable[Judgement]) -> list[TargetFault]:
    """The faults that no list excuses: what makes a plain session fail first, then by verdict; in each what tells and shows most."""
    return _fold(one for one in judgements if is_told(one.verdict))


def known_faults(judgements: Iterable[Judgement]) -> list[TargetFault]:
    """The faults all of whose places are listed."""
    return _fold(one for one in judgements if one.verdict is Verdict.KNOWN)


def _fold(judgements: Iterable[Judgement]) -> list[TargetFault]:
    return sorted((TargetFault(tuple(_told_first(alike))) for alike in by_cause([*judgements])), key=_order)


_SIGNS: Final = tuple(re.compile(rf"\b{word}", re.IGNORECASE) for word in ("panic", "fatal", "error", "warn"))
"""What the lines of a log contain that say what went wrong, the gravest first."""
COMES: Final[Mapping[str, str]] = {
    "ResponseFinal": "reply/final-always-comes",
    "Request": "query/query-reaches-intersecting",
    "Push": "push/push-reaches-intersecting",
    "InitAck": "session-establishment/init-ack-answers-init-syn",
    "OpenAck": "session-establishment/open-ack-answers-open-syn",
    "OpenSyn": "session-establishment/open-syn-answers-init-ack",
}
"""A message that is due, and the requirement that it comes."""
_COMING: Final = frozenset(COMES.values())


def _lost_at_times(judgements: Sequence[Judgement]) -> str:
    """The one message that all of these missed, some of them not each time; empty if there is no such message."""
    missed = {lost_message(found(one)) if is_loss(found(one)) else "" for one in judgements} - {A_SESSION}
    if not missed or not any(one.verdict is Verdict.FLAKY for one in judgements):
        return ""
    if missed <= {*OF_A_QUERY}:
        return next(name for name in OF_A_QUERY if name in missed)
    return missed.pop() if len(missed) == 1 else ""


# -- what stands for all

Rank = tuple[Hashable, ...]


def _told_first(alike: Sequence[Judgement]) -> list[Judgement]:
    """The judgements of one cause, those of the requirement that it breaks first."""
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in alike:
        groups[one.key.requirement].append(one)
    below = {name for one in alike for name in _controls(one.key.check)}
    told = {(one.key.check, found(one).get("path")) for one in alike if not is_own(one)}
    order = {name: (_only_there(group, told), _order_of(group, below)) for name, group in groups.items()}
    return sorted(alike, key=lambda one: (order[one.key.requirement], one.key.requirement, rank(one)))


def _only_there(group: Sequence[Judgement], told: Collection[tuple[str, Any]]) -> bool:
    """Whether laws name a field that they found wrong only where a check names it as well, and says which requirement that breaks.

    `told`: the checks that file a finding elsewhere than under their own requirement, each with the field.
    """
    places = [(one.details.get("seen_in") or ("",), found(one).get("path")) for one in group]
    return all((label.partition("[")[0], path) in told for labels, path in places for label in labels)


def _order_of(group: Sequence[Judgement], below: Collection[str]) -> Rank:
    """What of the requirements in which a fault shows is the one that it breaks.

    Before all one that must hold, and not one that only warns; that of a check which says what is wrong, and not only that something
    did not come, or that others were asked, or that fragments make no message; one that names the field; one that a check is about,
    and not a step on its way, and that it finds in any circumstances, or that a message comes, which is broken where it is lost in
    some; the earliest step of a plain session; what other checks rest on; what shows most often; what covers most of the vectors that
    a node took wrongly.
    """
    direct = [one for one in group if not is_loss(found(one)) and found(one).get("path") != CHOICE]
    named = any(is_field(str(found(one).get("path", ""))) for one in direct)
    own = [one for one in group if is_own(one)]
    return (
        all(one.verdict is Verdict.WARN for one in group),
        not direct,
        all(map(_is_unread, direct)),
        not named,
        not own,
        _rank_of_circumstances(own, is_direct=bool(direct)),
        min(map(_step, group)),
        not any(one.key.check in below for one in group),
        -len(group),
        -max(len(vectors_of(one)) for one in group),
    )


def _rank_of_circumstances(own: Sequence[Judgement], *, is_direct: bool) -> int:
    """What a check finds in any circumstances comes first, but for a message that is lost in those that a cause names."""
    if not all(map(is_varied, own)):
        return 1
    return 0 if own and not is_direct and own[0].key.requirement in _COMING else 2


def _is_unread(one: Judgement) -> bool:
    """Whether it says only that fragments make no message, and not what is wrong with them."""
    return one.key.check == WhatIsSaidDecodes.id and found(one).get("path") == FRAGMENT


def _step(one: Judgement) -> tuple[int, int]:
    """How early in the dialogue a judgement found its fault: in a plain session first, then by the stage of the handshake."""
    check, path = one.key.check, str(found(one).get("path", ""))
    plain = PLAIN.index(check) if check in PLAIN else len(PLAIN)
    stage = next((number for number, words in enumerate(_STAGES) if path.startswith(words)), len(_STAGES))
    return plain, stage


def _controls(check: str) -> Iterator[str]:
    """The checks that a check rests on."""
    cases = all_cases()
    while (case := cases.get(check)) is not None and case.control:
        check = case.control
        yield check


def rank(judgement: Judgement) -> tuple[bool, bool, int]:
    """How much a judgement tells of what is wrong, the most first: a plain session, then a byte, then cases, laws, models."""
    check = judgement.key.check
    kind = 2 if check.startswith("models/") else 1 if check.startswith("law/") else 0
    return check not in PLAIN, "byte" not in found(judgement), kind


def order(verdict: Verdict) -> tuple[bool, int]:
    """Sort key: failures first, since they often explain the deaths; then the worst first."""
    return verdict is not Verdict.FAIL, -verdict.severity


def _order(fault: TargetFault) -> tuple[Hashable, ...]:
    first = fault.first
    plain = first.key.check in PLAIN and not first.verdict.is_grave
    return not plain, order(first.verdict), rank(first), -len(fault.judgements)
