"""OpenSyn with one thing wrong, or at an edge, toward a responder."""

from __future__ import annotations

from functools import partial

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import in_the_end, issued
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Scene

from .sane import a_sane_handshake_is_accepted


@case(
    "session-establishment/initial-sn-in-range",
    control=a_sane_handshake_is_accepted,
    parameters=[{"fsn": fsn, "sn": sn} for fsn in (0, 1, 2) for sn in (0, 1, SN_MASK[fsn] - 1, SN_MASK[fsn])],
)
def an_initial_number_at_the_edge_is_accepted(scene: Scene, *, fsn: int, sn: int) -> None:
    """
    The smallest and largest initial numbers of each resolution, or of a lower one that InitAck states; the session works from there.

        us      InitSyn (FSN)
        target  InitAck
        us      OpenSyn (initial_sn at the edge)
        target  OpenAck
    """
    us = scene.dialogue()
    ack = issued(us, resolution=fsn | 2 << 2)
    us.initial_sn = sn & us.sn_mask

    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")

    us.expect_live()


@case(
    "session-establishment/initial-sn-out-of-range-refused",
    control=an_initial_number_at_the_edge_is_accepted,
    parameters=grid(fsn=(0, 1, 2)),
    breaks=("law/initial-sn-in-range",),
)
def an_initial_number_past_the_edge_is_refused(scene: Scene, *, fsn: int, past: int = 1) -> None:
    """
    An initial number outside the negotiated resolution opens no session.

        us      InitSyn (FSN)
        target  InitAck
        us      OpenSyn (initial_sn past the resolution's edge)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(resolution=fsn | 2 << 2), expect=InitAck, step="not reached: init")
    most = SN_MASK[fsn if ack.resolution is None else ack.resolution & 3]

    us.send(us.open_syn(ack, initial_sn=most + past))

    us.expect_refusal("open", never=OpenAck)


@case(
    "session-establishment/open-field-order",
    control=a_sane_handshake_is_accepted,
    parameters=grid(kept=(1, 2, 3, 4)),
    breaks=("law/open-is-whole", "law/open-syn-answers-init-ack"),
)
def a_cut_open_is_refused(scene: Scene, *, kept: int) -> None:
    """
    OpenSyn that ends before its cookie does.

        us      OpenSyn (its first bytes only)
        target  Close, or the link ends; never OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    whole = segments(us.open_syn(ack)).join()
    us.require(kept < len(whole), expected="a cookie that can be cut", got="none", step="not reached: init.cookie")

    us.send(whole[:kept])

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("open", never=OpenAck)


@case("session-establishment/initial-sn-random", control=a_sane_handshake_is_accepted)
def initial_numbers_vary(scene: Scene) -> None:
    """
    Of four sessions with four peers, one after the other, not all begin with the same number.

        us, near, far, other    InitSyn .. OpenSyn
        target                  OpenAck (initial_sn), to each
    """
    numbers = set()
    for name in ("us", "near", "far", "other"):
        us = scene.session(name)
        assert us.their_open is not None
        numbers.add(us.their_open.initial_sn)
        us.leave()

    us.require(len(numbers) > 1, expected="numbers that vary", got="one number always", step="open.initial_sn")


@case("session-establishment/initial-sn-random", control=a_sane_handshake_is_accepted)
def the_same_peer_meets_another_number(scene: Scene) -> None:
    """
    Of four sessions with one peer, one after the other, not all begin with the same number: a number that follows from the two
    ZenohIDs is no random one (erratum initial-sn-from-zids).

        us      InitSyn (our ZenohID, the same each time) .. OpenSyn
        target  OpenAck (initial_sn)
        us      Close, and once more; later, where it has not let go of us yet
    """
    zid = None
    numbers = set()
    for name in ("first", "second", "third", "fourth"):
        us = in_the_end(partial(scene.dialogue, name, zid=zid), Dialogue.open)
        assert us.their_open is not None
        zid = us.zid
        numbers.add(us.their_open.initial_sn)
        us.leave()

    us.require(len(numbers) > 1, expected="numbers that vary", got="one number always", step="open.initial_sn")
