"""The life of a session in each mode: it is kept alive, it ends by its lease and by CLOSE; and a mode that we decline is not used."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import calm, followed_or_refused, proposal, works_in_the_end
from zenoh_conformance.cases.establishment.limits import a_silent_session_expires, opened
from zenoh_conformance.cases.establishment.sane import a_session_does_work
from zenoh_conformance.cases.initiator.open_ack import a_sane_handshake_makes_a_session
from zenoh_conformance.judging.finding import NOT_REACHED, OVERSLEPT
from zenoh_conformance.messages import DToken, Fragment, KeepAlive, Open, Query, Request, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import NO_EXTS, exts

from .settled_terms import keeps_its_lease

LEASE_MS = 1000
"""The lease of a session that is to die."""

WORK: dict[str, Callable[[Dialogue], None]] = {
    "declared": lambda us: us.declare(DToken(id=us.new_id(), key=plain(f"zconform/token/{us.zid.hex()}"))),
    "asked": lambda us: us.say(Request(id=us.new_id(), key=plain(f"zconform/nobody/{us.zid.hex()}"), body=Query())),
    "half-a-message": lambda us: us.send(half_a_message(us)),
    "published": lambda us: us.publish(f"zconform/nobody/{us.zid.hex()}", b"x"),
    "kept-alive": lambda us: us.send(KeepAlive()),
}
"""What a session has done before it falls silent."""


def half_a_message(us: Dialogue) -> Fragment:
    """The first fragment of a message that does not end."""
    marks = [sane.first()] if us.patch > 0 else []
    return Fragment(reliable=True, more=True, sn=us.next_sn(), exts=exts(*marks), payload=b"x")


@case(
    "keep-alive/silent-session-is-dead",
    control=a_silent_session_expires,
    timed=True,
    parameters=grid(did=tuple(WORK)),
)
def a_session_expires_whatever_it_did(scene: Scene, *, did: str) -> None:
    """
    A session declares, asks, publishes, is kept alive, or begins a message in fragments, and then says nothing more: it ends when its
    lease is over.

        us      OpenSyn (lease 1 s) .. OpenAck
        us      DECLARE, REQUEST, PUSH, KEEP_ALIVE or the first FRAGMENT of a message; nothing more
        target  Close or the link's end, when the lease is over
    """
    us = opened(scene.dialogue(), lease_in_seconds=False, lease=LEASE_MS)
    WORK[did](us)

    expires(us)
    calm(scene)


@case("keep-alive/dead-session-closes-link", control=a_silent_session_expires, timed=True)
def the_link_of_a_dead_session_is_closed(scene: Scene) -> None:
    """
    We state a lease of a second and say nothing more: the link ends, not the session alone.

        us      OpenSyn (lease 1 s) .. OpenAck
        us      nothing
        target  (Close), and the link's end
    """
    us = opened(scene.dialogue(), lease_in_seconds=False, lease=LEASE_MS)

    us.fall_silent()
    us.expect_end(within=2 * LEASE_MS / 1000 + 2 * us.unit, step="after the lease")
    calm(scene)


@case("session-establishment/any-message-renews-lease", control=a_silent_session_expires, timed=True)
def a_session_lives_until_its_lease_is_over(scene: Scene) -> None:
    """
    We state a lease of two seconds, and are silent for two thirds of it, or of a shorter one of the target's, three times: the session
    lives.

        us      OpenSyn (lease 2 s) .. OpenAck
        us      KEEP_ALIVE, nothing for 1.3 s; three times
        target  lives
    """
    us = opened(scene.dialogue(), lease_in_seconds=False, lease=2 * LEASE_MS)

    for _ in range(3):
        us.send(KeepAlive())  # an OpenAck that comes late has taken of the lease
        for _ in us.stream(2 * us.lease / 3):
            pass
        step = OVERSLEPT if us.overslept else "within its lease"
        us.require(us.ended is None, expected="a session that lives", got=us.text_of(None), step=step)

    us.expect_live()


LIFE = ("is-kept-alive", "is-renewed", "is-renewed-by-keep-alives", "expires", "closes")
"""What a session of a mode does."""


@case(
    "keep-alive/something-every-quarter-lease",
    profile="low-latency",
    needs=("low-latency",),
    timed=True,
    parameters=grid(what=LIFE),
)
def a_low_latency_session_lives_and_ends(scene: Scene, *, what: str) -> None:
    """
    Without FRAME a session is kept alive, expires and is closed as with it.

        us      InitSyn (LowLatency) .. OpenAck
        target  something in each quarter of its lease; or, after our lease or our Close, the session's end
    """
    lives(scene, what, ("LowLatency",))


@case(
    "keep-alive/something-every-quarter-lease",
    profile="compression",
    needs=("compression",),
    timed=True,
    parameters=grid(what=LIFE),
)
def a_compressed_session_lives_and_ends(scene: Scene, *, what: str) -> None:
    """
    With compression a session is kept alive, expires and is closed as without it.

        us      InitSyn (Compression) .. OpenAck
        target  something in each quarter of its lease; or, after our lease or our Close, the session's end
    """
    lives(scene, what, ("Compression",))


@case(
    "session-establishment/low-latency-needs-both",
    profile="low-latency",
    needs=("low-latency",),
    control=a_session_does_work,
)
def low_latency_that_we_do_not_offer_is_not_used(scene: Scene) -> None:
    """
    A target that accepts low latency has a plain session with a node that does not offer it.

        us      InitSyn (no LowLatency) .. OpenAck
        us      FRAME (what asks for work)
        target  FRAME (does it)
    """
    scene.dialogue().open().expect_live()


@case(
    "session-establishment/compression-needs-both",
    profile="compression",
    needs=("compression",),
    control=a_session_does_work,
)
def compression_that_we_do_not_offer_is_not_used(scene: Scene) -> None:
    """
    A target that accepts compression has a plain session with a node that does not offer it.

        us      InitSyn (no Compression) .. OpenAck
        us      FRAME (what asks for work)
        target  FRAME (does it), without a compression header
    """
    scene.dialogue().open().expect_live()


@case(
    "session-establishment/low-latency-needs-both",
    role=Side.INITIATOR,
    profile="low-latency",
    needs=("low-latency",),
    control=a_sane_handshake_makes_a_session,
)
def low_latency_that_we_decline_is_not_used(scene: Scene) -> None:
    """
    The target offers low latency, and our InitAck does not have it: the session is a plain one.

        target  InitSyn (LowLatency)
        us      InitAck (no extension) .. OpenAck
        us      FRAME (what asks for work)
        target  FRAME (does it)
    """
    works_in_the_end(scene, decline_modes)


@case(
    "session-establishment/compression-needs-both",
    role=Side.INITIATOR,
    profile="compression",
    needs=("compression",),
    control=a_sane_handshake_makes_a_session,
)
def compression_that_we_decline_is_not_used(scene: Scene) -> None:
    """
    The target offers compression, and our InitAck does not have it: the session is a plain one.

        target  InitSyn (Compression)
        us      InitAck (no extension) .. OpenAck
        us      FRAME (what asks for work)
        target  FRAME (does it), without a compression header
    """
    works_in_the_end(scene, decline_modes)


def decline_modes(us: Dialogue) -> None:
    """Complete the handshake with an InitAck without extensions."""
    followed = followed_or_refused(us, us.init_ack(proposal(us), exts=NO_EXTS))
    us.require(followed is not None, expected="OpenSyn", got="a refusal", step=f"{NOT_REACHED}: open")
    us.send(us.open_ack())


def lives(scene: Scene, what: str, offers: Sequence[str]) -> None:
    """Open a session in a mode, and look at one part of its life."""
    us = scene.dialogue()
    ack = us.ask(us.init_syn(exts=sane.offers(*offers)), expect=InitAck, step="not reached: init")
    agreed = {type(ext).__name__ for ext in ack.exts} >= set(offers)
    us.require(agreed, expected=offers[0], got="none", step="not reached: init.exts")
    short = LEASE_MS if what == "expires" else 2 * LEASE_MS if what.startswith("is-renewed") else None
    lease = {"lease": 3600} if short is None else {"lease_in_seconds": False, "lease": short}
    theirs: Open = us.ask(us.open_syn(ack, **lease), expect=OpenAck, step="not reached: open")

    if what == "is-kept-alive":
        keeps_its_lease(scene, us, theirs)
        calm(scene)
    elif what.startswith("is-renewed"):
        with us.about("session-establishment/any-message-renews-lease"):
            is_renewed(us, by_keep_alives=what.endswith("keep-alives"))
    elif what == "expires":
        with us.about("session-establishment/lease-expiry-ends-session"):
            expires(us)
        calm(scene)
    else:
        us.expect_live(step="not reached: the session works")
        us.send(sane.close())
        with us.about("close/close-ends-the-link"):
            us.expect_end(step="after Close")


def is_renewed(us: Dialogue, *, by_keep_alives: bool) -> None:
    """Publish in each fifth of the lease, or say no more than KEEP_ALIVE, and deviate unless the session lives."""
    for _ in range(7):
        if by_keep_alives:
            us.send(KeepAlive())
        else:
            us.publish(f"zconform/nobody/{us.zid.hex()}", b"x")
        for _ in us.stream(us.lease / 5):
            pass
        step = OVERSLEPT if us.overslept else "while something is said"
        us.require(us.ended is None, expected="a session that lives", got=us.text_of(None), step=step)
    us.expect_live()


def expires(us: Dialogue) -> None:
    """Say nothing, and deviate unless the target ends the session."""
    for _ in us.stream(2 * LEASE_MS / 1000 + us.unit):
        if us.closed is not None:
            break
    us.expect_expired()
