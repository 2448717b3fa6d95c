"""Findings as they are kept: what a worker told, what the death of one means, and whether either may be told further."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from zenoh_conformance.reading.codec import DecodeError
from zenoh_fuzz import inputs
from zenoh_fuzz.finding import FuzzFinding, without_numbers
from zenoh_harness.files.campaigns import FindingRow, SideRow

from .workers import WorkerDeath

CURRENT: Final = {"zenoh-codec": (1, 10)}
"""Implementations whose current releases are under embargo: from this release on."""


def row_of_found(told: Mapping[str, Any], targets: Sequence[str], versions: Mapping[str, str]) -> FindingRow:
    """What a worker told as an entry of the ledger."""
    sides = tuple(SideRow(name=one["name"], verdict=one["verdict"], told=one["told"]) for one in told["sides"])
    return FindingRow(
        id=told["id"], oracle=told["oracle"], rule=told["rule"], signature=told["signature"], why=told["why"],
        input=told["input"], sides=sides, versions=dict(versions), targets=tuple(targets), grave=bool(told["grave"]),
        embargo=bool(told["grave"]) and under_embargo(str(told["subject"])),
    )  # fmt: skip


def row_of(finding: FuzzFinding, targets: Sequence[str], versions: Mapping[str, str]) -> FindingRow:
    """A finding of this process as an entry of the ledger."""
    sides = [{"name": one.name, "verdict": one.verdict, "told": one.told} for one in finding.sides]
    told = {
        "id": finding.id, "oracle": finding.oracle, "rule": finding.rule, "signature": finding.signature,
        "why": finding.why, "input": finding.data.hex(), "grave": finding.grave, "subject": finding.subject, "sides": sides,
    }  # fmt: skip
    return row_of_found(told, targets, versions)


def row_of_death(death: WorkerDeath, oracle: str, targets: Sequence[str], versions: Mapping[str, str]) -> FindingRow:
    """The finding that an input ended the worker."""
    finding = death_finding(oracle, death.why, death.data or b"", tuple(versions))
    return row_of(finding, targets, versions)


def death_finding(oracle: str, why: str, data: bytes, names: Sequence[str]) -> FuzzFinding:
    """One that ends its process, takes too long, or too much memory; `names` are the codecs that were there."""
    kind = (
        "takes too long"
        if "timeout" in why
        else "takes too much memory"
        if "out-of-memory" in why
        else "ends its process"
    )
    who = ", ".join(name for name in names if name != "ours") or "ours"
    return FuzzFinding(
        oracle=oracle, rule="survives-every-input", about=f"{who} {kind}, {why_without_numbers(why)}, {where(data)}",
        why=f"{who} {kind}: {why}", data=data, grave=True, subject=who,
    )  # fmt: skip


def why_without_numbers(why: str) -> str:
    """What the engine said, but for addresses and times."""
    return without_numbers(re.sub(r"\(.*?\)", "", why)).strip()


def where(data: bytes) -> str:
    """How our codec reads an input: the kinds of its messages, or the path where it refuses it."""
    number, message = inputs.split_input(data)
    try:
        read, _ = inputs.messages(number, message)
    except DecodeError as refusal:
        return without_numbers(refusal.path)
    return "+".join(dict.fromkeys(type(one.message).__name__ for one in read))


def under_embargo(subject: str) -> bool:
    """Whether what makes this codec crash may only be counted: it is a current release, and not ours."""
    name, _, version = subject.partition(" ")
    release = tuple(map(int, re.findall(r"\d+", version)))[:2]
    return name in CURRENT and (not release or release >= CURRENT[name])
