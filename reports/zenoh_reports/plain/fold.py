"""Judgements folded to one cell a requirement and run, and why a requirement has none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from zenoh_conformance.cases.case import roles_by_requirement
from zenoh_conformance.judging import shares
from zenoh_conformance.judging.shares import Shares, Standing, Why, roles_of, standings
from zenoh_conformance.judging.verdict import Judgement, Verdict, worst
from zenoh_conformance.spec.requirement import PHRASE, Level, Requirements, requirements
from zenoh_harness.files.results import check_label
from zenoh_reports.plain.runs import Run, address

ONCE: Final = "target/stays-up"
EXTRA: Final = {ONCE: "Whatever is sent to it, the target goes on working for everybody else."}
"""What no page says and everybody expects."""
UNKNOWN: Final = "This version of the harness does not know it."


EXPLAINED: Final = {
    Why.MET_NOTHING: "a check ran and met nothing to judge",
    Why.NOT_OFFERED: "the target says that it does not do this",
    Why.VECTORS: "it concerns bytes alone: golden vectors judge it on a codec, and this run had none",
    Why.OTHER_ROLE: "all its checks are about a role that the target did not play",
    Why.NOT_RUN: "a check exists, but this run left it out or ended before it",
    Why.ERROR: "the harness failed in every check of it; this says nothing about the target",
    Why.UNCOVERED: "no check judges it yet",
    Why.EXCUSED: "no peer can observe it",
}


@dataclass
class Cell:
    """What one run says of one requirement; its judgements are complete before it is asked."""

    judgements: list[Judgement] = field(default_factory=list)
    standing: Standing | None = None
    """Whether it applies to the target, and why nothing judged it; set by `table`."""

    @property
    def why(self) -> Why | None:
        """Why nothing judged it; None where something did."""
        return self.standing.why if self.standing else None

    @property
    def applies(self) -> bool:
        """Whether the requirement applies to the target in the roles that it played."""
        return self.standing is not None and self.standing.applies

    @cached_property
    def verdict(self) -> Verdict:
        """The worst; `not-observed` where there is none."""
        return worst(one.verdict for one in self.judgements)

    @cached_property
    def counted(self) -> int:
        """How many judgements it stands on: what said nothing and what failed in the harness do not count."""
        return sum(one.verdict.is_judged for one in self.judgements)

    @cached_property
    def shown(self) -> Judgement | None:
        """The first judgement of the worst verdict."""
        return max(self.judgements, key=lambda one: one.verdict.severity, default=None)


Table = Mapping[str, Cell]
"""Requirement id to cell, in the order of the pages; ids that this version does not know come last."""


def table(run: Run) -> dict[str, Cell]:
    """One cell for every requirement, judged or not; what no page says where it was judged."""
    known = requirements()
    cells = {ident: Cell() for ident in known}
    for one in run.judgements:
        ident = now_called(known, one.key.requirement)
        if ident not in cells:
            cells[ident] = Cell()
        cells[ident].judgements.append(one)
    judged = {ident: cell.judgements for ident, cell in cells.items()}
    found = standings(judged, roles_of(run.identity.role, run.judgements), roles_by_requirement())
    for ident, cell in cells.items():
        cell.standing = found[ident]
    return cells


def shares_of(cells: Table) -> Shares:
    """Return what of the specification applies to a target, and what of it was judged."""
    return shares.shares_of(cell.standing for cell in cells.values() if cell.standing)


def now_called(known: Requirements, ident: str) -> str:
    """The present id of a requirement; an unknown one stays."""
    return known[ident].id if ident in known or ident in known.aliases() else ident


def tally(cells: Table) -> Counter[Verdict]:
    """How many requirements have which verdict."""
    return Counter(cell.verdict for cell in cells.values())


def silence(cells: Table) -> dict[Why, list[str]]:
    """Requirements without a verdict, by why that is so, in the order of `Why`."""
    found: dict[Why, list[str]] = {reason: [] for reason in Why}
    for ident, cell in cells.items():
        if cell.why is not None:
            found[cell.why].append(ident)
    return {reason: idents for reason, idents in found.items() if idents}


def says(ident: str) -> str:
    """A requirement in one sentence; what no page says and is judged has one too."""
    known = requirements()
    if ident in known:
        return known[ident].says
    page, _, phrase = ident.partition("/")
    own = page in ("interop", "known", "judged") and PHRASE.fullmatch(phrase)
    return EXTRA.get(ident) or (f"{phrase.replace('-', ' ').capitalize()}." if own else UNKNOWN)


def level(ident: str, otherwise: str = "") -> str:
    """A requirement's level; that of a judgement where this version does not know the requirement."""
    known = requirements()
    return str(known[ident].level) if ident in known else otherwise or Level.MUST.value


@dataclass(slots=True)
class DeviationGroup:
    """Judgements of one check that share verdict and cause and differ in parameters: one page."""

    members: list[Judgement]
    address: str = ""
    """The name of its page within the run's folder."""

    @property
    def first(self) -> Judgement:
        """The one that is drawn."""
        return next((one for one in self.members if one.evidence), self.members[0])

    @property
    def verdict(self) -> Verdict:
        """That of all of them."""
        return self.members[0].verdict

    @property
    def expected(self) -> Verdict:
        """What it would be if nothing listed it."""
        entry = dict(self.first.details).get("known", {})
        name = entry.get("expected", "") if isinstance(entry, dict) else ""
        return next((verdict for verdict in Verdict if verdict.value == name), self.verdict)


def deviations(run: Run) -> list[DeviationGroup]:
    """What has a page of its own, the gravest first; addresses are words, and no two are alike."""
    groups: dict[tuple[str, ...], list[Judgement]] = defaultdict(list)
    for one in run.judgements:
        if not one.verdict.is_quiet:
            key = one.key
            groups[one.verdict.value, key.role, key.profile, key.requirement, key.check, one.cause].append(one)
    found = [DeviationGroup(members) for members in groups.values()]
    found.sort(key=lambda each: (-each.verdict.severity, -each.expected.severity))
    of_check: dict[str, set[str]] = defaultdict(set)
    for one in run.judgements:
        of_check[one.key.check].add(one.key.requirement)
    taken: Counter[str] = Counter()
    for each in found:
        key = each.first.key
        more = f"-{key.requirement.partition('/')[2]}" if len(of_check[key.check]) > 1 else ""
        wanted = address(f"{key.role}-{key.profile}-{key.check}{more}")
        taken[wanted] += 1
        each.address = wanted if taken[wanted] == 1 else f"{wanted}-{taken[wanted]}"
    return found


def values(one: Judgement) -> str:
    """`at=3, bit=7`: the parameters of a judgement; empty when it has none."""
    return check_label("", one.key.parameters).strip("[]").replace(",", ", ")


def by_page(idents: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Requirement ids under their pages, in the order in which they come."""
    pages: dict[str, list[str]] = {}
    for ident in idents:
        pages.setdefault(ident.partition("/")[0], []).append(ident)
    yield from pages.items()


def worst_of(cells: Sequence[Cell]) -> Verdict:
    """The worst of several cells."""
    return worst(cell.verdict for cell in cells)
