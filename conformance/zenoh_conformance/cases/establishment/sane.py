"""Sane handshakes: what every responder accepts. The controls of all refusals."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import works_but_for_finals
from zenoh_conformance.messages import sane
from zenoh_conformance.messages.init import QoS
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking import BY_QUERY, Scene


@case("session-establishment/init-ack-answers-init-syn")
def a_sane_proposal_is_answered(scene: Scene) -> None:
    """
    InitSyn with default values is answered by InitAck with a cookie.

        us      InitSyn
        target  InitAck (cookie)
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(exts=sane.OFFERS), expect=InitAck, step="stage init")

    us.require(bool(ack.cookie), expected="a cookie", got="none", step="init.cookie")


@case("session-establishment/open-ack-answers-open-syn")
def a_sane_handshake_is_accepted(scene: Scene) -> None:
    """
    The whole handshake with default values.

        us      InitSyn
        target  InitAck (cookie)
        us      OpenSyn (cookie)
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(), expect=InitAck, step="stage init")

    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")


@case("session-establishment/session-live-after-open-ack", needs=("finals",), control=a_sane_handshake_is_accepted)
def a_session_does_work(scene: Scene) -> None:
    """
    After OpenAck a query that nobody serves is answered final. Where it is not, and an interest is answered, the session works
    and lacks the final alone.

        us      InitSyn .. OpenSyn
        target  OpenAck
        us      FRAME (REQUEST)
        target  FRAME (RESPONSE_FINAL)
    """
    us = scene.session()
    us.fencing = BY_QUERY

    works_but_for_finals(us)


@case(
    "session-establishment/init-zid-length", control=a_sane_handshake_is_accepted, parameters=grid(length=range(1, 17))
)
def a_zid_of_every_length_is_accepted(scene: Scene, *, length: int) -> None:
    """
    A ZenohID of 1 to 16 bytes, its length nibble one less.

        us      InitSyn (ZID of that length)
        target  InitAck
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue(zid=(scene.fresh_zid() * 2)[: length - 1] + b"\x5a")

    ack = us.ask(us.init_syn(), expect=InitAck, step="stage init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")

    us.expect_live()


@case("session-establishment/init-whatami", control=a_sane_handshake_is_accepted, parameters=grid(whatami=(0, 1, 2)))
def every_role_is_accepted(scene: Scene, *, whatami: int) -> None:
    """
    A router, a peer and a client may each open a session with a router.

        us      InitSyn (WhatAmI)
        target  InitAck
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(whatami=whatami), expect=InitAck, step="stage init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")

    us.fence(step="the session works")


@case("session-establishment/init-flag-s", control=a_sane_handshake_is_accepted)
def init_syn_without_size_means_defaults(scene: Scene) -> None:
    """
    InitSyn with S clear proposes the default resolution and batch size; the answer does not raise them.

        us      InitSyn (S=0)
        target  InitAck (resolution at most 0x0a)
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(resolution=None, batch_size=None), expect=InitAck, step="stage init")

    settled = sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution
    fits = settled & 3 <= 2 and settled >> 2 & 3 <= 2
    us.require(fits, expected="at most 0x0a", got="a higher resolution", step="init.resolution")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()


@case(
    "session-establishment/lease-unit",
    control=a_sane_handshake_is_accepted,
    parameters=[
        {"seconds": True, "lease": 1}, {"seconds": True, "lease": 10}, {"seconds": True, "lease": 3600},
        {"seconds": False, "lease": 1500}, {"seconds": False, "lease": 10_000}, {"seconds": False, "lease": 86_400_000},
    ],
)  # fmt: skip
def a_lease_in_either_unit_is_accepted(scene: Scene, *, seconds: bool, lease: int) -> None:
    """
    OpenSyn states its lease in seconds (T) or in milliseconds.

        us      OpenSyn (T, lease)
        target  OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")

    us.ask(us.open_syn(ack, lease_in_seconds=seconds, lease=lease), expect=OpenAck, step="stage open")

    us.expect_live()


@case(
    "session-establishment/init-ext-qos", control=a_sane_handshake_is_accepted, parameters=grid(offered=(True, False))
)
def qos_is_settled_by_both(scene: Scene, *, offered: bool) -> None:
    """
    A session with QoS and one without both work; without it the target uses no lanes, which `law/qos-needs-both` judges.

        us      InitSyn (with or without QoS)
        target  InitAck
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(exts=(QoS(),) if offered else ()), expect=InitAck, step="stage init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()


@case("session-establishment/no-qos-with-low-latency", control=qos_is_settled_by_both)
def lanes_and_low_latency_are_not_combined(scene: Scene) -> None:
    """
    Both are offered; InitAck settles on one at most.

        us      InitSyn (QoS, LowLatency)
        target  InitAck (QoS, or LowLatency, or neither)
    """
    settles_on_one(scene)


@case(
    "session-establishment/no-qos-with-low-latency",
    profile="low-latency",
    needs=("low-latency",),
    control=qos_is_settled_by_both,
)
def who_has_low_latency_settles_on_one(scene: Scene) -> None:
    """
    Both are offered to a node that accepts low latency; InitAck settles on one at most.

        us      InitSyn (QoS, LowLatency)
        target  InitAck (QoS, or LowLatency, or neither)
    """
    settles_on_one(scene)


def settles_on_one(scene: Scene) -> None:
    """Offer QoS and LowLatency; deviate where InitAck has both."""
    us = scene.dialogue()

    ack = us.ask(us.init_syn(exts=sane.offers("QoS", "LowLatency")), expect=InitAck, step="stage init")

    settled = {type(ext).__name__ for ext in ack.exts} & {"QoS", "LowLatency"}
    us.require(len(settled) < 2, expected="one at most", got="both", step="init.exts")
