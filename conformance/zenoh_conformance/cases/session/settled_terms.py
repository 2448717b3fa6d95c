"""What INIT and OPEN settled, at work in the session that follows. Toward a responder and toward an initiator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise as pairs
from typing import Any

from zenoh_conformance.cases.case import case, grid, pairwise
from zenoh_conformance.cases.establishing import calm, until_open_syn, works_in_the_end
from zenoh_conformance.cases.establishment.sane import a_session_does_work
from zenoh_conformance.cases.initiator.open_ack import a_sane_handshake_makes_a_session
from zenoh_conformance.judging.finding import NOT_REACHED, STATED_ROLE
from zenoh_conformance.messages import Frame, Init, KeepAlive, Open, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenAck, OpenSyn
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Exts

AREA = "settled-terms"

INITIATOR = Side.INITIATOR
ROUND = 140
"""Answers that take a sender past the last number of 8 bits."""

LITTLE = 0.5
"""Seconds between our KEEP_ALIVEs in a session with a long lease."""

LONGEST = 12.0
"""Seconds of a lease that is waited for."""

ROLES = {sane.ROUTER: "router", sane.PEER: "peer", sane.CLIENT: "client"}

OFFERS: dict[str, tuple[str, ...]] = {
    "none": (), "lanes": ("QoS",), "low-latency": ("LowLatency",), "compression": ("Compression",),
    "lanes-compression": ("QoS", "Compression"), "compression-lanes": ("Compression", "QoS"),
}  # fmt: skip
"""Modes that our INIT offers, in the order in which their extensions stand."""

TERMS = pairwise(
    fsn=(0, 1, 2), rid=(0, 2), batch=(512, 2048, 65535), offers=tuple(OFFERS), patch=(0, 1), seconds=(True, False),
    first=("zero", "last"), link=("first", "later", "interleaved", "again"),
)  # fmt: skip
"""Terms such that each two values of two terms meet."""


@case("batching/sn-within-resolution", needs=("finals",), control=a_session_does_work, parameters=grid(fsn=(0,)))
def numbers_wrap_where_it_was_settled(scene: Scene, *, fsn: int) -> None:
    """
    Numbers of 8 bits are settled, and more is asked and answered than they count: both sides begin anew after the last one.

        us      InitSyn (FSN 8 bit) .. OpenAck
        us      FRAME (REQUEST), 140 times
        target  FRAME (RESPONSE_FINAL), each with the number after the one before, none above 0x7f
    """
    us = scene.dialogue().open(resolution=fsn | 2 << 2)

    goes_round(us)


@case(
    "batching/sn-within-resolution",
    role=INITIATOR,
    needs=("finals",),
    control=a_sane_handshake_makes_a_session,
    parameters=grid(fsn=(0,)),
)
def its_numbers_wrap_where_it_was_settled(scene: Scene, *, fsn: int) -> None:
    """
    InitAck settles on numbers of 8 bits, and more is asked and answered than they count.

        us      InitAck (FSN 8 bit) .. OpenAck
        us      FRAME (REQUEST), 140 times
        target  FRAME (RESPONSE_FINAL), each with the number after the one before, none above 0x7f
    """

    def lead(us: Dialogue) -> None:
        syn: Init = us.expect(InitSyn, step=f"{NOT_REACHED}: init")
        rid = (sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution) & 12
        us.ask(us.init_ack(syn, resolution=rid | fsn), expect=OpenSyn, step=f"{NOT_REACHED}: open")
        us.send(us.open_ack())

    goes_round(works_in_the_end(scene, lead))


@case(
    "session-establishment/resolution-may-be-lowered",
    profile="resolution-8",
    needs=("resolution-8", "finals"),
    control=a_session_does_work,
    parameters=({}, {"proposed": "nothing"}),
)
def what_it_lowered_it_keeps_to(scene: Scene, *, proposed: str = "32-bit") -> None:
    """
    A target that counts in 8 bits says so in InitAck, where 32 were proposed, or no resolution was; it counts so, and takes it of us.

        us      InitSyn (FSN 32 bit; or S clear)
        target  InitAck (FSN 8 bit)
        us      OpenSyn ..
        us      FRAME (REQUEST), 140 times
        target  FRAME (RESPONSE_FINAL), each with the number after the one before, none above 0x7f
    """
    us = scene.dialogue().open(**{"resolution": None, "batch_size": None} if proposed == "nothing" else {})
    us.require(us.sn_mask == SN_MASK[0], expected="FSN 8 bit", got="another", step="init.resolution")

    goes_round(us)


@case("session-establishment/session-live-after-open-ack", control=a_session_does_work, parameters=TERMS)
def every_pair_of_terms_is_at_work(scene: Scene, *, link: str, **terms: Any) -> None:
    """
    Terms of every kind are settled together, on a first link, a later one, one whose handshake meets another's, or after a session
    of the same node: work is asked for and done, from the first numbers on.

        us      InitSyn (resolution, batch size, extensions in some order)
        target  InitAck
        us      OpenSyn (lease, initial_sn)
        target  OpenAck
        us      what asks for work, three times
        target  does it
    """
    us = scene.dialogue()
    if link == "later":
        us.leave()
        us = scene.dialogue("later")
    elif link == "again":
        us.open()
        us.send(sane.close())
        us.expect_end(step=f"{NOT_REACHED}: after Close")
        us = scene.dialogue("again")
    settle(
        us,
        interleaved=scene.dialogue("other") if link == "interleaved" and scene.can("several-links") else None,
        **terms,
    )

    for _ in range(3):
        us.expect_live()


@case("session-establishment/init-whatami", control=a_session_does_work)
def it_shows_the_role_that_it_has(scene: Scene) -> None:
    """
    The role in InitAck is the one in which the target was started, where that is known.

        us      InitSyn
        target  InitAck (WhatAmI)
    """
    us = scene.dialogue()
    ack: Init = us.ask(us.init_syn(), expect=InitAck, step=f"{NOT_REACHED}: init")

    shows_its_role(scene, us, ack)


@case("session-establishment/init-whatami", role=INITIATOR, control=a_sane_handshake_makes_a_session)
def it_proposes_in_the_role_that_it_has(scene: Scene) -> None:
    """
    The role in InitSyn is the one in which the target was started, where that is known.

        target  InitSyn (WhatAmI)
    """
    us = scene.dialogue()
    syn: Init = us.expect(InitSyn, step=f"{NOT_REACHED}: init")

    shows_its_role(scene, us, syn)


@case("keep-alive/something-every-quarter-lease", control=a_session_does_work, timed=True)
def a_stated_lease_is_kept(scene: Scene) -> None:
    """
    The target states a lease, and says something in each quarter of it, whatever ours is. Half of a quarter is let pass.

        us      OpenSyn (lease 1 hour) .. OpenAck (its lease)
        us      KEEP_ALIVE, now and then
        target  something, in each quarter of its lease
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(), expect=InitAck, step=f"{NOT_REACHED}: init")
    theirs: Open = us.ask(us.open_syn(ack, lease=3600), expect=OpenAck, step=f"{NOT_REACHED}: open")

    keeps_its_lease(scene, us, theirs)
    calm(scene)


