"""The conversation file, one event a line; evidence, recordings of the tap and replays have this format.

    {"conversation":1,"connections":{"a":{"link":"tcp","framing":"stream","initiator":"harness","responder":"target"}},"about":{}}
    {"t":0.0012,"c":"a","from":"initiator","event":"open"}
    {"t":0.0013,"c":"a","from":"initiator","bytes":"0f00"}

`schemas/conversation.schema.json` describes the lines. If the last line was cut off, because the writer was killed, it is
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.files.faults import FileFault, Row, field, regular, unreadable

FORMAT: Final = 1
_EVENTS: Final = {kind.value: kind for kind in Happened if kind is not Happened.BYTES}
_SIDES: Final = {side.value: side for side in Side}
_BEGINS: Final = {one.value: one for one in Begins}


def head_row(conversation: Conversation) -> Row:
    """Return the object of the first line."""
    connections = {
        name: {
            "link": known.link,
            "framing": known.framing.value,
            "initiator": known.initiator,
            "responder": known.responder,
        }
        | ({"begins": known.begins.value} if known.begins is not Begins.START else {})
        for name, known in conversation.connections.items()
    }
    return {"conversation": FORMAT, "connections": connections, "about": dict(conversation.about)}


def event_row(event: Event) -> Row:
    """Return the object of one event; times in seconds, rounded to microseconds."""
    row: Row = {"t": round(event.time, 6), "c": event.connection, "from": event.sender.value}
    if event.packet is not None:
        row["packet"] = event.packet
    if event.kind is Happened.BYTES:
        return row | {"bytes": event.data.hex()}
    return row | {"event": event.kind.value}


def event_line(event: Event) -> str:
    """Return the line of one event.

    For bytes without a packet number it is formatted by hand, since a tap delays each message until the line is written.
    """
    if event.kind is Happened.BYTES and event.packet is None:
        who = f'"c":{_quote(event.connection)},"from":"{event.sender.value}"'
        return f'{{"t":{float(round(event.time, 6))!r},{who},"bytes":"{event.data.hex()}"}}\n'
    return _line(event_row(event))


@lru_cache(maxsize=64)
def _quote(name: str) -> str:
    return json.dumps(name)


def lines(conversation: Conversation) -> Iterator[str]:
    """Yield the lines of the file, each with its newline."""
    yield _line(head_row(conversation))
    for event in conversation:
        yield event_line(event)


def write(conversation: Conversation, path: Path) -> None:
    """Write a whole conversation into a file. Raises OSError."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(lines(conversation))


class ConversationWriter:
    """Writes a conversation event by event, each at once; the connections must be known before the first event."""

    def __init__(self, path: Path, conversation: Conversation) -> None:
        self._out: IO[bytes] = path.open("wb", buffering=0)
        self._write(_line(head_row(conversation)))

    def event(self, event: Event) -> None:
        """Append one event."""
        self._write(event_line(event))

    def _write(self, line: str) -> None:
        """Write the line; one write call to an unbuffered file may write only a part of it."""
        left = line.encode()
        while left:
            left = left[self._out.write(left) :]

    def close(self) -> None:
        """Close the file."""
        self._out.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(path: Path) -> Conversation:
    """Read a conversation file. Raises FileFault with the line."""
    with open_conversation(path) as (conversation, events):
        conversation.events += events
    return conversation


@contextmanager
def open_conversation(path: Path) -> Iterator[tuple[Conversation, Iterator[Event]]]:
    """Open a conversation file: the conversation without events, and its events as they are taken. Raises FileFault with the line."""
    try:
        with regular(path).open(encoding="utf-8") as source:
            yield stream(source, path)
    except (OSError, UnicodeDecodeError) as why:
        raise unreadable(path, why) from why


def parse(source: Iterable[str], path: Path | str = "conversation") -> Conversation:
    """Read a conversation from its lines. Raises FileFault with the line."""
    conversation, events = stream(source, path)
    conversation.events += events
    return conversation


