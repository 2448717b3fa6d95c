"""Results files as rows: header, plan, judgements, footer, and what could not be read; each file read once, in bounded memory.

A run is named by its header, which says the day, too; one that has no name yet by its content and its day. So reading a file again, or
a copy of it, makes the same rows. What is under embargo is no row; it is counted at the footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.judging.verdict import Judgement, Key
from zenoh_harness.files.results import Footer, Header, Plan, record_of

from .lines import Fault, Here, cell, objects, row_of
from .versions import version_order

DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})")
HEAD: Final = 1 << 16
"""Bytes of a file that name its run, where the header does not name it."""


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


def rows(path: str) -> Iterator[ResultRow]:
    """The rows of a results file; a fault where a line cannot be used, and the rest goes on. Never raises for what it reads."""
    known: Here | None = None
    secret, number_ = 0, -1
    unknown: Here = {"file": path, "run": _named(path), "day": day_of(path)}
    for number_, found in objects(path):
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
    if number_ < 0:
        yield ResultRow(**unknown, fault="is empty: the run ended before its header")


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


def day_of(path: str) -> str:
    """The day that a path names (its last one), else that of the file's time; `unknown` for a file that is not there."""
    named = DAY.findall(path)
    if named:
        return str(named[-1])
    try:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return "unknown"


def _named(path: str) -> str:
    """A name for the run, of the file's beginning and its day: a copy has the same, another night another."""
    digest = blake2b(day_of(path).encode(), digest_size=8)
    try:
        with Path(path).open("rb") as source:
            digest.update(source.read(HEAD))
    except OSError:
        digest.update(path.encode())
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
