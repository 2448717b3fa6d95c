"""The site: every page from templates that escape what they are given; the same input makes the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from zenoh_conformance.requirement import requirements
from zenoh_conformance.specification import REVISION
from zenoh_conformance.verdict import Judgement
from zenoh_reports.pages import links
from zenoh_reports.pages.compiled import Beside
from zenoh_reports.pages.links import Here
from zenoh_reports.plain import fold
from zenoh_reports.plain.anomalies import Anomaly, anomalies
from zenoh_reports.plain.documents import Documents
from zenoh_reports.plain.fold import Cell, Deviation
from zenoh_reports.plain.runs import Run, Unread, address, clean, shown, shown_lines

STATIC: Final = ("site.css", "site.js")


@dataclass(slots=True)
class Report:
    """All that the pages are made from."""

    runs: Sequence[Run]
    unread: Sequence[Unread] = ()
    documents: Documents = field(default_factory=Documents)
    earlier: Mapping[str, Any] | None = None
    """The `report.json` of the report before this one."""
    tables: dict[str, dict[str, Cell]] = field(default_factory=dict)
    """Run's slug to its cells."""
    found: dict[str, list[Deviation]] = field(default_factory=dict)
    """Run's slug to what has a page of its own."""
    anomalies: list[Anomaly] = field(default_factory=list)
    """What does not fit."""
    memo: dict[str, Any] = field(default_factory=dict)
    """What is computed once and shown on several pages."""
    _pages: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = {run.slug: fold.table(run) for run in self.runs}
        self.found = {run.slug: fold.deviations(run) for run in self.runs}
        self.anomalies = anomalies(self.runs, self.unread)
        for run in self.runs:
            for one in self.found[run.slug]:
                self._pages.update((id(judgement), links.deviation(run, one)) for judgement in one.members)

    @property
    def single(self) -> list[Run]:
        """The runs about one target."""
        return [run for run in self.runs if not run.interop]

    @property
    def pairs(self) -> list[Run]:
        """The runs about two."""
        return [run for run in self.runs if run.interop]

    @property
    def dense(self) -> bool:
        """Whether there are so many targets that a table of them shows signs and no words."""
        return len(self.single) > MANY

    def page_of(self, judgement: Judgement) -> str:
        """The page of one judgement; empty where it has none."""
        return self._pages.get(id(judgement), "")


@dataclass(slots=True)
class Site:
    """Pages by address, as they are made."""

    report: Report
    files: dict[str, bytes] = field(default_factory=dict)
    _made: dict[str, Template] = field(default_factory=dict)
    _environment: Environment = field(init=False)

    def __post_init__(self) -> None:
        self._environment = environment()
        self._environment.globals.update(links=links, revision=REVISION, navigation=self.navigation())
        for name in STATIC:
            self.files[f"static/{name}"] = resources.files("zenoh_reports.pages").joinpath("static", name).read_bytes()

    def page(self, path: str, template: str, **context: Any) -> None:
        """Make a page."""
        here = Here(path)
        text = self._template(template).render(here=here, root=here.root, report=self.report, **context)
        self.files[path] = text.encode()

    def text(self, path: str, text: str) -> None:
        """Add a file that is no page."""
        self.files[path] = text.encode()

    def _template(self, name: str) -> Template:
        if name not in self._made:
            self._made[name] = self._environment.get_template(name)
        return self._made[name]

    def navigation(self) -> list[tuple[str, str]]:
        """The pages that there is something to show on."""
        report = self.report
        documents = report.documents
        wanted = (
            (links.FRONT, "Report", True),
            (links.MATRIX, "Matrix", bool(report.single)),
            (links.SPECIFICATION, "Specification", True),
            (links.IMPLEMENTATIONS, "Implementations", bool(report.single)),
            (links.CHANGES, "Changes", len(report.single) > 1 or report.earlier is not None),
            (links.INTEROP, "Interop", bool(report.pairs)),
            (links.AUTOMATA, "States", True),
            (links.CAMPAIGNS, "Campaigns", bool(documents.campaign)),
            (links.AUDITS, "Audits", bool(documents.audit)),
            (links.ABOUT, "About", True),
        )
        return [(path, name) for path, name, there in wanted if there]


def environment() -> Environment:
    """Templates that escape everything, and fail on what is not given."""
    made = Environment(
        loader=PackageLoader("zenoh_reports.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, finalize=finalized, bytecode_cache=Beside(),
    )  # fmt: skip
    made.filters.update(shown=shown, shown_lines=shown_lines, plural=plural, address=address, values=fold.values)
    made.globals.update(
        signs=SIGNS, why_signs=WHY_SIGNS, word_sign=word_sign, requirements=requirements, sources=SOURCES
    )
    return made


def finalized(value: Any) -> Any:
    """What every expression of a template goes through: no control character leaves it, whoever forgot to ask."""
    return clean(value) if type(value) is str else value


def plural(count: int, word: str, more: str = "") -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {word if count == 1 else more or word + 's'}"


SOURCES: Final = {"style": "'self'", "script": "'self'", "image": "'self'"}
"""What the content security policy of every page allows: the site's own files, and nothing inline."""

SIGNS: Final = {
    "pass": "✓", "known": "≈", "warn": "!", "slow": "…", "fail": "✗", "flaky": "?", "crash": "✗✗", "panic": "✗✗", "zombie": "✗✗",
    "hang": "✗✗", "error": "⚠", "not-observed": "·", "not-applicable": "–", "unimplemented": "–",
}  # fmt: skip
"""A sign for each verdict: colour is never the only one."""

WHY_SIGNS: Final = {
    "met nothing": "0", "not offered": "–", "told by vectors": "v", "another role": "r", "not in this run": "·", "no check yet": "u",
    "cannot be seen": "∅",
}  # fmt: skip
"""A sign for why there is no verdict, where many columns leave no room for words."""

MANY: Final = 12
"""Of more targets than this, cells hold signs and no words."""


def word_sign(word: str) -> str:
    """A sign for what a run came to."""
    return {"conforms": "✓", "known deviations": "≈", "deviates": "✗"}.get(word, "⚠")


__all__ = ["Report", "Site", "environment", "plural"]
