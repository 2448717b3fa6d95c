"""The tables of an audit, from its facts, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter

from zenoh_conformance.spec.requirement import Requirement

from .audit import AuditRow
from .judgements import grouped


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One deviation of one node."""

    id: str
    time: int
    """Nanoseconds since 1970."""
    node: str
    zid: str
    sender: str
    connection: str
    began: int
    file: int
    """Place among the captures, in the order of their first packets."""
    packet: int
    law: str
    requirement: str
    verdict: str
    path: str
    expected: str
    got: str
    cause: str
    signature: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node that was seen in a handshake."""

    node: str
    zid: str
    says: str
    """Role, version and extensions of its INITs."""
    sides: str
    handshakes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """Messages of one kind from one node in one minute."""

    minute: int
    """Its beginning, in nanoseconds since 1970."""
    node: str
    zid: str
    sender: str
    kind: str
    messages: int
    size: int
    """Of transport messages; of what they hold, the payloads."""
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class ExtensionRow:
    """How often a node puts an extension on messages of a kind."""

    node: str
    zid: str
    kind: str
    extension: str
    messages: int


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """Whether captures could show anything about a requirement."""

    page: str
    requirement: str
    level: str
    says: str
    observed: bool
    subjects: int
    findings: int


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """Which node breaks which rule in which way, since when."""

    node: str
    zid: str
    requirement: str
    verdict: str
    signature: str
    findings: int
    first: int
    last: int
    file: int
    """The first finding's capture, packet, connection and cause."""
    packet: int
    connection: str
    cause: str


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """What is in the captures and was not judged, or was wrong with them."""

    what: str
    amount: int


def findings(facts: Iterable[AuditRow]) -> list[FindingRow]:
    """Each deviation, once, by id."""
    names = [each.name for each in fields(FindingRow)]
    made = {row.id: FindingRow(*(getattr(row, name) for name in names)) for row in facts if row.what == "finding"}
    return [row for _, row in sorted(made.items())]


def nodes(facts: Iterable[AuditRow]) -> list[NodeRow]:
    """Who was seen, by address and ZID."""
    return [
        NodeRow(
            node, zid, "; ".join(sorted({row.detail for row in rows})), " ".join(sorted({row.sender for row in rows})),
            sum(row.amount for row in rows), min(row.time for row in rows), max(row.time for row in rows),
        )
        for (node, zid), rows in grouped((row for row in facts if row.what == "node"), ["node", "zid"]).items()
    ]  # fmt: skip


def statistics(facts: Iterable[AuditRow]) -> list[StatisticsRow]:
    """Messages by minute, node and kind."""
    key = ["time", "node", "zid", "sender", "kind"]
    return [
        StatisticsRow(
            *(
                *values, sum(row.amount for row in rows), sum(row.size for row in rows), min(row.least for row in rows),
                max(row.most for row in rows),
            )
        )
        for values, rows in grouped((row for row in facts if row.what == "messages"), key).items()
    ]  # fmt: skip


def extensions(facts: Iterable[AuditRow]) -> list[ExtensionRow]:
    """Extensions by node, kind and name."""
    found = grouped((row for row in facts if row.what == "extension"), ["node", "zid", "kind", "detail"])
    return [ExtensionRow(*(*values, sum(row.amount for row in rows))) for values, rows in found.items()]


def observed(facts: Iterable[AuditRow], requirements: Iterable[Requirement]) -> list[ObservedRow]:
    """Every requirement, with what the captures show of it."""
    found = grouped((row for row in facts if row.what in ("subjects", "finding")), ["requirement"])
    made = []
    for needed in requirements:
        rows = found.get((needed.id,), [])
        subjects = sum(row.amount for row in rows if row.what == "subjects")
        faults = len({row.id for row in rows if row.what == "finding"})
        page = needed.id.partition("/")[0]
        made.append(ObservedRow(page, needed.id, str(needed.level), needed.says, subjects > 0, subjects, faults))
    return sorted(made, key=attrgetter("page", "requirement"))


def deviations(rows: Iterable[FindingRow]) -> list[DeviationRow]:
    """Findings by node and rule, in order of both."""
    made = []
    for key, found in grouped(rows, ["node", "zid", "requirement", "verdict", "signature"]).items():
        first = min(found, key=attrgetter("time", "file", "packet", "connection", "cause"))
        times = [row.time for row in found]
        about = first.file, first.packet, first.connection, first.cause
        made.append(DeviationRow(*(*key, len(found), min(times), max(times), *about)))
    return made


def left_out(facts: Iterable[AuditRow]) -> list[LeftOutRow]:
    """What was counted beside what was said, and how many packets there were in all."""
    found = grouped((row for row in facts if row.what == "counted"), ["detail"])
    return [LeftOutRow(what, sum(row.amount for row in rows)) for (what,), rows in found.items()]