@case(
    "keep-alive/something-every-quarter-lease", role=INITIATOR, control=a_sane_handshake_makes_a_session, timed=True
)  # fmt: skip
def its_stated_lease_is_kept(scene: Scene) -> None:
    """
    The initiator states a lease, and says something in each quarter of it, whatever ours is. Half of a quarter is let pass.

        target  OpenSyn (its lease)
        us      OpenAck (lease 1 hour)
        us      KEEP_ALIVE, now and then
        target  something, in each quarter of its lease
    """
    us = until_open_syn(scene.dialogue())
    us.send(us.open_ack(lease=3600))
    assert us.their_open is not None

    keeps_its_lease(scene, us, us.their_open)
    calm(scene)


@case("keep-alive/keep-alive-when-idle", control=a_stated_lease_is_kept, timed=True)
def an_idle_session_gets_keep_alives(scene: Scene) -> None:
    """
    Nothing is asked of the target: it sends KEEP_ALIVE within one and a half quarters of its lease.

        us      OpenSyn (lease 1 hour) .. OpenAck (its lease)
        us      KEEP_ALIVE, now and then
        target  KEEP_ALIVE, and not empty FRAMEs alone
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(), expect=InitAck, step=f"{NOT_REACHED}: init")
    theirs: Open = us.ask(us.open_syn(ack, lease=3600), expect=OpenAck, step=f"{NOT_REACHED}: open")
    us.expect_live(step=f"{NOT_REACHED}: the lease")
    said, patience = len(us.heard), patience_of(us, theirs)

    until = us.wire.now() + patience
    while us.wire.now() < until:
        us.send(KeepAlive())
        us.listen(min(sane.lease_of(theirs) / 5, LITTLE))
        us.require(us.ended is None, expected="a session", got=us.text_of(None), step=f"{NOT_REACHED}: the lease")

    messages = [seen.message for seen in us.heard[said:]]
    kept = [each for each in messages if isinstance(each, KeepAlive)]
    empty = [each for each in messages if isinstance(each, Frame) and not each.messages]
    only_kept = bool(messages) and len(kept) + len(empty) == len(messages)
    us.require(only_kept, expected="nothing but what keeps it alive", got="other words", step=f"{NOT_REACHED}: idle")
    us.require(bool(kept), expected="KEEP_ALIVE", got="empty FRAMEs", step="the lease that it stated")
    calm(scene)


def goes_round(us: Dialogue) -> None:
    """Ask for work until the target's numbers have begun anew. Deviates where one is not the one that follows."""
    for _ in range(ROUND):
        us.expect_live()
    numbered = [seen for seen in us.heard if seen.kind in ("frame", "fragment")]
    lanes = Counter(seen.channel for seen in numbered)
    most = max(lanes, key=lanes.__getitem__, default=None)
    numbers = [seen.message.sn for seen in numbered if seen.channel == most]
    enough = any(after < before for before, after in pairs(numbers))
    us.require(enough, expected="more FRAMEs than numbers", got="fewer", step=f"{NOT_REACHED}: the last number")
    for before, after in pairs(numbers):
        follows = 1 <= (after - before) & us.sn_mask <= us.sn_mask >> 1
        us.require(follows, expected="a number that a receiver takes next", got="another number", step="frame.sn")


