"""The addresses of the site: few, stable, made of words; every page links with relative ones, so that any prefix serves."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_reports.plain.fold import Deviation
from zenoh_reports.plain.runs import Run, address

FRONT = "index.html"
MATRIX = "matrix.html"
SPECIFICATION = "spec/index.html"
IMPLEMENTATIONS = "implementation/index.html"
CHANGES = "diff/index.html"
INTEROP = "interop.html"
AUTOMATA = "automata.html"
CAMPAIGNS = "campaigns.html"
AUDITS = "audits.html"
ABOUT = "about.html"
DATA = "report.json"


def run(one: Run) -> str:
    """The page of a run."""
    return f"run/{one.slug}/index.html"


def deviation(one: Run, which: Deviation) -> str:
    """The page of a judgement."""
    return f"run/{one.slug}/{which.address}.html"


def page(name: str) -> str:
    """The page of one page of the specification."""
    return f"spec/{address(name)}.html"


def requirement(ident: str) -> str:
    """Where a requirement stands."""
    name, _, phrase = ident.partition("/")
    return f"{page(name)}#{address(phrase)}"


def implementation(name: str) -> str:
    """The page of an implementation."""
    return f"implementation/{address(name).lower()}.html"


def diff(old: Run, new: Run) -> str:
    """The page of what changed."""
    return f"diff/{old.slug}..{new.slug}.html"


@dataclass(frozen=True, slots=True)
class Here:
    """A page that links to others."""

    path: str

    @property
    def root(self) -> str:
        """What leads from here to the top."""
        return "../" * self.path.count("/")

    def __call__(self, target: str) -> str:
        """The address of another page, seen from here."""
        return self.root + target
