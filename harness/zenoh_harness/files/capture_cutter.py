"""Cut connections out of a capture that was read: each as a conversation and as a capture of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from zenoh_conformance.reading.conversation import Conversation, Event
from zenoh_harness.files import capture_writer, conversations
from zenoh_harness.files.capture_stream import CaptureStream
from zenoh_harness.files.conversations import ConversationWriter
from zenoh_harness.files.flows import FlowKey, flow_key
from zenoh_harness.files.packets import IpFragment, Unit, opened
from zenoh_harness.files.pcap import Capture, Packet, PacketWriter


def cut_connections(capture: CaptureStream, outs: Mapping[str, Path]) -> None:
    """Write the packets of each connection to its file, and its conversation beside it with the suffix `.jsonl`.

    The capture is read twice more, and no connection is held in memory. Raises OSError, and FileFault if it is gone.
    """
    if outs:
        _cut_conversations(capture, outs)
        _cut_packets(capture, outs)


def _cut_conversations(capture: CaptureStream, outs: Mapping[str, Path]) -> None:
    whole = Conversation(capture.connections, about={"capture": capture.path.name})
    _cut_events(whole, CaptureStream(capture.path, capture.ports), outs)


def cut_conversation(path: Path, outs: Mapping[str, Path]) -> None:
    """Write each connection of a conversation file to a file of its own with the suffix `.jsonl`, and as packets that carry it.

    The file is read once more, and one connection at a time is held in memory. Raises OSError, and FileFault if it is gone.
    """
    if outs:
        with conversations.open_conversation(path) as (whole, events):
            _cut_events(whole, events, outs)
        for out in outs.values():
            capture_writer.write(conversations.read(out.with_suffix(".jsonl")), out)


def _cut_events(whole: Conversation, events: Iterable[Event], outs: Mapping[str, Path]) -> None:
    with ExitStack() as files:
        writers = {}
        for name, out in outs.items():
            known = Conversation({name: whole.connection(name)}, about=whole.about)
            writers[name] = files.enter_context(ConversationWriter(out.with_suffix(".jsonl"), known))
        for event in events:
            if event.connection in writers:
                writers[event.connection].event(event)


def _cut_packets(capture: CaptureStream, outs: Mapping[str, Path]) -> None:
    with ExitStack() as files:
        by_key: dict[FlowKey, list[tuple[str, PacketWriter]]] = {}
        for name, out in outs.items():
            writer = files.enter_context(PacketWriter(out))
            by_key.setdefault(capture.ranges[name].key, []).append((name, writer))
        for packet in Capture(capture.path):
            place = _place(packet, capture)
            if place is None:
                continue
            key, number = place
            for name, writer in by_key.get(key, ()):
                if capture.ranges[name].has(key, number):
                    writer.packet(packet)


def _place(packet: Packet, capture: CaptureStream) -> tuple[FlowKey, int] | None:
    """Return the flow key of a packet, and the number of the segment or datagram in it; None if it is of no flow."""
    found = opened(packet)
    if isinstance(found, IpFragment):
        return capture.fragments.get(packet.number)
    return (flow_key(found), packet.number) if isinstance(found, Unit) else None
