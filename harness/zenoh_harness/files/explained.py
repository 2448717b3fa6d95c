"""Explain a recorded conversation event by event, and each batch byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zenoh_conformance.reading.connection import Decoders, SeenBatch
from zenoh_conformance.reading.conversation import Conversation, Event, Happened
from zenoh_conformance.reading.explain import Explanation, explain_batch

ENDS = {"ended": "the target ended", "wrote": "it wrote last"}
"""Key in `about` of a piece of evidence that describes the target's end, to the label that is printed."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One explanation, with the event that its bytes come from."""

    head: str
    explanation: Explanation | None = None
    """None for an event without a batch, such as a link that opens or closes."""
    unread: bool = False
    """Whether it describes a part of the file that could not be read."""

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        return {"of": self.head, **(self.explanation.to_json() if self.explanation else {})}


def explain_conversation(conversation: Conversation) -> Iterator[Explained]:
    """Yield the explanation of each event: bytes as the batches that they complete, decoded by the negotiated terms."""
    for name, what in ENDS.items():
        if said := conversation.about.get(name):
            yield Explained(f"{what}: {said}" if "\n" not in said else "\n    ".join((f"{what}:", *said.split("\n"))))
    decoders = Decoders(conversation)
    for event in conversation:
        who = _who(event)
        if event.kind is not Happened.BYTES:
            yield Explained(f"{who}  {event.kind.value}")
        batches = [seen for seen in decoders.feed(event) if isinstance(seen, SeenBatch)]
        for batch in batches:
            text = explain_batch(batch.raw, batch.layer, compressed=batch.compressed)
            yield Explained(f"{who}  {len(batch.raw)} bytes", text)
        if event.kind is Happened.BYTES and not batches:
            yield Explained(f"{who}  {len(event.data)} bytes, a part of a batch")


def _who(event: Event) -> str:
    packet = f"  packet {event.packet}" if event.packet else ""
    return f"{event.time:9.4f}{packet}  {event.connection}  {event.sender.value}"
