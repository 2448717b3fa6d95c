"""Handshakes with user and password: the baseline's method inside the Auth extension, which the specification leaves open.

The payload of Auth is a chain of extensions whose ids are the numbers of methods. User and password is method 2: a unit in
InitSyn, a nonce in InitAck, user and keyed hash in OpenSyn, a unit in OpenAck. The hash is HMAC-SHA3-256 of the password,
with the nonce (eight bytes, little-endian) as its key.
"""

from __future__ import annotations

import hmac
from typing import Any, Final

from zenoh_conformance.messages import Auth, Init
from zenoh_conformance.messages.sane import OFFERS
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenAck, OpenSyn
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import DecodeError, exts, vle
from zenoh_harness.profiles import Profile
from zenoh_harness.reference.multilink_method import open_link

USER_METHOD: Final = b"\x02"
"""The Auth payload of an InitSyn that announces user and password."""

NONCE: Final = 0x22
_ANSWER: Final = 0x42
_OUR_NONCE: Final = 0x0123456789ABCDEF


def open_session(dialogue: Dialogue, profile: Profile, **changes: Any) -> Dialogue:
    """Do the sane handshake with the extensions and credentials of a profile; return the dialogue.

    `changes`: fields of our INIT. Raises Deviation if the target does not answer as required.
    """
    if profile.credentials is None:
        several = "multilink" in profile.offers and dialogue.wire.side is Side.INITIATOR
        return open_link(dialogue, **changes) if several else dialogue.open(**changes)
    if dialogue.wire.side is Side.INITIATOR:
        offers = (*changes.pop("exts", OFFERS), Auth(payload=USER_METHOD))
        ack = dialogue.ask(dialogue.init_syn(exts=offers, **changes), expect=InitAck, step="not reached: init")
        proof = exts(Auth(payload=answer(profile.credentials, challenge(ack))))
        dialogue.ask(dialogue.open_syn(ack, exts=proof), expect=OpenAck, step="not reached: open")
    else:
        syn = dialogue.expect(InitSyn, step="not reached: init")
        offered = exts(*dialogue.init_ack(syn).exts, Auth(payload=bytes([NONCE]) + vle.encode(_OUR_NONCE)))
        dialogue.ask(dialogue.init_ack(syn, exts=offered, **changes), expect=OpenSyn, step="not reached: open")
        dialogue.send(dialogue.open_ack(exts=exts(Auth(payload=USER_METHOD))))
    return dialogue


def challenge(ack: Init) -> int | None:
    """Return the nonce of an InitAck; None if it contains none."""
    auth = ack.exts.get(Auth)
    if auth is None or auth.payload[:1] != bytes([NONCE]):
        return None
    try:
        return vle.decode(auth.payload, 1)[0]
    except DecodeError:
        return None


def answer(credentials: tuple[str, str], nonce: int | None) -> bytes:
    """Return the Auth payload of an OpenSyn: user and hash for the nonce of the InitAck (0 if it contains none)."""
    user, password = (part.encode() for part in credentials)
    proof = hmac.new((nonce or 0).to_bytes(8, "little"), password, "sha3_256").digest()
    content = vle.encode(len(user)) + user + vle.encode(len(proof)) + proof
    return bytes([_ANSWER]) + vle.encode(len(content)) + content
