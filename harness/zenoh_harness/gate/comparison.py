"""Compare the judgements of a run with a list: new, changed, fixed, expired and lost entries, and entries that matched nothing."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from zenoh_conformance.cases.faults import TargetFault, faults
from zenoh_conformance.judging.verdict import Exit, Judgement, Verdict
from zenoh_harness.files.known import Known, covers
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.run.judge.decide import is_beyond
from zenoh_harness.run.report.summary import DeviationBlock, deviations

LOST: Final = "judged/no-longer"
GONE: Final = "known/has-gone"
OF_LISTS: Final = (LOST, GONE)
"""Checks that are about the lists and not about the target."""


class GateReason(Enum):
    """Why an item makes the gate red."""

    NEW = "new"
    CHANGED = "changed"
    """Listed, with another verdict or cause now."""
    EXPIRED = "expired"
    FIXED = "fixed"
    """Listed, and as required now."""
    LOST = "lost"
    """Judged in an earlier run, and not in this one."""
    ERROR = "error"
    """The harness could not judge."""


@dataclass(frozen=True, slots=True)
class GateItem:
    """One reason for a red gate: judgements of one check that share kind, verdict and cause."""

    kind: GateReason
    block: DeviationBlock
    placed: PlacedEntry | None = None
    """The entry that it concerns."""
    fault: TargetFault | None = None
    """The finding whose places are `block` and others."""

    @property
    def first(self) -> Judgement:
        """One of the judgements."""
        return self.block.first

    @property
    def requirement(self) -> str:
        """The requirement that it is about."""
        return self.fault.requirement if self.fault else self.first.key.requirement


@dataclass(frozen=True, slots=True)
class IdleEntry:
    """An entry that matched no judgement, and why."""

    placed: PlacedEntry
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The result of comparing a run with a list."""

    items: tuple[GateItem, ...]
    findings: tuple[TargetFault, ...]
    """The new deviations, folded by cause; what is listed is never folded with what is not."""
    idle: tuple[IdleEntry, ...]
    due: tuple[PlacedEntry, ...]
    """Entries whose reason or owner is still to be written."""
    counts: Counter[Verdict]
    """Number of judgements by verdict; those that an entry excuses count as KNOWN."""
    unlisted: tuple[Judgement, ...] = ()
    """Deviations that no entry has ever excused, one per cause."""
    fixed: tuple[PlacedEntry, ...] = ()
    changed: Mapping[int, Judgement] = field(default_factory=dict)
    """Number of an entry that matched nothing, to the judgement that it is about."""
    beyond: tuple[DeviationBlock, ...] = ()
    """Deviations from requirements that this target need not meet: reported, and not red."""
    embargoed: int = 0

    @property
    def told(self) -> tuple[GateItem, ...]:
        """What to report: an item for each new finding, then those that concern the list, the record or the harness."""
        new = (GateItem(GateReason.NEW, deviations(fault.judgements)[0], fault=fault) for fault in self.findings)
        return (*new, *(item for item in self.items if item.kind is not GateReason.NEW))

    @property
    def red(self) -> bool:
        """Whether the gate fails."""
        return bool(self.items) or self.embargoed > 0


def without_list(judgement: Judgement) -> Judgement:
    """Return the judgement with the verdict that it had before a list excused it."""
    note = dict(judgement.details).get("known")
    if judgement.verdict is not Verdict.KNOWN or not isinstance(note, Mapping):
        return judgement
    return replace(judgement, verdict=Verdict(note["expected"]))


def causes_of(judgement: Judgement) -> tuple[str, ...]:
    """Return all causes of a judgement; one of a law may have several."""
    several = dict(judgement.details).get("causes")
    return tuple(several) if isinstance(several, Mapping | list) else (judgement.cause,)


