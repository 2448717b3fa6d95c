"""The results of a run, `results.jsonl`: a header, the plan, one judgement a line, a footer; each line is flushed at once.

A file without a footer is of an incomplete run: the planned checks without a judgement are pending. A last line that was
cut off, because the run was killed while it wrote, is ignored. `schemas/results.schema.json` describes the lines.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from zenoh_conformance.judging.verdict import Exit, Judgement, Key
from zenoh_harness.files import records
from zenoh_harness.files.faults import FileFault, Row, regular, unreadable
from zenoh_harness.files.labels import check_label as check_label
from zenoh_harness.files.labels import label as label
from zenoh_harness.files.records import RecordFault

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The target of a run, and the versions and options of the harness."""

    reach: str
    """The target string that the run was given."""
    name: str
    version: str
    role: str
    """The judged role: responder, initiator, codec, or several joined by `+`."""
    kind: str
    """The reach kind: wheel, exec, tcp, ..."""
    digest: str = ""
    """The digest of the container image of the target; empty for other targets."""
    spec: str = "1.0.0"
    harness: str = "0.1.0"
    seed: int = 0
    date: str = ""
    """When the run began, UTC: `2026-01-31T12:00:00Z`. Empty in results of versions without this field."""
    run: str = ""
    """The unique run id (`run_ids`). Empty in results of versions without this field."""
    command: str = ""
    """The command line that repeats the run."""
    profiles: tuple[str, ...] = ()
    shards: tuple[str, ...] = ()
    """The parts of a run that the file holds, as `2/3`; empty for a whole run, and in results of versions without this field."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The facts that a probe observed; empty without a probe."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The checks that the run is to judge, as `role profile check[parameters]`."""

    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """How the run ended."""

    judged: int
    verdicts: Mapping[str, int]
    exit: int
    pending: tuple[str, ...] = ()
    """The planned checks that were not judged, because the run was interrupted or could not continue; `shard 2/3` stands for
    all checks of a shard whose results were not merged."""
    embargoed: int = 0
    """Number of judgements under embargo, which the file does not contain."""
    why: str = ""
    """The reason why the run ended early; empty if it did not."""


@dataclass(slots=True)
class Results:
    """The content of a results file."""

    header: Header
    planned: tuple[str, ...] = ()
    judgements: list[Judgement] = field(default_factory=list)
    footer: Footer | None = None

    @property
    def complete(self) -> bool:
        """Whether the run judged all planned checks and wrote its footer."""
        return self.footer is not None and not self.footer.pending

    @property
    def pending(self) -> tuple[str, ...]:
        """The planned checks without a judgement: the footer's list or, in a run that was killed, computed."""
        if self.footer is not None:
            return self.footer.pending
        judged = {label(judgement.key) for judgement in self.judgements}
        return tuple(planned for planned in self.planned if planned not in judged)


def now() -> str:
    """Return the current time for a header, in UTC to the second; SOURCE_DATE_EPOCH replaces it in reproducible runs."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    time = datetime.fromtimestamp(int(told), UTC) if told.isdigit() else datetime.now(UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- rows


def line(row: Row) -> str:
    """Return the line of an object."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def header_row(header: Header) -> Row:
    """Return the object of the header's line."""
    row = {name: value for name, value in records.row_of(header).items() if value or name not in _ADDED}
    target = {name: row.pop(name) for name in _TARGET if name in row}
    return {"type": "header", "format": FORMAT, "target": target, **row}


def judgement_row(judgement: Judgement) -> Row:
    """Return the object of a judgement's line."""
    row = records.row_of(judgement)
    key = row.pop("key")
    return {"type": "judgement", **key, "parameters": dict(key["parameters"]), **row}


def plan_row(checks: Iterable[str]) -> Row:
    """Return the object of the plan's line."""
    return {"type": "plan", "checks": list(checks)}


def footer_row(footer: Footer) -> Row:
    """Return the object of the footer's line."""
    return {"type": "footer", **records.row_of(footer)}


