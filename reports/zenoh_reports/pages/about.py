"""Of what the report is made, how each figure is made again, and what the method cannot see."""

from __future__ import annotations

from typing import Final

from zenoh_conformance.lock import lock
from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Verdict
from zenoh_reports.exports.forms import FORMS
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site

MEANS: Final = {
    Verdict.PASS: "What was seen is as required.",
    Verdict.WARN: "A SHOULD, or what a MAY says, was deviated from; the run still exits 0.",
    Verdict.SLOW: "It came as required, and later than it may.",
    Verdict.KNOWN: "A deviation that a list of known deviations names, with this verdict and this cause; anything else there is red.",
    Verdict.FAIL: "A MUST or the layout of a message was deviated from.",
    Verdict.FLAKY: "The same input had different outcomes; it counts as a deviation.",
    Verdict.PANIC: "Its output holds a panic or a sanitizer's report, whatever the link did.",
    Verdict.CRASH: "The process ended by itself.",
    Verdict.HANG: "It does not answer any more.",
    Verdict.ZOMBIE: "It lives and answers handshakes, and does no work.",
    Verdict.ERROR: "The harness could not judge; this says nothing about the target.",
    Verdict.NOT_OBSERVED: "The check ran and met nothing to judge, or did not run; the page of the run says which.",
    Verdict.NOT_APPLICABLE: "The target says that it does not do this, and a probe agrees.",
    Verdict.UNIMPLEMENTED: "The target said so itself when it was asked.",
}
"""What each verdict means, for readers who never saw the harness."""


def make(site: Site) -> None:
    """Write it."""
    site.page(
        links.ABOUT, "about.html", runs=site.report.runs, forms=FORMS, count=len(requirements()),
        sections=len(lock().sections), draft=lock().draft, means=MEANS,
    )  # fmt: skip