def compare(
    judgements: Iterable[Judgement],
    placed: Sequence[PlacedEntry],
    *,
    kind: str,
    today: dt.date,
    strict: bool = False,
    required: frozenset[str] | None = None,
    complete: bool = True,
) -> GateResult:
    """Compare the judgements of one run with the entries; `kind` is the target kind through which it was reached.

    `required`: the requirements that count; None for all. An incomplete run fixes no entry: what did not run might still
    deviate.
    """
    every = list(judgements)
    public = [without_list(item) for item in every if item.key.check not in OF_LISTS and not item.embargo]
    listed = [entry for entry in placed if entry.entry.kind in ("", kind)]
    known = Known([entry.entry for entry in listed], today)
    excused = [known.excuse(item, causes_of(item)) is not None for item in public]
    pairs = list(zip(public, excused, strict=True))
    red = [item for item, is_excused in pairs if not is_excused and item.verdict.is_red(strict=strict)]
    beyond = [item for item in red if is_beyond(item.key.requirement, item.verdict, required)]
    reasons = [(*_reason(item, listed, known, today), item) for item in red if item not in beyond]
    gone = {id(entry): shown for entry, shown in (known.gone() if complete else ())}
    fixed = [(entry, gone[id(entry.entry)]) for entry in listed if id(entry.entry) in gone]
    causes = [(reason, entry, single) for reason, entry, item in reasons for single in _by_cause(item, known)]
    changed = {
        entry.number: single
        for reason, entry, single in reversed(causes)
        if reason is GateReason.CHANGED and entry is not None
    }
    rows = (
        *reasons,
        *((GateReason.FIXED, entry, replace(shown, verdict=Verdict.FAIL)) for entry, shown in fixed),
        *((GateReason.LOST, None, item) for item in every if item.key.check == LOST),
        *((GateReason.ERROR, None, item) for item in public if item.verdict is Verdict.ERROR),
    )
    return GateResult(
        items=tuple(_items(rows)),
        findings=tuple(faults(item for reason, _, item in reasons if reason is GateReason.NEW)),
        idle=tuple(_idle(placed, public, known, set(changed) | {entry.number for entry, _ in fixed}, kind, today)),
        due=tuple(entry for entry in placed if entry.reason_is_due),
        counts=Counter(Verdict.KNOWN if is_excused else item.verdict for item, is_excused in pairs),
        unlisted=tuple(single for reason, _, single in causes if reason is not GateReason.EXPIRED),
        fixed=tuple(entry for entry, _ in fixed),
        changed=changed,
        beyond=tuple(deviations(beyond)),
        embargoed=sum(item.embargo for item in every),
    )


def exit_code_of(held: GateResult, *, complete: bool, secret: bool = False) -> Exit:
    """Return the exit code for stored results. `secret`: some are under embargo."""
    if not complete or held.counts[Verdict.ERROR]:
        return Exit.CANNOT_GO_ON
    if held.items or secret:
        return Exit.NOT_CONFORMING
    return Exit.CONFORMING if any(one.is_judged and not one.is_red() for one in held.counts) else Exit.NOTHING_JUDGED


def _by_cause(one: Judgement, known: Known) -> Iterator[Judgement]:
    """Yield the judgement once for each of its causes that no entry lists."""
    details = {name: value for name, value in one.details.items() if name != "causes"}
    for cause in causes_of(one):
        if known.entry(one.key, one.verdict, cause) is None:
            yield replace(one, cause=cause, details=details)


def _reason(
    one: Judgement, listed: Sequence[PlacedEntry], known: Known, today: dt.date
) -> tuple[GateReason, PlacedEntry | None]:
    """Return the reason for an unlisted deviation, and the entry that it concerns."""
    about = [entry for entry in listed if entry.entry.about(one.key)]
    for entry in about:
        if entry.entry.over(today) and entry.entry.expects(one.verdict, one.cause):
            return GateReason.EXPIRED, entry
    for entry in about:
        if not entry.entry.over(today) and not known.was_met(entry.entry):
            return GateReason.CHANGED, entry
    return GateReason.NEW, None


def _items(red: Iterable[tuple[GateReason, PlacedEntry | None, Judgement]]) -> Iterator[GateItem]:
    groups: dict[tuple[GateReason, int], tuple[PlacedEntry | None, list[Judgement]]] = {}
    for kind, placed, judgement in red:
        groups.setdefault((kind, placed.number if placed else 0), (placed, []))[1].append(judgement)
    for kind, number in sorted(groups, key=lambda key: (list(GateReason).index(key[0]), key[1])):
        placed, judgements = groups[kind, number]
        yield from (GateItem(kind, block, placed) for block in deviations(judgements))


def _idle(
    placed: Sequence[PlacedEntry],
    judged: Sequence[Judgement],
    known: Known,
    concerned: set[int],
    kind: str,
    today: dt.date,
) -> Iterator[IdleEntry]:
    for one in placed:
        if one.number not in concerned and not known.was_met(one.entry):
            yield IdleEntry(one, _why_idle(one, judged, kind, today))


def _why_idle(one: PlacedEntry, judged: Sequence[Judgement], kind: str, today: dt.date) -> str:
    entry = one.entry
    if entry.kind not in ("", kind):
        return f"is about targets of kind {entry.kind}"
    if entry.over(today):
        return f"expired on {entry.expires}"
    versions = sorted({item.key.version for item in judged})
    if versions and not any(covers(entry.versions, version) for version in versions):
        return f"is about versions {entry.versions}; the target is {', '.join(versions)}"
    about = [item for item in judged if entry.about(item.key)]
    silent = next((item for item in about if item.verdict is not Verdict.PASS), None)
    if silent is not None:
        return f"its check is {silent.verdict.value}: {silent.cause}".removesuffix(": ")
    return "no judgement is about it: another role, profile, depth or selection"
