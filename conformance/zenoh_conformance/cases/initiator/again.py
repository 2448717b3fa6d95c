"""An initiator that comes again, to the same node or to another: what is agreed on a link is of that link alone."""

from __future__ import annotations

from functools import partial

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import in_the_end, proposal, works_in_the_end
from zenoh_conformance.judging.finding import NOT_REACHED
from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_conformance.reading.kinds import OpenSyn
from zenoh_conformance.reading.pieces import may_be_first
from zenoh_conformance.talking import Dialogue, Scene

from .init_ack import a_sane_answer_is_followed
from .open_ack import a_sane_handshake_makes_a_session

COOKIES = (b"the cookie of the first link", b"that of the second")


@case(
    "session-establishment/cookie-echo",
    role=Side.INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(who=("the-same", "another")),
)
def each_cookie_comes_back_on_its_own_link(scene: Scene, *, who: str) -> None:
    """
    The initiator comes twice, to one node or to two, and each time InitAck has another cookie: OpenSyn returns that of its own link.

        target  InitSyn
        us      InitAck (a cookie)
        target  OpenSyn (that cookie)
        us      Close
        target  InitSyn, on a new link
        us      InitAck (another cookie)
        target  OpenSyn (the other cookie)
    """
    zid = None
    for cookie in COOKIES:
        us = in_the_end(partial(scene.dialogue, zid=zid), partial(opens, cookie=cookie))
        back = us.their_open.cookie if us.their_open is not None else None
        us.require(back == cookie, expected="the cookie of its link", got="another cookie", step="open.cookie")
        zid = us.zid if who == "the-same" else None
        us.leave()


@case(
    "session-establishment/initial-sn-own-start",
    role=Side.INITIATOR,
    needs=("finals",),
    control=a_sane_handshake_makes_a_session,
)
def each_session_begins_with_its_own_number(scene: Scene) -> None:
    """
    The initiator comes twice: in each session the first FRAME of a channel has the number of its own OpenSyn.

        target  InitSyn .. OpenSyn (a number)
        us      OpenAck, FRAME (REQUEST)
        target  FRAME (that number)
        us      Close
        target  InitSyn .. OpenSyn (a number), on a new link
        us      OpenAck, FRAME (REQUEST)
        target  FRAME (the number of this OpenSyn)
    """
    for _ in range(2):
        us = works_in_the_end(scene, Dialogue.open)
        us.require(
            us.wire.framing is Framing.STREAM,
            expected="a link that loses nothing",
            got="one that may",
            step=f"{NOT_REACHED}: the first FRAME",
        )
        begins_with_its_number(us)
        us.leave()


def opens(us: Dialogue, *, cookie: bytes) -> None:
    """The sane handshake up to OpenSyn, with that cookie."""
    us.ask(us.init_ack(proposal(us), cookie=cookie), expect=OpenSyn, step=f"{NOT_REACHED}: open")


def begins_with_its_number(us: Dialogue) -> None:
    """Deviate unless the first FRAME or FRAGMENT of each channel has the number that was announced, or one that is as good."""
    first: dict[tuple[bool, int], int] = {}
    for seen in us.heard:
        if seen.kind in ("frame", "fragment") and seen.channel is not None:
            first.setdefault(seen.channel, seen.message.sn)
    us.require(bool(first), expected="a FRAME", got="none", step=f"{NOT_REACHED}: the first FRAME")
    announced = us.their_open.initial_sn if us.their_open is not None else 0
    right = all(
        may_be_first(sn, announced=announced, mask=us.sn_mask, reliable=reliable) for (reliable, _), sn in first.items()
    )
    us.require(right, expected="the initial number announced", got="another number", step="frame.sn")
