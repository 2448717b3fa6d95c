"""The cookie, toward a responder (session-establishment#cookie)."""

from __future__ import annotations

from zenoh_conformance.case import case, grid
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.kinds import InitAck, OpenAck
from zenoh_conformance.messages import Init
from zenoh_conformance.scene import Scene

from .establishment_sane import a_sane_handshake_is_accepted


@case(
    "session-establishment/cookie-must-match",
    twin=a_sane_handshake_is_accepted,
    parameters=grid(at=(0, 1, 2, 3, 5, 8, 13, -1)),
)
def a_changed_cookie_is_refused(scene: Scene, *, at: int) -> None:
    """
    OpenSyn carries a cookie with one bit changed in one byte.

        us      InitSyn
        target  InitAck (cookie)
        us      OpenSyn (cookie, one bit flipped)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued(us)

    us.send(us.open_syn(ack, cookie=flipped(cookie, at)))

    us.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-must-match", twin=a_sane_handshake_is_accepted, parameters=grid(kept=(0, 1, -1)))
def a_shortened_cookie_is_refused(scene: Scene, *, kept: int) -> None:
    """
    OpenSyn carries the beginning of the cookie only.

        us      OpenSyn (cookie cut short)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued(us)

    us.send(us.open_syn(ack, cookie=cookie[:kept]))

    us.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-must-match", twin=a_sane_handshake_is_accepted)
def an_invented_cookie_is_refused(scene: Scene) -> None:
    """
    OpenSyn carries as many bytes as the cookie has, all of them ours.

        us      OpenSyn (another cookie)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued(us)

    us.send(us.open_syn(ack, cookie=b"\x5a" * len(cookie)))

    us.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-prevents-replay", twin=a_sane_handshake_is_accepted)
def a_cookie_of_another_link_is_refused(scene: Scene) -> None:
    """
    Each of two links gets a cookie; one opens with the cookie of the other.

        us      InitSyn
        target  InitAck (cookie 1)
        other   InitSyn
        target  InitAck (cookie 2)
        other   OpenSyn (cookie 1)
        target  Close, or the link ends; never OpenAck
    """
    us, other = scene.dialogue(), scene.dialogue("other")
    first = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    other.ask(other.init_syn(), expect=InitAck, step="not reached: init")

    other.send(other.open_syn(first))

    other.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-prevents-replay", twin=a_sane_handshake_is_accepted)
def a_used_cookie_opens_no_second_session(scene: Scene) -> None:
    """
    A whole handshake is recorded and its OpenSyn sent again on a new link, after an InitSyn that is the same to the byte.

        us      InitSyn .. OpenAck
        other   InitSyn (the same)
        target  InitAck (another cookie)
        other   OpenSyn (the first cookie)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="not reached: open")
    us.leave()
    other = scene.dialogue("other", zid=us.zid)

    other.ask(other.init_syn(), expect=InitAck, step="not reached: init")
    other.send(other.open_syn(ack))

    other.expect_refusal("open", never=OpenAck)


def issued(us: Dialogue) -> tuple[Init, bytes]:
    """The InitAck to a sane proposal, and its cookie; without one there is nothing to go on with."""
    ack: Init = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    us.require(bool(ack.cookie), expected="a cookie", got="none", step="not reached: init.cookie")
    return ack, ack.cookie or b""


def flipped(cookie: bytes, at: int) -> bytes:
    """The cookie with the lowest bit of one byte changed; past its end, of its last byte."""
    index = at if 0 <= at < len(cookie) else len(cookie) - 1
    return cookie[:index] + bytes([cookie[index] ^ 1]) + cookie[index + 1 :]
