"""Conversation files as rows, one an event: recordings of the tap, evidence of runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened
from zenoh_harness.files import conversations
from zenoh_harness.files.faults import FileFault

from .lines import Fault, objects


class EventRow(NamedTuple):
    """One event of a recording, with what is known of its connection."""

    file: str
    line: int
    connection: str
    link: str
    framing: str
    initiator: str
    responder: str
    seconds: float
    """Since the recording began."""
    sender: str
    happened: str
    data: bytes
    fault: str


def rows(path: str) -> Iterator[EventRow]:
    """The events of a recording; a fault where a line cannot be used, and the rest goes on. Never raises for what it reads."""
    conversation: Conversation | None = None
    for number, found in objects(path):
        if isinstance(found, Fault):
            yield _fault(path, number, found.why)
            if conversation is None:
                return
            continue
        try:
            if conversation is None:
                conversation = conversations.parse([json.dumps(found)], path)
                continue
            event = conversations.event_of(path, number, dict(found), conversation)
        except FileFault as why:
            yield _fault(path, number, why.why)
            if conversation is None:
                return
            continue
        yield _row(path, number, conversation.connection(event.connection), event)
    if conversation is None:
        yield _fault(path, 0, "is empty; the first line names the connections")


def _row(path: str, number: int, known: Connection, event: Event) -> EventRow:
    return EventRow(
        path, number, known.name, known.link, known.framing.value, known.initiator, known.responder, event.time,
        event.sender.value, event.kind.value, event.data if event.kind is Happened.BYTES else b"", "",
    )  # fmt: skip


def _fault(path: str, number: int, why: str) -> EventRow:
    return EventRow(path, number, "", "", "", "", "", 0.0, "", "", b"", why)
