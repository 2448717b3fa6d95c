"""Sessions over several links: the baseline's method inside the MultiLink extension, which the specification leaves open.

InitSyn contains a public RSA key; InitAck contains the responder's public key and a challenge of eight bytes, encrypted with
the initiator's key (PKCS #1, version 1.5); OpenSyn returns the challenge, encrypted with the responder's key; OpenAck
confirms. All links of one session use one key. The keys here are constants, since they protect nothing: they only show that
two links belong to one node.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import shake_128
from typing import Any, Final

from zenoh_conformance.messages import MultiLink, MultiLinkSyn
from zenoh_conformance.messages.sane import OFFERS
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import NO_EXTS, DecodeError, exts, vle

CHALLENGE: Final = 8
"""Bytes of a challenge, little-endian."""
_EXPONENT: Final = 0x10001


@dataclass(frozen=True, slots=True)
class Public:
    """A public RSA key."""

    modulus: int
    exponent: int

    @property
    def shown(self) -> bytes:
        """The key in the encoding of an extension's payload."""
        return b"".join(blob(number.to_bytes(_size(number), "little")) for number in (self.modulus, self.exponent))

    def encrypted(self, challenge: int) -> bytes:
        """Return an encrypted challenge; the padding is not random, so that the same challenge gives the same bytes."""
        size = _size(self.modulus)
        message = challenge.to_bytes(CHALLENGE, "little")
        padding = bytes(1 + byte % 255 for byte in shake_128(message).digest(size - CHALLENGE - 3))
        padded = int.from_bytes(b"\0\2" + padding + b"\0" + message)
        return pow(padded, self.exponent, self.modulus).to_bytes(size)


@dataclass(frozen=True, slots=True)
class RsaKey:
    """The two primes of an RSA key."""

    first: int
    second: int

    @property
    def public(self) -> Public:
        """The public key."""
        return Public(self.first * self.second, _EXPONENT)

    def read(self, encrypted: bytes) -> int | None:
        """Return the decrypted challenge; None for bytes that are not an encrypted challenge."""
        modulus = self.first * self.second
        inverse = pow(_EXPONENT, -1, (self.first - 1) * (self.second - 1))
        padded = pow(int.from_bytes(encrypted), inverse, modulus).to_bytes(_size(modulus))
        message = padded[2:].partition(b"\0")[2]
        right = padded[:2] == b"\0\2" and len(message) == CHALLENGE
        return int.from_bytes(message, "little") if right else None


OURS: Final = RsaKey(
    0xEDC6AB06078B2B8CC7A2B6E181A97BB564890A62DD02D5772F9E7C5A984C6F13,
    0xE3B2C0524C4C7D123BFD7158A743646FB4E33CEFEE69EDD79160C3BADFB7CB23,
)
REFERENCE: Final = RsaKey(
    0xF58C98C2047D41B4C531C5DBE0784D3E388F3EE0A50A62E98D431325F3968A91,
    0xE3DDC233E6B182F0414FD8EBDA9BE5E1F30EA3BD1D5420C0BB6A6D1C194081C3,
)
"""The key of the reference node; `OURS` is that of the harness as initiator."""


def _size(number: int) -> int:
    return (number.bit_length() + 7) // 8


def blob(data: bytes) -> bytes:
    """Return bytes preceded by their length as VLE."""
    return vle.encode(len(data)) + data


def blobs(payload: bytes) -> list[bytes]:
    """Return the length-prefixed parts of a payload. Raises DecodeError if one is cut off."""
    found, at = [], 0
    while at < len(payload):
        size, at = vle.decode(payload, at)
        if at + size > len(payload):
            raise DecodeError(at, "multi_link", f"{size} bytes are announced, {len(payload) - at} are left")
        found.append(payload[at : at + size])
        at += size
    return found


def key_shown(payload: bytes) -> Public | None:
    """Return the key in the MultiLink payload of an InitSyn or InitAck; None if it contains none."""
    try:
        parts = blobs(payload)
    except DecodeError:
        return None
    if len(parts) < 2:
        return None
    key = Public(*(int.from_bytes(part, "little") for part in parts[:2]))
    return key if _size(key.modulus) > CHALLENGE + 11 else None


def open_link(dialogue: Dialogue, **changes: Any) -> Dialogue:
    """Do the sane handshake of a link with the MultiLink extension; return the dialogue.

    `changes`: fields of our INIT. Raises Deviation if the target does not answer as required.
    """
    offers = (*changes.pop("exts", OFFERS), MultiLink(payload=OURS.public.shown))
    ack = dialogue.ask(dialogue.init_syn(exts=offers, **changes), expect=InitAck, step="not reached: init")
    answer = ack.exts.get(MultiLink)
    proof = exts(MultiLinkSyn(payload=proved(answer.payload))) if answer is not None else NO_EXTS
    dialogue.ask(dialogue.open_syn(ack, exts=proof), expect=OpenAck, step="not reached: open")
    return dialogue


def proved(payload: bytes) -> bytes:
    """Return the MultiLink payload of an OpenSyn for that of an InitAck; empty if the latter contains no challenge."""
    theirs = key_shown(payload)
    if theirs is None or len(parts := blobs(payload)) < 3:
        return b""
    challenge = OURS.read(parts[2])
    return b"" if challenge is None else blob(theirs.encrypted(challenge))
