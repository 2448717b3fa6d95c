"""What a run says, held against a list: what is new, changed, fixed, expired, lost; and what met nothing. Pure: no target, no file."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from zenoh_conformance.verdict import GRAVE, Exit, Judgement, Verdict
from zenoh_harness.files.known import Known, covers
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.run.decide import is_beyond
from zenoh_harness.run.summary import DeviationBlock, deviations

LOST: Final = "judged/no-longer"
GONE: Final = "known/has-gone"
OF_LISTS: Final = (LOST, GONE)
"""Checks of a run that are about the lists and not about the target."""


JUDGED: Final = (Verdict.PASS, Verdict.KNOWN, Verdict.WARN, Verdict.SLOW)
"""Verdicts that say something, and are not red."""


class Kind(Enum):
    """Why a gate is red."""

    NEW = "new"
    CHANGED = "changed"
    """Listed, and now another verdict or another cause."""
    EXPIRED = "expired"
    FIXED = "fixed"
    """Listed, and now as required."""
    LOST = "lost"
    """Judged before, and not judged now."""
    ERROR = "error"
    """The harness could not judge."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that makes the gate red: judgements of one check that share kind, verdict and cause."""

    kind: Kind
    block: DeviationBlock
    placed: PlacedEntry | None = None
    """The entry that it is about."""

    @property
    def first(self) -> Judgement:
        """One of the judgements."""
        return self.block.first


@dataclass(frozen=True, slots=True)
class IdleEntry:
    """An entry that met nothing, and why."""

    placed: PlacedEntry
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A run held against a list."""

    items: tuple[Item, ...]
    idle: tuple[IdleEntry, ...]
    due: tuple[PlacedEntry, ...]
    """Entries whose reason or owner is still to be written."""
    counts: Counter[Verdict]
    """Judgements by verdict, as the list leaves them."""
    unlisted: tuple[Judgement, ...] = ()
    """Deviations that no entry excuses, nor has excused and expired; one for each cause."""
    fixed: tuple[PlacedEntry, ...] = ()
    changed: Mapping[int, Judgement] = field(default_factory=dict)
    """Number of an entry that nothing met to the judgement that it speaks of."""
    beyond: tuple[DeviationBlock, ...] = ()
    """Deviations from what is not required: shown, and not red."""
    embargoed: int = 0

    @property
    def red(self) -> bool:
        """Whether anything is not as listed."""
        return bool(self.items) or self.embargoed > 0


def raw(judgement: Judgement) -> Judgement:
    """As it was before a list excused it."""
    note = dict(judgement.details).get("known")
    if judgement.verdict is not Verdict.KNOWN or not isinstance(note, Mapping):
        return judgement
    return replace(judgement, verdict=Verdict(note["expected"]))


def causes(judgement: Judgement) -> tuple[str, ...]:
    """All causes of a judgement; a law's may be several."""
    several = dict(judgement.details).get("causes")
    return tuple(several) if isinstance(several, Mapping) else (judgement.cause,)


def deviates(verdict: Verdict, *, strict: bool) -> bool:
    """Whether a gate is red for it."""
    return verdict in GRAVE | {Verdict.FAIL, Verdict.FLAKY} or (strict and verdict in (Verdict.WARN, Verdict.SLOW))


