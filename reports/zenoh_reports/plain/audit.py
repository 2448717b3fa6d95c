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

from zenoh_conformance.judging.engine import TELLING, Judge, Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import Law, Per, all_laws
from zenoh_conformance.judging.verdict import verdict_for
from zenoh_conformance.messages import MultiLink
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files.captures import PORTS
from zenoh_harness.files.heard_live import Datagrams, Stream, begun_by
from zenoh_harness.files.packets import Unit

from .clusters import signature
from .judgements import content_id
from .packets import PLACES, PacketRow
from .traffic import NUMBER, Spoken, by_flow

MINUTE: Final = 60_000_000_000
FIRST: Final = frozenset({"batch", "undecodable"})
"""What comes first of all that an event holds."""
WIDE: Final = frozenset({"init", "open"})
"""The messages that are brought together for the laws that look across connections."""


class AuditRow(NamedTuple):
    """One fact of an audit; `what` says which, and which columns are filled."""

    what: str
    """`finding`, `subjects`, `messages`, `extension`, `node`, `handshake`, `counted`; `flow` for one that is kept."""
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
    amount: int = 0
    size: int = 0
    """Bytes."""
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
    minute: int = 0
    """Of what is seen now, since 1970."""
    several: set[Side] = field(default_factory=set)
    """The sides whose INIT said that their session may have several links."""

    def __call__(self, seen: Seen) -> None:
        kind = seen.kind
        if kind in FIRST:
            self.minute = self.one.at(seen.event.time) // MINUTE
            if kind == "batch":
                return
        sender, minute = seen.event.sender, self.minute
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
        if kind in TELLING or kind in WIDE:
            self._handshake(seen)

    def _handshake(self, seen: Seen) -> None:
        place = seen.event.packet or 0
        shared: dict[str, Any] = {
            "connection": self.one.connection.name, "began": self.one.began, "time": self.one.at(seen.time), "file": place >> PLACES,
            "packet": place & NUMBER, "sender": seen.sender.value, "node": self.node(seen.sender),
        }  # fmt: skip
        zid = ""
        if seen.kind in TELLING and seen.message.zid is not None:
            message = seen.message
            zid = self.zids[seen.sender] = str(message.zid)
            if seen.kind == "init" and message.exts.get(MultiLink) is not None:
                self.several.add(seen.sender)
            hints = sorted({type(each).__name__ for each in getattr(message, "exts", ())})
            role = getattr(getattr(message, "whatami", None), "name", "")
            detail = f"{role} version {message.version} {','.join(hints)}".lower().strip()
            self.rows.append(AuditRow("node", zid=zid, kind=seen.kind, detail=detail, amount=1, **shared))
        if seen.kind in WIDE:
            known = self.one.connection
            detail = f"{known.framing.value} {known.begins.value}"
            self.rows.append(AuditRow("handshake", zid=zid, kind=seen.kind, detail=detail, data=seen.raw, **shared))

    def node(self, side: Side) -> str:
        """The address of a side, without its port."""
        known = self.one.connection
        named = known.initiator if side is Side.INITIATOR else known.responder
        return named.rpartition("/")[2].rpartition(":")[0]

    def drain(self) -> Iterator[AuditRow]:
        """What was learnt since the last time, as rows."""
        yield from self.rows
        for (side, kind, minute), (count, size, least, most) in self.counts.items():
            yield AuditRow(
                "messages", time=minute * MINUTE, sender=side.value, node=self.node(side), zid=self.zids.get(side, ""), kind=kind,
                amount=count, size=size, least=least, most=most,
            )  # fmt: skip
        for (side, kind, name, minute), count in self.extensions.items():
            yield AuditRow(
                "extension", time=minute * MINUTE, sender=side.value, node=self.node(side), zid=self.zids.get(side, ""), kind=kind,
                detail=name, amount=count,
            )  # fmt: skip
        self.rows.clear()
        self.counts.clear()
        self.extensions.clear()


def _payload(message: Any) -> int:
    payload = getattr(message, "payload", None)
    return len(payload) if isinstance(payload, bytes) else 0


@cache
def laws_of(*, wide: bool) -> tuple[type[Law], ...]:
    """The laws that look at one connection or session, or those that look at the handshakes of all."""
    every = all_laws().values()
    if wide:
        return tuple(law for law in every if law.per is Per.CONVERSATION and law not in too_wide())
    return tuple(law for law in every if law.per is not Per.CONVERSATION)


