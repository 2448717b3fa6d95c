"""Renders the pages from templates that escape all values; the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from zenoh_conformance.judging.verdict import WORST_FIRST, Judgement
from zenoh_conformance.spec.requirement import requirements
from zenoh_conformance.spec.specification import REVISION
from zenoh_reports.pages import links
from zenoh_reports.pages.compiled import TemplateCache
from zenoh_reports.pages.links import PageLinks
from zenoh_reports.plain import fold
from zenoh_reports.plain.anomalies import Anomaly, anomalies
from zenoh_reports.plain.documents import Documents
from zenoh_reports.plain.fold import Cell, DeviationGroup
from zenoh_reports.plain.runs import Run, Unread, address, clean, shown, shown_lines

STATIC: Final = ("site.css", "site.js")


@dataclass(slots=True)
class Report:
    """The data of all pages."""

    runs: Sequence[Run]
    unread: Sequence[Unread] = ()
    documents: Documents = field(default_factory=Documents)
    earlier: Mapping[str, Any] | None = None
    """The `report.json` of an earlier report."""
    tables: dict[str, dict[str, Cell]] = field(default_factory=dict)
    """Slug of a run to its cells by requirement."""
    found: dict[str, list[DeviationGroup]] = field(default_factory=dict)
    """Slug of a run to the deviations with a page of their own."""
    anomalies: list[Anomaly] = field(default_factory=list)
    """Contradictions in the input, such as unreadable files."""
    url: str = ""
    """The address at which the site is published, for the text of badges; empty if unknown."""
    memo: dict[str, Any] = field(default_factory=dict)
    """Values that several pages use, computed once."""
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
        """The runs of single targets."""
        return [run for run in self.runs if not run.interop]

    @property
    def pairs(self) -> list[Run]:
        """The interop runs of two targets."""
        return [run for run in self.runs if run.interop]

    @property
    def dense(self) -> bool:
        """Whether there are so many targets that tables show symbols instead of words."""
        return len(self.single) > MANY

    @property
    def has_trends(self) -> bool:
        """Whether a target has runs of several dates."""
        dates: dict[tuple[str, str, str], set[str]] = {}
        for run in self.single:
            one = run.identity
            dates.setdefault((one.name, one.kind, one.role), set()).update([run.date] if run.date else [])
        return any(len(each) > 1 for each in dates.values())

    def page_of(self, judgement: Judgement) -> str:
        """Return the page of a judgement, or an empty string."""
        return self._pages.get(id(judgement), "")


@dataclass(slots=True)
class Site:
    """The files of the site by address."""

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
        """Render a page and add it."""
        here = PageLinks(path)
        text = self._template(template).render(here=here, root=here.root, report=self.report, **context)
        self.files[path] = text.encode()

    def text(self, path: str, text: str) -> None:
        """Add a text file."""
        self.files[path] = text.encode()

    def _template(self, name: str) -> Template:
        if name not in self._made:
            self._made[name] = self._environment.get_template(name)
        return self._made[name]

    def navigation(self) -> list[tuple[str, str]]:
        """Return the pages that have content."""
        report = self.report
        documents = report.documents
        wanted = (
            (links.FRONT, "Report", True),
            (links.MATRIX, "Matrix", bool(report.single)),
            (links.SPECIFICATION, "Specification", True),
            (links.IMPLEMENTATIONS, "Implementations", bool(report.single)),
            (links.TRENDS, "Trends", report.has_trends),
            (links.CHANGES, "Changes", len(report.single) > 1 or report.earlier is not None),
            (links.INTEROP, "Interop", bool(report.pairs)),
            (links.AUTOMATA, "States", True),
            (links.CAMPAIGNS, "Campaigns", bool(documents.campaign)),
            (links.AUDITS, "Audits", bool(documents.audit)),
            (links.ABOUT, "About", True),
        )
        return [(path, name) for path, name, there in wanted if there]


def environment() -> Environment:
    """Return an environment that escapes all values, and fails on undefined ones."""
    made = Environment(
        loader=PackageLoader("zenoh_reports.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=clean_output,
        bytecode_cache=TemplateCache(),
    )
    made.filters.update(shown=shown, shown_lines=shown_lines, plural=plural, address=address, values=fold.values)
    made.globals.update(
        signs=SIGNS,
        worst_first=[verdict.value for verdict in WORST_FIRST if not verdict.says_nothing],
        why_signs=WHY_SIGNS,
        word_sign=word_sign,
        kinds=BAR_KINDS,
        requirements=requirements,
        sources=SOURCES,
    )
    return made


def clean_output(value: Any) -> Any:
    """Remove control characters; Jinja applies this to every expression of a template."""
    return clean(value) if type(value) is str else value


def plural(count: int, word: str, more: str = "") -> str:
    """Return number and word, as in `1 run` and `2 runs`."""
    return f"{count:,} {word if count == 1 else more or word + 's'}"


SOURCES: Final = {"style": "'self'", "script": "'self'", "image": "'self'"}
"""Sources for the content security policy: the site's own files, and nothing inline."""

SIGNS: Final = {
    "pass": "✓",
    "known": "≈",
    "warn": "!",
    "slow": "…",
    "fail": "✗",
    "flaky": "?",
    "crash": "✗✗",
    "panic": "✗✗",
    "zombie": "✗✗",
    "hang": "✗✗",
    "error": "⚠",
    "not-observed": "·",
    "not-applicable": "–",
    "unimplemented": "–",
}
"""A symbol for each verdict, since colour alone is not accessible."""

WHY_SIGNS: Final = {
    "met nothing": "0",
    "not offered": "–",
    "told by vectors": "v",
    "another role": "r",
    "not in this run": "·",
    "harness error": "e",
    "no check yet": "u",
    "cannot be seen": "∅",
}
"""A symbol for each reason of a missing verdict, for tables with many columns."""

BAR_KINDS: Final = {
    "red": ("✗", "red"),
    "listed": ("≈", "listed or warned"),
    "right": ("✓", "as required"),
    "none": ("·", "not judged"),
}
"""The parts of a bar in their order: sign and meaning."""

MANY: Final = 12
"""With more targets than this, cells show symbols instead of words."""


def word_sign(word: str) -> str:
    """Return the symbol of a run's verdict."""
    return {"conforms": "✓", "known deviations": "≈", "deviates": "✗"}.get(word, "⚠")
