"""What a gate says: one screen for a person, the same as Markdown for a build's page, the same as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.verdict import Exit, Judgement, Verdict
from zenoh_harness.console import plain
from zenoh_harness.files.results import check_label
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.gate.judging import Held, Item, Kind

MOST: Final = 8
"""Blocks on the screen; the others are in the summary file, in JUnit and in the results."""
_WIDTH: Final = 8
_SILENT: Final = (Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.UNIMPLEMENTED)
_ENDS: Final = {
    Exit.CONFORMING: "green: everything is as required or as listed",
    Exit.NOT_CONFORMING: "red",
    Exit.CANNOT_GO_ON: "the run could not go on to its end",
    Exit.NOTHING_JUDGED: "nothing was judged",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Everything that is told of one gate."""

    title: str
    """`zenoh-rust 1.10.2 as responder and initiator`."""
    held: Held
    code: Exit
    out: Path
    update: str
    """The command that takes all of it into the list."""
    why: str = ""
    """Why the run ended early."""
    revisions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The revisions that it is held to, and what each requires."""

    @property
    def counted(self) -> str:
        """`241 judged: 230 as required, 3 as listed, 8 otherwise; 20 could not be judged`."""
        counts = self.held.counts
        silent = sum(counts[verdict] for verdict in _SILENT)
        right, listed = counts[Verdict.PASS] + counts[Verdict.SLOW], counts[Verdict.KNOWN]
        judged, warned = counts.total() - silent, counts[Verdict.WARN]
        parts = {
            "as required": right,
            "as listed": listed,
            "warnings": warned,
            "otherwise": judged - right - listed - warned,
        }
        told = [f"{number} {word}" for word, number in parts.items() if number or word == "as required"]
        rest = f"; {silent} do not apply or met nothing" if silent else ""
        return f"{judged} judged: {', '.join(told)}{rest}"

    @property
    def verdict(self) -> str:
        """`red: 2 new, 1 fixed`."""
        kinds = [f"{number} {kind.value}" for kind in Kind if (number := self._number(kind))]
        kinds += [f"{self.held.embargoed} embargoed"] if self.held.embargoed else []
        text = _ENDS[self.code]
        return f"{text}: {', '.join(kinds)}" if kinds else text

    def _number(self, kind: Kind) -> int:
        return sum(item.kind is kind for item in self.held.items)


def lines(told: Told, most: int = MOST) -> Iterator[str]:
    """The screen, line by line."""
    yield f"{told.title}: {told.counted}"
    for item in told.held.items[:most]:
        yield ""
        yield from _block(item, told.out)
    if len(told.held.items) > most:
        yield ""
        yield f"and {len(told.held.items) - most} more: --summary FILE tells all of them"
    remarks = list(_remarks(told))
    yield from ("", *remarks) if remarks else ()
    yield ""
    yield f"Results in {told.out}"
    if any(item.kind not in (Kind.ERROR, Kind.EXPIRED) for item in told.held.items):
        yield f"To accept all of it: {told.update}"
    yield f"Exit {int(told.code)}: {told.verdict}"


def _block(item: Item, out: Path) -> Iterator[str]:
    one = item.first
    name = one.key.requirement or one.key.check
    where = "" if one.key.profile == "default" else f", profile {one.key.profile}"
    yield f"{item.kind.value.upper():<{_WIDTH}} {name}  ({one.level}, {one.key.role}{where})"
    if item.kind is Kind.FIXED and item.placed is not None:
        yield f"  {'delete':<{_WIDTH}} {item.placed.place} ({item.placed.entry.name}): it is as required now"
        return
    for word, text in _facts(item, out):
        yield f"  {word:<{_WIDTH}} {text}"


def _facts(item: Item, out: Path) -> Iterator[tuple[str, str]]:
    """What is told of an item, as (word, text)."""
    one, placed = item.first, item.placed
    if item.kind is not Kind.LOST and one.key.check != one.key.requirement:
        yield "check", one.key.check + (f", {item.block.count} of its values" if item.block.count > 1 else _value(one))
    if item.kind is Kind.FIXED and placed is not None:
        yield "listed", f"{placed.entry.verdict.value}: {placed.entry.cause}"
        yield "seen", "it is as required now"
        yield "mend", f"delete {placed.place}"
        return
    if placed is not None:
        since = f", expired on {placed.entry.expires}" if item.kind is Kind.EXPIRED else ""
        yield "listed", f"{placed.entry.verdict.value}: {placed.entry.cause} ({placed.place}{since})"
    yield "seen", f"{one.verdict.value}: {plain(one.cause)}"
    if one.evidence:
        yield "evidence", str(out / one.evidence)
    if one.repeat:
        yield "repeat", one.repeat


def _value(one: Judgement) -> str:
    return check_label("", one.key.parameters)


def _remarks(told: Told) -> Iterator[str]:
    """What does not make it red."""
    held = told.held
    for revision, asked in told.revisions.items():
        red = sum(item.first.key.requirement in asked for item in held.items)
        yield f"Revision {revision}: {f'{red} red' if red else 'green'}"
    for block in held.beyond[:MOST]:
        yield f"Not required yet: {block.first.key.requirement} ({block.first.verdict.value}: {plain(block.first.cause)})"
    if len(held.beyond) > MOST:
        yield f"Not required yet: {len(held.beyond) - MOST} more"
    if told.why:
        yield f"The run ended early: {plain(told.why)}"
    if held.embargoed:
        yield f"{held.embargoed} embargoed: kept in your data folder, counted here and told nowhere"
    for idle in held.idle[:MOST]:
        yield f"Met nothing: {idle.placed.place} ({idle.placed.entry.name}): {plain(idle.why)}"
    if len(held.idle) > MOST:
        yield f"Met nothing: {len(held.idle) - MOST} more entries"
    if held.due:
        yield f"Reasons due: {_places(held.due)}"
    warned = held.counts[Verdict.WARN]
    if warned and not any(item.first.verdict is Verdict.WARN for item in held.items):
        yield f"{warned} warnings of what is recommended only (--strict makes them red)"


def _places(placed: Iterable[PlacedEntry]) -> str:
    every = list(placed)
    text = ", ".join(str(one.lines.first if one.lines else one.number) for one in every[:12])
    return f"{len(every)}, in {every[0].file}, line {text}{', ..' if len(every) > 12 else ''}"


def markdown(told: Told) -> str:
    """The whole of it as Markdown, as a build's page shows it."""
    sign = {Exit.CONFORMING: "✅", Exit.NOT_CONFORMING: "❌"}.get(told.code, "⚠️")
    rows = [f"### {sign} {_cell(told.title)}", "", f"**{_cell(told.verdict)}**", "", _cell(told.counted), ""]
    if told.held.items:
        rows += ["| | requirement | check | what | repeat or mend |", "|---|---|---|---|---|"]
        rows += [_row(item, told.out) for item in told.held.items]
        rows += ["", "To accept all of it:", "", f"    {told.update}", ""]
    if remarks := list(_remarks(told)):
        rows += [*(f"- {_cell(text)}" for text in remarks), ""]
    return "\n".join(rows)


