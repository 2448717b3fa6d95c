"""Builds the page about the report: its inputs, how to reproduce it, and the limits of the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site."""

    address: str
    what: str


FORMS: Final = (
    SiteFile("report.json", "the content of all pages, by schema/report.schema.json"),
    SiteFile("schema/report.schema.json", "the JSON Schema of report.json"),
    SiteFile("schema/submission.schema.json", "the JSON Schema of a submission"),
    SiteFile("judgements.csv", "one line per judgement"),
    SiteFile("requirements.csv", "one line per requirement and target"),
    SiteFile("junit.xml", "JUnit XML: one suite per target, one test case per judgement"),
    SiteFile("report.sarif", "SARIF 2.1.0: one run per target, one rule per requirement"),
    SiteFile("summary.md", "Markdown for a job summary or a comment"),
    SiteFile("verify.pyz", "verifies a proof: python verify.pyz FILE"),
)


def make(site: Site) -> None:
    """Add the page."""
    site.page(
        links.ABOUT,
        "about.html",
        runs=site.report.runs,
        forms=FORMS,
        count=len(requirements()),
        sections=len(lock().sections),
        draft=lock().draft,
        verdicts=Verdict,
    )
