"""The specification beside its verdicts: each clause in our words, what tests it, who keeps it, and the errata."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from zenoh_conformance.errata import Erratum, errata
from zenoh_conformance.lock import lock
from zenoh_conformance.requirement import Requirement, requirements
from zenoh_conformance.specification import PUBLISHED, Page, Section, pages, sections
from zenoh_conformance.verdict import Verdict
from zenoh_reports.pages import links
from zenoh_reports.pages.matrix import Shown, cell
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.pages.spans import Span, spans
from zenoh_reports.plain import fold
from zenoh_reports.plain.runs import Run

MOST_CHECKS: Final = 12
"""Checks that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One requirement beside its verdicts."""

    requirement: Requirement
    places: tuple[tuple[str, str, str], ...]
    """(reference, address, digest of the section) of everything that says so."""
    checks: tuple[str, ...]
    more: int
    standing: str
    cells: tuple[Shown, ...]
    errata: tuple[Erratum, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One section."""

    section: Section
    address: str
    digest: str
    clauses: tuple[Clause, ...]


def make(site: Site) -> None:
    """A page for each page of the specification, and one that lists them with what is covered."""
    report = site.report
    checks = checks_of(report)
    rows = []
    for page in pages().values():
        own = [each for each in requirements().values() if each.page == page.name]
        if not own:
            continue
        parts = list(parts_of(report, page, own, checks))
        site.page(
            links.page(page.name),
            "spec_page.html",
            page=page,
            parts=parts,
            runs=report.single,
            base=PUBLISHED,
            dense=report.dense,
        )
        rows.append((page, own, [judged(report, run, own) for run in report.single]))
    site.page(
        links.SPECIFICATION, "spec.html", rows=rows, runs=report.single, errata=followed(report), base=PUBLISHED,
        standing=standing(),
    )  # fmt: skip


def judged(report: Report, run: Run, own: list[Requirement]) -> int:
    """How many of these requirements were judged on a target."""
    cells = report.tables[run.slug]
    return sum(cells[each.id].counted > 0 for each in own)


def standing() -> dict[str, int]:
    """How the requirements stand: with a check, without one so far, out of sight."""
    every = list(requirements().values())
    owed = sum(bool(each.owed) for each in every)
    excused = sum(bool(each.unobservable) for each in every)
    return {"covered": len(every) - owed - excused, "uncovered": owed, "excused": excused}


def parts_of(report: Report, page: Page, own: list[Requirement], checks: Mapping[str, list[str]]) -> list[Part]:
    """The sections of a page in their order, each requirement under the first section that says it."""
    by_section: dict[str, list[Requirement]] = defaultdict(list)
    for each in own:
        by_section[each.ref[0]].append(each)
    digests = lock().sections
    return [
        Part(
            section, address_of(section), digests.get(section.ref, ""),
            tuple(clause(report, each, checks) for each in by_section[section.ref]),
        )
        for section in page.sections if by_section[section.ref]
    ]  # fmt: skip


def clause(report: Report, requirement: Requirement, checks: Mapping[str, list[str]]) -> Clause:
    """One requirement."""
    names = checks.get(requirement.id, [])
    return Clause(
        requirement,
        tuple(place(ref) for ref in requirement.ref),
        tuple(names[:MOST_CHECKS]),
        max(0, len(names) - MOST_CHECKS),
        "cannot be seen: " + requirement.unobservable if requirement.unobservable
        else f"no {requirement.owed} yet" if requirement.owed else "",
        tuple(cell(report, run, requirement.id) for run in report.single),
        tuple(errata()[name] for name in requirement.erratum if name in errata()),
    )  # fmt: skip


def place(ref: str) -> tuple[str, str, str]:
    """A reference with its address and the digest of its section."""
    section = sections().get(ref)
    return ref, address_of(section) if section else "", lock().sections.get(ref, "")


def address_of(section: Section) -> str:
    """Where a section is published; the page where its heading is not known."""
    page = pages()[section.page]
    anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", section.heading).strip().lower())
    return f"{PUBLISHED}{page.place}/" + (f"#{anchor}" if anchor else "")


def checks_of(report: Report) -> dict[str, list[str]]:
    """What tests each requirement, by name: what the project has, and what the results name besides."""
    found: dict[str, dict[str, None]] = {ident: dict.fromkeys(names) for ident, names in witnesses().items()}
    known = requirements()
    for run in report.single:
        for one in run.judgements:
            found.setdefault(fold.now_called(known, one.key.requirement), {}).setdefault(one.key.check, None)
    return {ident: sorted(names) for ident, names in found.items()}


@cache
def witnesses() -> dict[str, list[str]]:
    """The cases, laws and models of the project by requirement; vectors are told by the results that ran them."""
    from zenoh_conformance.case import all_cases
    from zenoh_conformance.law import all_laws

    found: dict[str, list[str]] = defaultdict(list)
    for name, case in all_cases().items():
        found[case.requirement].append(name)
    for name, law in all_laws().items():
        found[law.requirement].append(f"law/{name}" if not name.startswith("law/") else name)
    return found


@dataclass(frozen=True, slots=True)
class Followed:
    """An erratum, and which reading each target follows."""

    erratum: Erratum
    requirements: tuple[str, ...]
    readings: tuple[tuple[str, tuple[Span, ...]], ...]
    """`text`, `baseline`, `neither` or several of them, and the runs that follow it; runs that do not show it are left out."""


def followed(report: Report) -> list[Followed]:
    """Every erratum with both readings and who follows which."""
    said: list[dict[str, set[str]]] = []
    for run in report.single:
        seen: dict[str, set[str]] = defaultdict(set)
        for one in run.judgements:
            if one.reading:
                seen[fold.now_called(requirements(), one.key.requirement)].add(one.reading)
            elif one.verdict in (Verdict.FAIL, Verdict.KNOWN, Verdict.WARN):
                seen[fold.now_called(requirements(), one.key.requirement)].add("deviates")
        said.append(seen)
    touched: dict[str, list[str]] = defaultdict(list)
    for each in requirements().values():
        for name in each.erratum:
            touched[name].append(each.id)
    return [
        Followed(one, tuple(touched[name]), readings(report, one, touched[name], said))
        for name, one in errata().items()
    ]


def readings(
    report: Report, erratum: Erratum, idents: list[str], said: list[dict[str, set[str]]]
) -> tuple[tuple[str, tuple[Span, ...]], ...]:
    """Who follows which reading of an erratum."""
    by_reading: dict[str, list[str]] = defaultdict(list)
    for run, seen in zip(report.single, said, strict=True):
        by_reading[_reading(erratum, idents, seen)].append(run.slug)
    return tuple((name, tuple(spans(report.single, slugs))) for name, slugs in sorted(by_reading.items()) if name)


def _reading(erratum: Erratum, idents: list[str], seen: Mapping[str, set[str]]) -> str:
    readings = set().union(*(seen.get(ident, set()) for ident in idents)) if idents else set()
    text = [
        name for name, there in (
            ("text", "as written" in readings), ("baseline", erratum.reading in readings), ("neither", "deviates" in readings),
        ) if there
    ]  # fmt: skip
    return " and ".join(text)
