"""An audit of a few captures in one process: the tables and numbers that the pipeline makes of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

from zenoh_harness.files.captures import PORTS

from . import tables
from .audit import AuditRow, whole_audit
from .packets import in_order, packets
from .tables import DeviationRow, FindingRow, LeftOutRow, NodeRow
from .traffic import sorted_rows

HEAD: Final = 1 << 16
PACKETS: Final = "packets"
"""What the number of all packets is counted under."""


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """A capture of an audit."""

    file: int
    """Its place among them, as findings name it."""
    path: str
    capture: str
    """Of its beginning and its size: a copy has the same."""


@dataclass(frozen=True, slots=True)
class AuditTables:
    """What an audit says."""

    captures: Sequence[CaptureRow]
    findings: Sequence[FindingRow]
    deviations: Sequence[DeviationRow]
    nodes: Sequence[NodeRow]
    left_out: Sequence[LeftOutRow]
    messages: int
    subjects: int

    @property
    def packets(self) -> int:
        """All packets that were read."""
        return sum(row.amount for row in self.left_out if row.what == PACKETS)


def capture_rows(files: Sequence[str]) -> list[CaptureRow]:
    """The captures in the order in which they were taken."""
    return [CaptureRow(index, path, capture_id(path)) for index, path in enumerate(in_order(files))]


def capture_id(path: str) -> str:
    """A name made of a file's beginning and size; of its path where it cannot be read."""
    digest = blake2b(digest_size=8)
    try:
        with Path(path).open("rb") as source:
            digest.update(source.read(HEAD) + Path(path).stat().st_size.to_bytes(8, "big"))
    except OSError:
        digest.update(path.encode())
    return digest.hexdigest()


def audit_id(captures: Iterable[CaptureRow]) -> str:
    """A name for an audit: the same captures, the same name."""
    return blake2b(" ".join(sorted({each.capture for each in captures})).encode(), digest_size=8).hexdigest()


def audit(files: Sequence[str], ports: Iterable[int] = ()) -> AuditTables:
    """Judge captures, all their packets in memory."""
    facts = whole_audit(sorted_rows(packets(files)), PORTS | frozenset(ports))
    return of_facts(facts, capture_rows(files))


def of_facts(facts: Sequence[AuditRow], captures: Sequence[CaptureRow]) -> AuditTables:
    """The tables that are shown."""
    found = tables.findings(facts)
    return AuditTables(
        captures=captures, findings=found, deviations=tables.deviations(found), nodes=tables.nodes(facts),
        left_out=tables.left_out(facts), messages=sum(row.amount for row in facts if row.what == "messages"),
        subjects=sum(row.amount for row in facts if row.what == "subjects"),
    )  # fmt: skip
