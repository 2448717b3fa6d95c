"""What two targets made of one script, compared: all that was said, but for the fields that each may choose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Conversation, Happened
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire import Layer
from zenoh_harness.scripting.recorder import FENCE

FREE: Final = (
    "init.zid", "init.cookie", "init.batch_size", "init.exts.patch", "open.cookie", "open.initial_sn", "open.lease",
    "fragment.sn", "request.id", "response.id", "response_final.id", "exts.timestamp", "exts.responder_id",
    "query.exts.source_info", "expr_id", "interest.id", "put.header", "del.header",
)  # fmt: skip
"""Paths whose bytes a node chooses, or draws; a path covers what is below it. PUT and DEL: whether there is a timestamp."""

PACKING = ("frame.header", "frame.sn", "frame.exts")
"""How many network messages share a FRAME is a matter of the moment: they are compared, not their packing."""

STAMPS = ("put.timestamp", "del.timestamp")
"""What a router adds or does not, as it is configured."""

UNASKED: Final = ("keep_alive", "oam", "network_oam", "interest", "declare")
"""Messages that a node sends on its own accord; their number and moment are its own."""


def skeleton(conversation: Conversation) -> dict[str, list[str]]:
    """For each connection and side: what was said, a line a segment, without what is free; ends last."""
    said: dict[str, list[str]] = {}
    decoders: dict[str, ConnectionDecoder] = {}
    for event in conversation:
        connection = conversation.connection(event.connection)
        decoder = decoders.setdefault(event.connection, ConnectionDecoder(connection))
        lines = said.setdefault(f"{event.connection} {event.sender.value}", [])
        if event.kind in (Happened.EOF, Happened.RESET):
            lines.append(event.kind.value)
        batches = [seen.message for seen in decoder.feed(event) if seen.kind == "batch"]
        lowlatency = decoder.directions[event.sender].lowlatency
        for batch in batches:
            lines += _lines(batch, Layer.LOWLATENCY if lowlatency else Layer.BATCH)
    return said


def _lines(batch: bytes, layer: Layer) -> Iterator[str]:
    """The segments of a batch that are nobody's choice."""
    for line in explain(batch, layer).lines:
        path = line.path.partition("].")[2] if line.path.startswith("batch[") else line.path
        if path.startswith("frame.") and not (path := path.partition("].")[2]):
            continue  # which messages share a FRAME is the sender's choice, and the moment's
        path = re.sub(r"messages\[\d+\]", "messages", path)
        if path.startswith(PACKING):
            continue
        if any(word in UNASKED for word in path.replace("[", ".").split(".")) or any(stamp in path for stamp in STAMPS):
            continue
        yield (
            f"{path} (free)"
            if is_free(path) or line.data.startswith(FENCE.encode())
            else f"{path} {line.data.hex(' ')}"
        )


def is_free(path: str) -> bool:
    """Whether a path, or what holds it, is one of `FREE`."""
    return any(f".{free}." in f".{path}." for free in FREE)


def differences(one: Conversation, other: Conversation) -> list[str]:
    """Where they part, as lines of a diff; empty when they say the same. Who shuts a link first is not compared."""
    left, right = skeleton(one), skeleton(other)
    found: list[str] = []
    for side in sorted(left.keys() | right.keys()):
        a, b = (
            [line for line in said.get(side, []) if line not in (Happened.EOF.value, Happened.RESET.value)]
            for said in (left, right)
        )
        found += list(unified_diff(a, b, side, side, lineterm="", n=1))
    return found
