"""Measure what a corpus reaches of the declared messages: headers, extensions, fields and refusals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zenoh_conformance import messages  # noqa: F401  importing them is what fills the registry
from zenoh_conformance.wire import Body, Messages, registry
from zenoh_conformance.wire.declare import Declaration
from zenoh_fuzz import inputs
from zenoh_fuzz.mutators.segmented import segments_of

from .workers import corpus_files


@dataclass(slots=True)
class MessageCoverage:
    """One message: its declared parts, and how often each was reached."""

    name: str
    path: str
    headers: Counter[int] = field(default_factory=Counter)
    """Values of bits 7:5 of its header."""
    extensions: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Paths at which it was refused."""
    known_headers: tuple[int, ...] = ()
    known_extensions: tuple[str, ...] = ()
    known_fields: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The parts that were never reached, in words."""
        flags = [f"header {value << 5:#04x}" for value in self.known_headers if not self.headers[value]]
        exts = [f"extension {name}" for name in self.known_extensions if not self.extensions[name]]
        return flags + exts + [f"field {name}" for name in self.known_fields if not self.fields[name]]


@dataclass(slots=True)
class CoverageReport:
    """The coverage of a corpus."""

    inputs: int = 0
    of: dict[str, MessageCoverage] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """Yield the report: a line per message, and below it the parts that were never reached."""
        yield f"{self.inputs} inputs"
        yield f"{'message':<16} {'headers':>9} {'extensions':>11} {'fields':>8} {'refused at':>11}"
        for one in self.of.values():
            yield (
                f"{one.name:<16} {_ratio(one.headers, one.known_headers):>9} {_ratio(one.extensions, one.known_extensions):>11} "
                f"{_ratio(one.fields, one.known_fields):>8} {len(one.refused):>5} paths"
            )
            if one.missing:
                yield f"    never reached: {', '.join(one.missing[:12])}{' ...' if len(one.missing) > 12 else ''}"
        yield "remarks: " + ", ".join(f"{kind} {count}" for kind, count in self.remarks.most_common())

    def to_json(self) -> dict[str, Any]:
        """Return the coverage as JSON data."""
        return {
            "inputs": self.inputs,
            "remarks": dict(self.remarks),
            "messages": [
                {
                    "name": one.name,
                    "missing": one.missing,
                    "extensions": dict(sorted(one.extensions.items())),
                    "headers": {f"{value << 5:#04x}": count for value, count in sorted(one.headers.items())},
                    "fields": dict(sorted(one.fields.items())),
                    "refused": dict(sorted(one.refused.items())),
                }
                for one in self.of.values()
            ],
        }

    @property
    def missing(self) -> int:
        """Number of parts that were never reached."""
        return sum(len(one.missing) for one in self.of.values())


def _ratio(seen: Counter[Any], known: Iterable[Any]) -> str:
    names = list(known)
    return f"{sum(bool(seen[name]) for name in names)}/{len(names)}"


def empty() -> CoverageReport:
    """Return a report of all declared parts, none of them reached."""
    report = CoverageReport()
    for cls in registry.MESSAGES:
        declared = registry.of(cls)
        report.of[declared.path] = MessageCoverage(
            declared.title,
            declared.path,
            known_headers=_headers(declared),
            known_extensions=tuple(registry.of(each).path for each in declared.extensions or ()),
            known_fields=tuple(
                one.name for one in declared.fields if one.wire and not isinstance(one.wire, Body | Messages)
            ),
        )
    return report


def _headers(declared: Declaration) -> tuple[int, ...]:
    """Return the values of bits 7:5 that a sender may write."""
    free = [0x80 >> place >> 5 for place, cell in enumerate(declared.cells) if cell != "X"]
    values = {0}
    for bit in free:
        values |= {value | bit for value in values}
    wide = {one.presence.what: len(one.values) for one in declared.fields if one.presence and one.values}
    masks = {cell: declared.mask(cell) >> 5 for cell in wide}

    def allowed(value: int) -> bool:
        return all((value & mask) // (mask & -mask) < wide[cell] for cell, mask in masks.items())

    return tuple(sorted(filter(allowed, values)))


def report_of(folder: Path) -> CoverageReport:
    """Return what the inputs in a folder reach; for a campaign's folder, its corpus and seeds."""
    report = empty()
    for place in [folder / name for name in ("corpus", "seeds") if (folder / name).is_dir()] or [folder]:
        for path in corpus_files(place):
            add(report, path.read_bytes())
    return report


def add(report: CoverageReport, data: bytes) -> None:
    """Add one input to the report."""
    report.inputs += 1
    found = segments_of(data)
    if found is None:
        return
    number, message = inputs.split_input(data)
    for each in inputs.remarks(number, message):
        report.remarks[each.kind] += 1
    for segment in found[0]:
        _segment(report, segment.path, segment.data)
    if found[1]:
        last = found[0][-1].path
        for path in reversed([one for one in report.of if f"{one}." in last]):
            report.of[path].refused[_plain(last)] += 1
            break


def _segment(report: CoverageReport, path: str, data: bytes) -> None:
    steps = _plain(path).split(".")
    for depth in range(len(steps) - 1, 0, -1):
        owner = report.of.get(steps[depth - 1])
        if owner is None:
            continue
        below = steps[depth]
        if below == "header" and data:
            owner.headers[data[0] >> 5] += 1
        elif below == "exts" and len(steps) > depth + 1:
            if steps[-1] == "header":
                owner.extensions[steps[depth + 1]] += 1
        else:
            owner.fields[below] += 1
            if below == "packed":
                owner.fields.update(("whatami", "what"))
        return


def _plain(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)
