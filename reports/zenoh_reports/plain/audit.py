"""What the laws say of captured traffic, and what else there is to know of it: nodes, statistics, what could be observed at all.

One pass over each flow makes all of it: the messages are decoded once, the laws and the counters look at the same. The laws
that look across connections (`wide_rows`) need the handshakes alone; these are brought together and judged at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.finding import Finding
from zenoh_conformance.law import Judge, Judged, Law, Per, all_laws
from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import verdict_for
from zenoh_harness.files.captures import PORTS, Heard

from .clusters import signature
from .judgements import content_id
from .packets import PLACES, PacketRow
from .traffic import NUMBER, Spoken, heard_all, spoken

MINUTE: Final = 60_000_000_000
WIDE: Final = frozenset({"init", "open"})
"""The messages that laws over a whole conversation look at; a test holds them to it."""


class AuditRow(NamedTuple):
    """One fact of an audit; `what` says which, and which columns are filled."""

    what: str
    """`finding`, `subjects`, `messages`, `extension`, `node`, `handshake`, `counted`."""
    id: str = ""
    """Of a finding: of what it says, never of where the capture lies."""
    connection: str = ""
    began: int = 0
    time: int = 0
    """Nanoseconds since 1970; of counts the minute in which they fall."""
    file: int = 0
    packet: int = 0
    sender: str = ""
    """`initiator`, `responder`."""
    node: str = ""
    """The sender's address."""
    zid: str = ""
    """The sender's ZID, where its INIT was seen."""
    law: str = ""
    requirement: str = ""
    verdict: str = ""
    """`fail` or `warn`, by the requirement's level."""
    path: str = ""
    expected: str = ""
    got: str = ""
    cause: str = ""
    signature: str = ""
    kind: str = ""
    """Of messages."""
    detail: str = ""
    """An extension; a node's role; what was counted."""
    count: int = 0
    bytes: int = 0
    least: int = 0
    most: int = 0
    data: bytes = b""


@dataclass(slots=True)
class _Watch:
    """What is learnt of a connection beside what the laws say."""

    one: Spoken
    zids: dict[Side, str] = field(default_factory=dict)
    counts: dict[tuple[Side, str, int], list[int]] = field(default_factory=dict)
    """(sender, kind, minute) to messages, bytes, smallest, largest."""
    extensions: Counter[tuple[Side, str, str, int]] = field(default_factory=Counter)
    rows: list[AuditRow] = field(default_factory=list)
    """Nodes and handshakes."""

    def __call__(self, seen: Seen) -> None:
        kind = seen.kind
        if kind == "batch":
            return
        sender = seen.event.sender
        minute = self.one.at(seen.event.time) // MINUTE
        size = len(seen.raw) if not seen.around else _payload(seen.message)
        known = self.counts.get((sender, kind, minute))
        if known is None:
            self.counts[sender, kind, minute] = [1, size, size, size]
        else:
            known[0] += 1
            known[1] += size
            if size < known[2]:
                known[2] = size
            elif size > known[3]:
                known[3] = size
        for each in getattr(seen.message, "exts", ()):
            self.extensions[sender, kind, type(each).__name__, minute] += 1
        if kind in WIDE:
            self._handshake(seen)

    def _handshake(self, seen: Seen) -> None:
        place = seen.event.packet or 0
        shared = {
            "connection": self.one.connection.name, "began": self.one.began, "time": self.one.at(seen.time), "file": place >> PLACES,
            "packet": place & NUMBER, "sender": seen.sender.value, "node": self.node(seen.sender),
        }  # fmt: skip
        framing = self.one.connection.framing.value
        zid = ""
        if seen.kind == "init":
            init = seen.message
            zid = self.zids[seen.sender] = init.zid.raw.hex()
            hints = sorted({type(each).__name__ for each in init.exts})
            detail = f"{getattr(init.whatami, 'name', init.whatami)} version {init.version} {','.join(hints)}".lower().strip()
            self.rows.append(AuditRow("node", zid=zid, detail=detail, count=1, **shared))
        self.rows.append(AuditRow("handshake", zid=zid, kind=seen.kind, detail=framing, data=seen.raw, **shared))

    def node(self, side: Side) -> str:
        """The address of a side, without its port."""
        known = self.one.connection
        named = known.initiator if side is Side.INITIATOR else known.responder
        return named.rpartition("/")[2].rpartition(":")[0]

    def told(self) -> Iterator[AuditRow]:
        """All of it as rows."""
        yield from self.rows
        for (side, kind, minute), (count, size, least, most) in self.counts.items():
            yield AuditRow(
                "messages", time=minute * MINUTE, sender=side.value, node=self.node(side), zid=self.zids.get(side, ""), kind=kind,
                count=count, bytes=size, least=least, most=most,
            )  # fmt: skip
        for (side, kind, name, minute), count in self.extensions.items():
            yield AuditRow(
                "extension", time=minute * MINUTE, sender=side.value, node=self.node(side), zid=self.zids.get(side, ""), kind=kind,
                detail=name, count=count,
            )  # fmt: skip


