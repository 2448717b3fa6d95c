"""Report a gate: one screen for a person, Markdown for a build's page, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.judging.shares import Shares
from zenoh_conformance.judging.verdict import Exit, Judgement, Verdict
from zenoh_harness.console import plain
from zenoh_harness.files.results import check_label
from zenoh_harness.gate.comparison import GateItem, GateReason, GateResult
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.run.overload import describe_prevented
from zenoh_harness.run.report.summary import PLACES, finding_json, places_rows

MOST: Final = 8
"""Items on the screen; the summary file, JUnit and the results hold all of them."""
_WIDTH: Final = 8
_ENDS: Final = {
    Exit.CONFORMING: "green: everything is as required or as listed",
    Exit.NOT_CONFORMING: "red",
    Exit.CANNOT_GO_ON: "the harness or the target failed before the run was complete",
    Exit.NOTHING_JUDGED: "nothing was judged",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """One gate run, ready to be reported."""

    title: str
    """`zenoh-rust 1.10.2 as responder and initiator`."""
    held: GateResult
    code: Exit
    out: Path
    update: str
    """The command that adds all of it to the list."""
    why: str = ""
    """Why the run ended early; empty if it did not."""
    revisions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Revision to the requirements that it contains."""
    shares: Shares = field(default_factory=Shares)
    late: int = 0
    """Checks that were not judged since the machine was busy."""
    share: float = 1.0
    """The share of what was judged before that such a machine let be judged."""

    @property
    def met_busy_machine(self) -> str:
        """How many checks a busy machine kept from being judged, and what to do; empty if none."""
        return describe_prevented(self.late, self.share)

    @property
    def counted(self) -> str:
        """`241 judged: 230 as required, 3 as listed, 8 otherwise; 20 could not be judged`."""
        counts = self.held.counts
        silent = sum(count for verdict, count in counts.items() if verdict.says_nothing)
        errors = counts[Verdict.ERROR]
        right, listed = counts[Verdict.PASS] + counts[Verdict.SLOW], counts[Verdict.KNOWN]
        judged, warned = counts.total() - silent - errors, counts[Verdict.WARN]
        parts = {
            "as required": right,
            "as listed": listed,
            "warnings": warned,
            "otherwise": judged - right - listed - warned,
        }
        parts_shown = [f"{number} {word}" for word, number in parts.items() if number or word == "as required"]
        rest = f"; {silent} do not apply or met nothing" if silent else ""
        rest += f"; {errors} ended in an error of the harness" if errors else ""
        return f"{judged} judged: {', '.join(parts_shown)}{rest}"

    @property
    def verdict(self) -> str:
        """`red: 2 new, 1 fixed`."""
        kinds = [f"{number} {kind.value}" for kind in GateReason if (number := self._number(kind))]
        kinds += [f"{self.held.embargoed} embargoed"] if self.held.embargoed else []
        ending = "too little was judged" if self.is_too_little else _ENDS[self.code]
        return f"{ending}: {', '.join(kinds)}" if kinds else ending

    @property
    def is_too_little(self) -> bool:
        """Whether the exit code says that a busy machine let too little be judged."""
        return self.code is Exit.NOTHING_JUDGED and self.share < 1

    def _number(self, kind: GateReason) -> int:
        return sum(item.kind is kind for item in self.held.told)


def screen_lines(report: GateReport, most: int = MOST) -> Iterator[str]:
    """Yield the lines of the screen."""
    yield f"{report.title}: {report.counted}"
    yield f"Judged: {report.shares.sentence}"
    told = report.held.told
    for item in told[:most]:
        yield ""
        yield from _block(item, report.out)
    if len(told) > most:
        yield ""
        yield f"and {len(told) - most} more: --summary FILE lists all of them"
    remarks = [remark for remark in _remarks(report) if remark != report.met_busy_machine]
    yield from ("", *remarks) if remarks else ()
    yield ""
    yield f"Results in {report.out}"
    if any(item.kind not in (GateReason.ERROR, GateReason.EXPIRED) for item in report.held.items):
        yield f"To accept all of it: {report.update}"
    if report.met_busy_machine:
        yield report.met_busy_machine
    yield f"Exit {int(report.code)}: {report.verdict}"


def _block(item: GateItem, out: Path) -> Iterator[str]:
    one = item.first
    name = item.requirement or one.key.check
    where = "" if one.key.profile == "default" else f", profile {one.key.profile}"
    yield f"{item.kind.value.upper():<{_WIDTH}} {name}  ({one.level}, {one.key.role}{where})"
    if item.kind is GateReason.FIXED and item.placed is not None:
        yield f"  {'delete':<{_WIDTH}} {item.placed.place} ({item.placed.entry.name}): it is as required now"
        return
    for word, text in _facts(item, out):
        yield f"  {word:<{_WIDTH}} {text}"


def _facts(item: GateItem, out: Path) -> Iterator[tuple[str, str]]:
    """Yield the facts about an item as (label, text)."""
    one, placed = item.first, item.placed
    if item.kind is not GateReason.LOST and one.key.check != one.key.requirement:
        yield "check", one.key.check + (f", {item.block.count} of its values" if item.block.count > 1 else _value(one))
    if item.kind is GateReason.FIXED and placed is not None:
        yield "listed", f"{placed.entry.verdict.value}: {placed.entry.cause}"
        yield "seen", "it is as required now"
        yield "fix", f"delete {placed.place}"
        return
    if placed is not None:
        since = f", expired on {placed.entry.expires}" if item.kind is GateReason.EXPIRED else ""
        yield "listed", f"{placed.entry.verdict.value}: {placed.entry.cause} ({placed.place}{since})"
    yield "seen", f"{one.verdict.value}: {plain(one.cause)}"
    yield from ((word, plain(text)) for word, text in (places_rows(item.fault) if item.fault else ()) if text)
    if one.evidence:
        yield "evidence", str(out / one.evidence)
    if one.repeat:
        yield "repeat", one.repeat


