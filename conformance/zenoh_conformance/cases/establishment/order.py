"""Messages that are right, at the wrong time, toward a responder."""

from __future__ import annotations

from collections.abc import Callable

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import issued, no_step_forward, refuses_out_of_turn
from zenoh_conformance.messages import Frame, Push, Put, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.kinds import InitAck
from zenoh_conformance.talking import Dialogue, Scene, Sendable, live_session

from .sane import a_sane_handshake_is_accepted

WRONG: dict[str, Callable[[Dialogue], Sendable]] = {
    "open-syn": lambda us: sane.open_syn(us.init_ack(us.init_syn())),
    "init-ack": lambda us: us.init_ack(us.init_syn()),
    "open-ack": lambda us: us.open_ack(),
    "garbage": lambda us: b"\xff\xff\xff\xff",
}
"""Steps that are not due before INIT, and what is none. What is of a session is judged in `establishment_states`."""


@case(
    "session-establishment/handshake-messages-in-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=tuple(WRONG)),
    breaks=("law/handshake-messages-in-order", "law/init-syn-first"),
)
def nothing_but_init_syn_begins(scene: Scene, *, what: str) -> None:
    """
    The first message is not InitSyn.

        us      any other message
        target  Close, or the link ends; never InitAck nor OpenAck
    """
    us = scene.dialogue()

    refuses_out_of_turn(scene, us, WRONG[what](us), "await-init", None)


@case(
    "session-establishment/handshake-messages-in-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=("init-syn", "init-ack", "open-ack", "garbage")),
    breaks=("law/handshake-messages-in-order", "law/no-challenge-round", "law/open-syn-answers-init-ack"),
)
def nothing_but_open_syn_follows(scene: Scene, *, what: str) -> None:
    """
    After InitAck comes something that is not OpenSyn.

        us      InitSyn
        target  InitAck
        us      any other message
        target  Close, or the link ends; never OpenAck

    A node gives up each handshake after a time. A silent link beside this one, opened before it, shows whether that time is over: a
    late end that both links come to is no refusal.
    """
    beside = scene.dialogue("beside") if scene.can("several-links") else None
    if beside is not None:
        issued(beside)
    us = scene.dialogue()
    us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    message = us.init_syn() if what == "init-syn" else WRONG[what](us)
    refuses_out_of_turn(scene, us, message, "init-acked", beside)


@case(
    "session-establishment/no-data-before-open",
    needs=("routing", "several-links"),
    control=a_sane_handshake_is_accepted,
    breaks=("law/lease-proposed-by-both", "law/no-data-before-open", "law/open-syn-answers-init-ack"),
)
def data_before_open_goes_nowhere(scene: Scene) -> None:
    """
    A publication that is sent before OpenSyn reaches nobody.

        near    a live session that subscribes to the key
        us      InitSyn
        target  InitAck
        us      FRAME (PUSH)
        near    hears nothing, before a fence
    """
    near = scene.session("near")
    key = f"zconform/{near.zid.hex()}/early"
    near.subscribe(key)
    near.fence(step="not reached: subscribed")
    us = scene.dialogue()
    us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.send(
        Frame(
            reliable=True,
            sn=0,
            messages=(Push(key=WireExpr(scope=0, suffix=key, mapping=True), body=Put(payload=b"x")),),
        )
    )

    no_step_forward(us, "init-acked")
    heard = near.fence()
    near.require(all(seen.kind != "push" for seen in heard), expected="nothing", got="Push", step="the subscriber")


@case(
    "session-establishment/teardown-by-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(session=(True, False)),
    is_of_both=True,
)
def close_ends_a_live_session(scene: Scene, *, session: bool) -> None:
    """
    CLOSE on a live session is followed by the end of the link.

        us      InitSyn .. OpenAck
        us      Close (S=1 or S=0)
        target  the link ends
    """
    us = live_session(scene)

    us.send(sane.close(session=session))

    us.expect_end(step="after Close")
