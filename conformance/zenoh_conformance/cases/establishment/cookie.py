"""The cookie, toward a responder (session-establishment#cookie)."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import issued, issued_cookie
from zenoh_conformance.laws.handshake_shape import CookiesDiffer
from zenoh_conformance.messages import Init
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Exts, vle

from .sane import a_sane_handshake_is_accepted

LARGEST = 65_000
"""Bytes of a cookie for which a batch has room."""


@case(
    "session-establishment/cookie-must-match",
    control=a_sane_handshake_is_accepted,
    parameters=grid(at=(*range(48), -1)),
    breaks=("law/cookie-echo",),
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
    ack, cookie = issued_cookie(us)

    us.send(us.open_syn(ack, cookie=flipped(cookie, at)))

    us.expect_refusal("open", never=OpenAck)


@case(
    "session-establishment/cookie-must-match",
    control=a_sane_handshake_is_accepted,
    parameters=grid(kept=(0, 1, 8, 16, 31, 32, -1)),
    breaks=("law/cookie-echo",),
)
def a_shortened_cookie_is_refused(scene: Scene, *, kept: int) -> None:
    """
    OpenSyn carries the beginning of the cookie only.

        us      OpenSyn (cookie cut short)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued_cookie(us)

    us.send(us.open_syn(ack, cookie=cookie[: min(kept, len(cookie) - 1)]))

    us.expect_refusal("open", never=OpenAck)


@case(
    "session-establishment/cookie-must-match",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=("zero-behind", "byte-behind", "bare-proposal", "sixteen-behind", "zero-before", "twice")),
    breaks=("law/cookie-echo",),
)
def a_longer_cookie_is_refused(scene: Scene, *, what: str) -> None:
    """
    OpenSyn carries the whole cookie and more bytes, in one field of that length. After an InitSyn without sizes and extensions
    its first byte is changed, too.

        us      OpenSyn (cookie, longer)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    bare: dict[str, Any] = {"resolution": None, "batch_size": None, "exts": Exts()}
    ack = issued(us, **bare if what == "bare-proposal" else {})
    cookie = ack.cookie or b""
    longer = {
        "zero-behind": cookie + b"\0",
        "byte-behind": cookie + b"\x5a",
        "bare-proposal": flipped(cookie, 0) + b"\x5a",
        "sixteen-behind": cookie + b"\x5a" * 16,
        "zero-before": b"\0" + cookie,
        "twice": (cookie * 2)[:LARGEST],
    }

    us.send(us.open_syn(ack, cookie=longer[what]))

    us.expect_refusal("open", never=OpenAck)


@case(
    "session-establishment/cookie-must-match",
    control=a_sane_handshake_is_accepted,
    parameters=grid(length=(0, 1, 255, 65_536)),
    breaks=("law/*",),  # the target drew what stands behind the length: it may read as any message
)
def a_cookie_length_that_lies_is_refused(scene: Scene, *, length: int) -> None:
    """
    The length before the cookie is not its length: one more where the cookie that was issued has that length.

        us      OpenSyn (cookie behind another length)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued_cookie(us)
    lie = length + (length == len(cookie))

    us.send(segments(us.open_syn(ack)).replace("open.cookie.length", vle.encode(lie)))

    us.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-must-match", control=a_sane_handshake_is_accepted, breaks=("law/cookie-echo",))
def an_invented_cookie_is_refused(scene: Scene) -> None:
    """
    OpenSyn carries as many bytes as the cookie has, all of them ours.

        us      OpenSyn (another cookie)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack, cookie = issued_cookie(us)

    us.send(us.open_syn(ack, cookie=bytes(byte ^ 0xFF for byte in cookie)))

    us.expect_refusal("open", never=OpenAck)


@case(
    "session-establishment/cookie-prevents-replay",
    needs=("several-links",),
    control=a_sane_handshake_is_accepted,
    parameters=({}, {"of": "the-same-node"}),
    breaks=("law/cookie-echo",),
)
def a_cookie_of_another_link_is_refused(scene: Scene, *, of: str = "another-node") -> None:
    """
    Each of two links gets a cookie; one opens with the cookie of the other, which is another node's or its own.

        us      InitSyn
        target  InitAck (cookie 1)
        other   InitSyn
        target  InitAck (cookie 2)
        other   OpenSyn (cookie 1)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    other = scene.dialogue("other", zid=us.zid if of == "the-same-node" else None)
    first = issued(us)
    differ(other, first, other.ask(other.init_syn(), expect=InitAck, step="not reached: init"))

    other.send(other.open_syn(first))

    other.expect_refusal("open", never=OpenAck)


@case("session-establishment/cookie-prevents-replay", control=a_sane_handshake_is_accepted, breaks=("law/cookie-echo",))
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
    ack = issued(us)
    us.ask(us.open_syn(ack), expect=OpenAck, step="not reached: open")
    us.leave()
    other = scene.dialogue("other", zid=us.zid)

    differ(other, ack, other.ask(other.init_syn(), expect=InitAck, step="not reached: init"))
    other.send(other.open_syn(ack))

    other.expect_refusal("open", never=OpenAck)


def differ(us: Dialogue, first: Init, second: Init) -> None:
    """Deviate, as not reached, where two cookies are equal and so short that they may be so by chance."""
    equal = first.cookie == second.cookie and len(second.cookie or b"") < CookiesDiffer.SHORT
    us.require(not equal, expected="two cookies", got="a short one, twice", step="not reached: another cookie")


def flipped(cookie: bytes, at: int) -> bytes:
    """The cookie with the lowest bit of one byte changed; past its end, of its last byte."""
    index = at if 0 <= at < len(cookie) else len(cookie) - 1
    return cookie[:index] + bytes([cookie[index] ^ 1]) + cookie[index + 1 :]