def stream(source: Iterable[str], path: Path | str = "conversation") -> tuple[Conversation, Iterator[Event]]:
    """Return a conversation without events, and its events, which are read as they are taken.

    Both raise FileFault with the line.
    """
    numbered = enumerate(source, 1)
    try:
        _, first = next(numbered)
    except StopIteration:
        raise FileFault(path, None, "is empty; the first line names the connections") from None
    conversation = _head(path, _row(path, 1, first))
    return conversation, _events(numbered, path, conversation)


def _events(numbered: Iterable[tuple[int, str]], path: Path | str, conversation: Conversation) -> Iterator[Event]:
    for number, text in numbered:
        if text.strip():
            try:
                row = _row(path, number, text)
            except FileFault:
                if text.endswith("\n"):
                    raise
                return  # the writer was interrupted in this line
            yield event_of(path, number, row, conversation)


def _row(path: Path | str, number: int, text: str) -> Row:
    try:
        row = json.loads(text)
    except ValueError as why:
        raise FileFault(path, number, f"is no JSON: {why}") from why
    if not isinstance(row, dict):
        raise FileFault(path, number, f"expected an object, found {type(row).__name__}")
    return row


def _head(path: Path | str, row: Row) -> Conversation:
    if row.get("conversation") != FORMAT:
        hint = 'the first line of a conversation is {"conversation":1,"connections":{...}}'
        raise FileFault(
            path, 1, f"expected conversation format {FORMAT}, found {row.get('conversation')!r:.40}", hint=hint
        )
    named = field(path, 1, row, "connections", dict, {})
    about = {str(name): str(value) for name, value in field(path, 1, row, "about", dict, {}).items()}
    return Conversation(
        connections={name: _connection(path, name, about_it) for name, about_it in named.items()}, about=about
    )


def _connection(path: Path | str, name: str, row: Any) -> Connection:
    if not isinstance(row, dict):
        raise FileFault(path, 1, f"connection {name!r} must be an object")
    framing = field(path, 1, row, "framing", str, Framing.STREAM.value)
    if framing not in {one.value for one in Framing}:
        raise FileFault(path, 1, f"connection {name!r}: framing must be stream or datagram, found {framing!r:.40}")
    begins = _BEGINS.get(field(path, 1, row, "begins", str, Begins.START.value))
    if begins is None:
        raise FileFault(
            path, 1, f"connection {name!r}: begins must be {', '.join(_BEGINS)}; found {row['begins']!r:.40}"
        )
    return Connection(
        name=name,
        link=field(path, 1, row, "link", str, "tcp"),
        framing=Framing(framing),
        initiator=field(path, 1, row, "initiator", str, "initiator"),
        responder=field(path, 1, row, "responder", str, "responder"),
        begins=begins,
    )


def event_of(path: Path | str, number: int, row: Row, conversation: Conversation) -> Event:
    """Return the event of a line.

    Raises FileFault with the line for a bad field, and what `Conversation.connection` raises for an unknown connection.
    """
    connection = field(path, number, row, "c", str)
    conversation.connection(connection)
    sender = _SIDES.get(field(path, number, row, "from", str))
    if sender is None:
        raise FileFault(path, number, f"field 'from' must be initiator or responder, found {row['from']!r:.40}")
    time = float(field(path, number, row, "t", (int, float)))
    packet = field(path, number, row, "packet", int, None)
    if ("bytes" in row) == ("event" in row):
        raise FileFault(path, number, "expected exactly one of 'bytes' and 'event'")
    if "event" in row:
        kind = _EVENTS.get(field(path, number, row, "event", str))
        if kind is None:
            raise FileFault(path, number, f"field 'event' must be {', '.join(_EVENTS)}; found {row['event']!r:.40}")
        return Event(time, connection, sender, kind, packet=packet)
    try:
        data = bytes.fromhex(field(path, number, row, "bytes", str))
    except ValueError as why:
        raise FileFault(path, number, f"field 'bytes' is no hexadecimal: {why}") from why
    return Event(time, connection, sender, Happened.BYTES, data, packet)


def _line(row: Row) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"
