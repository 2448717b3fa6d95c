"""Explain a recorded conversation event by event, and each batch byte by byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zenoh_conformance.messages import First
from zenoh_conformance.reading.connection import Decoders, Seen, SeenBatch
from zenoh_conformance.reading.conversation import Conversation, Event, Happened
from zenoh_conformance.reading.explain import Explanation, explain, explain_batch
from zenoh_conformance.reading.pieces import Pieces
from zenoh_conformance.wire import Layer

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


def explain_conversation(conversation: Conversation, events: Iterable[Event] | None = None) -> Iterator[Explained]:
    """Yield the explanation of each event: bytes as the batches that they complete, decoded by the negotiated terms.

    `events`: those of the conversation, where they are read from a file as they are explained.
    A message in several FRAGMENTs follows the batch that completes it.
    """
    for name, what in ENDS.items():
        if said := conversation.about.get(name):
            yield Explained(f"{what}: {said}" if "\n" not in said else "\n    ".join((f"{what}:", *said.split("\n"))))
    decoders, chains = Decoders(conversation), _Chains()
    for event in conversation if events is None else events:
        who, whole = _who(event), True
        if event.kind is not Happened.BYTES:
            yield Explained(f"{who}  {event.kind.value}")
        for seen in decoders.feed(event):
            if isinstance(seen, SeenBatch):
                whole = False
                text = explain_batch(seen.raw, seen.layer, compressed=seen.compressed)
                yield Explained(f"{who}  {len(seen.raw)} bytes", text)
            else:
                yield from chains.feed(who, seen)
        if event.kind is Happened.BYTES and whole:
            yield Explained(f"{who}  {len(event.data)} bytes, a part of a batch")


class _Chains:
    """The chains of FRAGMENTs of a conversation, with the number of pieces and the first packet of each."""

    def __init__(self) -> None:
        self._pieces = Pieces()
        self._open: dict[object, tuple[int, int | None]] = {}

    def feed(self, who: str, seen: Seen) -> Iterator[Explained]:
        """Yield the explanation of the message that this FRAGMENT completes, or why a chain holds none."""
        lane, packet = (seen.connection, seen.sender, seen.channel), seen.event.packet
        found = next(iter(list(self._pieces.feed(seen))), None)
        begins = seen.kind == "fragment" and seen.message.exts.get(First) is not None
        if found is not None and not found.raw:
            yield Explained(f"{who}  no message of {_of(*self._open.pop(lane, (0, None)))}: {found.message}")
        if seen.kind == "fragment":
            count, since = (0, packet) if begins else self._open.get(lane, (0, packet))
            self._open[lane] = count + 1, since
        if found is not None and found.raw:
            of = _of(*self._open.pop(lane))
            yield Explained(f"{who}  {len(found.raw)} bytes of {of}", explain(found.raw, Layer.NETWORK))


def _of(count: int, packet: int | None) -> str:
    return f"{count} FRAGMENTs" + (f", the first in packet {packet}" if packet else "")


def _who(event: Event) -> str:
    packet = f"  packet {event.packet}" if event.packet else ""
    return f"{event.time:9.4f}{packet}  {event.connection}  {event.sender.value}"
