"""InitAck, sane or with one thing wrong, toward an initiator: does it believe us?"""

from __future__ import annotations

from collections.abc import Callable

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import no_step_forward
from zenoh_conformance.cases.establishment.states import IN_PASSING
from zenoh_conformance.messages import Init, sane
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitSyn, OpenSyn
from zenoh_conformance.talking import Dialogue, Scene, Sendable
from zenoh_conformance.talking.refusal import allowed_as_written
from zenoh_conformance.wire import Enc, Exts, Unknown

INITIATOR = Side.INITIATOR


BESIDE = 64
"""Bytes of an InitAck beside its cookie, at most."""

DATAGRAM = 1024
"""Bytes that each node can send as one datagram: INIT states what it receives, and zenoh-pico sends at most 1450."""

COOKIES = grid(length=(1, 2, 16, 127, 128, 255, 256, 1024, 4096), byte=(0x00, 0x80, 0xFF))
LONG_COOKIE = {"length": 16_384, "byte": 0x80}
"""One whose length takes three bytes."""


@case("session-establishment/open-syn-answers-init-ack", role=INITIATOR)
def a_sane_answer_is_followed(scene: Scene) -> None:
    """
    A sane InitAck is answered by OpenSyn.

        target  InitSyn
        us      InitAck (cookie)
        target  OpenSyn (cookie)
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")

    us.ask(us.init_ack(syn), expect=OpenSyn, step="stage init")


@case(
    "session-establishment/cookie-is-opaque",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=(COOKIES[0], LONG_COOKIE, *COOKIES[1:]),
)
def any_cookie_comes_back(scene: Scene, *, length: int, byte: int) -> None:
    """
    Cookies of many lengths, as far as they fit into the batch that the target takes and into a datagram, come back to the byte.

        target  InitSyn
        us      InitAck (cookie of that length)
        target  OpenSyn (the same cookie)
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")
    most = sane.DEFAULT_BATCH if syn.batch_size is None else syn.batch_size
    room = min(most, DATAGRAM) if us.shows_no_end else most
    cookie = bytes([byte]) * (min(length, room - BESIDE) - 1) + b"\x5a"

    back = us.ask(us.init_ack(syn, cookie=cookie), expect=OpenSyn, step="stage init")

    us.require(back.cookie == cookie, expected="the cookie issued", got="another cookie", step="open.cookie")


@case(
    "session-establishment/lowered-resolution-is-used",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(fsn=range(3)),
)
def a_lower_resolution_is_taken(scene: Scene, *, fsn: int) -> None:
    """
    InitAck lowers FSN; the initiator's number fits the lower one.

        target  InitSyn (resolution)
        us      InitAck (a lower FSN)
        target  OpenSyn (initial_sn inside it)
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")
    proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
    lowered = (proposed & 12) | min(proposed & 3, fsn)

    open_ = us.ask(us.init_ack(syn, resolution=lowered), expect=OpenSyn, step="stage init")

    most = us.sn_mask
    us.require(open_.initial_sn <= most, expected=f"at most {most:#x}", got="a larger number", step="open.initial_sn")


@case(
    "session-establishment/raised-resolution-refused",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(field=("fsn", "rid")),
    breaks=("law/resolution-not-raised",),
)
def a_raised_resolution_is_refused(scene: Scene, *, field: str) -> None:
    """
    InitAck states a resolution that was not proposed, and higher.

        target  InitSyn (resolution)
        us      InitAck (FSN or RID one step higher)
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")
    proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
    shift = 0 if field == "fsn" else 2
    us.require(proposed >> shift & 3 < 3, expected="less than 64 bits", got="64 bits", step="not reached: a higher one")
    higher = proposed + (1 << shift)

    us.send(us.init_ack(syn, resolution=higher))

    us.expect_refusal("init", never=OpenSyn)


def _packed_role_3(us: Dialogue, syn: Init) -> Sendable:
    ack = segments(us.init_ack(syn))
    return ack.replace("init.packed", bytes([ack.get("init.packed").data[0] | 3]))


def _ext(us: Dialogue, syn: Init, *, mandatory: bool) -> Init:
    ack = us.init_ack(syn)
    return us.init_ack(syn, exts=Exts((*ack.exts, Unknown(id=0xE, mandatory=mandatory, enc=Enc.UNIT, value=None))))


