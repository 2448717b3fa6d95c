"""Results files as rows: header, plan, judgements, footer, and what could not be read; each file read once, in bounded memory.

A run is named by its content: reading a file again, or a copy of it, makes the same rows. What is under embargo is no row;
it is counted at the footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from zenoh_conformance.verdict import SEVERITY
from zenoh_harness.files.results import FORMAT

from .lines import Fault, fields, number, objects, text, texts

DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})")
HEAD: Final = 1 << 16
"""Bytes of a file that name its run, where the header does not name it."""
RANKS: Final = {verdict.value: rank for verdict, rank in SEVERITY.items()}


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
    kind: str = ""
    """Of target: wheel, docker, exec, ..."""
    digest: str = ""

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


def rows(path: str) -> Iterator[ResultRow]:
    """The rows of a results file; a fault where a line cannot be used, and the rest goes on. Never raises for what it reads."""
    known: ResultRow | None = None
    secret = 0
    number_ = 0
    for number_, found in objects(path):
        blank = replace(known or ResultRow(file=path, run=_named(path), day=day_of(path)), line=number_)
        if isinstance(found, Fault):
            yield replace(blank, fault=found.why)
            continue
        if found.get("type") == "judgement" and found.get("embargo") is not False:
            secret += 1
            continue
        try:
            row = _row(blank, found, secret)
        except ValueError as why:
            row = replace(blank, fault=str(why))
        if row.type == "header" and known is None:
            known = replace(
                blank, run=row.run, day=row.day, target=row.target, version=row.version, kind=row.kind,
                digest=row.digest,
            )  # fmt: skip
        elif known is None:
            yield replace(blank, fault=row.fault or f"expected the header, found {row.type!r}; the file is left out")
            return
        yield row
    if not number_:
        yield ResultRow(
            file=path, run=_named(path), day=day_of(path), fault="is empty: the run ended before its header"
        )


def _row(blank: ResultRow, found: Mapping[str, Any], secret: int) -> ResultRow:
    kind = found.get("type")
    if kind == "judgement":
        return _judgement(blank, found)
    if kind == "header":
        return _header(blank, found)
    if kind == "plan":
        return replace(blank, type="plan", names=texts(found, "checks"))
    if kind == "footer":
        return replace(
            blank, type="footer", judged=number(found, "judged"), exit=number(found, "exit"), names=texts(found, "pending"),
            embargoed=max(number(found, "embargoed", 0), secret), why=text(found, "why", ""),
        )  # fmt: skip
    raise ValueError(f"unknown type of line {kind!r:.40}")


def _header(blank: ResultRow, found: Mapping[str, Any]) -> ResultRow:
    if found.get("format") != FORMAT:
        raise ValueError(f"has format {found.get('format')!r:.20}; this version reads {FORMAT}")
    target = fields(found, "target")
    date = DAY.match(text(found, "date", ""))
    return replace(
        blank, type="header", run=text(found, "run", "") or blank.run, day=date[1] if date else blank.day,
        target=text(target, "name"), version=text(target, "version"), kind=text(target, "kind"),
        digest=text(target, "digest", ""), role=text(target, "role"), reach=text(target, "reach"), spec=text(found, "spec", ""),
        harness=text(found, "harness", ""), seed=number(found, "seed", 0), command=text(found, "command", ""),
        names=texts(found, "profiles"),
    )  # fmt: skip


def _judgement(blank: ResultRow, found: Mapping[str, Any]) -> ResultRow:
    verdict = text(found, "verdict")
    if verdict not in RANKS:
        raise ValueError(f"field 'verdict' is none of ours: {verdict!r:.40}")
    return replace(
        blank, type="judgement", target=text(found, "target"), version=text(found, "version"), role=text(found, "role"),
        profile=text(found, "profile"), link=text(found, "link"), requirement=text(found, "requirement"),
        level=text(found, "level"), check=text(found, "check"), parameters=_parameters(found), verdict=verdict,
        severity=RANKS[verdict], reading=_maybe(found, "reading"), cause=text(found, "cause", ""), end=text(found, "end", ""),
        attempts=number(found, "attempts", 1), evidence=_maybe(found, "evidence"), repeat=text(found, "repeat", ""),
    )  # fmt: skip


def _maybe(row: Mapping[str, Any], name: str) -> str:
    return "" if row.get(name) is None else text(row, name)


def _parameters(found: Mapping[str, Any]) -> str:
    given = fields(found, "parameters")
    return ",".join(f"{name}={text(given, name)}" for name in sorted(given)) if given else ""


def day_of(path: str) -> str:
    """The day that a path names (its last one), else that of the file's time; empty for a file that is not there."""
    named = DAY.findall(path)
    if named:
        return str(named[-1])
    try:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return ""


def _named(path: str) -> str:
    """A name for the run, of the file's beginning and its day: a copy has the same, another night another."""
    digest = blake2b(day_of(path).encode(), digest_size=8)
    try:
        with Path(path).open("rb") as source:
            digest.update(source.read(HEAD))
    except OSError:
        digest.update(path.encode())
    return digest.hexdigest()


def as_dict(row: ResultRow) -> dict[str, Any]:
    """The row as the tables hold it."""
    return asdict(row)


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A line, or from there on the rest of a file, that was left out."""

    run: str
    day: str
    file: str
    line: int
    """0: the file itself."""
    fault: str
