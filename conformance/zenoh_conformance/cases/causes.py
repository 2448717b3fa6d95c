"""Which red judgements have one cause: those that share a trait, and pairs that are found by what happened around them.

A trait is the requirement, the field that is wrong, the kind of message that was lost, that the order is another, the step that had
the same odd outcome, the input that was not refused at the same stage, the line of a panic. Pairs are a law and a check that are red
in the same conversations, or at the same message; what does not come because its declaration was lost; handshakes that end as a lawful
one does in the same circumstances; and what even a plain session misses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.laws.decoding import WhatIsSaidDecodes

from .case import all_cases
from .controls import BASIC, words_of
from .losses import A_SESSION, FORWARDED, OF_A_QUERY, is_field, is_held_back, is_loss, kind_awaited, lost_message

PLAIN: Final = tuple(check for checks in BASIC.values() for check in checks)
"""The checks of a plain session."""
_ATTEMPTS: Final = re.compile(r"^\d+ of \d+ (?:attempts|times \w+): ")
_UNREAD: Final = re.compile(r"^undecodable bytes \((\S+) at byte ")
_STAGES: Final = ("stage init", "stage open")
_TO_SELF: Final = "Close(CONNECTION_TO_SELF)"
"""The end that a node owes to its own ZenohID, and to nothing else."""
_ONLY: Final = ", only "
"""What the circumstances follow in a cause."""
_UNKNOWN: Final = "unknown-mandatory-extension"
"""What the decoder calls an extension for which a message must be rejected."""


def found(judgement: Judgement) -> dict[str, Any]:
    """The finding of a judgement as its details keep it: path, expected, got, why, byte."""
    return dict(judgement.details.get("found", {}))


def vectors_of(judgement: Judgement) -> Sequence[str]:
    """The golden vectors that a node took wrongly: each covers several requirements, and was taken wrongly for one reason."""
    return tuple(judgement.details.get("vectors", ()))


Trait = tuple[Hashable, ...]


def by_cause(judgements: Sequence[Judgement]) -> Iterable[list[Judgement]]:
    """The sets of judgements that traits, or pairs of one cause, connect.

    A loss that a law explains says only which requirement the law's fault breaks, and nothing of what is lost elsewhere.
    """
    leader: dict[Trait, Trait] = {}

    def root(trait: Trait) -> Trait:
        while (above := leader.setdefault(trait, trait)) != trait:
            trait = above
        return trait

    names = {id(one): ("judgement", at) for at, one in enumerate(judgements)}
    explained = {id(one) for _, one in _by_one_message(judgements) if is_loss(found(one))}
    for one in judgements:
        for trait in [_by_requirement(one)] if id(one) in explained else _traits(one):
            leader[root(trait)] = root(names[id(one)])
    for one, other in _pairs(judgements):
        leader[root(names[id(one)])] = root(names[id(other)])
    folded: defaultdict[Trait, list[Judgement]] = defaultdict(list)
    for one in judgements:
        folded[root(names[id(one)])].append(one)
    return folded.values()


def _by_requirement(one: Judgement) -> Trait:
    return "requirement", one.key.requirement


def _pairs(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Judgements of one cause that have no trait in common."""
    for joins in (
        _in_one_conversation,
        _by_one_message,
        _by_a_declaration,
        _by_a_lost_query,
        _by_circumstances,
        _by_plain_sessions,
    ):
        yield from joins(judgements)


