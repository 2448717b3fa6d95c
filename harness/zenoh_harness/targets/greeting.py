"""Tell a Zenoh node from any other program: send one InitSyn and check the answer."""

from __future__ import annotations

from typing import Final

from zenoh_conformance.messages import Init, sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.reading.conversation import Framing
from zenoh_conformance.wire import DecodeError
from zenoh_harness.errors import CannotConnect, NotZenoh
from zenoh_harness.links.links import RecordedLink, StreamLink
from zenoh_harness.links.timing import Deadline

GREETER: Final = bytes.fromhex("0100000000c0ffee")
"""The ZenohID that we greet with, in wire order; it never opens a session."""

_ID, _INIT, _CLOSE = 0x1F, 0x01, 0x03
"""The bits of a header that are the id, and two ids (message-reference#init, #close)."""


def greet(link: RecordedLink, deadline: Deadline, *, silently: bool = False) -> bytes:
    """Send an InitSyn and return the batch that answers it: an INIT or a CLOSE, however wrong, but no echo. Raises NotZenoh.

    What is wrong with it the checks judge byte by byte. `silently`: a shut link is an answer too, returned as an empty batch; a node
    that requires credentials may refuse like this.
    """
    asked = encode(sane.init_syn(GREETER))
    link.send(frame_batch(asked, link.framing.value), deadline)
    try:
        answer = first_batch(link, deadline)
    except NotZenoh:
        if silently and link.ended is not None:
            return b""
        raise
    if answer[0] & _ID in (_INIT, _CLOSE) and answer != asked:
        return answer
    raise NotZenoh(f"{link.locator} does not answer an InitSyn as Zenoh does", step="handshake", seen=show(answer))


def odd_statements(answer: bytes, role: str) -> str:
    """Return what an InitAck that answered `greet` states beside version 9 and `role`: `version 0, role client`; empty if nothing."""
    init = _read(answer) if answer else None
    if not isinstance(init, Init):
        return ""
    stated = init.whatami.name.lower()
    odd = [f"version {init.version}"] if init.version != sane.VERSION else []
    return ", ".join(odd + ([f"role {stated}"] if stated != role else []))


def _read(batch: bytes) -> object:
    try:
        return decode(batch).message
    except DecodeError:
        return None


def first_batch(link: RecordedLink, deadline: Deadline) -> bytes:
    """Return the content of the first non-empty batch.

    Raises NotZenoh for a link end, silence, or an incomplete batch, and CannotConnect for a UDP port where nothing listens.
    """
    datagrams = link.framing is Framing.DATAGRAM
    buffer = b""
    while not buffer if datagrams else len(buffer) < 2 or len(buffer) < 2 + int.from_bytes(buffer[:2], "little"):
        event = link.receive(deadline)
        if event is None:
            hint = "does it speak Zenoh 1.x there?"
            silence = NotZenoh(f"{link.locator} does not answer", step="handshake", seen=_silence(buffer), hint=hint)
            silence.silent = True
            raise silence
        if event.ended and datagrams:
            raise CannotConnect(f"nothing listens at {link.locator}", step="connect", seen="the port is unreachable")
        if event.ended:
            ended = NotZenoh(
                f"{link.locator} ends the link instead of answering",
                step="handshake",
                seen=[show(buffer) if buffer else "", f"link {event.what.value}"],
            )
            ended.said_nothing = not buffer
            raise ended
        buffer += event.data
        while buffer[:2] == b"\0\0" and not datagrams:
            buffer = buffer[2:]
    return buffer if datagrams else buffer[2 : 2 + int.from_bytes(buffer[:2], "little")]


def turn_away(link: StreamLink) -> None:
    """End a link that a node opened to us; on datagrams, where it would wait for the end of its lease, with CLOSE."""
    if link.framing is Framing.DATAGRAM:
        link.send(encode(sane.close()), Deadline(0.0))
    link.close()


def show(data: bytes) -> str:
    """Return at most 48 bytes for a person: printable text quoted, else hex."""
    head = data[:48]
    text = repr(head)[1:] if all(32 <= byte < 127 or byte in b"\r\n\t" for byte in head) else head.hex(" ")
    return f"{text}{' ...' if len(data) > 48 else ''} ({len(data)} bytes)"


def _silence(buffer: bytes) -> str:
    if not buffer:
        return "nothing"
    claimed = int.from_bytes(buffer[:2], "little")
    return (
        f"{show(buffer)}: no Zenoh batch, its length prefix would be {claimed} and {max(len(buffer) - 2, 0)} followed"
    )
