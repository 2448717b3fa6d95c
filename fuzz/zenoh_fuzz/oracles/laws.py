"""Laws raise nothing on any conversation, use bounded memory, and find the same however the bytes are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from zenoh_conformance.judging.engine import Judged, judge
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import FuzzFinding
from zenoh_fuzz.inputs.seeds import message_words, vectors
from zenoh_fuzz.oracle import Oracle

SAMPLE: Final = 64
HAPPENS: Final = (Happened.BYTES, Happened.BYTES, Happened.BYTES, Happened.EOF, Happened.RESET, Happened.OPEN)
PIECE: Final = 2
"""Bytes of the head of a piece: the event, side and connection, and the number of bytes that follow."""


def conversation_of(data: bytes, *, cut: int = 0) -> Conversation:
    """Build the conversation that an input describes; `cut`: size of the chunks of streams, 0 for whole pieces.

    Bit 0 of the first byte selects datagram links. A piece is a byte (bits 2:0 event, bit 3 side, bits 5:4 connection), a byte
    with the length, and the bytes, which get a length prefix on a stream.
    """
    framing = Framing.DATAGRAM if data[:1] and data[0] & 1 else Framing.STREAM
    names = [f"c{index}" for index in range(4)]
    conversation = Conversation({name: Connection(name, framing=framing) for name in names})
    at, time = 1, 0.0
    while at + PIECE <= len(data):
        head, size = data[at], data[at + 1]
        content = data[at + PIECE : at + PIECE + size]
        at, time = at + PIECE + size, time + 0.01
        side = Side.RESPONDER if head & 8 else Side.INITIATOR
        name, kind = names[head >> 4 & 3], HAPPENS[(head & 7) % len(HAPPENS)]
        if kind is not Happened.BYTES:
            conversation.events.append(Event(time, name, side, kind))
            continue
        raw = content if framing is Framing.DATAGRAM or head & 0x40 else frame_batch(content)
        size = cut if cut and framing is Framing.STREAM else max(len(raw), 1)
        conversation.events += [
            Event(time, name, side, kind, raw[begin : begin + size]) for begin in range(0, len(raw), size)
        ]
    return conversation


def comparable(found: Sequence[Judged]) -> list[tuple[str, str, int, list[str]]]:
    """Return the judgements of laws without their positions."""
    return [
        (one.law.__name__, one.sender.value, one.subjects, [str(each.cause) for each in one.findings]) for one in found
    ]


class LawsOracle(Oracle):
    name = "laws"
    promise = "laws judge any conversation alike however its bytes are cut, and in bounded memory"
    structured = False
    largest = 2048

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        whole = judge(conversation_of(data))
        self.behaviour = tuple(sorted({one.law.__name__ for one in whole if one.findings}))[:4]
        for cut in (1, 7):
            pieces = judge(conversation_of(data, cut=cut))
            if comparable(pieces) != comparable(whole):
                law = next(a[0] for a, b in zip(comparable(whole), comparable(pieces), strict=True) if a != b)
                yield self.finding(
                    "findings-do-not-depend-on-cuts", law, f"in pieces of {cut} bytes it says otherwise", data
                )
        if self.thorough or inputs.is_sampled(data, SAMPLE):
            conversation = conversation_of(data)
            if much := steps.excess(lambda: judge(conversation), 40 * len(conversation.events) + len(data) + 400):
                yield self.finding("work-grows-as-the-input", "all laws", much, data)

    def seeds(self) -> Iterable[bytes]:
        for vector in vectors():
            if vector.layer == "transport" and len(vector.data) < 250:
                yield bytes([0, 0, len(vector.data)]) + vector.data
        yield b"\0" + b"".join(bytes([side, len(data)]) + data for side, data in HANDSHAKE)

    def words(self) -> Iterable[bytes]:
        return message_words()


HANDSHAKE: Final = (
    (0, bytes.fromhex("010932c4c3c2c1")),
    (8, bytes.fromhex("210930b4b3b2b10301aabb")),
    (0, bytes.fromhex("420a070301aabb")),
    (8, bytes.fromhex("620a09")),
    (0, bytes.fromhex("25073d000161010176")),
    (8, b"\x04"),
    (0, b"\x03\x00"),
    (3, b""),
    (11, b""),
)
"""The events of a session that opens, carries a value, and closes."""

ORACLE = LawsOracle