def _row(item: Item, out: Path) -> str:
    one, facts = item.first, dict(_facts(item, out))
    what = f"listed {facts['listed']}; seen {facts['seen']}" if "listed" in facts else facts["seen"]
    mend = _cell(facts["mend"]) if "mend" in facts else _code(facts["repeat"]) if "repeat" in facts else ""
    role = f"{_cell(one.key.requirement)} ({one.level}, {one.key.role})"
    return f"| {item.kind.value} | {role} | {_cell(facts.get('check', ''))} | {_cell(what)} | {mend} |"


def _cell(text: str) -> str:
    """Text that a target may have chosen, as text and nothing else: no markup, no link, no second cell."""
    text = plain(text).replace("\n", " ").replace("\t", " ").replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#@" else char for char in text)


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{plain(text).replace('|', '&#124;') if '|' in text else plain(text)}{fence}"


def as_json(told: Told) -> dict[str, Any]:
    """The same for programs."""
    return {
        "title": told.title,
        "exit": int(told.code),
        "verdict": told.verdict,
        "counts": {
            verdict.value: number for verdict, number in sorted(told.held.counts.items(), key=lambda row: row[0].value)
        },
        "items": [_item_json(item) for item in told.held.items],
        "idle": [{"entry": one.placed.place, "name": one.placed.entry.name, "why": one.why} for one in told.held.idle],
        "reasons_due": [one.place for one in told.held.due],
        "embargoed": told.held.embargoed,
        "not_required": sorted({block.first.key.requirement for block in told.held.beyond}),
        "revisions": {
            name: sum(item.first.key.requirement in asked for item in told.held.items)
            for name, asked in told.revisions.items()
        },
        "results": str(told.out),
        "update": told.update,
    }


def _item_json(item: Item) -> dict[str, Any]:
    one, placed = item.first, item.placed
    lines_of = placed.lines if placed else None
    return {
        "kind": item.kind.value, "requirement": one.key.requirement, "check": one.key.check, "role": one.key.role,
        "profile": one.key.profile, "level": one.level, "values": item.block.values, "count": item.block.count,
        "verdict": one.verdict.value if item.kind is not Kind.FIXED else "pass", "cause": one.cause,
        "expected": {"verdict": placed.entry.verdict.value, "cause": placed.entry.cause} if placed else None,
        "file": str(placed.file) if placed else None,
        "lines": [lines_of.first, lines_of.last] if lines_of else None,
        "evidence": one.evidence, "repeat": one.repeat,
    }  # fmt: skip