@cache
def too_wide() -> tuple[type[Law], ...]:
    """The laws that look across connections at more than handshakes: the small audit judges them, this one names them."""

    def kinds(law: type[Law]) -> set[str]:
        return {
            name.removeprefix("on_") for name in dir(law.fold or law) if name.startswith("on_") and name != "on_end"
        }

    every = (law for law in all_laws().values() if law.per is Per.CONVERSATION)
    return tuple(law for law in every if kinds(law) - WIDE or law.on_end is not Law.on_end)


@dataclass(slots=True)
class _Judged:
    """One connection while it is judged."""

    watch: _Watch
    judge: Judge
    now: float
    """The latest time of its events; one whose clock goes back is taken to have happened now."""


@dataclass(slots=True)
class Listener:
    """Hears and judges one flow, unit by unit; what it holds does not grow with what went by, and can be pickled."""

    ports: frozenset[int] = PORTS
    counted: Counter[str] = field(default_factory=Counter)
    hearing: Stream | Datagrams | None = None
    judged: dict[str, _Judged] = field(default_factory=dict)
    newest: int = 0
    """Time of its newest packet."""

    @property
    def is_over(self) -> bool:
        """Both sides have ended what is heard."""
        return self.hearing is None or self.hearing.is_over

    def feed(self, unit: Unit) -> Iterator[AuditRow]:
        """Hear one unit; rows come of connections that ended."""
        self.newest = max(self.newest, unit.time)
        if self.hearing is not None and self.hearing.is_another(unit):
            yield from self.finish()
        if self.hearing is None:
            self.hearing = begun_by(unit, self.ports, self.counted)
        for known, event, _ in self.hearing.feed(unit):
            yield from self._tell(known, event)

    def drain(self) -> Iterator[AuditRow]:
        """What was found since the last time on connections that go on: a file ends here, and another follows."""
        if self.hearing is not None:
            for known, event, _ in self.hearing.settle():
                yield from self._tell(known, event)
        for each in self.judged.values():
            yield from _rows(each.watch, each.judge.drain())

    def finish(self) -> Iterator[AuditRow]:
        """What is left when no more comes of the connection that is heard."""
        if self.hearing is not None:
            for known, event, _ in self.hearing.finish():
                yield from self._tell(known, event)
        self.hearing = None

    def _tell(self, known: Connection, event: Event | None) -> Iterator[AuditRow]:
        one = self.judged.get(known.name)
        if event is None:
            if one is not None:
                del self.judged[known.name]
                yield from _rows(one.watch, one.judge.finish())
            return
        if one is None:
            watch = _Watch(Spoken(known, int(event.time), []))
            judge = Judge(Conversation({known.name: known}), laws_of(wide=False), watch=watch)
            one = self.judged[known.name] = _Judged(watch, judge, event.time)
        one.now = max(one.now, event.time)
        seconds = (one.now - one.watch.one.began) / 1e9
        one.judge.feed(Event(seconds, known.name, event.sender, event.kind, event.data, event.packet))


def _rows(watch: _Watch, judged: Iterable[Judged]) -> Iterator[AuditRow]:
    if len(watch.several) == len(Side):  # what a session may say depends on its other links, which are not seen here
        judged = [each for each in judged if each.law.per is not Per.SESSION]
    yield from judged_rows(judged, {watch.one.connection.name: watch})
    yield from watch.drain()


def audit_rows(rows: Iterable[PacketRow], ports: frozenset[int], counted: Counter[str]) -> Iterator[AuditRow]:
    """All that single flows say: findings, subjects, nodes, counts, and the handshakes for the laws that look across."""
    for _, units in by_flow(rows, counted):
        listener = Listener(ports, counted)
        for unit in units:
            yield from listener.feed(unit)
        yield from listener.finish()


def judged_rows(judged: Iterable[Judged], watches: dict[str, _Watch]) -> Iterator[AuditRow]:
    """Findings and subjects as rows; `watches` knows the connections by name."""
    for each in judged:
        if each.subjects:
            first = next(iter(watches.values())) if len(watches) == 1 else None
            yield AuditRow(
                "subjects", law=each.law.id, requirement=each.law.requirement, sender=each.sender.value,
                node=first.node(each.sender) if first else "", zid=first.zids.get(each.sender, "") if first else "",
                amount=each.subjects,
            )  # fmt: skip
        repeated: Counter[tuple[object, ...]] = Counter()
        for finding in each.findings:
            yield _finding(each.law, finding, watches[finding.connection], repeated)