def settle(
    us: Dialogue,
    *,
    interleaved: Dialogue | None,
    fsn: int,
    rid: int,
    batch: int,
    offers: str,
    patch: int,
    seconds: bool,
    first: str,
) -> None:
    """The handshake, with these terms proposed."""
    exts: Exts[Any] = sane.offers(*OFFERS[offers], patch=patch)
    ack = us.ask(us.init_syn(resolution=fsn | rid << 2, batch_size=batch, exts=exts), expect=InitAck, step="stage init")
    if interleaved is not None:
        interleaved.ask(interleaved.init_syn(), expect=InitAck, step=f"{NOT_REACHED}: another handshake")
    us.initial_sn = 0 if first == "zero" else min(us.sn_mask, SN_MASK[2])
    lease = 30 if seconds else 30_000
    us.ask(us.open_syn(ack, lease_in_seconds=seconds, lease=lease), expect=OpenAck, step="stage open")


def shows_its_role(scene: Scene, us: Dialogue, init: Init) -> None:
    """Deviates where the role is not the one that is known."""
    known = scene.fact("stated_role")
    us.require(
        known is not None,
        expected=STATED_ROLE,
        got="none",
        step=f"{NOT_REACHED}: the role",
    )
    shown = ROLES.get(int(init.whatami), str(init.whatami))
    us.require(shown == known, expected=f"the role {known}", got=f"the role {shown}", step="init.whatami")


def keeps_its_lease(scene: Scene, us: Dialogue, theirs: Open) -> None:
    """
    Listen, saying something ourselves. Deviates after a silence of a quarter and half a quarter.

    Twice, after some work each: who looks once a while whether he said something meanwhile, is silent for the longest then.
    Once where a run shall be quick.
    """
    patience = patience_of(us, theirs)
    for _ in range(1 if scene.fact("quick") else 2):
        us.expect_live(step=f"{NOT_REACHED}: the lease")
        listens([us], patience, min(sane.lease_of(theirs) / 5, LITTLE))


def patience_of(us: Dialogue, theirs: Open) -> float:
    """Seconds after which silence is a fault of the lease that the target stated; not reached where they are too many."""
    lease = sane.lease_of(theirs)
    us.require(
        lease <= LONGEST,
        expected="a lease that can be waited for",
        got="a longer one",
        step=f"{NOT_REACHED}: the lease",
    )
    return 1.5 * lease / 4 + us.unit / 4


def listens(links: Sequence[Dialogue], patience: float, word: float, times: float = 1.05) -> None:
    """
    Listen for so many times that long, with a word of ours now and then. Deviates after as long a silence on one of the links: what
    came while we did not run ourselves is read before.
    """
    last = {us.wire.name: us.wire.now() for us in links}
    until = links[0].wire.now() + times * patience

    def is_silent(us: Dialogue, within: float) -> bool:
        last[us.wire.name] = max([last[us.wire.name], *(seen.time for seen in us.stream(within))])
        return us.wire.now() - last[us.wire.name] > patience

    while links[0].wire.now() < until:
        for us in links:
            us.send(KeepAlive())
            silent = is_silent(us, word / len(links)) and is_silent(us, 0.0)
            us.require(us.ended is None, expected="a session", got=us.text_of(None), step=f"{NOT_REACHED}: the lease")
            us.require(
                not silent,
                expected="something in each quarter of its lease",
                got="silence",
                step="the lease that it stated",
            )