def _value(one: Judgement) -> str:
    return check_label("", one.key.parameters)


def _remarks(report: GateReport) -> Iterator[str]:
    """Yield remarks that do not make the gate red."""
    held = report.held
    if report.shares.more:
        yield f"More can be judged with {report.shares.more_sentence}"
    for revision, asked in report.revisions.items():
        red = sum(item.first.key.requirement in asked for item in held.items)
        yield f"Revision {revision}: {f'{red} red' if red else 'green'}"
    for block in held.beyond[:MOST]:
        yield f"Not required yet: {block.first.key.requirement} ({block.first.verdict.value}: {plain(block.first.cause)})"
    if len(held.beyond) > MOST:
        yield f"Not required yet: {len(held.beyond) - MOST} more"
    if report.met_busy_machine:
        yield report.met_busy_machine
    if report.why:
        yield f"The run ended early: {plain(report.why)}"
    if held.embargoed:
        yield f"{held.embargoed} embargoed: kept in your data folder, only counted here"
    for idle in held.idle[:MOST]:
        yield f"Met nothing: {idle.placed.place} ({idle.placed.entry.name}): {plain(idle.why)}"
    if len(held.idle) > MOST:
        yield f"Met nothing: {len(held.idle) - MOST} more entries"
    if held.due:
        yield f"Reasons due: {_places(held.due)}"
    warned = held.counts[Verdict.WARN]
    if warned and not any(item.first.verdict is Verdict.WARN for item in held.items):
        yield f"{warned} warnings about recommendations (--strict makes them red)"


def _places(placed: Iterable[PlacedEntry]) -> str:
    every = list(placed)
    lines = ", ".join(str(one.lines.first if one.lines else one.number) for one in every[:12])
    return f"{len(every)}, in {every[0].file}, line {lines}{', ..' if len(every) > 12 else ''}"


def as_markdown(report: GateReport) -> str:
    """Return the full report as Markdown."""
    sign = {Exit.CONFORMING: "✅", Exit.NOT_CONFORMING: "❌"}.get(report.code, "⚠️")
    rows = [f"### {sign} {_cell(report.title)}", "", f"**{_cell(report.verdict)}**", "", _cell(report.counted), ""]
    rows += [f"Judged: {_cell(report.shares.sentence)}", ""]
    if report.held.items:
        rows += ["| | requirement | check | what | repeat or fix |", "|---|---|---|---|---|"]
        rows += [_row(item, report.out) for item in report.held.told]
        rows += ["", "To accept all of it:", "", f"    {report.update}", ""]
    if remarks := list(_remarks(report)):
        rows += [*(f"- {_cell(text)}" for text in remarks), ""]
    return "\n".join(rows)


def _row(item: GateItem, out: Path) -> str:
    one, facts = item.first, dict(_facts(item, out))
    what = f"listed {facts['listed']}; seen {facts['seen']}" if "listed" in facts else facts["seen"]
    what += "".join(f"; {word} {facts[word]}" for word in PLACES if word in facts)
    action = _cell(facts["fix"]) if "fix" in facts else _code(facts["repeat"]) if "repeat" in facts else ""
    role = f"{_cell(item.requirement)} ({one.level}, {one.key.role})"
    return f"| {item.kind.value} | {role} | {_cell(facts.get('check', ''))} | {_cell(what)} | {action} |"


def _cell(text: str) -> str:
    """Escape text that a target may have chosen: no markup, no link, no second cell."""
    text = plain(text).replace("\n", " ").replace("\t", " ").replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#@" else char for char in text)


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{plain(text).replace('|', '&#124;') if '|' in text else plain(text)}{fence}"


def as_json(report: GateReport) -> dict[str, Any]:
    """Return the report as JSON data."""
    return {
        "title": report.title,
        "exit": int(report.code),
        "verdict": report.verdict,
        "shares": report.shares.as_json(),
        "counts": {
            verdict.value: number
            for verdict, number in sorted(report.held.counts.items(), key=lambda row: row[0].value)
        },
        "findings": [finding_json(fault) for fault in report.held.findings],
        "items": [_item_json(item) for item in report.held.items],
        "idle": [
            {"entry": one.placed.place, "name": one.placed.entry.name, "why": one.why} for one in report.held.idle
        ],
        "reasons_due": [one.place for one in report.held.due],
        "embargoed": report.held.embargoed,
        "met_busy_machine": report.late,
        "share_judged": report.share,
        "not_required": sorted({block.first.key.requirement for block in report.held.beyond}),
        "revisions": {
            name: sum(item.first.key.requirement in asked for item in report.held.items)
            for name, asked in report.revisions.items()
        },
        "results": str(report.out),
        "update": report.update,
    }


def _item_json(item: GateItem) -> dict[str, Any]:
    one, placed = item.first, item.placed
    line_range = placed.lines if placed else None
    return {
        "kind": item.kind.value,
        "requirement": one.key.requirement,
        "check": one.key.check,
        "role": one.key.role,
        "profile": one.key.profile,
        "level": one.level,
        "values": item.block.values,
        "count": item.block.count,
        "verdict": one.verdict.value if item.kind is not GateReason.FIXED else "pass",
        "cause": one.cause,
        "expected": {"verdict": placed.entry.verdict.value, "cause": placed.entry.cause} if placed else None,
        "file": str(placed.file) if placed else None,
        "lines": [line_range.first, line_range.last] if line_range else None,
        "evidence": one.evidence,
        "repeat": one.repeat,
    }
