"""The smallest talk that tells a Zenoh node from anything else: one InitSyn, and whether what comes back answers it."""

from __future__ import annotations

from typing import Final

from zenoh_conformance import sane
from zenoh_conformance.batch import frame_batch
from zenoh_conformance.codec import decode, encode
from zenoh_conformance.kinds import InitAck, InitSyn
from zenoh_conformance.messages import Close
from zenoh_conformance.wire.errors import DecodeError
from zenoh_harness.errors import NotZenoh
from zenoh_harness.links.links import Link
from zenoh_harness.links.timing import Deadline

GREETER: Final = bytes.fromhex("0100000000c0ffee")
"""The ZenohID that greets, in wire order; it never opens a session."""

_INIT, _CLOSE, _ACK = 0x01, 0x03, 0x20
"""Message ids and INIT's flag A (message-reference#init, #close)."""


def greet(link: Link, deadline: Deadline, *, silently: bool = False) -> bytes:
    """Send an InitSyn, return the batch that answers it: an InitAck or a CLOSE, well-formed or not. NotZenoh: what came instead.

    `silently`: whether a link that is shut is an answer too: no batch then. A profile that wants credentials may refuse so.
    """
    link.send(frame_batch(encode(sane.init_syn(GREETER)), link.framing.value), deadline)
    try:
        answer = first_batch(link, deadline)
    except NotZenoh:
        if silently and link.ended is not None:
            return b""
        raise
    if InitAck.matches(_read(answer)) or isinstance(_read(answer), Close) or _malformed(answer):
        return answer
    raise NotZenoh(f"{link.locator} does not answer an InitSyn as Zenoh does", step="handshake", seen=show(answer))


def hear_greeting(link: Link, deadline: Deadline) -> bytes:
    """The first batch of a node that connects to us; NotZenoh when it is no InitSyn."""
    batch = first_batch(link, deadline)
    if InitSyn.matches(_read(batch)):
        return batch
    raise NotZenoh(f"what came from {link.locator} does not begin with an InitSyn", step="handshake", seen=show(batch))


def _malformed(batch: bytes) -> bool:
    """Whether somebody means an InitAck or a CLOSE by it: that is for the checks to judge, byte by byte."""
    return (
        _read(batch) is None
        and batch[0] & 0x1F in (_INIT, _CLOSE)
        and (batch[0] & 0x1F == _CLOSE or bool(batch[0] & _ACK))
    )


def _read(batch: bytes) -> object:
    try:
        return decode(batch).message
    except DecodeError:
        return None


def first_batch(link: Link, deadline: Deadline) -> bytes:
    """The content of the first non-empty batch; NotZenoh for an end, silence, or a prefix that nothing fills."""
    held = b""
    while len(held) < 2 or len(held) < 2 + int.from_bytes(held[:2], "little"):
        event = link.receive(deadline)
        if event is None:
            raise NotZenoh(
                f"{link.locator} does not answer",
                step="handshake",
                seen=_silence(held),
                hint="does it speak Zenoh 1.x there?",
            )
        if event.ended:
            raise NotZenoh(
                f"{link.locator} ends the link instead of answering",
                step="handshake",
                seen=[show(held) if held else "", f"link {event.what.value}"],
            )
        held += event.data
        while held[:2] == b"\0\0":
            held = held[2:]
    return held[2 : 2 + int.from_bytes(held[:2], "little")]


def show(data: bytes) -> str:
    """Bytes for a person: printable text quoted, else hex, at most 48 bytes."""
    head = data[:48]
    text = repr(head)[1:] if all(32 <= byte < 127 or byte in b"\r\n\t" for byte in head) else head.hex(" ")
    return f"{text}{' ...' if len(data) > 48 else ''} ({len(data)} bytes)"


def _silence(held: bytes) -> str:
    if not held:
        return "nothing"
    claimed = int.from_bytes(held[:2], "little")
    return f"{show(held)}: no Zenoh batch, its length prefix would be {claimed} and {max(len(held) - 2, 0)} followed"
