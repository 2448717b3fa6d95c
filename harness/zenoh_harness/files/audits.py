"""Apply the laws to a recorded or captured conversation: which node broke which requirement, in which packet.

charges(conversation)   the findings of the laws about all nodes of one conversation; a pure function
cut(conversation, ..)   the connections of a conversation that show a charge
cut_capture(path, ..)   the packets of a capture that show a charge
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zenoh_conformance.judging.engine import TELLING, Judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.readings import verdict_of
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.connection import MOST_PENDING, TOO_LONG, Seen
from zenoh_conformance.reading.conversation import Conversation, Happened, Side
from zenoh_conformance.reading.pieces import LARGEST
from zenoh_conformance.reading.place_in_frame import place_in_frame
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import pcap
from zenoh_harness.files.pcap import Packet

LONGEST = 64
"""The most bytes of a message that a charge shows."""

UNENDED = f"chains of fragments dropped, since the incomplete messages of a node took more than {LARGEST} bytes"
LONG = f"batches of more than {MOST_PENDING} bytes, after which the rest of the direction was not read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One action of one node that a requirement forbids."""

    node: str
    """The ZenohID as Zenoh prints it; the address of a node that stated no ZenohID."""
    address: str
    role: str
    """The node's role in the connection: `initiator` or `responder`."""
    requirement: str
    law: str
    verdict: Verdict
    """FAIL, or WARN if the level of the requirement is SHOULD or MAY."""
    cause: str
    connection: str
    packet: int | None
    """The packet number in the capture, as Wireshark counts; None if the conversation does not come from a capture."""
    time: float
    """Seconds since the conversation began."""
    data: bytes
    """The bytes of the message at fault, or of the event that shows the charge, cut to `LONGEST` bytes."""
    at: int = 0
    """Offset of the message in the FRAME that carries it; 0 for one that no FRAME carries."""

    def as_json(self) -> dict[str, Any]:
        """Return the charge as JSON data."""
        return {
            "node": self.node, "address": self.address, "role": self.role, "requirement": self.requirement,
            "law": self.law, "verdict": self.verdict.value, "cause": self.cause, "connection": self.connection,
            "packet": self.packet, "t": round(self.time, 6), "bytes": self.data.hex(), "at": self.at,
        }  # fmt: skip


@dataclass(slots=True)
class Audit:
    """The result of the laws for one conversation."""

    charges: list[Charge] = field(default_factory=list)
    """In the order of the conversation."""
    subjects: Counter[str] = field(default_factory=Counter)
    """Id of a law to the number of subjects that it judged."""
    nodes: dict[str, set[str]] = field(default_factory=dict)
    """Node (ZenohID, or address without one) to its addresses."""
    messages: int = 0
    """Decoded messages, including those inside FRAMEs and fragments."""
    unread: Counter[str] = field(default_factory=Counter)
    """What the decoder did not hold because of its bounds, and how often."""


def charges(conversation: Conversation, laws: Iterable[type[Law]] | None = None) -> Audit:
    """Judge all nodes of a conversation by `laws`, or by all laws if it is None."""
    seen = _Nodes(conversation)
    audit = Audit()
    running = Judge(conversation, laws, watch=seen.watch)
    for event in conversation:
        running.feed(event)
    for judged in running.finish():
        audit.subjects[judged.law.id] += judged.subjects
        audit.charges += [seen.charge(judged.law, finding) for finding in judged.findings]
    audit.charges.sort(key=lambda charge: (charge.time, charge.packet or 0, charge.law))
    audit.nodes, audit.messages = seen.nodes(), seen.messages
    audit.unread = +Counter({LONG: seen.too_long, UNENDED: running.unended})
    return audit


def cut(conversation: Conversation, connections: Collection[str]) -> Conversation:
    """Return the part of a conversation that went over these connections; the times stay as they are."""
    return Conversation(
        {name: known for name, known in conversation.connections.items() if name in connections},
        [event for event in conversation if event.connection in connections],
        dict(conversation.about),
    )


def cut_capture(path: Path, numbers: Collection[int], out: Path) -> int:
    """Copy the packets with these numbers into a new capture; return how many were written. Raises FileFault."""
    packets: Iterator[Packet] = (packet for packet in pcap.Capture(path) if packet.number in numbers)
    return pcap.write(packets, out)


class _Nodes:
    """The ZenohID of each side of each connection, as its INIT, JOIN or HELLO states it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._zids: dict[tuple[str, Side], str] = {}
        self.messages = 0
        self.too_long = 0

    def watch(self, seen: Seen) -> None:
        """Count a message, and remember the ZenohID that it states."""
        if seen.path == TOO_LONG:
            self.too_long += 1
        if seen.kind != "batch":
            self.messages += 1
        if seen.kind in TELLING and seen.message.zid is not None:
            self._zids.setdefault((seen.connection, seen.sender), str(seen.message.zid))

    def nodes(self) -> dict[str, set[str]]:
        """Return node to addresses, for each node that sent at least one byte."""
        found: dict[str, set[str]] = {}
        for name, side in dict.fromkeys(
            (e.connection, e.sender) for e in self._conversation if e.kind is Happened.BYTES
        ):
            address = self._address(name, side)
            found.setdefault(self._zids.get((name, side), address), set()).add(address)
        return dict(sorted(found.items()))

    def charge(self, law: type[Law], finding: Finding) -> Charge:
        """Return a law's finding with the node, the connection and the packet that it concerns."""
        known = requirements().get(finding.requirement)
        event = finding.event
        address = self._address(finding.connection, finding.sender)
        place = place_in_frame(finding.raw or (event.data if event else b""), finding.within)
        return Charge(
            node=self._zids.get((finding.connection, finding.sender), address), address=address,
            role=finding.sender.value, requirement=finding.requirement, law=law.id,
            verdict=verdict_of(finding, str(known.level) if known else "MUST"), cause=finding.cause,
            connection=finding.connection, packet=event.packet if event else None, time=finding.time,
            data=place.data[:LONGEST], at=place.at,
        )  # fmt: skip

    def _address(self, connection: str, side: Side) -> str:
        known = self._conversation.connection(connection)
        return known.initiator if side is Side.INITIATOR else known.responder
