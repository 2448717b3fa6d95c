"""Where a finding shows: the byte of the batch that holds what is at fault, beside what was expected and what came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.reading.connection import ConnectionDecoder, SeenBatch
from zenoh_conformance.reading.conversation import Conversation
from zenoh_conformance.reading.explain import explain_batch

MOST: Final = 16
"""Bytes of a place that are shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """Some bytes of a batch."""

    byte: int
    """Offset in the batch, behind its length."""
    data: bytes


def place_of(finding: Finding, conversation: Conversation | None) -> Place | None:
    """The segment that a finding names, in the last batch of its sender that holds it; None where it names none, or a step."""
    if conversation is None or finding.connection not in conversation.connections or not _is_path(finding.path):
        return None
    found = None
    for batch in _batches(finding, conversation):
        explained = explain_batch(batch.raw, batch.layer, compressed=batch.compressed)
        lines = [line for line in explained.lines if not line.inside and _names(finding.path, line.path)]
        if lines:
            found = Place(lines[0].at, b"".join(line.data for line in lines)[:MOST])
    return found


def _is_path(text: str) -> bool:
    """Whether it is the path of a segment, and not a step in words."""
    return bool(text) and " " not in text and ":" not in text


def _names(path: str, segment: str) -> bool:
    """Whether a segment is what a path names, or a part of it; a message that is named stands in the paths of its own alone."""
    return segment == path or segment.startswith(f"{path}.") or f".{path}." in f"{segment}."


def _batches(finding: Finding, conversation: Conversation) -> Iterator[SeenBatch]:
    """What the sender said up to the moment of the finding."""
    decoder = ConnectionDecoder(conversation.connection(finding.connection))
    for event in conversation:
        if event.connection == finding.connection and event.time <= finding.time:
            for seen in decoder.feed(event):
                if isinstance(seen, SeenBatch) and seen.sender is finding.sender:
                    yield seen


def details_of(finding: Finding | None, conversation: Conversation | None) -> dict[str, object]:
    """What a judgement keeps of its finding: path, expected and actual value, and the byte where there is one."""
    if finding is None:
        return {}
    place = place_of(finding, conversation)
    told = {"path": finding.path, "expected": finding.expected, "got": finding.got, "why": finding.why}
    kept: dict[str, object] = {name: text for name, text in told.items() if text}
    if finding.links:
        kept["circumstances"] = {name: str(value) for name, value in finding.circumstances}
    return {**kept, **({"byte": place.byte, "bytes": place.data.hex(" ")} if place is not None else {})}
