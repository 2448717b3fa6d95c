"""Refusals that are not the proposal's fault: no room, no credentials, no more patience. Toward a responder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import answered_or_closed, calm, under_test
from zenoh_conformance.judging.finding import NOT_REACHED, OVERSLEPT, Deviation
from zenoh_conformance.messages import Auth, Close, Fragment, KeepAlive, Push, Put, sane
from zenoh_conformance.messages import Auth as OpenAuth
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.kinds import InitAck, OpenAck, reason_code
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.talking.refusal import reach
from zenoh_conformance.wire import NO_EXTS, Exts

from .sane import a_sane_handshake_is_accepted
from .states import comes_back

LEASE_MS = 1000
"""The lease that we state where we wait until it is over."""


@case(
    "session-establishment/refused-resources-closes",
    profile="one-session",
    needs=("one-session", "several-links"),
    control=a_sane_handshake_is_accepted,
)
def a_session_too_many_is_closed(scene: Scene) -> None:
    """
    A target that holds one session refuses the second by CLOSE, and takes it once the first has left.

        us      a live session
        other   InitSyn ..
        target  Close in place of InitAck or OpenAck
        us      Close
        other   InitSyn .. OpenSyn
        target  OpenAck
    """
    us = comes_back(scene, scene.fresh_zid())
    other = scene.dialogue("other")

    ack = answered_or_closed(other, other.init_syn(), InitAck, "init")
    if ack is not None:
        other.send(other.open_syn(ack))
        other.expect_refusal("open", by_close=True, never=OpenAck)

    us.expect_live(step="the session that was there")
    us.leave()
    comes_back(scene, other.zid)


@case("session-establishment/open-ack-answers-open-syn", profile="user-password", needs=("auth",))
def the_right_password_is_let_in(scene: Scene) -> None:
    """
    A session that shows the user and the password that are wanted comes up and works.

        us      InitSyn (Auth)
        target  InitAck (Auth)
        us      OpenSyn (Auth)
        target  OpenAck
    """
    under_test(scene.session).expect_live()


@case(
    "session-establishment/refused-authentication-closes",
    profile="user-password",
    needs=("auth",),
    control=the_right_password_is_let_in,
    parameters=grid(what=("missing", "missing-in-open", "empty", "replayed", "altered", "cut", "another-method")),
)
def a_wrong_password_is_closed(scene: Scene, *, what: str) -> None:
    """
    A session is opened with the right password; its proof is then shown again on another link, as it was or altered, or is left
    out: it was made for another challenge.

        us      InitSyn (Auth) .. OpenAck, with the right password
        other   InitSyn (Auth)
        target  InitAck (Auth: another challenge), or Close
        other   OpenSyn (Auth of before, or none)
        target  Close; never OpenAck
    """
    us = scene.session()
    assert us.mine is not None and us.my_open is not None
    asked, proof = us.mine.exts, us.my_open.exts.get(OpenAuth)
    us.require(proof is not None, expected="a proof", got="none", step="not reached: our own OpenSyn")
    assert proof is not None
    us.leave()
    other = scene.dialogue("other")
    exts = {
        "missing": Exts(ext for ext in asked if not isinstance(ext, Auth)),
        "another-method": Exts(Auth(payload=b"\x0d") if isinstance(ext, Auth) else ext for ext in asked),
    }
    shown = {
        "replayed": proof.payload,
        "altered": proof.payload[:-1] + bytes([proof.payload[-1] ^ 1]),
        "cut": proof.payload[:-1],
        "empty": b"",
    }

    ack = answered_or_closed(other, other.init_syn(exts=exts.get(what, asked)), InitAck, "init")
    if ack is None:
        return
    chain = Exts([replace(proof, payload=shown[what])]) if what in shown else Exts()
    other.send(other.open_syn(ack, exts=chain))

    other.expect_refusal("open", by_close=True, never=OpenAck)


@case("session-establishment/lease-expiry-ends-session", control=a_sane_handshake_is_accepted, timed=True,
      parameters=grid(seconds=(True, False)))  # fmt: skip
def a_silent_session_expires(scene: Scene, *, seconds: bool) -> None:
    """
    We state a lease of a second and say nothing more: the target ends the session.

        us      OpenSyn (lease 1 s) .. OpenAck
        us      nothing
        target  (KEEP_ALIVEs), then Close or the link's end, when the lease is over
    """
    us = opened(scene.dialogue(), lease_in_seconds=seconds, lease=1 if seconds else LEASE_MS)

    us.fall_silent()
    for seen in us.stream(2 * LEASE_MS / 1000 + us.unit):
        if isinstance(seen.message, Close):
            break

    us.expect_expired()
    calm(scene)


@case("close/expired-lease-is-expired", control=a_silent_session_expires, timed=True)
def an_expired_session_is_told_so(scene: Scene) -> None:
    """
    When a lease is over, a CLOSE that tells of it has the reason EXPIRED. A link that ends without CLOSE, or by one that
    tells no reason (GENERIC), shows nothing of the reason: not observed.

        us      OpenSyn (lease 1 s) .. OpenAck
        us      nothing
        target  Close (EXPIRED), or the link's end
    """
    us = opened(scene.dialogue(), lease_in_seconds=True, lease=1)

    us.fall_silent()
    for _ in us.stream(2 * LEASE_MS / 1000 + us.unit):
        if us.closed is not None:
            break

    us.require(us.closed is not None, expected="a Close", got=us.text_of(None), step="not reached: after the lease")
    us.require(
        us.closed != reason_code("GENERIC"),
        expected="a reason",
        got="Close(GENERIC)",
        step="not reached: after the lease",
    )
    told = us.closed == reason_code("EXPIRED")
    us.require(told, expected="Close(EXPIRED)", got=f"Close({us.closed})", step="after the lease")


TIMES = 8
"""How often something is said in place of KEEP_ALIVE."""


@case("session-establishment/any-message-renews-lease", control=a_sane_handshake_is_accepted, timed=True,
      parameters=grid(what=("keep-alive", "frame", "fragments", "best-effort", "keep-alives")))  # fmt: skip
def whatever_is_said_renews_the_lease(scene: Scene, *, what: str) -> None:
    """
    We state a short lease and say something in each fifth of it: the session lives on.

        us      OpenSyn (lease 1.5 s) .. OpenAck
        us      KEEP_ALIVE, three of them, FRAME, or the FRAGMENTs of one message, now and again for 2.4 s
        target  lives
    """
    us = opened(scene.dialogue(), lease_in_seconds=False, lease=1500)
    nobodys = Push(key=plain(f"zconform/nobody/{us.zid.hex()}"), body=Put(payload=sane.payload(TIMES * TIMES)))
    data = encode(nobodys)

    for at in range(TIMES):
        if what == "fragments":
            rest, more = data[at * TIMES :], at < TIMES - 1
            piece = rest[:TIMES] if more else rest
            us.send(Fragment(reliable=True, more=more, sn=us.next_sn(), exts=NO_EXTS, payload=piece))
        elif what in ("frame", "best-effort"):
            us.say(nobodys, reliable=what == "frame")
        else:
            us.send(*[KeepAlive()] * (3 if what == "keep-alives" else 1))
        for _ in us.stream(min(0.3, us.lease / 5)):
            pass
        step = OVERSLEPT if us.overslept else "while something is said"
        us.require(us.ended is None, expected="a session that lives", got=us.text_of(None), step=step)

    us.expect_live()


@case("session-establishment/lease-in-low-latency", profile="low-latency", needs=("low-latency",),
      parameters=({"seconds": True, "lease": 10}, {"seconds": False, "lease": 9_999}))  # fmt: skip
def low_latency_states_its_lease(scene: Scene, *, seconds: bool, lease: int) -> None:
    """
    OPEN is what it is without low latency: leases in either unit are taken, one is stated, and only then the framing changes.

        us      InitSyn (LowLatency)
        target  InitAck (LowLatency)
        us      OpenSyn (T, lease)
        target  OpenAck (lease)
        us      REQUEST, without FRAME
        target  RESPONSE_FINAL, without FRAME
    """
    us = scene.dialogue()
    ack = reach(us, us.init_syn(exts=sane.offers("LowLatency")), InitAck, "init")
    agreed = any(type(ext).__name__ == "LowLatency" for ext in ack.exts)
    us.require(agreed, expected="LowLatency", got="none", step="not reached: init.exts.low_latency")

    theirs = us.ask(us.open_syn(ack, lease_in_seconds=seconds, lease=lease), expect=OpenAck, step="stage open")

    us.require(theirs.lease > 0, expected="a lease", got="none", step="open.lease")
    us.expect_live()


@case(
    "session-establishment/lease-effective-minimum", profile="short-lease", needs=("short-lease", "stream"), timed=True
)
def the_smaller_lease_counts(scene: Scene) -> None:
    """
    We state a long lease, the target a short one, and we say nothing: it ends the session when the smaller one is over (as
    written), or waits for ours (erratum effective-lease). Either is right; the verdict says which.

        us      OpenSyn (lease 1 hour)
        target  OpenAck (lease 1 s)
        us      nothing for a while
        target  Close or the link's end; or KEEP_ALIVEs, and the session works
    """
    us = opened(scene.dialogue(), lease_in_seconds=True, lease=3600)

    for _ in us.stream(2.2 * LEASE_MS / 1000):
        pass

    if not us.is_over:
        scene.follows("effective-lease")
        us.expect_live(step="the session within our lease")
    else:
        scene.follows(None)


def opened(us: Dialogue, **changes: object) -> Dialogue:
    """The sane handshake with changes in our OpenSyn."""
    ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    reach(us, us.open_syn(ack, **changes), OpenAck, "open", odd=bool(changes))
    return us


LAWFUL: dict[str, dict[str, Any]] = {
    "as-a-router": {"whatami": WhatAmI(sane.ROUTER)}, "as-a-peer": {"whatami": WhatAmI(sane.PEER)},
    "without-size": {"resolution": None, "batch_size": None}, "without-extensions": {"exts": NO_EXTS},
}  # fmt: skip
"""Proposals that any responder can read, and that none must take."""


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(what=tuple(LAWFUL)),
    alone=True,
)
def a_lone_lawful_proposal_is_answered_or_closed(scene: Scene, *, what: str) -> None:
    """
    A lawful proposal is answered, or refused by CLOSE, also for reasons of the target's own. A node without room may end
    a link without a look at it: an end without CLOSE counts where it comes twice, each time between two sessions that open.

        before  a session, and its end
        us      InitSyn
        target  InitAck, or Close
        after   a session, and its end
    """
    comes_and_goes(scene, "before")
    for last in (False, True):
        us = scene.dialogue()
        try:
            answered_or_closed(us, us.init_syn(**LAWFUL[what]), InitAck, "init")
        except Deviation:
            if us.ended is None:
                raise
            comes_and_goes(scene, "after")
            if last:
                raise
        else:
            return


def comes_and_goes(scene: Scene, name: str) -> None:
    """A session that opens, and that the target has seen the end of."""
    try:
        us = scene.session(name)
        us.send(sane.close())
        us.expect_end()
    except Deviation as deviation:
        raise Deviation(replace(deviation.finding, path=f"{NOT_REACHED}: a session {name} it")) from None
    us.hang_up()