def schema() -> Row:
    """Return the JSON schema of a line, for `schemas/results.schema.json`."""
    header = records.schema_of(
        Header, constants={"type": "header", "format": FORMAT}, limits=_LIMITS, optional=_OPTIONAL
    )
    target = {name: header["properties"].pop(name) for name in _TARGET}
    header["properties"]["target"] = {
        "type": "object",
        "required": [name for name in _TARGET if name not in _OPTIONAL],
        "additionalProperties": False,
        "properties": target,
    }
    header["required"] = [name for name in header["properties"] if name not in _OPTIONAL]
    judgement = records.schema_of(Key, Judgement, constants={"type": "judgement"}, limits=_LIMITS, optional=_OPTIONAL)
    del judgement["properties"]["key"]
    judgement["required"].remove("key")
    judgement["properties"]["parameters"] = {"type": "object", "additionalProperties": {"type": "string"}}
    judgement["properties"]["role"] = {"enum": ["responder", "initiator", "codec"]}
    plan = records.schema_of(Plan, constants={"type": "plan"})
    footer = records.schema_of(Footer, constants={"type": "footer"}, limits=_LIMITS, optional=_OPTIONAL)
    return records.with_title("A line of results.jsonl", {"oneOf": [header, plan, judgement, footer]})


_TARGET: Final = ("reach", "name", "version", "role", "kind", "digest")
"""Fields of `Header` that its line has in the object `target`."""
_ADDED: Final = ("digest", "date", "run", "shards")
"""Fields of the header that its line omits if they are empty."""
_OPTIONAL: Final = (*_ADDED, "facts", "details", "embargoed", "why")
_LIMITS: Final[Mapping[str, Row]] = {
    "date": {
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        "description": "When the run began, UTC.",
    },
    "run": {
        "pattern": "^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}$",
        "description": "What the run is called; two runs have two names.",
    },
    "requirement": {"pattern": "^[a-z0-9-]+/[a-z0-9-]+$"},
    "level": {"enum": ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "LAYOUT"]},
    "check": {"pattern": "^[a-z0-9-]+/[A-Za-z0-9/._-]+$"},
    "attempts": {"minimum": 0},
    "judged": {"minimum": 0},
    "exit": {"minimum": 0, "maximum": 4},
    "embargoed": {"minimum": 0},
}
"""Restrictions of the schema beyond types. The reader accepts other values, since a later version may write them."""


