"""Handshakes in generated circumstances, toward a responder (session-establishment#handshake, #cookie, #lease)."""

from __future__ import annotations

from zenoh_conformance.cases.case import case
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import Scene

from .circumstances import HANDSHAKE, REFUSED, REST, HandshakeRow
from .cookie import flipped
from .sane import a_sane_handshake_is_accepted


@case(
    "session-establishment/session-live-after-open-ack",
    needs=("several-links",),
    control=a_sane_handshake_is_accepted,
    varies=HANDSHAKE,
    breaks=("law/cookie-echo",),
)
def a_handshake_is_accepted_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    A handshake makes a session that works and lasts, whatever INIT and OPEN have beside what is needed, however they are cut, and
    whatever the same node or others did before.

        us      (another session, or handshake, that ends)
        us      InitSyn
        target  InitAck
        us      OpenSyn
        target  OpenAck
        us      nothing for a while
    """
    shake = HandshakeRow.of(scene, v)
    us = shake.us

    shake.send(shake.init_syn())
    ack = us.expect(InitAck, step="stage init")
    shake.send(shake.open_syn(ack))
    with shake.has_room():
        us.expect(OpenAck, step="stage open")

    us.listen(REST)
    us.expect_live()


@case(
    "session-establishment/cookie-must-match",
    needs=("several-links",),
    control=a_sane_handshake_is_accepted,
    varies=REFUSED,
    breaks=("law/cookie-echo",),
)
def a_changed_cookie_is_refused_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    OpenSyn carries a cookie with one bit changed; it is refused, with all other contents of INIT and OPEN, and in all histories.

        us      (another session, or handshake, that ends)
        us      InitSyn
        target  InitAck (cookie)
        us      OpenSyn (cookie, one bit flipped)
        target  Close, or the link ends; never OpenAck
    """
    shake = HandshakeRow.of(scene, v)
    us = shake.us
    shake.send(shake.init_syn())
    ack = us.expect(InitAck, step="not reached: init")
    us.require(bool(ack.cookie), expected="a cookie", got="none", step="not reached: init.cookie")

    cookie = ack.cookie or b""
    shake.send(shake.open_syn(ack, cookie=flipped(cookie, shake.place_in(cookie))))

    us.expect_refusal("open", never=OpenAck)
