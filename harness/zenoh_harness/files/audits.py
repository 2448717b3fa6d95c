"""The laws held against a recorded or captured conversation: who is at fault, by which rule, in which packet.

charges(conversation)   pure: what the laws find in one conversation, of whoever is in it
cut(conversation, ..)   the part of a conversation that shows a charge
cut_capture(path, ..)   the packets of a capture that do
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zenoh_conformance.judging.engine import TELLING, judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.verdict import Verdict, verdict_for
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Conversation, Happened, Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import pcap
from zenoh_harness.files.pcap import Packet

LONGEST = 64
"""Bytes of what was said that a charge shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One thing that one node did and a requirement forbids."""

    node: str
    """The ZenohID, printed as Zenoh does, where the node told one; else its address."""
    address: str
    role: str
    """`initiator` or `responder`, of that connection."""
    requirement: str
    law: str
    verdict: Verdict
    """FAIL, or WARN where the requirement is no more than a SHOULD or a MAY."""
    cause: str
    connection: str
    packet: int | None
    """Of the capture, as Wireshark counts; None where the conversation is of no capture."""
    time: float
    """Seconds since the conversation began."""
    data: bytes
    """What was said there, cut to `LONGEST` bytes."""

    def as_json(self) -> dict[str, Any]:
        """The charge as data."""
        return {
            "node": self.node, "address": self.address, "role": self.role, "requirement": self.requirement,
            "law": self.law, "verdict": self.verdict.value, "cause": self.cause, "connection": self.connection,
            "packet": self.packet, "t": round(self.time, 6), "bytes": self.data.hex(),
        }  # fmt: skip


@dataclass(slots=True)
class Audit:
    """What the laws say of a conversation."""

    charges: list[Charge] = field(default_factory=list)
    """In the order of the conversation."""
    subjects: Counter[str] = field(default_factory=Counter)
    """Law to how often it had something to judge."""
    nodes: dict[str, set[str]] = field(default_factory=dict)
    """Node to its addresses."""
    messages: int = 0
    """Messages that were read, also those inside others."""


def charges(conversation: Conversation, laws: Iterable[type[Law]] | None = None) -> Audit:
    """Hold the laws (all of them unless told) against everybody in the conversation."""
    seen = _Nodes(conversation)
    audit = Audit()
    for judged in judge(conversation, laws, watch=seen.watch):
        audit.subjects[judged.law.id] += judged.subjects
        audit.charges += [seen.charge(judged.law, finding) for finding in judged.findings]
    audit.charges.sort(key=lambda charge: (charge.time, charge.packet or 0, charge.law))
    audit.nodes, audit.messages = seen.nodes(), seen.messages
    return audit


def cut(conversation: Conversation, connections: Collection[str]) -> Conversation:
    """What of a conversation went over these connections; times stay."""
    return Conversation(
        {name: known for name, known in conversation.connections.items() if name in connections},
        [event for event in conversation if event.connection in connections],
        dict(conversation.about),
    )


def cut_capture(path: Path, numbers: Collection[int], out: Path) -> int:
    """Write the packets of these numbers as a capture of their own; how many. Raises FileFault."""
    packets: Iterator[Packet] = (packet for packet in pcap.Capture(path) if packet.number in numbers)
    return pcap.write(packets, out)


class _Nodes:
    """Who is who: the ZenohIDs that INIT, JOIN and HELLO told."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._zids: dict[tuple[str, Side], str] = {}
        self.messages = 0

    def watch(self, seen: Seen) -> None:
        """A message went by: count it, and note who says who it is."""
        if seen.kind != "batch":
            self.messages += 1
        if seen.kind in TELLING and seen.message.zid is not None:
            self._zids.setdefault((seen.connection, seen.sender), str(seen.message.zid))

    def nodes(self) -> dict[str, set[str]]:
        """Node to its addresses, of those who said anything."""
        found: dict[str, set[str]] = {}
        for name, side in dict.fromkeys(
            (e.connection, e.sender) for e in self._conversation if e.kind is Happened.BYTES
        ):
            address = self._address(name, side)
            found.setdefault(self._zids.get((name, side), address), set()).add(address)
        return dict(sorted(found.items()))

    def charge(self, law: type[Law], finding: Finding) -> Charge:
        """The finding of a law, with all that tells where it is."""
        known = requirements().get(finding.requirement)
        event = finding.event
        address = self._address(finding.connection, finding.sender)
        return Charge(
            node=self._zids.get((finding.connection, finding.sender), address), address=address,
            role=finding.sender.value, requirement=finding.requirement, law=law.id,
            verdict=verdict_for(str(known.level) if known else "MUST"), cause=finding.cause,
            connection=finding.connection, packet=event.packet if event else None, time=finding.time,
            data=event.data[:LONGEST] if event else b"",
        )  # fmt: skip

    def _address(self, connection: str, side: Side) -> str:
        known = self._conversation.connection(connection)
        return known.initiator if side is Side.INITIATOR else known.responder
