"""Write the failures of runs as SARIF for code hosts: each result is an alert in a file of the user's repository.

GitHub's code scanning opens one alert for each result, whatever its `kind` and its `suppressions` say, and refuses a file above
its limits (GitHub Docs, "SARIF results exceed one or more limits"). So only failures that no list excuses are results, one for
each check and role; `sarif.py` writes the complete form.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.files import indented_json, sarif
from zenoh_harness.files.results import Results

MOST_RUNS: Final = 20
"""Runs of one file; GitHub rejects a file with more. Further runs go into further files."""
MOST_RESULTS: Final = 5_000
"""Results of one run; GitHub stores no more, and rejects a run with more than 25,000."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, by which a code host shows an alert."""

    uri: str
    line: int = 1


@dataclass(frozen=True, slots=True)
class Alert:
    """Judgements of one check in one role that are one result."""

    judgements: tuple[Judgement, ...]
    place: FileLine
    why: str = ""
    """The reason of a gate, such as `fixed`; empty for a failure that nothing lists."""

    @property
    def first(self) -> Judgement:
        """The gravest judgement, the first one if there are several."""
        return max(self.judgements, key=lambda one: one.verdict.severity)


@dataclass(frozen=True, slots=True)
class Scan:
    """One run with its alerts."""

    results: Results
    alerts: tuple[Alert, ...]


def place_in_repository(file: Path, line: int = 1) -> FileLine:
    """Return a place relative to the repository of the file; without one, to the working directory, else a file URI."""
    absolute = file.resolve()
    root = next((folder for folder in absolute.parents if (folder / ".git").exists()), Path.cwd())
    inside = absolute.is_relative_to(root)
    return FileLine(quote(absolute.relative_to(root).as_posix()) if inside else absolute.as_uri(), line)


def alerts_of(
    judgements: Iterable[Judgement], place: FileLine, why: str = "", *, strict: bool = False
) -> tuple[Alert, ...]:
    """Return one alert for each check and role that is red."""
    groups: dict[tuple[str, ...], list[Judgement]] = {}
    for judgement in judgements:
        if judgement.verdict.is_red(strict=strict) and not judgement.embargo:
            key = judgement.key
            groups.setdefault((key.role, key.requirement, key.check), []).append(judgement)
    return tuple(Alert(tuple(group), place, why) for group in groups.values())


def write(scans: Sequence[Scan], path: Path) -> list[Path]:
    """Write the file, and `NAME-2`, `NAME-3` beside it for every further 20 runs; return all. Raises OSError."""
    parts = [scans[start : start + MOST_RUNS] for start in range(0, len(scans), MOST_RUNS)] or [[]]
    paths = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(parts) + 1))]
    for part, file in zip(parts, paths, strict=True):
        file.write_text(indented_json.text(document(part), 4), encoding="utf-8")
    return paths


def document(scans: Sequence[Scan]) -> dict[str, Any]:
    """Return the SARIF document of at most 20 runs as JSON data."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run(scan, name) for scan, name in zip(scans, _categories(scans), strict=True)],
    }


def _categories(scans: Iterable[Scan]) -> Iterator[str]:
    """Yield one category for each run: GitHub rejects a file with two runs of one category."""
    taken: Counter[str] = Counter()
    for scan in scans:
        name = sarif.category(scan.results.header.name)
        taken[name] += 1
        yield name if taken[name] == 1 else f"{name.rstrip('/')}-{taken[name]}/"


def run(scan: Scan, category: str) -> dict[str, Any]:
    """Return the SARIF run of one target; the gravest alerts come first, and none beyond the limit."""
    alerts = sorted(scan.alerts, key=lambda alert: -alert.first.verdict.severity)[:MOST_RESULTS]
    rules = {ident: number for number, ident in enumerate(sorted({alert.first.key.requirement for alert in alerts}))}
    footer = scan.results.footer
    return {
        "tool": sarif.tool(scan.results, rules),
        "automationDetails": {"id": category},
        "invocations": [sarif.invocation(scan.results)],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "embargoed": footer.embargoed if footer else 0,
            "leftOut": len(scan.alerts) - len(alerts),
        },
        "results": [result(alert, rules[alert.first.key.requirement]) for alert in alerts],
    }


def result(alert: Alert, index: int) -> dict[str, Any]:
    """Return the SARIF result of an alert."""
    region = {"startLine": alert.place.line}
    return {
        "ruleId": alert.first.key.requirement,
        "ruleIndex": index,
        "level": "error",
        "message": {"text": message(alert)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": alert.place.uri}, "region": region}}],
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint(alert)}:1"},
    }


def message(alert: Alert) -> str:
    """Return what is wrong, where it shows, and the command that repeats it."""
    one = alert.first
    profiles = ", ".join(dict.fromkeys(each.key.profile for each in alert.judgements))
    values = len({each.key.parameters for each in alert.judgements})
    where = [one.key.check, one.key.role, f"profile {profiles}", *([f"{values} of its values"] if values > 1 else [])]
    head = f"{alert.why}: " if alert.why else ""
    cause = f"{one.verdict.value}: {one.cause}"[: sarif.MOST_TEXT]
    repeat = f" Repeat: {one.repeat}" if one.repeat else ""
    return f"{head}{cause} ({'; '.join(where)[: sarif.MOST_TEXT]}).{repeat}".replace(
        "](", "] ("
    )  # `[text](1)` is a link


def fingerprint(alert: Alert) -> str:
    """Return a digest that identifies the alert across versions of the target and across runs."""
    key = alert.first.key
    words = json.dumps([key.target, key.role, key.requirement, key.check, alert.why])
    return sha256(words.encode()).hexdigest()[:32]
