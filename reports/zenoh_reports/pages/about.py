"""Builds the page about the report: its inputs, how to reproduce it, and the limits of the method."""

from __future__ import annotations

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.exports.forms import FORMS
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site


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