def _payload(message: Any) -> int:
    payload = getattr(message, "payload", None)
    return len(payload) if isinstance(payload, bytes) else 0


@cache
def laws_of(*, wide: bool) -> tuple[type[Law], ...]:
    """The laws that look at one connection or session, or those that look across all."""
    return tuple(law for law in all_laws().values() if (law.per is Per.CONVERSATION) is wide)


def audit_rows(said: Heard) -> Iterator[AuditRow]:
    """All that one flow says: findings, subjects, nodes, counts, and the handshakes for the laws that look across."""
    for one in spoken(said):
        watch = _Watch(one)
        running = Judge(Conversation({one.connection.name: one.connection}), laws_of(wide=False), watch=watch)
        for event in one.events:
            running.feed(event)
        yield from judged_rows(running.finish(), {one.connection.name: watch})
        yield from watch.told()


def judged_rows(judged: Iterable[Judged], watches: dict[str, _Watch]) -> Iterator[AuditRow]:
    """Findings and subjects as rows; `watches` knows the connections by name."""
    for each in judged:
        if each.subjects:
            first = next(iter(watches.values())) if len(watches) == 1 else None
            yield AuditRow(
                "subjects", law=each.law.id, requirement=each.law.requirement, sender=each.sender.value,
                node=first.node(each.sender) if first else "", zid=first.zids.get(each.sender, "") if first else "",
                count=each.subjects,
            )  # fmt: skip
        repeated: Counter[tuple[object, ...]] = Counter()
        for finding in each.findings:
            yield _finding(each.law, finding, watches[finding.connection], repeated)


def _finding(law: type[Law], finding: Finding, watch: _Watch, repeated: Counter[tuple[object, ...]]) -> AuditRow:
    one = watch.one
    place, time = finding.packet or 0, one.at(finding.time)
    said = (law.id, one.connection.name, finding.sender.value, time, finding.path, finding.cause)
    repeated[said] += 1
    return AuditRow(
        "finding", id=content_id(*said, repeated[said]), connection=one.connection.name, began=one.began, time=time, file=place >> PLACES,
        packet=place & NUMBER, sender=finding.sender.value, node=watch.node(finding.sender),
        zid=watch.zids.get(finding.sender, ""), law=law.id, requirement=finding.requirement,
        verdict=verdict_for(str(requirements()[finding.requirement].level)).value, path=finding.path,
        expected=finding.expected, got=finding.got, cause=finding.cause, signature=signature(law.id, finding.cause), count=1,
    )  # fmt: skip


def wide_rows(handshakes: Iterable[AuditRow]) -> Iterator[AuditRow]:
    """What the laws say that look across connections, of all handshakes in the order of the captures."""
    conversation, watches = Conversation(), dict[str, _Watch]()
    running = Judge(conversation, laws_of(wide=True))
    for row in handshakes:
        name = f"{row.connection} @{row.began}"
        if name not in watches:
            initiator, _, responder = row.connection.removesuffix(" udp").partition(" > ")
            link = Connection(row.connection, "", Framing(row.detail), f"/{initiator}", f"/{responder}")
            conversation.connections[name] = link
            watches[name] = _Watch(Spoken(link, row.began, []))
        if row.zid:
            watches[name].zids[Side(row.sender)] = row.zid
        raw = len(row.data).to_bytes(2, "little") + row.data if row.detail == Framing.STREAM.value else row.data
        seconds = (row.time - row.began) / 1e9
        running.feed(Event(seconds, name, Side(row.sender), Happened.BYTES, raw, row.file << PLACES | row.packet))
    yield from judged_rows(running.finish(), watches)


def order_of(row: AuditRow) -> tuple[Any, ...]:
    """The order in which handshakes are judged."""
    return row.file, row.packet, row.connection, row.began, row.kind, row.data


def counted_rows(counted: Counter[str]) -> Iterator[AuditRow]:
    """What was found in the captures beside what was said."""
    return (AuditRow("counted", detail=what, count=count) for what, count in sorted(counted.items()) if count)


def whole_audit(rows: Iterable[PacketRow], ports: frozenset[int] = PORTS) -> list[AuditRow]:
    """Everything that packets in the order of their flows say; the handshakes are used up."""
    counted: Counter[str] = Counter()
    facts = [row for said in heard_all(rows, ports, counted) for row in audit_rows(said)]
    facts += counted_rows(counted)
    handshakes: Sequence[AuditRow] = sorted((row for row in facts if row.what == "handshake"), key=order_of)
    return [*(row for row in facts if row.what != "handshake"), *wide_rows(handshakes)]
