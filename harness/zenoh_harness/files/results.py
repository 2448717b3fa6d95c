"""The results of a run: a header, the plan, one judgement a line, a footer; each line flushed as it falls.

A file without a footer is an incomplete run: what is planned and not judged was pending. A last line that was cut off
(a run that was killed while it wrote) is left out. `schemas/results.schema.json` describes each line.
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

from zenoh_conformance.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.files import faults
from zenoh_harness.files.faults import FileFault, Row

FORMAT: Final = 1
_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What was judged, by what, how."""

    reach: str
    """The target string that the run was given."""
    name: str
    version: str
    role: str
    """responder, initiator, codec, or several joined by `+`."""
    kind: str
    """The reach kind: wheel, exec, tcp, ..."""
    digest: str = ""
    """What exactly was judged, where that can be told: a container image's digest."""
    spec: str = "1.0.0"
    harness: str = "0.1.0"
    seed: int = 0
    date: str = ""
    """When the run began, UTC: `2026-01-31T12:00:00Z`. Empty in results that were written before there was a date."""
    run: str = ""
    """What the run is called (`run_ids`): two runs have two names. Empty in results that were written before there was one."""
    command: str = ""
    """The command line that does it again."""
    profiles: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a probe saw, where there was one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """How the run ended."""

    judged: int
    verdicts: Mapping[str, int]
    exit: int
    pending: tuple[str, ...] = ()
    """What was planned and not judged, where the run was interrupted or could not go on."""
    embargoed: int = 0
    """Judgements that are counted here and told nowhere."""
    why: str = ""
    """Why it ended early."""


@dataclass(slots=True)
class Results:
    """A results file, read."""

    header: Header
    planned: tuple[str, ...] = ()
    judgements: list[Judgement] = field(default_factory=list)
    footer: Footer | None = None

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.footer is not None and not self.footer.pending

    @property
    def pending(self) -> tuple[str, ...]:
        """What was planned and is not judged: the footer's list, or what a run that was killed left open."""
        if self.footer is not None:
            return self.footer.pending
        judged = {label(judgement.key) for judgement in self.judgements}
        return tuple(planned for planned in self.planned if planned not in judged)


def label(key: Key) -> str:
    """A judgement's place in the plan: role, profile, check and parameters in one line."""
    return f"{key.role} {key.profile} {check_label(key.check, key.parameters)}"


def check_label(check: str, parameters: Sequence[tuple[str, str]] = ()) -> str:
    """`establishment/refuses-a-bit[bit=3]`: a check with its parameters, as `--only` takes it."""
    return f"{check}[{','.join(f'{name}={value}' for name, value in parameters)}]" if parameters else check


def now() -> str:
    """The time for a header: UTC, to the second; that of SOURCE_DATE_EPOCH, where somebody wants the same file twice."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    time = datetime.fromtimestamp(int(told), UTC) if told.isdigit() else datetime.now(UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- rows


def line(row: Row) -> str:
    """An object as its line."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def header_row(header: Header) -> Row:
    """The header's line as an object."""
    target = {
        "reach": header.reach,
        "name": header.name,
        "version": header.version,
        "role": header.role,
        "kind": header.kind,
        **({"digest": header.digest} if header.digest else {}),
    }
    return {
        "type": "header",
        "format": FORMAT,
        "target": target,
        "spec": header.spec,
        "harness": header.harness,
        "seed": header.seed,
        **({"date": header.date} if header.date else {}),
        **({"run": header.run} if header.run else {}),
        "command": header.command,
        "profiles": list(header.profiles),
        "facts": dict(header.facts),
    }


def judgement_row(judgement: Judgement) -> Row:
    """A judgement's line as an object."""
    key = judgement.key
    return {
        "type": "judgement",
        "target": key.target,
        "version": key.version,
        "role": key.role,
        "profile": key.profile,
        "link": key.link,
        "requirement": key.requirement,
        "level": judgement.level,
        "check": key.check,
        "parameters": dict(key.parameters),
        "verdict": judgement.verdict.value,
        "reading": judgement.reading,
        "cause": judgement.cause,
        "end": judgement.end,
        "attempts": judgement.attempts,
        "embargo": judgement.embargo,
        "evidence": judgement.evidence,
        "repeat": judgement.repeat,
        "details": dict(judgement.details),
    }


def footer_row(footer: Footer) -> Row:
    """The footer's line as an object."""
    return {
        "type": "footer",
        "judged": footer.judged,
        "verdicts": dict(footer.verdicts),
        "exit": footer.exit,
        "pending": list(footer.pending),
        "embargoed": footer.embargoed,
        "why": footer.why,
    }


