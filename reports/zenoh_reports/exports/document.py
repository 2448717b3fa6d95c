"""Builds `report.json`: the content of all pages as one document with a published schema."""

from __future__ import annotations

from typing import Any, Final

from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.requirement import requirements
from zenoh_conformance.spec.specification import REVISION
from zenoh_harness.files import indented_json
from zenoh_reports.pages import changes, links
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import fold
from zenoh_reports.plain.runs import Run, shown

FORMAT: Final = 2


def document(report: Report) -> dict[str, Any]:
    """Return the document, its keys in a fixed order."""
    return {
        "$schema": "schema/report.schema.json",
        "report": FORMAT,
        "spec": REVISION,
        "targets": [target(report, run) for run in report.runs],
        "requirements": [requirement(ident) for ident in idents(report)],
        "verdicts": [row for run in report.runs for row in verdicts(report, run)],
        "deviations": [row for run in report.runs for row in deviations(report, run)],
        "anomalies": [{"target": one.run.slug if one.run else None, "what": one.what} for one in report.anomalies],
        "changes": [
            {"from": step.old.slug, "to": step.new.slug, "told": step.counted, "page": step.link}
            for step in changes.steps(report)
        ],
    }


def text(report: Report) -> str:
    """Return the document as text."""
    return indented_json.text(document(report), 2)


def target(report: Report, run: Run) -> dict[str, Any]:
    """Return the entry of one run."""
    header, footer = run.results.header, run.results.footer
    cells = report.tables[run.slug]
    return {
        "id": run.slug,
        "label": run.label,
        "name": header.name,
        "version": header.version,
        "kind": header.kind,
        "reach": header.reach,
        "role": header.role,
        "digest": header.digest,
        "results_sha256": run.digest,
        "harness": header.harness,
        "spec": header.spec,
        "seed": header.seed,
        "command": header.command,
        "date": run.date,
        "run": header.run,
        "verdict": run.word,
        "exit": int(run.exit),
        "complete": run.complete,
        "why": run.why_incomplete,
        "pending": len(run.results.pending),
        "embargoed": run.embargoed,
        "judgements": len(run.judgements),
        "interrupted": bool(footer and footer.pending),
        "requirements": {
            verdict.value: n for verdict, n in sorted(fold.tally(cells).items(), key=lambda item: item[0].value)
        },
        "shares": fold.shares_of(cells).as_json(),
        "not_judged": {why.value: len(ones) for why, ones in fold.silence(cells).items()},
        "page": links.run(run),
    }


def idents(report: Report) -> list[str]:
    """Return all requirements, and other ids in the results."""
    every = dict.fromkeys(requirements())
    for run in report.runs:
        every.update(dict.fromkeys(report.tables[run.slug]))
    return list(every)


def requirement(ident: str) -> dict[str, Any]:
    """Return the entry of one requirement, with the digest of its section."""
    known = requirements().get(ident)
    if known is None:
        return {"id": shown(ident), "level": "", "says": fold.says(ident), "section": "", "digest": "", "page": ""}
    return {
        "id": ident,
        "level": str(known.level),
        "says": known.says,
        "section": known.ref[0],
        "digest": lock().sections.get(known.ref[0], ""),
        "page": links.requirement(ident),
    }


def verdicts(report: Report, run: Run) -> list[dict[str, Any]]:
    """Return one row per requirement of a run."""
    rows = []
    for ident, cell in report.tables[run.slug].items():
        judgement = cell.shown
        rows.append(
            {
                "target": run.slug,
                "requirement": shown(ident),
                "verdict": cell.verdict.value,
                "why": cell.why.value if cell.why else "",
                "judgements": cell.counted,
                "cause": shown(judgement.cause, 500) if judgement else "",
                "page": report.page_of(judgement) if judgement else "",
            }
        )
    return rows


def deviations(report: Report, run: Run) -> list[dict[str, Any]]:
    """Return one row per deviation of a run."""
    rows = []
    for one in report.found[run.slug]:
        key = one.first.key
        rows.append(
            {
                "target": run.slug,
                "verdict": one.verdict.value,
                "otherwise": one.expected.value,
                "role": key.role,
                "profile": key.profile,
                "link": key.link,
                "requirement": key.requirement,
                "level": one.first.level,
                "check": key.check,
                "parameters": [dict(member.key.parameters) for member in one.members],
                "cause": shown(one.first.cause, 500),
                "end": one.first.end,
                "repeat": one.first.repeat,
                "page": links.deviation(run, one),
            }
        )
    return rows
