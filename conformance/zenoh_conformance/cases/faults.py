"""Faults: the deviating judgements of a run, folded by their cause, so that one fault of a target is told once.

Two judgements share a cause if they are about the same requirement, or if they have a *trait* in common: the field that is wrong, the
message that was lost, the step that had the same odd outcome, the input that was not refused at the same stage, the line of a panic.
A law shares the cause of the checks in whose conversations it was broken, where it was broken in none that passed.

A fault that is listed as known is never folded with one that is not: lists match judgements, and a known fault has known places only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict, worst

from .case import all_cases
from .controls import BASIC, words_of

_PLAIN: Final = tuple(check for checks in BASIC.values() for check in checks)
_ATTEMPTS: Final = re.compile(r"^\d+ of \d+ (?:attempts|times \w+): ")
_UNREAD: Final = re.compile(r"^undecodable bytes \((\S+) at byte ")
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
        lost = next((one.details["lost"] for one in self.judgements if "lost" in one.details), None)
        return f"{lost['times']} of {lost['of']}" if lost else ""

    @cached_property
    def verdict(self) -> Verdict:
        """The worst verdict of its places."""
        return worst(one.verdict for one in self.judgements)

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


def found(judgement: Judgement) -> dict[str, Any]:
    """The finding of a judgement as its details keep it: path, expected, got, why, byte."""
    return dict(judgement.details.get("found", {}))


def is_told(verdict: Verdict) -> bool:
    """Whether a summary shows each of these: what is wrong and not listed, late, or an error of ours."""
    return not verdict.is_quiet and verdict is not Verdict.KNOWN


def faults(judgements: Iterable[Judgement]) -> list[TargetFault]:
    """The faults that no list excuses: what makes a plain session fail first, then by verdict, and in each what tells most."""
    return sorted(_fold([one for one in judgements if is_told(one.verdict)]), key=_order)


def known_faults(judgements: Iterable[Judgement]) -> list[TargetFault]:
    """The faults all of whose places are listed."""
    return sorted(_fold([one for one in judgements if one.verdict is Verdict.KNOWN]), key=_order)


SILENCE: Final = "silence"
COMES: Final[Mapping[str, str]] = {
    "ResponseFinal": "reply/final-always-comes",
    "Request": "query/query-reaches-intersecting",
    "Push": "push/push-reaches-intersecting",
    "InitAck": "session-establishment/init-ack-answers-init-syn",
    "OpenAck": "session-establishment/open-ack-answers-open-syn",
    "OpenSyn": "session-establishment/open-syn-answers-init-ack",
}
"""A message that is due, and the requirement that it comes."""


OF_A_QUERY: Final = ("ResponseFinal", "Response", "Request")
"""What does not come, or is not passed on, where a query is lost."""


def _lost_at_times(judgements: Sequence[Judgement]) -> str:
    """The one message that all of these missed, some of them not each time; empty if there is no such message."""
    missed = {str(found(one).get("expected", "")) if is_loss(found(one)) else "" for one in judgements}
    if not any(one.verdict is Verdict.FLAKY for one in judgements):
        return ""
    if missed <= {*OF_A_QUERY}:
        return next(name for name in OF_A_QUERY if name in missed)
    return missed.pop() if len(missed) == 1 else ""


# -- folding

Trait = tuple[Hashable, ...]


def _fold(judgements: Sequence[Judgement]) -> Iterator[TargetFault]:
    """One fault for each set of judgements that traits connect."""
    leader: dict[Trait, Trait] = {}

    def root(trait: Trait) -> Trait:
        while (above := leader.setdefault(trait, trait)) != trait:
            trait = above
        return trait

    names = {id(one): ("judgement", at) for at, one in enumerate(judgements)}
    for one in judgements:
        for trait in _traits(one):
            leader[root(trait)] = root(names[id(one)])
    for law, case in _in_one_conversation(judgements):
        leader[root(names[id(law)])] = root(names[id(case)])
    folded: defaultdict[Trait, list[Judgement]] = defaultdict(list)
    for one in judgements:
        folded[root(names[id(one)])].append(one)
    return (TargetFault(tuple(_told_first(alike))) for alike in folded.values())


def _traits(one: Judgement) -> Iterator[Trait]:
    """What two judgements of one cause have in common."""
    kind = "ours" if one.verdict.is_ours else "grave" if one.verdict.is_grave else "deviation"
    if kind != "deviation":
        yield kind, words_of(_ATTEMPTS.sub("", one.cause))
        return
    was = found(one)
    yield "requirement", one.key.requirement
    if one.verdict is Verdict.FLAKY and is_loss(was) and was.get("expected") in OF_A_QUERY:
        yield ("at times",)
    if is_loss(was):
        yield "lost in", one.key.check, str(was["got"])
    yield from _traits_of_finding(was)


def _traits_of_finding(was: Mapping[str, Any]) -> Iterator[Trait]:
    path, expected, got = (words_of(str(was.get(name, ""))) for name in ("path", "expected", "got"))
    in_handshake = any(path == stage for stage, _ in _STAGES)
    if unread := _UNREAD.match(got):
        yield "field", unread[1]
    elif _is_field(path):
        yield "field", path
    elif expected.startswith(_REFUSALS):
        yield ("unrefused", got) if got.startswith("link ") else ("unrefused", path, got)
    elif got:
        yield "seen", expected, got
        if path and not in_handshake and not path.startswith(_ANY_STEP):
            yield "step", path
    if in_handshake and got == "silence":
        yield "stuck", path


_ANY_STEP: Final = ("the session works", "fence", "stage ", "lawful traffic")
"""Steps of checks about anything: that two findings were made there says nothing."""
_REFUSALS: Final = ("a refusal", "Close(")
_LOSSES: Final = ("silence", "link ", "Close(", "undecodable bytes", "DecodeError")


def is_loss(was: Mapping[str, Any]) -> bool:
    """Whether a finding says only that what was awaited did not come, and not what came in its place."""
    return str(was.get("got", "")).startswith(_LOSSES)


def _is_field(path: str) -> bool:
    """Whether a path is that of a field, and not a message or a step in words."""
    return "." in path and " " not in path and ":" not in path


LIKE: Final = 1 / 3
"""The least share of conversations that a law and a check, or two laws, have in common if one cause is behind both."""


def _in_one_conversation(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Laws and checks, and laws, that are red in mostly the same conversations."""
    where: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    shown: dict[tuple[str, str, str], Judgement] = {}
    for one in judgements:
        place = one.key.role, one.key.profile, one.key.check
        where[place].update(one.details.get("seen_in", ()) if _is_law(one) else [_label(one)])
        shown.setdefault(place, one)
    for law, other in permutations(shown, 2):
        both = where[law] & where[other] if _is_law(shown[law]) and law[:2] == other[:2] else ()
        if both and len(both) >= LIKE * len(where[law] | where[other]):
            yield shown[law], shown[other]