def hold(
    judgements: Iterable[Judgement],
    placed: Sequence[PlacedEntry],
    *,
    kind: str,
    today: dt.date,
    strict: bool = False,
    required: frozenset[str] | None = None,
    complete: bool = True,
) -> Held:
    """Hold the judgements of one run against the entries; `kind` is the kind of target through which it was reached.

    `required`: the requirements that it is held to, where not all count. Of a run that is not complete nothing is fixed: what
    was not run might still show.
    """
    every = list(judgements)
    told = [raw(one) for one in every if one.key.check not in OF_LISTS and not one.embargo]
    listed = [one for one in placed if one.entry.kind in ("", kind)]
    known = Known([one.entry for one in listed], today)
    excused = [known.excuse(one, causes(one)) is not None for one in told]
    otherwise = [
        one for one, is_so in zip(told, excused, strict=True) if not is_so and deviates(one.verdict, strict=strict)
    ]
    beyond = [one for one in otherwise if is_beyond(one.key.requirement, one.verdict, required)]
    unlisted = [one for one in otherwise if one not in beyond]
    fixed = {id(entry): shown for entry, shown in (known.gone() if complete else ())}
    gone = [(one, fixed[id(one.entry)]) for one in listed if id(one.entry) in fixed]
    found = [(*_kind(one, listed, known, today), one) for one in unlisted]
    apart = [(what, one, each) for what, one, judgement in found for each in _by_cause(judgement, known)]
    changed = {one.number: each for what, one, each in reversed(apart) if what is Kind.CHANGED and one is not None}
    errors = [(Kind.ERROR, None, one) for one in told if one.verdict is Verdict.ERROR]
    lost = [(Kind.LOST, None, one) for one in every if one.key.check == LOST]
    red = (*found, *((Kind.FIXED, one, replace(shown, verdict=Verdict.FAIL)) for one, shown in gone), *lost, *errors)
    return Held(
        items=tuple(_items(red)),
        idle=tuple(_idle(placed, told, known, set(changed) | {one.number for one, _ in gone}, kind, today)),
        due=tuple(one for one in placed if one.reason_is_due),
        counts=Counter(Verdict.KNOWN if is_so else one.verdict for one, is_so in zip(told, excused, strict=True)),
        unlisted=tuple(each for what, _, each in apart if what is not Kind.EXPIRED),
        fixed=tuple(one for one, _ in gone),
        changed=changed,
        beyond=tuple(deviations(beyond)),
        embargoed=sum(one.embargo for one in every),
    )


def ended(held: Held, *, complete: bool, secret: bool = False) -> Exit:
    """The exit code where no run gives it: of results that are there. `secret`: some are under embargo."""
    if not complete or held.counts[Verdict.ERROR]:
        return Exit.CANNOT_GO_ON
    if held.items or secret:
        return Exit.NOT_CONFORMING
    return Exit.CONFORMING if any(held.counts[verdict] for verdict in JUDGED) else Exit.NOTHING_JUDGED


def _by_cause(one: Judgement, known: Known) -> Iterator[Judgement]:
    """The judgement for each of its causes that no entry lists."""
    details = {name: value for name, value in one.details.items() if name != "causes"}
    for cause in causes(one):
        if known.entry(one.key, one.verdict, cause) is None:
            yield replace(one, cause=cause, details=details)


def _kind(
    one: Judgement, listed: Sequence[PlacedEntry], known: Known, today: dt.date
) -> tuple[Kind, PlacedEntry | None]:
    """What an unlisted deviation is: one whose entry expired, one that an entry lists otherwise, or a new one."""
    about = [each for each in listed if each.entry.about(one.key)]
    for each in about:
        if each.entry.over(today) and each.entry.expects(one.verdict, one.cause):
            return Kind.EXPIRED, each
    for each in about:
        if not each.entry.over(today) and not known.was_met(each.entry):
            return Kind.CHANGED, each
    return Kind.NEW, None


def _items(red: Iterable[tuple[Kind, PlacedEntry | None, Judgement]]) -> Iterator[Item]:
    groups: dict[tuple[Kind, int], tuple[PlacedEntry | None, list[Judgement]]] = {}
    for kind, placed, judgement in red:
        groups.setdefault((kind, placed.number if placed else 0), (placed, []))[1].append(judgement)
    for kind, number in sorted(groups, key=lambda key: (list(Kind).index(key[0]), key[1])):
        placed, judgements = groups[kind, number]
        yield from (Item(kind, block, placed) for block in deviations(judgements))


def _idle(
    placed: Sequence[PlacedEntry],
    told: Sequence[Judgement],
    known: Known,
    spoken_of: set[int],
    kind: str,
    today: dt.date,
) -> Iterator[IdleEntry]:
    for one in placed:
        if one.number not in spoken_of and not known.was_met(one.entry):
            yield IdleEntry(one, _why_idle(one, told, kind, today))


def _why_idle(one: PlacedEntry, told: Sequence[Judgement], kind: str, today: dt.date) -> str:
    entry = one.entry
    if entry.kind not in ("", kind):
        return f"is about targets of kind {entry.kind}"
    if entry.over(today):
        return f"expired on {entry.expires}"
    versions = sorted({each.key.version for each in told})
    if versions and not any(covers(entry.versions, version) for version in versions):
        return f"is about versions {entry.versions}, and this is {', '.join(versions)}"
    about = [each for each in told if entry.about(each.key)]
    silent = next((each for each in about if each.verdict is not Verdict.PASS), None)
    if silent is not None:
        return f"what it speaks of is {silent.verdict.value}: {silent.cause}".removesuffix(": ")
    return "nothing that was judged is about it: another role, profile, depth or selection"
