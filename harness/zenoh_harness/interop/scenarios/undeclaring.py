"""Undeclarations: what was taken back is heard, asked and seen no more, and may be declared again."""

from __future__ import annotations

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk


@scenario()
def an_undeclared_subscriber_hears_nothing(talk: Talk) -> None:
    """While another one on the same key goes on."""
    gone, stays = (talk.there.declare("subscriber", talk.key) for _ in range(2))
    talk.settle()
    talk.here.put(talk.key, b"1")
    for ear in (gone, stays):
        talk.expect(ear, payload=b"1")
    talk.there.undeclare(gone)
    talk.settle()
    talk.carries(stays, b"2")
    talk.quiet(gone)


@scenario()
def the_last_subscriber_takes_its_key_with_it(talk: Talk) -> None:
    """After it nothing arrives; declared again, it hears again."""
    ear = talk.listens()
    talk.there.undeclare(ear)
    talk.settle()
    talk.here.put(talk.key, b"1")
    talk.quiet(ear)
    talk.carries(talk.listens(), b"2")


@scenario()
def an_undeclared_queryable_is_not_asked(talk: Talk) -> None:
    """The query ends without an answer; declared again, it is asked again."""
    talk.there.undeclare(talk.serves({"reply": "aa"}))
    talk.settle()
    talk.same("answers", [], talk.answers(talk.asks()))
    talk.serves({"reply": "bb"})
    talk.same("replies", ["bb"], talk.payloads(talk.asks()))


@scenario()
def completeness_goes_with_the_complete_queryable(talk: Talk) -> None:
    """Of two queryables on one key the complete one is taken back: `all_complete` asks nobody any more."""
    talk.there.declare("queryable", talk.key, complete=False, plan=[{"reply": "01"}])
    ear = talk.there.declare("queryable", talk.key, complete=True, plan=[{"reply": "02"}])
    talk.settle()
    asked = talk.asks(target="all_complete", consolidation="none")
    talk.require("02" in talk.payloads(asked), "the complete queryable was not asked")
    talk.there.undeclare(ear)
    talk.settle()
    asked = talk.asks(target="all_complete", consolidation="none")
    talk.same("replies", [], talk.payloads(asked))


@scenario()
def an_undeclared_publisher_frees_its_key(talk: Talk) -> None:
    """Another publisher on the same key speaks after it."""
    ear = talk.there.declare("subscriber", talk.key)
    for payload in ("01", "02"):
        publisher = talk.here.declare("publisher", talk.key, congestion="block")
        talk.settle()
        talk.here.do("put", id=publisher.id, payload=payload)
        talk.expect(ear, payload=payload)
        talk.here.undeclare(publisher)


@scenario()
def many_come_and_go(talk: Talk) -> None:
    """A hundred subscribers on keys of their own: half are taken back, the other half hears."""
    ears = {number: talk.there.declare("subscriber", f"{talk.key}/{number}") for number in range(100)}
    for number in range(0, 100, 2):
        talk.there.undeclare(ears[number])
    talk.settle()
    for number in ears:
        talk.here.put(f"{talk.key}/{number}", bytes([number]))
    for number in range(1, 100, 2):
        talk.expect(ears[number], payload=bytes([number]))
    for number in range(0, 100, 2):
        talk.same("heard", [], ears[number].so_far())
