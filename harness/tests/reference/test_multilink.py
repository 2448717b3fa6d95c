"""Several links a session: the proof that the second is of the same node, and what the reference keeps for all of them."""

from __future__ import annotations

import pytest

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages.init import MultiLink
from zenoh_conformance.messages.open import MultiLinkAck, MultiLinkSyn
from zenoh_conformance.messages.sane import OFFERS
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.reference.multilink_method import OURS, REFERENCE, Public, blob, key_shown, open_link, proved

CHALLENGE = 0x0123456789ABCDEF


def scene(profile: str = "two-links") -> MemoryScene:
    """The reference where a session may have two links."""
    return MemoryScene("close/link-close-ends-link", profile=profile)


def test_only_the_owner_of_a_key_reads_what_is_encrypted_with_it() -> None:
    sealed = OURS.public.encrypted(CHALLENGE)

    assert len(sealed) == 64
    assert OURS.read(sealed) == CHALLENGE
    assert REFERENCE.read(sealed) is None
    assert OURS.read(bytes(64)) is None


def test_a_key_is_shown_as_the_baseline_writes_it() -> None:
    shown = OURS.public.shown

    assert shown[0] == 64
    assert shown[65:] == b"\x03\x01\x00\x01"
    assert key_shown(shown) == OURS.public


@pytest.mark.parametrize("payload", [b"", b"\x01\x02", b"\x05\x01", b"\x01\x03\x01\x03"])
def test_what_shows_no_key_is_none(payload: bytes) -> None:
    assert key_shown(payload) is None
    assert proved(payload) == b""


def test_a_challenge_is_returned_encrypted_with_the_other_key() -> None:
    asked = REFERENCE.public.shown + blob(OURS.public.encrypted(CHALLENGE))

    assert REFERENCE.read(proved(asked)[1:]) == CHALLENGE


def test_the_second_link_is_confirmed_and_a_third_refused() -> None:
    stage = scene()
    first = stage.session()
    second = stage.session("second", zid=first.zid)

    assert first.their_open is not None
    assert second.their_open is not None
    assert second.their_open.exts.get(MultiLinkAck) is not None
    assert second.their_open.initial_sn == first.their_open.initial_sn
    with pytest.raises(Deviation, match="MAX_LINKS"):
        stage.session("third", zid=first.zid)


def handshake_with(us: Dialogue, proof: bytes) -> None:
    """A handshake that offers several links, and shows this as its proof."""
    ack = us.ask(us.init_syn(exts=(*OFFERS, MultiLink(payload=OURS.public.shown))), expect=InitAck)
    us.ask(us.open_syn(ack, exts=exts(MultiLinkSyn(payload=proof))), expect=OpenAck)


@pytest.mark.parametrize("proof", [b"", b"\x40", blob(bytes(64)), blob(REFERENCE.public.encrypted(CHALLENGE))])
def test_without_its_proof_a_link_is_refused(proof: bytes) -> None:
    with pytest.raises(Deviation, match="INVALID"):
        handshake_with(scene().dialogue(), proof)


def test_who_shows_no_key_has_one_link() -> None:
    stage = scene()
    first = stage.dialogue().open()

    with pytest.raises(Deviation, match="MAX_LINKS"):
        stage.dialogue("second", zid=first.zid).open()


def test_a_node_of_one_link_does_not_answer_the_offer() -> None:
    us = open_link(scene("default").dialogue())

    assert us.theirs is not None
    assert us.theirs.exts.get(MultiLink) is None


def test_a_key_too_small_for_a_challenge_is_none() -> None:
    assert key_shown(Public(1 << 100 | 1, 3).shown) is None
