"""The wire log of a recorded conversation: what happened when, each batch in annotated segments."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.connection import Decoders, Seen
from zenoh_conformance.reading.conversation import Conversation, Event, Framing, Happened
from zenoh_conformance.reading.explain import Layer, explain
from zenoh_conformance.reading.kinds import name_of
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import conversations, scripts

MOST_EVENTS: Final = 200
"""Events of one conversation that are shown; the rest is in the file to download."""
MOST_BYTES: Final = 4096
"""Bytes of one event that are shown."""


@dataclass(frozen=True, slots=True)
class AnnotatedSegment:
    """One annotated segment."""

    at: int
    hex: str
    path: str
    note: str
    depth: int = 0


@dataclass(slots=True)
class LogRow:
    """One event."""

    number: int
    time: float
    connection: str
    sender: str
    receiver: str
    by_target: bool
    happened: str
    """`bytes`, `open`, `eof`, `reset`."""
    label: str
    """What it is, for people: `OpenSyn`, `opens the link`."""
    size: int = 0
    pieces: list[AnnotatedSegment] = field(default_factory=list)
    refusal: str = ""
    """Why the bytes are no message."""
    data: bytes = b""
    guilty: bool = False
    """It is what the target is charged with."""
    names: tuple[str, ...] = ()
    """The names of the messages in it."""


@dataclass(slots=True)
class Log:
    """A conversation for people."""

    rows: list[LogRow]
    left_out: int = 0
    connections: list[str] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)

    @property
    def guilty(self) -> LogRow | None:
        """The event that the target is charged with."""
        return next((row for row in self.rows if row.guilty), None)


ENDS: Final = {
    Happened.OPEN: "opens the link",
    Happened.EOF: "ends its side of the link",
    Happened.RESET: "resets the link",
}


def read(file: Path) -> tuple[Log | None, str]:
    """The log of a conversation file with what its script charges the target with; or why there is none."""
    try:
        conversation = conversations.read(file)
        log = log_of(conversation)
    except HarnessError as why:
        return None, str(why).partition("\n")[0].rpartition(str(file))[2].lstrip(": ")
    script = file.with_suffix(scripts.SUFFIX)
    if script.is_file():
        with contextlib.suppress(HarnessError):  # the log stands without it
            accuse(log, scripts.read(script))
    return log, ""


def log_of(conversation: Conversation) -> Log:
    """Every event, at most `MOST_EVENTS`, in order."""
    decoders = Decoders(conversation)
    rows = [
        _row(number, event, conversation, decoders) for number, event in enumerate(conversation.events[:MOST_EVENTS], 1)
    ]
    return Log(
        rows,
        left_out=max(0, len(conversation.events) - MOST_EVENTS),
        connections=list(conversation.connections),
        about=dict(conversation.about),
    )


def _row(number: int, event: Event, conversation: Conversation, decoders: Decoders) -> LogRow:
    connection = conversation.connection(event.connection)
    sides = (connection.initiator, connection.responder)
    sender, receiver = sides if event.sender.value == "initiator" else sides[::-1]
    row = LogRow(
        number=number, time=event.time, connection=event.connection, sender=sender, receiver=receiver,
        by_target=sender != "harness", happened=event.kind.value, label=ENDS.get(event.kind, ""), size=len(event.data),
        data=event.data,
    )  # fmt: skip
    seen = list(decoders.feed(event))
    row.names = tuple(
        name_of(one.message) for one in seen if not one.around and one.kind not in ("batch", "undecodable")
    )
    if event.kind is Happened.BYTES:
        row.label = _label(seen)
        datagram = connection.framing is Framing.DATAGRAM
        row.pieces = list(
            _pieces(event.data[:MOST_BYTES], [one for one in seen if one.kind == "batch"], datagram=datagram)
        )
    row.refusal = next((str(one.message) for one in seen if one.kind == "undecodable"), "")
    return row


def _label(seen: Sequence[Seen]) -> str:
    """`OpenSyn`, `Frame (Push, Request)`, `3 KeepAlive`; what is no message is told as such."""
    names: list[str] = []
    for one in seen:
        if one.kind == "undecodable":
            names.append("undecodable bytes")
        elif one.kind != "batch" and not one.around:
            inner = [name_of(each.message) for each in seen if each.around == (one.message,)]
            names.append(f"{name_of(one.message)} ({', '.join(inner)})" if inner else name_of(one.message))
    counted = Counter(names)
    return ", ".join(f"{n} {name}" if n > 1 else name for name, n in counted.items()) or "a part of a batch"


def _pieces(data: bytes, batches: Sequence[Seen], *, datagram: bool) -> Iterator[AnnotatedSegment]:
    """The segments of the event's bytes, in order; offsets count from the event's first byte."""
    reading = explain(data, Layer.DATAGRAM if datagram else Layer.STREAM)
    if not reading.ok and len(batches) == 1 and not datagram:
        low = explain(data, Layer.LOWLATENCY)
        reading = low if low.ok else reading
    for line in reading.lines:
        path = re.sub(r"^batch\[\d+\]\.", "", line.path)
        shown = line.data.hex(" ")
        yield AnnotatedSegment(line.at, shown, path, line.note, depth=min(path.count("."), 4))


def accuse(log: Log, script: scripts.Script) -> None:
    """Mark what the script's `deviates` names: the last such message of the target on that connection."""
    charge = next((step for step in script.steps if step.do == "deviates"), None)
    if charge is None:
        return
    for row in reversed(log.rows):
        mine = row.by_target and (
            not charge.connection or row.connection.split(" ")[-1] in (charge.connection, row.connection)
        )
        if mine and (charge.what in row.names or (charge.what == "undecodable bytes" and row.refusal)):
            row.guilty = True
            return