WRONG_ACKS: dict[str, tuple[str, Callable[[Dialogue, Init], Sendable]]] = {
    "role-3": ("primitives/whatami-3-refused", _packed_role_3),
    "zid-zero": (
        "session-establishment/init-zid",
        lambda us, syn: segments(us.init_ack(syn)).replace("init.zid", bytes(len(us.zid))),
    ),
    "unknown-mandatory": ("primitives/unknown-mandatory-rejected", lambda us, syn: _ext(us, syn, mandatory=True)),
    "no-cookie-field": (
        "primitives/truncated-is-refused",
        lambda us, syn: segments(us.init_ack(syn, exts=Exts())).cut("init.cookie"),
    ),
    "cut": ("primitives/truncated-is-refused", lambda us, syn: segments(us.init_ack(syn)).join()[:6]),
}
"""What is wrong in InitAck: the rule that it breaks, under which an initiator that goes on is filed, and the message."""


@case(
    "session-establishment/open-syn-answers-init-ack",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(what=tuple(WRONG_ACKS)),
    breaks=("law/init-ack-answers-init-syn", "law/init-is-whole"),
)
def a_wrong_answer_is_refused(scene: Scene, *, what: str) -> None:
    """
    InitAck with one thing wrong is not followed by OpenSyn.

        target  InitSyn
        us      InitAck (one thing wrong)
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")

    rule, wrong = WRONG_ACKS[what]
    us.send(wrong(us, syn))

    with us.about(rule), allowed_as_written("zid-zero-refused" if what == "zid-zero" else "", OpenSyn.name):
        us.expect_refusal("init", never=OpenSyn)


@case("primitives/unknown-optional-skipped", role=INITIATOR, control=a_sane_answer_is_followed)
def an_unknown_optional_extension_is_skipped(scene: Scene) -> None:
    """
    InitAck carries an extension that no page names, without M.

        target  InitSyn
        us      InitAck (unknown optional extension)
        target  OpenSyn
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")

    us.ask(_ext(us, syn, mandatory=False), expect=OpenSyn, step="stage init")


OTHER_ANSWERS: dict[str, Callable[[Dialogue, Init], Sendable]] = {
    "init-syn": lambda us, syn: us.init_syn(),
    "open-syn": lambda us, syn: sane.open_syn(us.init_ack(syn)),
    "open-ack": lambda us, syn: us.open_ack(),
    "garbage": lambda us, syn: b"\xff\xff\xff",
}
"""What is no answer to InitSyn."""


@case(
    "session-establishment/handshake-messages-in-order",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(what=tuple(OTHER_ANSWERS)),
    breaks=("law/handshake-messages-in-order", "law/init-ack-answers-init-syn"),
)
def nothing_but_init_ack_is_followed(scene: Scene, *, what: str) -> None:
    """
    InitSyn is answered by something that is not InitAck.

        target  InitSyn
        us      any other message
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()
    syn = us.expect(InitSyn, step="not reached: init")

    us.send(OTHER_ANSWERS[what](us, syn))

    us.expect_refusal("init", never=OpenSyn)


@case(
    "session-establishment/handshake-messages-in-order",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(what=(*IN_PASSING, "empty")),
    breaks=(
        "law/frames-are-not-empty", "law/init-ack-answers-init-syn", "law/join-on-multicast-only", "law/no-data-before-open",
    ),
)  # fmt: skip
def session_traffic_is_no_answer(scene: Scene, *, what: str) -> None:
    """
    A message of a session, or of multicast, or an empty batch comes where InitAck is due: it is refused or passed over.

        target  InitSyn
        us      a message of a session
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()
    us.expect(InitSyn, step="not reached: init")

    us.send(b"" if what == "empty" else IN_PASSING[what](us))

    no_step_forward(us, "init")


@case(
    "close/close-ends-the-link",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(reason=(*range(9), 255), session=(True, False)),
    breaks=("law/expired-needs-a-lease",),
)
def a_refusal_is_taken(scene: Scene, *, reason: int, session: bool) -> None:
    """
    InitSyn is answered by CLOSE; the initiator gives the link up.

        target  InitSyn
        us      Close (reason)
        target  the link ends
    """
    us = scene.dialogue()
    us.expect(InitSyn, step="not reached: init")

    us.send(sane.close(reason, session=session))

    us.expect_end(step="after Close")
