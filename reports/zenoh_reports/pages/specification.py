"""Builds the pages of the specification: each requirement with its checks and verdicts, and the errata."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from zenoh_conformance.spec.errata import Erratum, errata
from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import Requirement, requirements
from zenoh_conformance.spec.specification import PUBLISHED, Page, Section, pages, sections
from zenoh_reports.pages import links
from zenoh_reports.pages.matrix import MatrixCell, cell
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.pages.spans import VersionSpan, spans
from zenoh_reports.plain import fold
from zenoh_reports.plain.runs import Run

MOST_CHECKS: Final = 12
"""Checks that are named; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A requirement with its checks and verdicts."""

    requirement: Requirement
    places: tuple[tuple[str, str, str], ...]
    """(reference, address, digest) of each section that states it."""
    checks: tuple[str, ...]
    more: int
    standing: str
    cells: tuple[MatrixCell, ...]
    errata: tuple[Erratum, ...]


@dataclass(frozen=True, slots=True)
class SectionPart:
    """A section with its requirements."""

    section: Section
    address: str
    digest: str
    clauses: tuple[Clause, ...]


def make(site: Site) -> None:
    """Add a page for each page of the specification, and one that lists them."""
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
        rows.append((page, own, [count_judged(report, run, own) for run in report.single]))
    site.page(
        links.SPECIFICATION,
        "spec.html",
        rows=rows,
        runs=report.single,
        errata=errata_readings(report),
        base=PUBLISHED,
        standing=standing(),
    )


def count_judged(report: Report, run: Run, own: list[Requirement]) -> int:
    """Count the requirements that were judged on a target."""
    cells = report.tables[run.slug]
    return sum(cells[each.id].counted > 0 for each in own)


def standing() -> dict[str, int]:
    """Count the covered, the uncovered and the excused requirements."""
    every = list(requirements().values())
    owed = sum(bool(each.owed) for each in every)
    excused = sum(bool(each.unobservable) for each in every)
    return {"covered": len(every) - owed - excused, "uncovered": owed, "excused": excused}


def parts_of(report: Report, page: Page, own: list[Requirement], checks: Mapping[str, list[str]]) -> list[SectionPart]:
    """Return the sections of a page in order, each requirement under the first section that states it."""
    by_section: dict[str, list[Requirement]] = defaultdict(list)
    for each in own:
        by_section[each.ref[0]].append(each)
    digests = lock().sections
    return [
        SectionPart(
            section,
            address_of(section),
            digests.get(section.ref, ""),
            tuple(clause(report, each, checks) for each in by_section[section.ref]),
        )
        for section in page.sections
        if by_section[section.ref]
    ]


def clause(report: Report, requirement: Requirement, checks: Mapping[str, list[str]]) -> Clause:
    """Return one requirement with its checks and verdicts."""
    names = checks.get(requirement.id, [])
    return Clause(
        requirement,
        tuple(place(ref) for ref in requirement.ref),
        tuple(names[:MOST_CHECKS]),
        max(0, len(names) - MOST_CHECKS),
        "cannot be seen: " + requirement.unobservable
        if requirement.unobservable
        else f"no {requirement.owed} yet"
        if requirement.owed
        else "",
        tuple(cell(report, run, requirement.id) for run in report.single),
        tuple(errata()[name] for name in requirement.erratum if name in errata()),
    )


def place(ref: str) -> tuple[str, str, str]:
    """Return a reference with its address and the digest of its section."""
    section = sections().get(ref)
    return ref, address_of(section) if section else "", lock().sections.get(ref, "")


def address_of(section: Section) -> str:
    """Return the address of a section, or of its page if the heading is unknown."""
    page = pages()[section.page]
    anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", section.heading).strip().lower())
    return f"{PUBLISHED}{page.place}/" + (f"#{anchor}" if anchor else "")


def checks_of(report: Report) -> dict[str, list[str]]:
    """Return requirement to the names of its checks: those of the project, and those in the results."""
    found: dict[str, dict[str, None]] = {ident: dict.fromkeys(names) for ident, names in witnesses().items()}
    known = requirements()
    for run in report.single:
        for one in run.judgements:
            found.setdefault(fold.now_called(known, one.key.requirement), {}).setdefault(one.key.check, None)
    return {ident: sorted(names) for ident, names in found.items()}


@cache
def witnesses() -> dict[str, list[str]]:
    """Return requirement to the cases and laws of the project; vectors appear only in results."""
    from zenoh_conformance.cases.case import all_cases
    from zenoh_conformance.judging.law import all_laws

    found: dict[str, list[str]] = defaultdict(list)
    for name, case in all_cases().items():
        found[case.requirement].append(name)
    for name, law in all_laws().items():
        found[law.requirement].append(f"law/{name}" if not name.startswith("law/") else name)
    return found


@dataclass(frozen=True, slots=True)
class ErratumReadings:
    """An erratum, and the reading that each target follows."""

    erratum: Erratum
    requirements: tuple[str, ...]
    readings: tuple[tuple[str, tuple[VersionSpan, ...]], ...]
    """`text`, `baseline`, `neither` or several of them, with the runs that follow it; other runs are omitted."""


def errata_readings(report: Report) -> list[ErratumReadings]:
    """Return every erratum with the targets that follow each reading."""
    said: list[dict[str, set[str]]] = []
    for run in report.single:
        seen: dict[str, set[str]] = defaultdict(set)
        for one in run.judgements:
            if one.reading:
                seen[fold.now_called(requirements(), one.key.requirement)].add(one.reading)
            elif one.verdict.is_wrong and not (one.verdict.is_grave or one.verdict.is_unsteady):
                seen[fold.now_called(requirements(), one.key.requirement)].add("deviates")
        said.append(seen)
    touched: dict[str, list[str]] = defaultdict(list)
    for each in requirements().values():
        for name in each.erratum:
            touched[name].append(each.id)
    return [
        ErratumReadings(one, tuple(touched[name]), readings(report, one, touched[name], said))
        for name, one in errata().items()
    ]


def readings(
    report: Report, erratum: Erratum, idents: list[str], said: list[dict[str, set[str]]]
) -> tuple[tuple[str, tuple[VersionSpan, ...]], ...]:
    """Return the readings of an erratum with the runs that follow each."""
    by_reading: dict[str, list[str]] = defaultdict(list)
    for run, seen in zip(report.single, said, strict=True):
        by_reading[_reading(erratum, idents, seen)].append(run.slug)
    return tuple((name, tuple(spans(report.single, slugs))) for name, slugs in sorted(by_reading.items()) if name)


def _reading(erratum: Erratum, idents: list[str], seen: Mapping[str, set[str]]) -> str:
    readings = set().union(*(seen.get(ident, set()) for ident in idents)) if idents else set()
    text = [
        name
        for name, there in (
            ("text", "as written" in readings),
            ("baseline", erratum.reading in readings),
            ("neither", "deviates" in readings),
        )
        if there
    ]
    return " and ".join(text)