class ResultsWriter:
    """Writes one results file and counts its verdicts. Judgements under embargo are counted and not written."""

    def __init__(self, path: Path, header: Header, planned: Iterable[str] = (), kept: Iterable[Judgement] = ()) -> None:
        """`kept`: judgements of the same run before it was resumed; until they are written, the file stays as it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.verdicts: Counter[str] = Counter()
        self.embargoed = 0
        self._header = header
        self._planned = tuple(planned)
        self._judged: set[str] = set()
        self._secret: set[str] = set()
        fresh = path.with_suffix(".new")
        self._out: IO[str] = fresh.open("w", encoding="utf-8")
        self._write(header_row(header))
        self._write(plan_row(self._planned))
        for judgement in kept:
            self.judgement(judgement)
        fresh.replace(path)

    def judgement(self, judgement: Judgement) -> None:
        """Write one judgement and flush it to the operating system."""
        if judgement.embargo:
            self.embargoed += 1
            self._secret.add(label(judgement.key))
            self._forget()
        else:
            self._write(judgement_row(judgement))
            self.verdicts[judgement.verdict.value] += 1
        self._judged.add(label(judgement.key))

    def withhold(self, count: int) -> None:
        """Add the number of judgements under embargo that are not passed to `judgement`."""
        self.embargoed += count

    @property
    def pending(self) -> tuple[str, ...]:
        """The planned checks that are not judged so far."""
        return tuple(planned for planned in self._planned if planned not in self._judged)

    def footer(self, code: Exit, why: str = "", missing: Sequence[str] = ()) -> Footer:
        """Write the footer and close the file; return the footer. `missing`: what is pending besides the planned checks."""
        written = dict(sorted(self.verdicts.items()))
        footer = Footer(
            judged=sum(written.values()),
            verdicts=written,
            exit=int(code),
            pending=(*self.pending, *missing),
            embargoed=self.embargoed,
            why=why,
        )
        self._write(footer_row(footer))
        self.close()
        return footer

    def _forget(self) -> None:
        """Remove the checks under embargo from the plan, and the command line from the header.

        A planned check without a judgement would reveal which check is under embargo. The file is rewritten at once,
        since the run may be killed before its footer.
        """
        header = {**header_row(self._header), "command": ""}
        plan = plan_row(planned for planned in self._planned if planned not in self._secret)
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join([line(header), line(plan), *lines[2:]]), encoding="utf-8")
        fresh.replace(self.path)
        self._out.close()
        self._out = self.path.open("a", encoding="utf-8")

    def _write(self, row: Row) -> None:
        self._out.write(line(row))
        self._out.flush()

    def close(self) -> None:
        """Close the file and flush it to the disk; without a footer it is of an incomplete run."""
        if not self._out.closed:
            os.fsync(self._out.fileno())
            self._out.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# --- reading


def read(path: Path) -> Results:
    """Read a results file, or `results.jsonl` of a folder, complete or not. Raises FileFault with the line."""
    path = path / "results.jsonl" if path.is_dir() else path
    results: Results | None = None
    for number, row in _rows(path):
        if results is None and row.get("type") != "header":
            why = f"expected the header, found {row.get('type')!r:.40}"
            raise FileFault(path, number, why, hint='results begin with {"type":"header",...}')
        record = _record_at(path, number, row)
        if results is None:
            assert isinstance(record, Header)
            results = Results(record)
        elif results.footer is not None:
            raise FileFault(path, number, "something follows the footer", hint="two runs wrote into one file")
        elif isinstance(record, Judgement):
            results.judgements.append(record)
        elif isinstance(record, Plan):
            results.planned = record.checks
        elif isinstance(record, Footer):
            results.footer = record
        else:
            raise FileFault(path, number, "a second header follows", hint="two runs wrote into one file")
    if results is None:
        raise FileFault(path, None, "is empty: the run ended before it knew its target", hint=WRITTEN_BY)
    return results


def judgements(path: Path) -> Iterator[Judgement]:
    """Yield the judgements of a file that contains only judgements. Raises FileFault with the line."""
    for number, row in _rows(path):
        record = _record_at(path, number, row)
        if not isinstance(record, Judgement):
            raise FileFault(path, number, f"expected a judgement, found {type(record).__name__.lower()!r}")
        yield record


def record_of(row: Mapping[str, Any]) -> Header | Plan | Judgement | Footer:
    """Return the record of a line. Raises RecordFault, which names the field."""
    match row.get("type"):
        case "judgement":
            parameters = row.get("parameters", {})
            if not isinstance(parameters, dict):
                raise RecordFault(f"field 'parameters' must be object, found {parameters!r:.60}")
            key = {**row, "parameters": [(name, str(value)) for name, value in parameters.items()]}
            return records.read(Judgement, {**row, "key": key})
        case "header":
            if row.get("format") != FORMAT:
                raise RecordFault(f"has format {row.get('format')!r:.20}; this version reads {FORMAT}")
            target = row.get("target")
            if not isinstance(target, dict):
                raise RecordFault(f"field 'target' must be object, found {target!r:.60}")
            return records.read(Header, {**row, **target})
        case "plan":
            return records.read(Plan, row)
        case "footer":
            return records.read(Footer, row)
        case kind:
            raise RecordFault(f"unknown type of line {kind!r:.40}")


def _record_at(path: Path, number: int, row: Row) -> Header | Plan | Judgement | Footer:
    try:
        return record_of(row)
    except RecordFault as why:
        raise FileFault(path, number, str(why), hint=why.hint) from why


WRITTEN_BY: Final = "name a folder that `zconform run --out` wrote"


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        with regular(path).open(encoding="utf-8", newline="\n") as source:
            for number, text in enumerate(source, 1):
                try:
                    row = json.loads(text)
                except ValueError as why:
                    if not text.endswith("\n"):
                        return  # the run was killed while it wrote this line
                    raise FileFault(path, number, f"is no JSON: {why}", hint=WRITTEN_BY) from why
                if not isinstance(row, dict):
                    raise FileFault(path, number, f"expected an object, found {type(row).__name__}", hint=WRITTEN_BY)
                yield number, row
    except FileNotFoundError as why:
        raise FileFault(path, None, "there are no results", hint=WRITTEN_BY) from why
    except (OSError, UnicodeDecodeError) as why:
        raise unreadable(path, why) from why