def _is_law(one: Judgement) -> bool:
    return one.key.check.startswith("law/")


def _label(one: Judgement) -> str:
    values = ",".join(f"{name}={value}" for name, value in one.key.parameters)
    return f"{one.key.check}[{values}]" if values else one.key.check


# -- what stands for all

Rank = tuple[Hashable, ...]


def _told_first(alike: Sequence[Judgement]) -> list[Judgement]:
    """The judgements of one cause, those of the requirement that it breaks first."""
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in alike:
        groups[one.key.requirement].append(one)
    below = {name for one in alike for name in _controls(one.key.check)}
    order = {name: _order_of(group, below) for name, group in groups.items()}
    return sorted(alike, key=lambda one: (order[one.key.requirement], one.key.requirement, rank(one)))


def _order_of(group: Sequence[Judgement], below: Collection[str]) -> Rank:
    """What of the requirements in which a fault shows is the one that it breaks.

    Before all that of a check which says what is wrong, and not only that something did not come; one that a check is about, and not
    a step on its way; the earliest step of a plain session; what other checks rest on; what shows most often.
    """
    direct = [one for one in group if not is_loss(found(one))]
    own = [one for one in group if _is_own(one)]
    return not direct, not own, min(map(_step, group)), not any(one.key.check in below for one in group), -len(group)


def _is_own(one: Judgement) -> bool:
    """Whether a check is about the requirement that it found broken; a step on its way may break another."""
    case = all_cases().get(one.key.check)
    return case is None or case.requirement == one.key.requirement


def _step(one: Judgement) -> tuple[int, int]:
    """How early in the dialogue a judgement found its fault: in a plain session first, then by the stage of the handshake."""
    check, path = one.key.check, str(found(one).get("path", ""))
    plain = _PLAIN.index(check) if check in _PLAIN else len(_PLAIN)
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
    return check not in _PLAIN, "byte" not in found(judgement), kind


def order(verdict: Verdict) -> tuple[bool, int]:
    """Sort key: failures first, since they often explain the deaths; then the worst first."""
    return verdict is not Verdict.FAIL, -verdict.severity


def _order(fault: TargetFault) -> tuple[Hashable, ...]:
    first = fault.first
    plain = first.key.check in _PLAIN and not first.verdict.is_grave
    return not plain, order(first.verdict), rank(first)
