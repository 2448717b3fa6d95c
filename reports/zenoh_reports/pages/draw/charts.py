"""Draws charts with matplotlib as SVG without inline styles: colours become classes of the site's style sheet."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from xml.etree.ElementTree import Element, fromstring, register_namespace, tostring

from markupsafe import Markup

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.errors import CannotGoOn
from zenoh_reports.plain.runs import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SVG: Final = "http://www.w3.org/2000/svg"
LINK: Final = "http://www.w3.org/1999/xlink"
INK, GRID = "#010101", "#020202"
SERIES: Final = tuple(f"#0300{n:02x}" for n in range(5))
VERDICTS: Final = tuple(verdict.value for verdict in Verdict if not verdict.says_nothing)
FILLS: Final = {name: f"#0400{n:02x}" for n, name in enumerate(VERDICTS)}
"""Placeholder colours, which are replaced by CSS classes."""
_CLASSES: Final = (
    {INK: "ink", GRID: "grid"} | {c: f"s{n}" for n, c in enumerate(SERIES)} | {c: name for name, c in FILLS.items()}
)
_SETTINGS: Final[dict[str, Any]] = {
    "svg.hashsalt": "zenoh-conformance",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def stacked_bars(names: Sequence[str], counts: Mapping[str, Sequence[int]], title: str, name: str = "bars") -> Markup:
    """Draw one bar per name, with one colour per verdict."""

    def draw(axes: Axes) -> None:
        below = [0] * len(names)
        for verdict, row in counts.items():
            axes.bar(range(len(names)), row, bottom=below, color=FILLS.get(verdict, INK), label=verdict, width=0.7)
            below = [a + b for a, b in zip(below, row, strict=True)]
        many = len(names) > 4
        labels = [plain(label, 28) for label in names]
        axes.set_xticks(range(len(names)), labels, rotation=30 if many else 0, ha="right" if many else "center")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return chart(draw, title, name)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    across: str,
    up: str,
    name: str,
    *,
    steps: bool = False,
    counts: bool = False,
) -> Markup:
    """Draw lines over a common axis from 0; with `steps` as a step function; with `counts` the y axis has integers only."""

    def draw(axes: Axes) -> None:
        for index, (label, points) in enumerate(series.items()):
            xs, ys = [x for x, _ in points], [y for _, y in points]
            dashes = ("-", "--", ":", "-.")[index % 4]
            style = "steps-post" if steps else "default"
            axes.plot(xs, ys, dashes, drawstyle=style, color=SERIES[index % len(SERIES)], label=plain(label))
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        if counts:
            highest = max((y for points in series.values() for _, y in points), default=0)
            axes.set_ylim(0, max(highest * 1.05, 1))
            axes.locator_params(axis="y", integer=True)
        if len(series) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return chart(draw, title, name)


def chart(draw: Any, title: str, name: str) -> Markup:
    """Return a figure as inline SVG; the same data give the same text. `name` makes its ids unique on the page.

    Raises CannotGoOn if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as missing:
        hint = "install zenoh-conformance[report]"
        raise CannotGoOn("matplotlib is not installed", step="draw the charts", hint=hint) from missing
    with mpl.rc_context(cast(Any, _SETTINGS)):
        figure = Figure(figsize=(9.2, 3.4), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        return Markup(inline(_svg(figure), title, name))  # noqa: S704 - made of parsed XML


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def inline(svg: str, title: str, name: str) -> str:
    """Replace styles by attributes and classes, since the pages do not allow inline styles."""
    register_namespace("", SVG)
    register_namespace("xlink", LINK)
    root = fromstring(svg)  # noqa: S314 - matplotlib wrote it
    for parent in list(root.iter()):
        for child in [each for each in parent if each.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style")]:
            parent.remove(child)
    used = frozenset(_REFERENCE.findall(svg)) & {element.get("id", "") for element in root.iter()}
    for element in root.iter():
        _plain(element)
        _prefix_ids(element, name, used)
    root.set("class", "drawing chart")
    root.set("role", "img")
    root.set("aria-label", title)
    return re.sub(r"<(/?)ns\d+:", r"<\1", tostring(root, encoding="unicode"))


def _prefix_ids(element: Element, name: str, used: frozenset[str]) -> None:
    """Prefix the ids that are referred to with the chart's name; remove the others."""
    ident = element.attrib.pop("id", "")
    if ident in used:
        element.set("id", f"{name}-{ident}")
    for attribute, value in element.attrib.items():
        element.set(
            attribute, _REFERENCE.sub(lambda found: f"#{name}-{found[1]}" if found[1] in used else found[0], value)
        )


_REFERENCE: Final = re.compile(r"#([A-Za-z][\w-]*)")


def _plain(element: Element) -> None:
    style = element.attrib.pop("style", "")
    classes = []
    for name, value in re.findall(r"([a-z-]+)\s*:\s*([^;]+)", style):
        value = value.strip()
        if name in ("fill", "stroke") and value in _CLASSES:
            classes.append(f"{'c' if name == 'stroke' else 'f'}-{_CLASSES[value]}")
        elif name == "font":
            size = re.search(r"([\d.]+)px", value)
            element.set("font-size", size[1] if size else "11")
        elif name != "font-family":
            element.set(name, value)
    if classes:
        element.set("class", " ".join(classes))


def plain(text: str, longest: int = 40) -> str:
    """Escape a name for matplotlib: no formulas, and no leading underscore, which would hide it."""
    return shown(text, longest).replace("$", "\\$").lstrip("_") or "unnamed"


def of_campaign(one: Mapping[str, Any], name: str) -> list[tuple[Markup, str]]:
    """Draw coverage and findings over time, and the survival curve of the time to each finding."""
    found = []
    progress = [row for row in one.get("progress", ()) if isinstance(row, dict)]
    for what, title in (("coverage", "Coverage over time"), ("findings", "Findings over time")):
        points = [(row["seconds"], row[what]) for row in progress if what in row]
        if points and (what != "findings" or any(count for _, count in points)):
            whole = lines(
                {what: from_nothing(points)},
                title,
                "seconds",
                what,
                f"{name}-{what}",
                steps=what == "findings",
                counts=True,
            )
            found.append((whole, title))
    curves = {str(each["name"]): survival(each["seconds"], each["within"]) for each in one.get("times", ())}
    if curves:
        title = "Time to find: the share of trials that have not found it yet"
        found.append((lines(curves, title, "seconds", "share", f"{name}-times", steps=True), title))
    return found


def from_nothing(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points with (0, 0) added in front."""
    return [*points] if points[0][0] == 0 else [(0.0, 0.0), *points]


def survival(seconds: Sequence[float | None], within: float) -> list[tuple[float, float]]:
    """Return the Kaplan-Meier estimate for trials that all end at `within`; None is a trial without a finding."""
    hits = sorted(each for each in seconds if each is not None)
    points, left = [(0.0, 1.0)], len(seconds)
    for hit in hits:
        left -= 1
        points.append((hit, left / len(seconds)))
    return [*points, (within, points[-1][1])]


def of_audit(one: Mapping[str, Any], name: str) -> list[tuple[Markup, str]]:
    """Draw findings over the time of the capture."""
    times = sorted(float(each["time"]) for each in one.get("findings", ()) if "time" in each)
    if not times:
        return []
    title = "Findings over the time of the capture"
    points = [(time, float(number)) for number, time in enumerate(times, 1)]
    end = max(times[-1], float(one.get("seconds", 0)))
    series = {"findings": [*from_nothing(points), (end, points[-1][1])]}
    return [(lines(series, title, "seconds", "findings", f"{name}-findings", steps=True, counts=True), title)]
