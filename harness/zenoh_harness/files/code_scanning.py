"""Write the failures of runs as SARIF for code hosts: each result is an alert in a file of the user's repository.

GitHub's code scanning opens one alert for each result, whatever its `kind` and its `suppressions` say, and refuses a file above
its limits (GitHub Docs, "SARIF results exceed one or more limits"). So only failures that no list excuses are results, one for
each finding, with the other places in which it shows; `sarif.py` writes the complete form.
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

from zenoh_conformance.cases.faults import TargetFault, faults
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
    """Judgements that are one result: the places of a finding, or those of one check and role that concern a list."""

    judgements: tuple[Judgement, ...]
    place: FileLine
    why: str = ""
    """The reason of a gate, such as `fixed`; empty for a failure that nothing lists."""
    breaks: str = ""
    """The requirement that a finding breaks, where it is another than that of its first judgement."""

    @property
    def first(self) -> Judgement:
        """The judgement that stands for all."""
        return self.judgements[0]

    @property
    def requirement(self) -> str:
        """The requirement that is broken."""
        return self.breaks or self.first.key.requirement


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
    """Return one alert for each finding with the places in which it is red."""
    red = (one for one in judgements if one.verdict.is_red(strict=strict) and not one.embargo)
    return tuple(alert_of(fault, place, why) for fault in faults(red))


def alert_of(fault: TargetFault, place: FileLine, why: str = "") -> Alert:
    """Return the alert of a finding."""
    breaks = "" if fault.requirement == fault.first.key.requirement else fault.requirement
    return Alert(fault.judgements, place, why, breaks)


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
    rules = {ident: number for number, ident in enumerate(sorted({alert.requirement for alert in alerts}))}
    footer, taken = scan.results.footer, Counter[str]()
    numbers = []
    for alert in alerts:
        taken[fingerprint(alert)] += 1
        numbers.append(taken[fingerprint(alert)])
    return {
        "tool": sarif.tool(scan.results, rules),
        "automationDetails": {"id": category},
        "invocations": [sarif.invocation(scan.results)],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "embargoed": footer.embargoed if footer else 0,
            "leftOut": len(scan.alerts) - len(alerts),
        },
        "results": [
            result(alert, rules[alert.requirement], number) for alert, number in zip(alerts, numbers, strict=True)
        ],
    }


def result(alert: Alert, index: int, number: int = 1) -> dict[str, Any]:
    """Return the SARIF result of an alert; `number`: which one of those that are first shown by the same check, from 1."""
    place = {"artifactLocation": {"uri": alert.place.uri}, "region": {"startLine": alert.place.line}}
    related = sarif.related_locations(alert.judgements, lambda _one: place)
    return {
        "ruleId": alert.requirement,
        "ruleIndex": index,
        "level": "error",
        "message": {"text": message(alert)},
        "locations": [{"physicalLocation": place}],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint(alert)}:{number}"},
    }


def message(alert: Alert) -> str:
    """Return what is wrong, where it shows, and the command that repeats it."""
    one = alert.first
    own = [each for each in alert.judgements if (each.key.check, each.key.role) == (one.key.check, one.key.role)]
    profiles = ", ".join(dict.fromkeys(each.key.profile for each in own))
    values, others = len({each.key.parameters for each in own}), len(sarif.places(alert.judgements)) - 1
    where = [one.key.check, one.key.role, f"profile {profiles}", *([f"{values} of its values"] if values > 1 else [])]
    where += [f"and {others} other check{'s' * (others > 1)}"] if others else []
    head = f"{alert.why}: " if alert.why else ""
    cause = f"{one.verdict.value}: {one.cause}"[: sarif.MOST_TEXT]
    repeat = f" Repeat: {one.repeat}" if one.repeat else ""
    return f"{head}{cause} ({'; '.join(where)[: sarif.MOST_TEXT]}).{repeat}".replace(
        "](", "] ("
    )  # `[text](1)` is a link


def fingerprint(alert: Alert) -> str:
    """Return a digest that identifies the alert across versions of the target and across runs.

    It is that of the place which is told first; what is lost at times is first missed by another check each time.
    """
    key = alert.first.key
    check = "" if alert.breaks else key.check
    words = json.dumps([key.target, key.role, alert.requirement, check, alert.why])
    return sha256(words.encode()).hexdigest()[:32]