def _finding(law: type[Law], finding: Finding, watch: _Watch, repeated: Counter[tuple[object, ...]]) -> AuditRow:
    one = watch.one
    place, time = (finding.event.packet or 0) if finding.event else 0, one.at(finding.time)
    said = (law.id, one.connection.name, finding.sender.value, time, finding.path, finding.cause)
    repeated[said] += 1
    return AuditRow(
        "finding", id=content_id(*said, repeated[said]), connection=one.connection.name, began=one.began, time=time,
        file=place >> PLACES, packet=place & NUMBER, sender=finding.sender.value, node=watch.node(finding.sender),
        zid=watch.zids.get(finding.sender, ""), law=law.id, requirement=finding.requirement,
        verdict=verdict_for(str(requirements()[finding.requirement].level)).value, path=finding.path,
        expected=finding.expected, got=finding.got, cause=finding.cause, signature=signature(law.id, finding.cause), amount=1,
    )  # fmt: skip


class Across:
    """The laws that look across connections: shown the handshakes of all, in their order. Can be pickled, and goes on."""

    def __init__(self) -> None:
        self._conversation = Conversation()
        self._watches: dict[str, _Watch] = {}
        self._judge = Judge(self._conversation, laws_of(wide=True))

    def feed(self, row: AuditRow) -> None:
        """One message of a handshake."""
        name = f"{row.connection} @{row.began}"
        watch = self._watches.get(name)
        if watch is None:
            initiator, _, responder = row.connection.removesuffix(" udp").partition(" > ")
            framing, begins = row.detail.split()
            link = Connection(row.connection, "", Framing(framing), f"/{initiator}", f"/{responder}", Begins(begins))
            self._conversation.connections[name] = link
            watch = self._watches[name] = _Watch(Spoken(link, row.began, []))
        if row.zid:
            watch.zids[Side(row.sender)] = row.zid
        is_stream = watch.one.connection.framing is Framing.STREAM
        raw = len(row.data).to_bytes(2, "little") + row.data if is_stream else row.data
        seconds = (row.time - row.began) / 1e9
        self._judge.feed(Event(seconds, name, Side(row.sender), Happened.BYTES, raw, row.file << PLACES | row.packet))

    def drain(self) -> Iterator[AuditRow]:
        """What was found since the last time."""
        return judged_rows(self._judge.drain(), self._watches)

    def finish(self) -> Iterator[AuditRow]:
        """What is found in the end."""
        return judged_rows(self._judge.finish(), self._watches)


def wide_rows(handshakes: Iterable[AuditRow]) -> Iterator[AuditRow]:
    """What the laws say that look across connections, of all handshakes in the order of the captures; and which are left out."""
    yield from unjudged_rows()
    across = Across()
    for row in handshakes:
        across.feed(row)
    yield from across.finish()


def order_of(row: AuditRow) -> tuple[Any, ...]:
    """The order in which handshakes are judged."""
    return row.file, row.packet, row.connection, row.began, row.kind, row.data


def counted_rows(counted: Counter[str]) -> Iterator[AuditRow]:
    """What was found in the captures beside what was said."""
    return (AuditRow("counted", detail=what, amount=count) for what, count in sorted(counted.items()) if count)


def unjudged_rows() -> Iterator[AuditRow]:
    """The laws that are left out, where what is left out is told."""
    return (AuditRow("counted", detail=f"law not judged across connections: {law.id}", amount=1) for law in too_wide())


def whole_audit(rows: Iterable[PacketRow], ports: frozenset[int] = PORTS) -> list[AuditRow]:
    """Everything that packets in the order of their flows say; the handshakes are used up."""
    counted: Counter[str] = Counter()
    facts = list(audit_rows(rows, ports, counted))
    facts += counted_rows(counted)
    handshakes: Sequence[AuditRow] = sorted((row for row in facts if row.what == "handshake"), key=order_of)
    return [*(row for row in facts if row.what != "handshake"), *wide_rows(handshakes)]
