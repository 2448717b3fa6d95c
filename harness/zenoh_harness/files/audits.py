"""Apply the laws to a recorded or captured conversation: which node broke which requirement, in which packet.

Auditor                 the same event by event, for conversations of any length
charges(conversation)   the findings of the laws about all nodes of one conversation; a pure function
cut(conversation, ..)   the connections of a conversation that show a charge
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.judging.engine import TELLING, Judge, Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import MOST_FINDINGS, Law, Per
from zenoh_conformance.judging.readings import verdict_of
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.connection import MOST_PENDING, TOO_LONG, Seen
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_conformance.reading.pieces import LARGEST
from zenoh_conformance.reading.place_in_frame import place_in_frame
from zenoh_conformance.spec.requirement import requirements

LONGEST = 64
"""The most bytes of a message that a charge shows."""

UNENDED = f"chains of fragments dropped, since the incomplete messages of a node took more than {LARGEST} bytes"
MOST_CHARGES = 1000
"""The most charges of one node and law that are kept; the rest is counted."""
MOST_UNTAKEN: Final = 1 << 24
"""Bytes of events after which findings are taken from the laws."""
PER_CONNECTION: Final = 4096
"""Bytes more for each connection, since taking findings takes time for each."""
BEYOND: Final = f"findings beyond the first {MOST_CHARGES} of one node and law"
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
    auditor = Auditor(conversation.connections, laws)
    for event in conversation:
        auditor.feed(event)
    return auditor.finish()


class Auditor:
    """Judges a conversation event by event; its memory does not grow with the bytes of the conversation."""

    def __init__(self, connections: dict[str, Connection], laws: Iterable[type[Law]] | None = None) -> None:
        """Begin with no event; an event's connection is among `connections` before it is fed."""
        conversation = Conversation(connections)
        self._nodes = _Nodes(conversation)
        self._audit = Audit()
        self._judge = Judge(conversation, laws, watch=self._nodes.watch)
        self._connections = connections
        self._size = 0
        """Bytes of the events since findings were taken from the laws, which keep the events of theirs."""
        self._counts: Counter[tuple[str, str]] = Counter()
        """(law, connection) and (law, node) to charges."""
        self._more = 0

    def feed(self, event: Event) -> None:
        """Judge one event."""
        if event.kind is Happened.BYTES:
            self._nodes.spoke[event.connection, event.sender] = None
            self._size += len(event.data)
        self._judge.feed(event)
        if self._size > MOST_UNTAKEN + PER_CONNECTION * len(self._connections):
            self._size = 0
            self._take(self._judge.drain())

    def finish(self) -> Audit:
        """Return the charges, when the last event was fed. To be called once."""
        self._take(self._judge.finish())
        audit = self._audit
        audit.charges.sort(key=lambda charge: (charge.time, charge.packet or 0, charge.law))
        audit.nodes, audit.messages = self._nodes.nodes(), self._nodes.messages
        audit.unread = +Counter({LONG: self._nodes.too_long, UNENDED: self._judge.unended, BEYOND: self._more})
        return audit

    def _take(self, said: Iterable[Judged]) -> None:
        for judged in said:
            self._audit.subjects[judged.law.id] += judged.subjects
            for finding in judged.findings:
                self._charge(judged.law, finding)

    def _charge(self, law: type[Law], finding: Finding) -> None:
        counts, on = self._counts, (law.id, finding.connection)
        of = (law.id, self._nodes.node(finding.connection, finding.sender))
        counts[on] += 1
        counts[of] += 1
        if law.per is not Per.CONVERSATION and counts[on] > MOST_FINDINGS:
            return  # a law keeps no more of a connection, however often they are taken from it
        if counts[of] > MOST_CHARGES:
            self._more += 1
        else:
            self._audit.charges.append(self._nodes.charge(law, finding))


def cut(conversation: Conversation, connections: Collection[str]) -> Conversation:
    """Return the part of a conversation that went over these connections; the times stay as they are."""
    return Conversation(
        {name: known for name, known in conversation.connections.items() if name in connections},
        [event for event in conversation if event.connection in connections],
        dict(conversation.about),
    )


class _Nodes:
    """The ZenohID of each side of each connection, as its INIT, JOIN or HELLO states it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.spoke: dict[tuple[str, Side], None] = {}
        """The sides that sent at least one byte, in order."""
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
        for name, side in self.spoke:
            found.setdefault(self.node(name, side), set()).add(self._address(name, side))
        return dict(sorted(found.items()))

    def node(self, connection: str, side: Side) -> str:
        """Return the ZenohID of a side, or its address if it stated none."""
        return self._zids.get((connection, side)) or self._address(connection, side)

    def charge(self, law: type[Law], finding: Finding) -> Charge:
        """Return a law's finding with the node, the connection and the packet that it concerns."""
        known = requirements().get(finding.requirement)
        event = finding.event
        address = self._address(finding.connection, finding.sender)
        place = place_in_frame(finding.raw or (event.data if event else b""), finding.within)
        return Charge(
            node=self.node(finding.connection, finding.sender), address=address,
            role=finding.sender.value, requirement=finding.requirement, law=law.id,
            verdict=verdict_of(finding, str(known.level) if known else "MUST"), cause=finding.cause,
            connection=finding.connection, packet=event.packet if event else None, time=finding.time,
            data=place.data[:LONGEST], at=place.at,
        )  # fmt: skip

    def _address(self, connection: str, side: Side) -> str:
        known = self._conversation.connection(connection)
        return known.initiator if side is Side.INITIATOR else known.responder
