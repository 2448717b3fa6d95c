"""Late joiners: what was declared while there was no link counts once there is one."""

from __future__ import annotations

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk


@scenario()
def a_late_subscriber_hears_what_comes(talk: Talk) -> None:
    """Declared after the publisher has spoken: nothing of before, all of after."""
    publisher = talk.here.declare("publisher", talk.key, congestion="block")
    talk.here.do("put", id=publisher.id, payload="01")
    talk.settle()
    ear = talk.listens()
    talk.here.do("put", id=publisher.id, payload="02")
    talk.expect(ear, payload="02")
    talk.quiet(ear)


@scenario()
def a_subscriber_from_before_the_link_is_known(talk: Talk) -> None:
    """Declared while the link was down."""
    talk.cut()
    ear = talk.there.declare("subscriber", talk.key)
    talk.restore()
    talk.settle()
    talk.carries(ear, b"x")


@scenario()
def a_queryable_from_before_the_link_is_known(talk: Talk) -> None:
    """Declared while the link was down."""
    talk.cut()
    talk.there.declare("queryable", talk.key, complete=True, plan=[{"reply": "aa"}])
    talk.restore()
    talk.settle()
    talk.same("replies", ["aa"], talk.payloads(talk.asks(target="all_complete")))


@scenario()
def a_token_from_before_the_link_is_seen(talk: Talk) -> None:
    """Declared while the link was down, watched from before."""
    watch = talk.here.declare("liveliness", f"{talk.key}/*")
    talk.settle()
    talk.cut()
    talk.there.declare("token", f"{talk.key}/t")
    talk.restore()
    talk.expect(watch, kind="put", key=f"{talk.key}/t")
