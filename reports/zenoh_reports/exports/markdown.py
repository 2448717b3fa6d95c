"""Writes the report as Markdown, for a job summary or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zenoh_conformance.judging.verdict import Verdict
from zenoh_reports.pages import changes, front
from zenoh_reports.pages.site import Report, plural
from zenoh_reports.plain.runs import Run, shown

MOST = 20
"""Deviations of one target that are named; the rest is counted."""


def text(report: Report) -> str:
    """Return the summary."""
    return "\n".join(lines(report)) + "\n"


def lines(report: Report) -> Iterator[str]:
    """Yield the lines of the summary."""
    yield "## Zenoh conformance"
    yield ""
    yield "| target | verdict | exit | requirements judged | deviations | known |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for run in report.runs:
        line = front.line(report, run)
        found = report.found[run.slug]
        listed = sum(one.verdict is Verdict.KNOWN for one in found)
        cells = (
            safe(run.label),
            f"**{run.word}**",
            int(run.exit),
            f"{line.judged} of {line.total}",
            len(found) - listed,
            listed,
        )
        yield f"| {' | '.join(map(str, cells))} |"
    for one in report.anomalies:
        yield f"\n> {safe(f'{one.run.label}: ' if one.run else '')}{safe(one.what)}"
    for run in report.runs:
        yield from deviations(report, run)
    for step in changes.steps(report):
        yield f"\nFrom {safe(step.old.label)} to {safe(step.new.label)}: {step.counted}."


def deviations(report: Report, run: Run) -> Iterator[str]:
    """Yield the deviations of one run that are not known."""
    found = [one for one in report.found[run.slug] if one.verdict is not Verdict.KNOWN]
    if not found:
        return
    yield f"\n### {safe(run.label)}\n"
    for one in found[:MOST]:
        key = one.first.key
        more = f" ({plural(len(one.members), 'time')})" if len(one.members) > 1 else ""
        yield f"- **{one.verdict.value}** {safe(key.requirement)}: {safe(shown(one.first.cause, 200))}{more}; {safe(key.check)}"
        if one.first.repeat:
            yield f"  {code(shown(one.first.repeat, 300))}"
    if len(found) > MOST:
        yield f"- and {len(found) - MOST} more"


def safe(text_: str) -> str:
    """Escape text for Markdown and HTML, in one line."""
    one_line = " ".join(shown(text_, 500).split())
    signs = re.sub(r"([\\`*_{}\[\]()#+!|~@])", r"\\\1", one_line)
    return signs.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text_: str) -> str:
    """Quote text as code, with enough backquotes."""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text_)), default=0) + 1)
    return f"{ticks} {text_} {ticks}" if "`" in text_ else f"{ticks}{text_}{ticks}"
