"""Results files as rows: header, plan, judgements, footer, and what could not be read; each file read once, in bounded memory.

A run is named by its header, which says the day, too; one that has no name yet by its content and its day. So reading a file again, or
a copy of it, makes the same rows. What is under embargo is no row; it is counted at the footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Key
from zenoh_harness.files.results import Footer, Header, Plan, record_of

from .lines import LONGEST, Fault, Found, Here, cell, objects, row_of
from .versions import version_order

DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})")
HEAD: Final = 1 << 16
"""Bytes of a file that name its run, where the header does not name it."""
_HEADER: Final = b'{"type":"header"'
_JUDGEMENT: Final = b'"judgement"'
_OPEN: Final = b'"embargo":false'
"""How a judgement's line says that it is under no embargo, as `zenoh_harness.files.results` writes it."""


@dataclass(slots=True)
class ResultRow:
    """One line of a results file. The first block stands on every row of the run."""

    run: str = ""
    day: str = ""
    """UTC, `2026-01-31`: from the header, else from the path, else from the file's time."""
    file: str = ""
    line: int = 0
    type: str = "fault"
    """`header`, `plan`, `judgement`, `footer`, `fault`."""
    target: str = ""
    version: str = ""
    version_order: str = ""
    """As text it sorts as versions do."""
    kind: str = ""
    """Of target: wheel, docker, exec, ..."""
    digest: str = ""
    date: str = ""
    """When the run began, as the header says it: `2026-01-31T12:00:00Z`."""

    role: str = ""
    profile: str = ""
    link: str = ""
    requirement: str = ""
    level: str = ""
    check: str = ""
    parameters: str = ""
    """`bit=3,size=10`, by name."""
    verdict: str = ""
    severity: int = 0
    reading: str = ""
    cause: str = ""
    end: str = ""
    attempts: int = 0
    evidence: str = ""
    repeat: str = ""

    reach: str = ""
    spec: str = ""
    harness: str = ""
    seed: int = 0
    command: str = ""
    names: list[str] = field(default_factory=list)
    """The header's profiles, the plan's checks, the footer's pending ones."""
    judged: int = 0
    exit: int = 0
    embargoed: int = 0
    why: str = ""
    fault: str = ""
    """Why this line is no row of its kind."""


