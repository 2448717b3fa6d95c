"""The stable addresses of the site. Pages link with relative addresses, so that the site works under any path."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_reports.plain.fold import DeviationGroup
from zenoh_reports.plain.runs import Run, address

FRONT = "index.html"
MATRIX = "matrix.html"
SPECIFICATION = "spec/index.html"
IMPLEMENTATIONS = "implementation/index.html"
CHANGES = "diff/index.html"
TRENDS = "trends.html"
INTEROP = "interop.html"
AUTOMATA = "automata.html"
CAMPAIGNS = "campaigns.html"
AUDITS = "audits.html"
ABOUT = "about.html"
DATA = "report.json"


def run(one: Run) -> str:
    """Return the page of a run."""
    return f"run/{one.slug}/index.html"


def deviation(one: Run, which: DeviationGroup) -> str:
    """Return the page of a deviation."""
    return f"run/{one.slug}/{which.address}.html"


def page(name: str) -> str:
    """Return the page of one page of the specification."""
    return f"spec/{address(name)}.html"


def requirement(ident: str) -> str:
    """Return the address of a requirement."""
    name, _, phrase = ident.partition("/")
    return f"{page(name)}#{address(phrase)}"


def implementation(name: str) -> str:
    """Return the page of an implementation."""
    return f"implementation/{address(name).lower()}.html"


def diff(old: Run, new: Run) -> str:
    """Return the page of the changes between two runs."""
    return f"diff/{old.slug}..{new.slug}.html"


def badge(one: Run) -> str:
    """Return the badge of a run, without its suffix."""
    return f"badge/{one.slug}"


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Makes relative links on one page."""

    path: str

    @property
    def root(self) -> str:
        """The relative path to the top of the site."""
        return "../" * self.path.count("/")

    def __call__(self, target: str) -> str:
        """Return the relative address of another page."""
        return self.root + target