def _traits(one: Judgement) -> Iterator[Trait]:
    """What two judgements of one cause have in common."""
    kind = "ours" if one.verdict.is_ours else "grave" if one.verdict.is_grave else "deviation"
    if kind != "deviation":
        yield kind, words_of(_ATTEMPTS.sub("", one.cause))
        if one.verdict.is_stuck and (closed := _CLOSED.search(one.cause)):
            yield "closed", closed[1]
        return
    was = found(one)
    if one.verdict is Verdict.SLOW and not was:
        yield "slow", words_of(one.cause)
    yield _by_requirement(one)
    if _UNKNOWN in one.cause:  # a golden vector that has one covers the field in whose place it stands
        yield "requirement", "primitives/unknown-mandatory-rejected"
    yield from (("vector", name) for name in vectors_of(one))
    may_be_rare = one.verdict is Verdict.FLAKY or one.key.check.startswith("models/")  # these open many sessions
    if may_be_rare and is_loss(was) and lost_message(was) in (*OF_A_QUERY, A_SESSION):
        yield ("at times",)
    if is_loss(was) or is_held_back(was):
        yield "lost in", one.key.check, str(was["got"])
        area, kind = one.key.check.partition("/")[0], kind_awaited(was)
        if area != _ROUTING and kind in ("push", "request"):
            yield "lost in", area
        if kind in _FAMILIES and not (kind == _FINAL and str(was["got"]).startswith(_ENDS)):
            yield "lost", _FAMILIES[kind]
    if _ORDER.search(str(was.get("expected", ""))):
        yield ("order",)
    is_at_a_stage = words_of(str(was.get("path", ""))) in _STAGES
    if is_own(one) or not (
        is_loss(was) and is_at_a_stage
    ):  # a check that names another requirement knows why its handshake ends
        yield from _traits_of_finding(was)


def _traits_of_finding(was: Mapping[str, Any]) -> Iterator[Trait]:
    path, expected, got = (words_of(str(was.get(name, ""))) for name in ("path", "expected", "got"))
    in_handshake = path in _STAGES
    if unread := _UNREAD.match(got):
        yield "field", unread[1]
    elif is_field(path):
        yield from _traits_of_field(path, got)
    elif expected.startswith(_REFUSALS) or (expected.endswith(_OR_CLOSE) and got.startswith("link ")):
        yield ("unrefused", got) if got.startswith("link ") else ("unrefused", path, got, *_reason(expected, got))
    elif got:
        yield "seen", expected, got
        if path and not in_handshake and not path.startswith(_ANY_STEP):
            yield "step", path
    if (closed := _CLOSED.match(got)) and not expected.startswith(_REFUSALS):
        yield "closed", closed[1]
    shut = got.startswith("link ") and not expected.startswith(_REFUSALS)
    if in_handshake and (shut or (got == "silence" and not _reason(expected, got))):
        yield "stuck", path, got


def _reason(expected: str, got: str) -> tuple[str, ...]:
    """The CLOSE that is required where silence came, or that only one input asks for.

    A target that lacks two checks goes on in silence after both of their inputs, or does the same after both.
    """
    return (expected,) if expected == _TO_SELF or (got == "silence" and expected.startswith("Close(")) else ()


def _traits_of_field(path: str, got: str) -> Iterator[Trait]:
    """A field; of what is forwarded, the field in whatever body, and that the extensions of a kind of message are lost."""
    kind, name = path.partition(".")[0], path.rpartition(".")[2]
    yield "field", path
    if kind in FORWARDED:
        yield ("field lost", kind) if got == "none" and _EXTENSION.search(path) else ("field", kind, name)


_FINAL: Final = "response_final"
_FAMILIES: Final = {"push": "push", "request": "query", "response": "query", _FINAL: "final"}
"""Kind of message to what is lost with it: without its REQUEST a query has no RESPONSE, and each may be what a check awaits first."""
_ORDER: Final = re.compile(r"\border\b")
_EXTENSION: Final = re.compile(r"\.exts\.\w+$")
_ANY_STEP: Final = ("the session works", "fence", "stage ", "lawful traffic")
"""Steps of checks about anything: that two findings were made there says nothing."""
_REFUSALS: Final = ("a refusal", "Close")
_OR_CLOSE: Final = " or Close"
"""How what is expected ends where an answer is due, or a refusal: a link that is shut without CLOSE is not refused."""
_CLOSED: Final = re.compile(r"Close\((?!GENERIC|INVALID)(\w+)")
"""A CLOSE with a reason that says more than that something is wrong."""
_ROUTING: Final = "routing-plain"
"""The area whose checks need nothing but that messages are passed on; those of another share a circumstance."""
_ENDS: Final = ("link ", "Close(", "end")


