"""Laws judge any conversation: they raise nothing, hold bounded memory, and find the same however the bytes were cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from zenoh_conformance.batch import frame_batch
from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.law import Judged, judge
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import Finding
from zenoh_fuzz.oracle import Oracle
from zenoh_fuzz.seeds import message_words, vectors

SAMPLE: Final = 64
HAPPENS: Final = (Happened.BYTES, Happened.BYTES, Happened.BYTES, Happened.EOF, Happened.RESET, Happened.OPEN)
PIECE: Final = 2
"""Bytes of the head of a piece: what happens on which side of which connection, and how many bytes follow."""


def conversation_of(data: bytes, *, cut: int = 0) -> Conversation:
    """The conversation that an input tells, piece by piece; bytes of streams in chunks of `cut`, whole when 0.

    The first byte: bit 0 says that links are datagrams. A piece: a byte (bits 2:0 what happens, bit 3 who, bits 5:4
    which connection), a byte with the length, the bytes; of a stream they get their prefix.
    """
    framing = Framing.DATAGRAM if data[:1] and data[0] & 1 else Framing.STREAM
    names = [f"c{index}" for index in range(4)]
    told = Conversation({name: Connection(name, framing=framing) for name in names})
    at, time = 1, 0.0
    while at + PIECE <= len(data):
        head, size = data[at], data[at + 1]
        content = data[at + PIECE : at + PIECE + size]
        at, time = at + PIECE + size, time + 0.01
        side = Side.RESPONDER if head & 8 else Side.INITIATOR
        name, kind = names[head >> 4 & 3], HAPPENS[(head & 7) % len(HAPPENS)]
        if kind is not Happened.BYTES:
            told.events.append(Event(time, name, side, kind))
            continue
        raw = content if framing is Framing.DATAGRAM or head & 0x40 else frame_batch(content)
        size = cut if cut and framing is Framing.STREAM else max(len(raw), 1)
        told.events += [Event(time, name, side, kind, raw[begin : begin + size]) for begin in range(0, len(raw), size)]
    return told


def said(found: Sequence[Judged]) -> list[tuple[str, str, int, list[str]]]:
    """What the laws say, without where it was seen."""
    return [
        (one.law.__name__, one.sender.value, one.subjects, [str(each.cause) for each in one.findings]) for one in found
    ]


class Laws(Oracle):
    name = "laws"
    promise = "laws judge any conversation alike however its bytes are cut, and in bounded memory"
    structured = False
    largest = 2048

    def judge(self, data: bytes) -> Iterable[Finding]:
        whole = judge(conversation_of(data))
        self.behaviour = tuple(sorted({one.law.__name__ for one in whole if one.findings}))[:4]
        for cut in (1, 7):
            pieces = judge(conversation_of(data, cut=cut))
            if said(pieces) != said(whole):
                law = next(a[0] for a, b in zip(said(whole), said(pieces), strict=True) if a != b)
                yield self.found(
                    "findings-do-not-depend-on-cuts", law, f"in pieces of {cut} bytes it says otherwise", data
                )
        if self.thorough or inputs.sampled(data, SAMPLE):
            told = conversation_of(data)
            if much := steps.excess(lambda: judge(told), 40 * len(told.events) + len(data) + 400):
                yield self.found("work-grows-as-the-input", "all laws", much, data)

    def seeds(self) -> Iterable[bytes]:
        for vector in vectors():
            if vector.layer == "transport" and len(vector.data) < 250:
                yield bytes([0, 0, len(vector.data)]) + vector.data
        yield b"\0" + b"".join(_piece(side, data) for side, data in HANDSHAKE)

    def words(self) -> Iterable[bytes]:
        return message_words()


def _piece(head: int, data: bytes) -> bytes:
    return bytes([head, len(data)]) + data


HANDSHAKE: Final = (
    (0, bytes.fromhex("010932c4c3c2c1")), (8, bytes.fromhex("210930b4b3b2b10301aabb")), (0, bytes.fromhex("420a070301aabb")),
    (8, bytes.fromhex("620a09")), (0, bytes.fromhex("25073d000161010176")), (8, b"\x04"), (0, b"\x03\x00"), (3, b""), (11, b""),
)  # fmt: skip
"""A session that opens, carries a value, and closes."""

ORACLE = Laws
