"""Of what the report is made, how each figure is made again, and what the method cannot see."""

from __future__ import annotations

from zenoh_conformance.lock import lock
from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import MEANS
from zenoh_reports.exports.forms import FORMS
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site


def make(site: Site) -> None:
    """Write it."""
    site.page(
        links.ABOUT, "about.html", runs=site.report.runs, forms=FORMS, count=len(requirements()),
        sections=len(lock().sections), draft=lock().draft, means=MEANS,
    )  # fmt: skip
