"""Builds all files of a site."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.files import junit, sarif
from zenoh_reports.exports import badges, document, markdown, tables
from zenoh_reports.pages import (
    about,
    changes,
    extras,
    front,
    implementation,
    interop,
    judgement,
    links,
    matrix,
    run,
    specification,
    states,
    trends,
)
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain.documents import schema
from zenoh_reports.proofs import pack


def build(report: Report, *, parquet: bool = False) -> dict[str, bytes]:
    """Return every file of the site by its address."""
    site = Site(report)
    front.make(site)
    matrix.make(site)
    for one in report.runs:
        run.make(site, one)
        for deviation in report.found[one.slug]:
            judgement.make(site, one, deviation)
    for view in (specification, implementation, changes, trends, interop, states, extras, about):
        view.make(site)
    programs(site, parquet=parquet)
    return site.files


def seconds_of(report: Report) -> Callable[[Judgement], float | None]:
    """Return a function that gives the duration of a judgement's conversation in seconds, by its last event."""
    took: dict[int, float] = {}
    for one in report.runs:
        for judgement_ in one.judgements:
            file = one.inside(judgement_.evidence) if judgement_.evidence else None
            if file is not None:
                took[id(judgement_)] = last_time(file)
    return lambda judgement_: took.get(id(judgement_))


def last_time(file: Path) -> float:
    """Return the time of the last readable event of a conversation file, or 0."""
    for line in reversed(file.read_text(encoding="utf-8", errors="replace").splitlines()):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("t"), int | float):
            return float(row["t"])
    return 0.0


def programs(site: Site, *, parquet: bool) -> None:
    """Add the files for programs."""
    report = site.report
    site.text(links.DATA, document.text(report))
    for name in ("report", "submission", "campaign", "audit", "learned"):
        site.text(f"schema/{name}.schema.json", json.dumps(schema(name), indent=1) + "\n")
    judgements, requirements = tables.judgement_rows(report), tables.requirement_rows(report)
    site.text("judgements.csv", tables.as_csv(judgements, tables.JUDGEMENTS))
    site.text("requirements.csv", tables.as_csv(requirements, tables.REQUIREMENTS))
    if parquet:
        site.files["judgements.parquet"] = tables.as_parquet(judgements, tables.JUDGEMENTS)
        site.files["requirements.parquet"] = tables.as_parquet(requirements, tables.REQUIREMENTS)
    every = [one.results for one in report.runs]
    site.files["junit.xml"] = junit.text(every, seconds=seconds_of(report))
    site.text("report.sarif", sarif.text(every))
    site.text("summary.md", markdown.text(report))
    site.files["verify.pyz"] = pack.archive()
    for one in report.runs:
        badge = badges.badge(one, front.line(report, one).shares)
        site.text(f"{links.badge(one)}.json", badges.endpoint(badge))
        site.page(f"{links.badge(one)}.svg", "badge.svg", badge=badge)
