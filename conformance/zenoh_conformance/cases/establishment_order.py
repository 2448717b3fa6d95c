"""Messages that are right, at the wrong time, toward a responder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.case import case, grid
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.kinds import InitAck, OpenAck
from zenoh_conformance.messages import Fragment, Frame, KeepAlive, Push, Put
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.scene import Scene

from .establishment_sane import a_sane_handshake_is_accepted


def _push() -> Push:
    return Push(key=WireExpr(scope=0, suffix="zconform/early", mapping=True), body=Put(payload=b"x"))


WRONG: dict[str, Callable[[Dialogue], Any]] = {
    "open-syn": lambda us: sane.open_syn(us.init_ack(us.init_syn())),
    "init-ack": lambda us: us.init_ack(us.init_syn()),
    "open-ack": lambda us: us.open_ack(),
    "keep-alive": lambda us: KeepAlive(),
    "frame": lambda us: Frame(reliable=True, sn=0, messages=(_push(),)),
    "fragment": lambda us: Fragment(reliable=True, more=False, sn=0, payload=b"x"),
    "garbage": lambda us: b"\xff\xff\xff\xff",
    "empty": lambda us: b"",
}
"""What is wrong before INIT."""


@case(
    "session-establishment/handshake-messages-in-order",
    twin=a_sane_handshake_is_accepted,
    parameters=grid(what=tuple(WRONG)),
)
def nothing_but_init_syn_begins(scene: Scene, *, what: str) -> None:
    """
    The first message is not InitSyn.

        us      any other message
        target  Close, or the link ends; never InitAck nor OpenAck
    """
    us = scene.dialogue()

    us.send(WRONG[what](us))

    us.expect_refusal("await-init", never=OpenAck)


@case(
    "session-establishment/handshake-messages-in-order",
    twin=a_sane_handshake_is_accepted,
    parameters=grid(what=("init-syn", "init-ack", "open-ack", "keep-alive", "frame", "fragment", "garbage", "empty")),
)
def nothing_but_open_syn_follows(scene: Scene, *, what: str) -> None:
    """
    After InitAck comes something that is not OpenSyn.

        us      InitSyn
        target  InitAck
        us      any other message
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.send(us.init_syn() if what == "init-syn" else WRONG[what](us))

    us.expect_refusal("init-acked", never=OpenAck)


@case("session-establishment/no-data-before-open", twin=a_sane_handshake_is_accepted)
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
    near.subscribe("zconform/early")
    us = scene.dialogue()
    us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.send(Frame(reliable=True, sn=0, messages=(_push(),)))

    us.expect_refusal("init-acked", never=OpenAck)
    heard = near.fence()
    near.require(all(seen.kind != "push" for seen in heard), expected="nothing", got="Push", step="the subscriber")


@case(
    "session-establishment/teardown-by-close", twin=a_sane_handshake_is_accepted, parameters=grid(session=(True, False))
)
def close_ends_a_live_session(scene: Scene, *, session: bool) -> None:
    """
    CLOSE on a live session is followed by the end of the link.

        us      InitSyn .. OpenAck
        us      Close (S=1 or S=0)
        target  the link ends
    """
    us = scene.session()

    us.send(sane.close(session=session))

    us.expect_end(step="after Close")