LIKE: Final = 1 / 3
"""The least share of conversations that a law and a check, or two laws, have in common if one cause is behind both."""


def _in_one_conversation(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Laws and checks, and laws, that are red in mostly the same conversations of a role, over all profiles.

    Two laws only where both are of one sort: what should be and what must be are of different messages of a conversation. Nor is what
    only should be the reason why a message is lost.
    """
    where: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    shown: dict[tuple[str, str], Judgement] = {}
    everywhere: set[tuple[str, str]] = set()
    for one in judgements:
        place = one.key.role, one.key.check
        shown.setdefault(place, one)
        labels = one.details.get("seen_in") if _is_law(one) else [_label(one)]
        where[place].update((one.key.profile, label) for label in labels or ())
        everywhere |= {place} if labels is None else set()
    for law, other in permutations(shown, 2):
        both = where[law] & where[other] if _is_law(shown[law]) and law[0] == other[0] else ()
        of = where[other] if _are_of_fragments(shown[law], shown[other]) else where[law] | where[other]
        alike = _is_of_one_sort(shown[law], shown[other])
        if both and alike and not everywhere & {law, other} and len(both) >= LIKE * len(of):
            yield shown[law], shown[other]


def _is_of_one_sort(law: Judgement, other: Judgement) -> bool:
    if _is_law(other):
        return _sort(law) == _sort(other)
    return law.verdict is not Verdict.WARN or other.verdict is Verdict.WARN or not is_loss(found(other))


def _sort(law: Judgement) -> tuple[bool, bool]:
    """Whether what a law found is but a warning, and whether it is the lane of a FRAME, which changes nothing in its messages."""
    return law.verdict is Verdict.WARN, found(law).get("path") == _LANE_OF_FRAME


def _are_of_fragments(one: Judgement, other: Judgement) -> bool:
    """Whether both are about a FRAGMENT: a wrong one breaks several rules, and not each of them in every conversation."""
    paths = (str(found(each).get("path", "")).partition(".")[0] for each in (one, other) if _is_law(each))
    return [*paths] == [FRAGMENT, FRAGMENT]


CHOICE: Final = "to whom"
"""The step at which a check looks who was asked: a query that is lost looks like another choice."""
_DECLARATION: Final = re.compile(r"D_?(?:SUBSCRIBER|QUERYABLE)\b", re.IGNORECASE)
"""The declarations without which publications and queries do not come: a token asks for nothing."""
_ONE: Final = re.compile(r"one\b(?!.* or )")
_AT_MOST_ONE: Final = re.compile(r"[01]\b|\D")
"""How a check says that one is to be asked, and that no more were."""
FRAGMENT: Final = "fragment"
_LANE_OF_FRAME: Final = "frame.exts.qos"
_CARRIERS: Final = ("batch", "frame", FRAGMENT)
"""What messages of a session come in: where it is wrong, a receiver may hear none of them."""
_TELLS_WHICH: Final = ("key", "kind", "parameters", "interest_id", "id")
"""The fields by which a check knows the message that it awaits: one in which they are wrong is not the awaited one."""


def _by_one_message(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Checks, and the laws that a message broke on the connection where the check missed it, or found something else in it."""
    laws: defaultdict[tuple[str, str, str], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if _is_law(one):
            laws[one.key.role, one.key.profile, one.key.check].append(one)
    for one in judgements:
        for beside in one.details.get("laws_beside", ()):
            for law in laws[one.key.role, one.key.profile, beside]:
                if one.verdict is Verdict.FLAKY and law.verdict is not Verdict.FLAKY:
                    continue  # what is lost once in a while is not lost by what is wrong each time
                is_unread = beside == WhatIsSaidDecodes.id and is_loss(found(one))
                if is_unread or _is_told_by(found(one), str(found(law).get("path", ""))):
                    yield law, one


def _is_told_by(was: Mapping[str, Any], path: str) -> bool:
    """Whether a message with a wrong field at `path` may be what a check missed or found to be wrong; a wrong CLOSE is the end."""
    kind, awaited = path.partition(".")[0], kind_awaited(was)
    if kind == "close":
        return str(was.get("got", "")).startswith(_ENDS)
    if kind == FRAGMENT and FRAGMENT in str(was.get("path", "")).partition(".")[0]:
        return True
    if is_loss(was):
        carries = kind in _CARRIERS and path != _LANE_OF_FRAME
        return carries or (kind == awaited and path.rpartition(".")[2] in _TELLS_WHICH)
    if kind == "frame" and not awaited:
        return path.endswith(".qos") and "priority" in str(was.get("expected", ""))
    return kind == awaited or (not awaited and kind in FORWARDED)


def _by_a_declaration(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Lost declarations, and what does not come without them; DECLARE, and the one kind of it that is lost."""
    lost = [one for one in judgements if is_loss(found(one)) and not one.verdict.is_grave]
    declared = [one for one in lost if _DECLARATION.match(str(found(one).get("expected", ""))) and not is_varied(one)]
    for one in lost:
        if declared and kind_awaited(found(one)) in ("push", "request"):
            yield declared[0], one
    named = [one for one in lost if kind_awaited(found(one)) == "declare" and found(one)["expected"] != "Declare"]
    if len({found(one)["expected"].replace("_", "").lower() for one in named}) == 1:
        yield from ((named[0], one) for one in lost if one in named or found(one).get("expected") == "Declare")


def is_varied(one: Judgement) -> bool:
    """Whether a deviation depends on circumstances, which its cause names."""
    return _ONLY in one.cause


def _by_a_lost_query(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Queries that do not reach a queryable, and another choice of those that are asked: of fewer, since a loss adds nobody."""
    lost = [one for one in judgements if is_loss(found(one)) and kind_awaited(found(one)) == "request"]
    choices = [one for one in judgements if found(one).get("path") == CHOICE]
    if lost and not any(map(_is_of_more, choices)):
        yield from ((lost[0], one) for one in choices)


def _is_of_more(choice: Judgement) -> bool:
    """Whether several were asked where one is due."""
    was = found(choice)
    return bool(_ONE.match(str(was.get("expected", "")))) and not _AT_MOST_ONE.match(str(was.get("got", "")))


def _by_circumstances(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """Lawful handshakes that are refused, and others that came to the same end at the same step, only in the same circumstances."""
    ends = [(one, _end_of(one)) for one in judgements if is_varied(one) and found(one).get("path") in _STAGES]
    for sane, end in ends:
        if "Close" not in str(found(sane).get("expected", "")):
            yield from ((sane, one) for one, other in ends if other == end)


def _end_of(one: Judgement) -> tuple[Hashable, ...]:
    """How a dialogue came to its end: step, answer, and the circumstances on which that depends."""
    return one.key.role, found(one)["path"], found(one).get("got"), one.cause.partition(_ONLY)[2]


def _by_plain_sessions(judgements: Sequence[Judgement]) -> Iterator[tuple[Judgement, Judgement]]:
    """What even a plain session misses, and all that is missed in the same role; a field that cannot be read explains itself."""
    lost = [one for one in judgements if is_loss(found(one)) and not one.verdict.is_grave]
    for plain in (one for one in lost if one.key.check in PLAIN and not _UNREAD.match(str(found(one)["got"]))):
        yield from ((plain, one) for one in lost if one.key.role == plain.key.role)


def is_own(one: Judgement) -> bool:
    """Whether a check is about the requirement that it found broken; a step on its way may break another."""
    case = all_cases().get(one.key.check)
    return case is None or case.requirement == one.key.requirement


def _is_law(one: Judgement) -> bool:
    return one.key.check.startswith("law/")


def _label(one: Judgement) -> str:
    values = ",".join(f"{name}={value}" for name, value in one.key.parameters)
    return f"{one.key.check}[{values}]" if values else one.key.check
