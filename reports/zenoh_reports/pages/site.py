"""Writes the site from rows; the same rows make the same bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from zenoh_conformance.verdict import WORST_FIRST

Row = Mapping[str, Any]
ORDER = [verdict.value for verdict in WORST_FIRST]
GOOD = ("pass", "known", "warn", "slow")
"""Verdicts that stand on a judgement and break nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a results file says of itself."""

    reach: str
    name: str
    version: str
    complete: bool
    why: str = ""
    """Why it is not complete, and what was pending."""
    embargoed: int = 0


def write(folder: Path, runs: Sequence[Run], coverage: Sequence[Row]) -> Path:
    """The page of these runs; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = Environment(
        loader=PackageLoader("zenoh_reports.pages"), autoescape=select_autoescape(default=True), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    page = folder / "index.html"
    text = environment.get_template("index.html").render(
        runs=runs, targets=targets(coverage), pages=pages(coverage), order=ORDER
    )
    page.write_text(text, encoding="utf-8")
    return page


def targets(coverage: Sequence[Row]) -> list[dict[str, Any]]:
    """One entry a target: how many requirements have each verdict."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in coverage:
        counts[name_of(row)][row["verdict"]] += 1
    return [
        {"name": name, "counts": {verdict: count[verdict] for verdict in ORDER if count[verdict]}}
        for name, count in sorted(counts.items())
    ]


def pages(coverage: Sequence[Row]) -> list[dict[str, Any]]:
    """One entry a specification page, its requirements in order, with one cell a target."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in coverage:
        entry = found[row["page"]].setdefault(
            row["requirement"], {"id": row["requirement"], "level": row["level"], "says": row["says"], "cells": {}}
        )
        entry["cells"][name_of(row)] = {
            "verdict": row["verdict"],
            "cause": row["cause"],
            "judgements": row["judgements"],
        }
    return [{"name": page, "requirements": list(entries.values())} for page, entries in sorted(found.items())]


def name_of(row: Row) -> str:
    """A target as people name it."""
    return f"{row['target']} {row['version']}".strip()