SHARED: Final = ("run", "day", "file", "target", "version", "version_order", "kind", "digest", "date")
"""What stands on every row of a run, as its header says it."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    """A part of a results file, from one line to another."""

    path: str
    begin: int = 0
    end: int = -1
    """Bytes; -1: to the end of the file."""
    lines: int = 0
    """Lines before it."""


def rows(path: str, known_as: str = "") -> Iterator[ResultRow]:
    """The rows of a results file; a fault where a line cannot be used, and the rest goes on. Never raises for what it reads.

    `known_as`: the name of the file, if it is read from a copy of it.
    """
    name = known_as or path
    unknown: Here = {"file": name, "run": _named(path, name), "day": day_of(name, path)}
    yield from _rows(objects(path), unknown, None)


def span_rows(span: LineSpan) -> Iterator[ResultRow]:
    """The rows of a part of a results file: what `rows` yields for its lines."""
    if not span.begin:
        found = rows(span.path) if span.end < 0 else _rows(objects(span.path, 0, span.end), _unknown(span.path), None)
        yield from found
        return
    head = next(rows(span.path), None)
    if head is not None and head.type == "header":
        known: Here = {name: getattr(head, name) for name in SHARED}
        later = ((span.lines + number, found) for number, found in objects(span.path, span.begin, span.end))
        yield from _rows(later, _unknown(span.path), known)


def _unknown(path: str) -> Here:
    return {"file": path, "run": _named(path, path), "day": day_of(path)}


def _rows(lines: Iterable[Found], unknown: Here, known: Here | None) -> Iterator[ResultRow]:
    secret, number_ = 0, -1
    for number_, found in lines:
        if isinstance(found, Mapping) and found.get("type") == "judgement" and found.get("embargo") is not False:
            secret += 1
            continue
        row = row_of(ResultRow, {**(known or unknown), "line": number_}, found, partial(_row, secret=secret))
        if row.type == "header" and known is None:
            known = {name: getattr(row, name) for name in SHARED}
        elif known is None and not isinstance(found, Fault):
            yield ResultRow(
                **unknown,
                line=number_,
                fault=row.fault or f"expected the header, found {row.type!r}; the file is left out",
            )
            return
        yield row
    if number_ < 0 and known is None:
        yield ResultRow(**unknown, fault="is empty: the run ended before its header")


def line_spans(path: str, size: int) -> list[LineSpan]:
    """A large file as parts of about `size` bytes; one part if lines cannot be told apart without reading them all.

    That is so for a compressed file, for one with a line that `objects` gives up at, and for one with judgements under
    embargo, since the footer counts those of the whole file.
    """
    try:
        whole = Path(path).stat().st_size
        return _line_spans(path, size) if whole > size else [LineSpan(path)]
    except OSError:
        return [LineSpan(path)]


def _line_spans(path: str, size: int) -> list[LineSpan]:
    spans, begin, lines = [], 0, 0
    step = min(size, LONGEST // 2)
    with Path(path).open("rb") as source:
        if source.read(len(_HEADER)) != _HEADER:
            return [LineSpan(path)]
        source.seek(0)
        at, counted = 0, 0
        while block := source.read(step):
            rest = source.readline(LONGEST)
            block += rest
            if len(rest) >= LONGEST // 2 or block.count(_JUDGEMENT) != block.count(_OPEN):
                return [LineSpan(path)]
            at, counted = at + len(block), counted + block.count(b"\n")
            if at - begin >= size:
                spans.append(LineSpan(path, begin, at, lines))
                begin, lines = at, counted
    return [*spans, LineSpan(path, begin, -1, lines)]


def _row(here: Here, found: Mapping[str, Any], *, secret: int) -> ResultRow:
    match record_of(found):
        case Judgement() as judgement:
            about = {**here, **_columns(judgement.key), **_columns(judgement), "type": "judgement"}
            about["version_order"] = version_order(about["version"])
            return ResultRow(**about, severity=judgement.verdict.severity)
        case Header() as header:
            return _header(here, header)
        case Plan() as plan:
            return ResultRow(**here, type="plan", names=cell("checks", plan.checks))
        case Footer() as footer:
            row = ResultRow(**here, **_columns(footer), type="footer", names=cell("pending", footer.pending))
            row.embargoed = max(row.embargoed, secret)
            return row


def _header(here: Here, header: Header) -> ResultRow:
    day = DAY.match(header.date)
    about = _columns(header) | {
        "target": cell("name", header.name),
        "version_order": version_order(header.version),
        "names": cell("profiles", header.profiles),
        "run": (header.run if day else "") or here["run"],
        "day": day[1] if day else here["day"],
    }
    return ResultRow(**{**here, **about}, type="header")


def _columns(record: Key | Judgement | Header | Footer) -> dict[str, Any]:
    """The fields of a record that are columns, as columns hold them."""
    names, values = _COLUMNS[type(record)]
    cells = zip(names, values(record), strict=True)
    return {name: value if type(value) is str and value.isascii() else cell(name, value) for name, value in cells}


_COLUMNS: Final = {
    record: (names, attrgetter(*names))
    for record in (Key, Judgement, Header, Footer)
    for names in [[field.name for field in fields(record) if field.name in ResultRow.__slots__]]
}
"""Of each record of a results file the fields that are columns of a row, and what reads them."""


def day_of(name: str, path: str = "") -> str:
    """The day that a name names (its last one), else that of the time of the file; `unknown` for a file that is not there."""
    named = DAY.findall(name)
    if named:
        return str(named[-1])
    try:
        return datetime.fromtimestamp(Path(path or name).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return "unknown"


def _named(path: str, name: str) -> str:
    """A name for the run, of the file's beginning and its day: a copy has the same, another night another."""
    digest = blake2b(day_of(name, path).encode(), digest_size=8)
    try:
        with Path(path).open("rb") as source:
            digest.update(source.read(HEAD))
    except OSError:
        digest.update(name.encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A line, or from there on the rest of a file, that was left out."""

    run: str
    day: str
    file: str
    line: int
    """0: the file itself."""
    fault: str