class ResultsWriter:
    """Writes one results file; counts what it wrote. Embargoed judgements are counted and not written."""

    def __init__(self, path: Path, header: Header, planned: Iterable[str] = ()) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.verdicts: Counter[str] = Counter()
        self.embargoed = 0
        self._header = header
        self._planned = tuple(planned)
        self._judged: set[str] = set()
        self._secret: set[str] = set()
        self._out: IO[str] = path.open("w", encoding="utf-8")
        self._write(header_row(header))
        self._write({"type": "plan", "checks": list(self._planned)})

    def judgement(self, judgement: Judgement) -> None:
        """Write one judgement, at once and to the disk's care."""
        if judgement.embargo:
            self.embargoed += 1
            self._secret.add(label(judgement.key))
            self._forget()
        else:
            self._write(judgement_row(judgement))
            self.verdicts[judgement.verdict.value] += 1
        self._judged.add(label(judgement.key))

    def withhold(self, count: int) -> None:
        """Count what is not run at all, since it is under embargo."""
        self.embargoed += count

    @property
    def pending(self) -> tuple[str, ...]:
        """What is planned and not judged so far."""
        return tuple(planned for planned in self._planned if planned not in self._judged)

    def footer(self, code: Exit, why: str = "") -> Footer:
        """Write the footer and close the file; pending is what is planned and not judged."""
        written = dict(sorted(self.verdicts.items()))
        footer = Footer(
            judged=sum(written.values()),
            verdicts=written,
            exit=int(code),
            pending=self.pending,
            embargoed=self.embargoed,
            why=why,
        )
        self._write(footer_row(footer))
        self.close()
        return footer

    def _forget(self) -> None:
        """What is planned and not told would tell what is under embargo: the plan loses it, and the header the command.

        At once, for the run may be killed.
        """
        header = {**header_row(self._header), "command": ""}
        plan = {"type": "plan", "checks": [planned for planned in self._planned if planned not in self._secret]}
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
        """Leave the file as it is: without a footer, an incomplete run."""
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
    """Read a results file, complete or not. Raises FileFault with the line."""
    path = path / "results.jsonl" if path.is_dir() else path
    results: Results | None = None
    for number, row in _rows(path):
        kind = row.get("type")
        if results is None:
            if kind != "header":
                raise FileFault(
                    path,
                    number,
                    f"expected the header, found {kind!r:.40}",
                    hint='results begin with {"type":"header",...}',
                )
            results = Results(_header(path, number, row))
        elif results.footer is not None:
            raise FileFault(path, number, "something follows the footer", hint="two runs wrote into one file")
        elif kind == "judgement":
            results.judgements.append(_judgement(path, number, row))
        elif kind == "plan":
            results.planned = tuple(faults.field(path, number, row, "checks", list))
        elif kind == "footer":
            results.footer = _footer(path, number, row)
        else:
            raise FileFault(path, number, f"unknown type of line {kind!r:.40}")
    if results is None:
        raise FileFault(path, None, "is empty: the run ended before it knew its target")
    return results


def judgements(path: Path) -> Iterator[Judgement]:
    """The judgements of a file that holds nothing else. Raises FileFault with the line at fault."""
    return (_judgement(path, number, row) for number, row in _rows(path))


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        with path.open(encoding="utf-8", newline="\n") as source:
            for number, text in enumerate(source, 1):
                try:
                    row = json.loads(text)
                except ValueError as why:
                    if not text.endswith("\n"):
                        return  # the run was killed while it wrote this line
                    raise FileFault(path, number, f"is no JSON: {why}") from why
                if not isinstance(row, dict):
                    raise FileFault(path, number, f"expected an object, found {type(row).__name__}")
                yield number, row
    except (OSError, UnicodeDecodeError) as why:
        raise FileFault(path, None, f"cannot be read: {why}") from why


def _header(path: Path, number: int, row: Row) -> Header:
    if row.get("format") != FORMAT:
        raise FileFault(path, number, f"has format {row.get('format')!r:.20}; this version reads {FORMAT}")
    target = faults.field(path, number, row, "target", dict)
    text = {
        name: faults.field(path, number, target, name, str) for name in ("reach", "name", "version", "role", "kind")
    }
    text["digest"] = faults.field(path, number, target, "digest", str, "")
    more = {
        name: faults.field(path, number, row, name, str, "") for name in ("spec", "harness", "command", "date", "run")
    }
    return Header(
        **text,
        **more,
        seed=faults.field(path, number, row, "seed", int, 0),
        profiles=tuple(faults.field(path, number, row, "profiles", list, [])),
        facts=faults.field(path, number, row, "facts", dict, {}),
    )


def _judgement(path: Path, number: int, row: Row) -> Judgement:
    def text(name: str, default: Any = ...) -> Any:
        value = row.get(name)  # most are what they should be, and there are ten thousand lines
        return value if type(value) is str else faults.field(path, number, row, name, str, default)

    parameters = faults.field(path, number, row, "parameters", dict, {})
    key = Key(
        target=text("target"),
        version=text("version"),
        role=text("role"),
        profile=text("profile"),
        link=text("link"),
        requirement=text("requirement"),
        check=text("check"),
        parameters=tuple((name, str(v)) for name, v in parameters.items()),
    )
    verdict = _VERDICTS.get(text("verdict"))
    if verdict is None:
        raise FileFault(path, number, f"unknown verdict {row['verdict']!r:.40}", hint=f"known: {', '.join(_VERDICTS)}")
    return Judgement(
        key=key,
        level=text("level"),
        verdict=verdict,
        cause=text("cause", ""),
        end=text("end", ""),
        repeat=text("repeat", ""),
        reading=faults.field(path, number, row, "reading", (str, type(None)), None),
        attempts=faults.field(path, number, row, "attempts", int, 1),
        embargo=faults.field(path, number, row, "embargo", bool, False),
        evidence=faults.field(path, number, row, "evidence", (str, type(None)), None),
        details=faults.field(path, number, row, "details", dict, {}),
    )


def _footer(path: Path, number: int, row: Row) -> Footer:
    return Footer(
        judged=faults.field(path, number, row, "judged", int),
        verdicts=faults.field(path, number, row, "verdicts", dict),
        exit=faults.field(path, number, row, "exit", int),
        pending=tuple(faults.field(path, number, row, "pending", list, [])),
        embargoed=faults.field(path, number, row, "embargoed", int, 0),
        why=faults.field(path, number, row, "why", str, ""),
    )
