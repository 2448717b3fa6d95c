"""Reconnection: the link is cut and comes back; what was declared still holds."""

from __future__ import annotations

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk

_BLINKS = 5
_PAIRS = ("routers", "others")
"""Between routers a node that is gone goes by another way than a client does: by the links that others tell of."""


@scenario(cuts=(1, 3))
def a_subscriber_lives_through_a_cut(talk: Talk, cuts: int) -> None:
    """It hears before and after, each sample once."""
    ear = talk.listens()
    for number in range(cuts):
        talk.carries(ear, bytes([number]))
        talk.reconnect()
    talk.settle()
    talk.carries(ear, b"\xff")
    talk.quiet(ear)


@scenario()
def a_publisher_lives_through_a_cut(talk: Talk) -> None:
    """Its key had a number in the old session and has one in the new."""
    ear = talk.there.declare("subscriber", f"{talk.key}/**")
    publisher = talk.here.declare("publisher", f"{talk.key}/p", congestion="block")
    talk.settle()
    for payload in ("01", "02"):
        talk.here.do("put", id=publisher.id, payload=payload)
        talk.expect(ear, payload=payload, key=f"{talk.key}/p")
        talk.reconnect()
        talk.settle()


@scenario()
def a_queryable_lives_through_a_cut(talk: Talk) -> None:
    """It answers before and after."""
    talk.serves({"reply": "aa"})
    talk.same("replies", ["aa"], talk.payloads(talk.asks()))
    talk.reconnect()
    talk.settle()
    talk.same("replies", ["aa"], talk.payloads(talk.asks()))


@scenario(between=_PAIRS)
def a_token_goes_with_the_link_and_comes_back(talk: Talk, between: str) -> None:
    """Who watches sees it go when the link is cut, and come when it is back."""
    talk.between(between)
    watch = talk.here.declare("liveliness", f"{talk.key}/*")
    talk.settle()
    talk.there.declare("token", f"{talk.key}/t")
    talk.expect(watch, kind="put", key=f"{talk.key}/t")
    talk.cut()
    talk.expect(watch, kind="delete", key=f"{talk.key}/t")
    talk.restore()
    talk.expect(watch, kind="put", key=f"{talk.key}/t")


@scenario()
def a_query_ends_when_the_link_is_cut(talk: Talk) -> None:
    """Well before its timeout of a minute: who should answer has gone."""
    ear = talk.serves({"hold": True})
    asked = talk.asks()
    talk.expect(ear, "query")
    talk.cut()
    replies = [answer for answer in talk.answers(asked) if answer["event"] == "reply"]
    talk.same("replies", [], replies)
    talk.restore()


@scenario(between=_PAIRS)
def declarations_outlive_a_blink(talk: Talk, between: str) -> None:
    """The link is cut and back at once, five times, the next as soon as the two hear each other again."""
    talk.between(between)
    ear = talk.listens()
    quick = False
    for number in range(_BLINKS):
        quick |= talk.blink()
        talk.carries(ear, bytes([number]))
    talk.fits(quick, "the link never came back fast enough to blink")
