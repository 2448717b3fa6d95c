"""Chains of fragments in generated circumstances, toward a node that routes between its clients (companion fragmentation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.routing.circumstances import CHANNEL, FIELDS, TERMS
from zenoh_conformance.cases.routing.plain import ROUTES
from zenoh_conformance.judging.finding import NOT_REACHED
from zenoh_conformance.judging.variation import Dimension, Variation
from zenoh_conformance.messages import Fragment, KeepAlive, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Party, Scene, parties_of

from .fragments import expect_value, fits, in_pieces, pieces_are_put_together, push

LANE: Final = Dimension.of("lane", "in lane {}", sane.DEFAULT_PRIORITY, 1, 7)
PIECES: Final = Dimension.of("pieces", "in {} fragments", 3, 4, 9, is_ordered=True)
PASSER: Final = "a session that comes and goes"
AMID: Final = Dimension(
    "amid",
    "with {} between the fragments",
    (
        (1, ("nothing", "KEEP_ALIVE", "KEEP_ALIVE in one batch", "another channel")),
        (8, (PASSER,)),
    ),
)
EARLIER: Final = Dimension("earlier", "after {}", (
    (1, ("nothing", "a whole chain", "three whole chains", "a chain with a hole", "three chains with a hole",
         "a whole message", "three KEEP_ALIVEs")),
    (8, ("a chain that was left",)),
))  # fmt: skip
HOLE: Final = Dimension.of("hole", "without the fragment {}", 1, 2)
"""The place of the fragment that is lost, from 0."""

BROKEN: Final = ("law/fragment-numbers-follow", "law/what-is-said-decodes")
"""What we break where a fragment is lost."""


def two_of(scene: Scene, v: Variation) -> tuple[Party, Party]:
    """A publisher with the terms of the row, and a subscriber to `k/**`; not reached without lanes where the row has one."""
    offers = sane.offers("QoS", patch=1)
    publisher, subscriber = parties_of(scene, publisher={"exts": offers, **FIELDS[str(v[TERMS])]}, subscriber={})
    lanes = v.number(LANE) == sane.DEFAULT_PRIORITY or publisher.has_lanes
    publisher.us.require(lanes, expected="lanes", got="none", step="not reached: lanes")
    subscriber.declares_subscriber("k/**")
    return publisher, subscriber


def chain_of(who: Party, v: Variation, key: str, count: int, *, reliable: bool) -> tuple[bytes, list[Fragment]]:
    """A payload, and the fragments of its publication."""
    payload = sane.payload(fits(who, count))
    message = push(who, key, payload, v.number(LANE))
    return payload, in_pieces(who, message, count, reliable=reliable, priority=v.number(LANE))


def says(scene: Scene, who: Party, v: Variation, pieces: list[Fragment]) -> None:
    """Send fragments, with what the row has between them; a session comes between the first two alone.

    Toward an initiator none comes: its program may end with a link.
    """
    for at, piece in enumerate(pieces):
        if at == 1 and v[AMID] == PASSER and scene.role is Side.RESPONDER:
            passer = scene.session("passer")
            passer.send(sane.close())
            passer.expect_end(step=f"{NOT_REACHED}: a session that goes")
        amid = str(v[AMID]) if at else AMID.default
        if amid == "KEEP_ALIVE":
            who.us.send(KeepAlive())
        elif amid == "another channel":
            who.us.say(push(who, "past/amid", b"1"), reliable=not piece.reliable)
        who.us.send(*([KeepAlive()] if amid == "KEEP_ALIVE in one batch" else []), piece)


def with_a_gap(who: Party, v: Variation, pieces: list[Fragment], at: int) -> list[Fragment]:
    """The fragments with one number left out before that one: what is left of a longer chain, and yet together a message."""
    who.us.next_sn(pieces[0].reliable, v.number(LANE))
    return [*pieces[:at], *(replace(each, sn=(each.sn + 1) & who.us.sn_mask) for each in pieces[at:])]


# -- what came before


def _chains(count: int, hole: int | None = None) -> Callable[[Party, Variation, bool], None]:
    def say(who: Party, v: Variation, reliable: bool) -> None:
        for _ in range(count):
            pieces = chain_of(who, v, "past/a", 3, reliable=reliable and hole is None)[1]
            for piece in pieces if hole is None else with_a_gap(who, v, pieces, hole):
                who.us.send(piece)

    return say


def _leave_a_chain(who: Party, v: Variation, reliable: bool) -> None:
    """Send a chain without its end; the First of the next one tells a receiver so, where markers are settled."""
    if who.us.patch > 0:
        *pieces, last = chain_of(who, v, "past/a", 3, reliable=reliable)[1]
        who.us.send_each(*pieces, replace(last, more=True, payload=last.payload[:-1]))


def _message(who: Party, v: Variation, reliable: bool) -> None:
    who.says(push(who, "past/a", b"1", v.number(LANE)), reliable=reliable, priority=v.number(LANE))


EARLIERS: Final[Mapping[str, Callable[[Party, Variation, bool], Any]]] = {
    "nothing": lambda who, v, reliable: None,
    "a whole chain": _chains(1),
    "three whole chains": _chains(3),
    "a chain with a hole": _chains(1, 1),
    "three chains with a hole": _chains(3, 1),
    "a whole message": _message,
    "a chain that was left": _leave_a_chain,
    "three KEEP_ALIVEs": lambda who, v, reliable: who.us.send_each(*[KeepAlive()] * 3),
}


@case(
    "fragmentation/fragments-reassemble",
    needs=ROUTES,
    control=pieces_are_put_together,
    varies=(LANE, CHANNEL, PIECES, AMID, EARLIER, TERMS),
    breaks=BROKEN,
    is_heard=True,
)
def a_chain_comes_whole_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    A publication in fragments comes whole, whatever the lane, the channel, the number of fragments, the terms of the session, what
    stands between the fragments and what came on the channel before.

        subscriber  DECLARE (subscriber)
        publisher   (other chains, whole ones, with a hole or without an end)
        publisher   FRAGMENT, .. FRAGMENT (all of a PUSH)
        target      to the subscriber: the PUSH
    """
    publisher, subscriber = two_of(scene, v)
    reliable = v[CHANNEL] == "reliable"
    EARLIERS[str(v[EARLIER])](publisher, v, reliable)

    payload, pieces = chain_of(publisher, v, "k/a", v.number(PIECES), reliable=reliable)
    says(scene, publisher, v, pieces)

    expect_value(subscriber, "k/a", payload, step="the chain")


@case(
    "fragmentation/lost-fragment-discards-chain",
    needs=ROUTES,
    control=pieces_are_put_together,
    varies=(LANE, HOLE, EARLIER, AMID, TERMS),
    breaks=BROKEN,
    is_heard=True,
)
def a_chain_with_a_hole_is_discarded_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    On best effort a fragment is lost: the message is, too, whatever the lane, the terms of the session, and what came before.

        subscriber  DECLARE (subscriber)
        publisher   (other chains, whole ones, with a hole or without an end)
        publisher   FRAGMENT, .. FRAGMENT (a number left out; together a PUSH)
        publisher   FRAME (another PUSH)
        target      to the subscriber: the other PUSH at most
    """
    publisher, subscriber = two_of(scene, v)
    EARLIERS[str(v[EARLIER])](publisher, v, False)

    pieces = chain_of(publisher, v, "k/lost", 3, reliable=False)[1]
    says(scene, publisher, v, with_a_gap(publisher, v, pieces, v.number(HOLE)))
    publisher.puts("k/after", b"1")
    publisher.settles()

    subscriber.expect_push("k/after", step="what comes after it")
    subscriber.expect_no_push(step="what was lost", key="k/lost")
