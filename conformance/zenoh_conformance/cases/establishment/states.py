"""Every wrong message in every state, CLOSE at every step, and what comes after an end, toward a responder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import answer_or_close, is_soon, issued, no_step_forward
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Fragment, Frame, Join, KeepAlive, Oam, sane
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import Dialogue, Scene, Sendable
from zenoh_conformance.wire import Enc

from .fields import end
from .sane import a_sane_handshake_is_accepted

PUSH = b"\x3d\x00\x01a\x01\x01x"
"""A network message without FRAME: PUSH of `x` to key `a`."""

IN_PASSING: dict[str, Callable[[Dialogue], Sendable]] = {
    "keep-alive": lambda us: KeepAlive(),
    "frame": lambda us: Frame(reliable=True, sn=0, messages=()),
    "frame-best-effort": lambda us: Frame(reliable=False, sn=0, messages=()),
    "fragment": lambda us: Fragment(reliable=True, more=True, sn=0, payload=b"x"),
    "oam": lambda us: Oam(id=0x3FFF, enc=Enc.UNIT),
    "join": lambda us: Join(
        version=sane.VERSION, whatami=WhatAmI(sane.PEER), zid=ZenohID(us.zid), lease_in_seconds=True, lease=10, next_sn_reliable=0,
        next_sn_best_effort=0,
    ),
    "push": lambda us: PUSH,
}  # fmt: skip
"""What belongs to a session, or to multicast: out of turn in a handshake, and none of its steps."""

STEPS: dict[str, Callable[[Dialogue], Sendable]] = {
    "init-syn": lambda us: us.init_syn(),
    "init-ack": lambda us: us.init_ack(us.init_syn()),
    "open-syn": lambda us: sane.open_syn(us.init_ack(us.init_syn())),
    "open-ack": lambda us: us.open_ack(),
}
"""The messages of the handshake."""


@case(
    "session-establishment/handshake-messages-in-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=tuple(IN_PASSING), state=("await-init", "init-acked")),
    breaks=(
        "law/frames-are-not-empty",
        "law/init-syn-first",
        "law/join-on-multicast-only",
        "law/lease-proposed-by-both",
        "law/multicast-has-no-handshake",
        "law/no-data-before-open",
        "law/open-syn-answers-init-ack",
    ),
)
def session_traffic_is_no_step_of_a_handshake(scene: Scene, *, what: str, state: str) -> None:
    """
    A message of a session, or of multicast, comes during the handshake: it is refused or passed over, and opens nothing.

        us      (InitSyn, and InitAck has come)
        us      a message of a session
        target  Close, or the link ends, or nothing
    """
    us = scene.dialogue()
    if state == "init-acked":
        us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.send(IN_PASSING[what](us))

    no_step_forward(us, state)


@case(
    "session-establishment/handshake-messages-in-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=tuple(STEPS)),
    breaks=("law/cookie-echo", "law/handshake-messages-in-order", "law/no-challenge-round"),
)
def a_handshake_message_opens_nothing_in_a_session(scene: Scene, *, what: str) -> None:
    """
    A message of the handshake comes on a live session: it ends the session or is passed over; it is not answered by a step.

        us      a live session
        us      InitSyn, InitAck, OpenSyn or OpenAck
        target  Close, or the link ends, or nothing; never InitAck nor OpenAck
    """
    us = scene.session()
    heard = len(us.heard)

    us.send(STEPS[what](us))

    us.works_or_is_over(step="stage live")

    answers = [seen for seen in us.heard[heard:] if seen.kind in ("init", "open")]
    us.require(
        not answers, expected="no step of a handshake", got=us.text_of(answers[0]) if answers else "", step="stage live"
    )


@case(
    "close/close-ends-the-link",
    control=a_sane_handshake_is_accepted,
    parameters=grid(
        state=("await-init", "init-acked", "live"), reason=(0, 1, 2, 3, 4, 5, 6, 7, 8, 255), session=(True, False)
    ),
    breaks=("law/expired-needs-a-lease", "law/init-syn-first", "law/to-self-needs-one-zid"),
)
def close_ends_the_link_in_every_state(scene: Scene, *, state: str, reason: int, session: bool) -> None:
    """
    CLOSE for any reason, of the session or of the link, in any state: the link ends, and nothing is answered.

        us      (as far as the state)
        us      Close (reason, S)
        target  the link ends
    """
    us = scene.dialogue()
    if state == "live":
        us.open()
    elif state == "init-acked":
        us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.send(sane.close(reason, session=session))

    us.expect_end(step=f"after Close in {state}")


@case(
    "session-establishment/init-ack-answers-init-syn",
    control=a_sane_handshake_is_accepted,
    parameters=grid(after=("close", "fin", "rst", "refusal"), state=("await-init", "init-acked", "live")),
    breaks=(
        "law/frame-transport-by-default",
        "law/init-syn-first",
        "law/open-syn-answers-init-ack",
        "law/what-is-said-decodes",
    ),
)
def a_node_comes_back_after_every_end(scene: Scene, *, after: str, state: str) -> None:
    """
    A link ends in some state and in some way; the same node comes back, and has a session before long.

        us      (as far as the state), Close, FIN, RST, or something to be refused
        again   InitSyn .. OpenSyn, the same ZenohID
        target  OpenAck, at the latest when it has noticed the end
    """
    us = scene.dialogue()
    if state == "live":
        us.open()
    elif state == "init-acked":
        us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    if after == "refusal":
        us.send(b"\xff\xff\xff")
        us.expect_end(step="not reached: the refusal")
    else:
        end(us, after)

    comes_back(scene, us.zid)


@case(
    "session-establishment/open-ack-answers-open-syn",
    needs=("several-links",),
    control=a_sane_handshake_is_accepted,
    parameters=grid(count=(2, 5)),
)
def one_of_parallel_handshakes_comes_through(scene: Scene, *, count: int) -> None:
    """
    One node opens several links at once, as far as the target has room for their handshakes: each goes to its end or to
    a CLOSE, and one of the links works.

        link 1  InitSyn
        link 2  InitSyn
        target  InitAck or Close, to each
        link 1  OpenSyn
        link 2  OpenSyn
        target  OpenAck or Close, to each; OpenAck to one at least
    """
    zid = scene.fresh_zid()
    most = scene.fact("half_open", HALF_OPEN) - 1
    links = [scene.dialogue(f"link-{n}", zid=zid) for n in range(min(count, max(1, most)))]
    for us in links:
        us.send(us.init_syn())
    answered = [(us, ack) for us in links if (ack := answer_or_close(us, InitAck, "init")) is not None]
    for us, ack in answered:
        us.send(us.open_syn(ack))
    opened = [us for us, _ in answered if answer_or_close(us, OpenAck, "open") is not None]

    links[0].require(bool(opened), expected="a session", got="none", step="stage open")
    works = [us for us in opened if us.answers_a_fence()]

    if not works:
        got = opened[0].text_of(None)
        opened[0].deviate(expected="a session that works", got=got, step="the session works", is_work=True)


@case(
    "session-establishment/init-ack-answers-init-syn",
    needs=("several-links", "stream"),
    control=a_sane_handshake_is_accepted,
    alone=True,
)
def many_half_open_handshakes_do_no_harm(scene: Scene) -> None:
    """
    A thousand handshakes (300 where a run shall be quick) stop after InitAck, dozens of them held open at any time; then a good one.

        us      InitSyn, so many times, and nothing after InitAck
        last    InitSyn .. OpenSyn
        target  OpenAck
    """
    held: list[Dialogue] = []
    most = min(HALF_OPEN, scene.fact("half_open", HALF_OPEN) - 2)
    for number in range(300 if scene.fact("quick") else 1000):
        us = scene.dialogue(f"half-{number}")
        us.ask(us.init_syn(), expect=InitAck, step="while others are half open")
        held.append(us)
        if len(held) > most:
            held.pop(0).hang_up()
    for us in held:
        us.hang_up()

    comes_back(scene, scene.fresh_zid())


@case("session-establishment/handshake-messages-in-order", control=a_sane_handshake_is_accepted, timed=True,
      parameters=grid(state=("await-init", "init-acked")))  # fmt: skip
def silence_is_not_answered(scene: Scene, *, state: str) -> None:
    """
    We stop in the middle of the handshake: the target waits, or gives up; it does not go on by itself.

        us      (InitSyn, and InitAck has come)
        target  nothing, or Close, or the link's end
    """
    us = scene.dialogue()
    if state == "init-acked":
        issued(us)

    no_step_forward(us, state)


A_MOMENT = 0.1
"""Of half our patience: what a long way takes there and back."""


@case("session-establishment/init-ack-answers-init-syn", control=a_sane_handshake_is_accepted, timed=True,
      parameters=grid(pause=(A_MOMENT, 0.5), state=("await-init", "init-acked")))  # fmt: skip
def a_short_pause_is_endured(scene: Scene, *, pause: float, state: str) -> None:
    """
    We take a moment, or a quarter of our patience, between two steps; the handshake goes on. No page says how long a
    handshake may take: a node that has ended the link meanwhile is judged for the moment only, which a long way costs, too, and
    only where it was seen to wait for twice as long.

        us      (InitSyn, and InitAck has come)
        us      a pause
        us      the next message
        target  its answer
    """
    us = scene.dialogue()
    ack = issued(us) if state == "init-acked" else None

    us.next(pause * us.unit / 2)

    try:
        ack = ack or us.ask(us.init_syn(), expect=InitAck, step="after a pause")
        us.ask(us.open_syn(ack), expect=OpenAck, step="after a pause")
    except Deviation:
        short = pause <= A_MOMENT and is_soon(scene, pause * us.unit / 2)
        us.require(short or not us.is_over, expected="a link", got="none", step="not reached: a long pause")
        raise


HALF_OPEN = 48
"""Handshakes that are held half open at a time."""

TRIES = 20
"""How often a node tries to come back within one unit of patience."""

BEFORE_LONG = 1
"""Units of patience after which a node that was not let in again is given up."""


def comes_back(scene: Scene, zid: bytes, *, step: str = "coming back") -> Dialogue:
    """A session of that node that works, as soon as the target lets it; deviates when it has not let it in time."""
    began: float | None = None
    while True:
        us = scene.dialogue("again", zid=zid)
        began = us.wire.now() if began is None else began
        try:
            us.open().expect_live()
            return us
        except Deviation as deviation:
            if us.wire.now() - began > BEFORE_LONG * us.unit:
                raise Deviation(replace(deviation.finding, expected="a session", path=step)) from None
            us.hang_up()
            scene.wait(us.unit / TRIES)
