"""Queries: none, one and many replies, errors, consolidation, and what ends a query."""

from __future__ import annotations

import time

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk
from zenoh_harness.links.timing import scaled

_MODES = ("auto", "none", "monotonic", "latest")
_TARGETS = ("best_matching", "all", "all_complete")


@scenario(replies=(0, 1, 2, 50))
def every_reply_arrives(talk: Talk, replies: int) -> None:
    """As many as were given, then the end."""
    plan = [{"reply": f"{number:02x}"} for number in range(replies)]
    ear = talk.there.declare("queryable", talk.key, plan=plan)
    talk.settle()
    asked = talk.asks(consolidation="none")
    talk.same("replies", [step["reply"] for step in plan], talk.payloads(asked))
    talk.expect(ear, "query", key=talk.key)


@scenario()
def a_query_that_nobody_serves_ends(talk: Talk) -> None:
    """At once, without an answer: its timeout is a minute."""
    talk.settle()
    talk.same("answers", [], talk.answers(talk.asks()))


@scenario(consolidation=_MODES)
def consolidation_keeps_one_of_a_key(talk: Talk, consolidation: str) -> None:
    """Two replies with one key: all with `none`, at least one with `monotonic`, exactly one with `latest` and `auto`."""
    talk.serves({"reply": "01"}, {"reply": "02"})
    came = talk.payloads(talk.asks(consolidation=consolidation))
    allowed = {"none": (["01", "02"],), "monotonic": (["01"], ["02"], ["01", "02"])}
    wanted = allowed.get(consolidation, (["01"], ["02"]))
    talk.require(came in wanted, f"replies {came} with consolidation {consolidation}")


@scenario(consolidation=_MODES)
def consolidation_keeps_different_keys(talk: Talk, consolidation: str) -> None:
    """Replies with three keys to a query for a pattern: all arrive, whatever the consolidation."""
    keys = [f"{talk.key}/{name}" for name in "abc"]
    talk.there.declare("queryable", f"{talk.key}/*", plan=[{"reply": "aa", "key": key} for key in keys])
    talk.settle()
    answers = talk.answers(talk.asks(f"{talk.key}/*", consolidation=consolidation))
    talk.same("keys", keys, sorted(answer.get("key", answer["event"]) for answer in answers))


@scenario(complete=(True, False), target=_TARGETS)
def the_target_chooses_the_queryable(talk: Talk, complete: bool, target: str) -> None:
    """One queryable: only `all_complete` leaves out one that is not complete."""
    talk.there.declare("queryable", talk.key, complete=complete, plan=[{"reply": "aa"}])
    talk.settle()
    wanted = ["aa"] if complete or target != "all_complete" else []
    talk.same("replies", wanted, talk.payloads(talk.asks(target=target)))


@scenario(target=_TARGETS, consolidation=_MODES)
def the_target_chooses_among_queryables(talk: Talk, target: str, consolidation: str) -> None:
    """A complete queryable and one that is not: `all` asks both, `all_complete` the complete one, `best_matching` some."""
    keys = {"complete": f"{talk.key}/complete", "partial": f"{talk.key}/partial"}
    for name, key in keys.items():
        plan = [{"reply": "aa", "key": key}]
        talk.there.declare("queryable", f"{talk.key}/*", complete=name == "complete", plan=plan)
    talk.settle()
    asked = talk.asks(f"{talk.key}/*", target=target, consolidation=consolidation)
    came = {answer.get("key", answer["event"]) for answer in talk.answers(asked)}
    talk.require(came <= set(keys.values()), f"replies from {sorted(came)}")
    talk.require(target != "all" or len(came) == 2, f"`all` was answered by {sorted(came)} only")
    talk.require(keys["complete"] in came or (target == "best_matching" and bool(came)), f"answered by {sorted(came)}")
    talk.require(target != "all_complete" or len(came) == 1, f"`all_complete` was answered by {sorted(came)}")


@scenario()
def an_error_arrives_as_one(talk: Talk) -> None:
    """With its payload; the query ends after it."""
    talk.serves({"error": b"not today".hex()})
    answers = talk.answers(talk.asks())
    events = [(answer["event"], answer.get("payload")) for answer in answers]
    talk.same("answers", [("error", b"not today".hex())], events)


@scenario(consolidation=_MODES)
def an_error_does_not_drown_replies(talk: Talk, consolidation: str) -> None:
    """A queryable that says both: two replies with keys of their own and an error between them all arrive."""
    keys = [f"{talk.key}/{name}" for name in "ab"]
    plan = [{"reply": "aa", "key": keys[0]}, {"error": "ee"}, {"reply": "bb", "key": keys[1]}]
    talk.there.declare("queryable", f"{talk.key}/*", plan=plan)
    talk.settle()
    answers = talk.answers(talk.asks(f"{talk.key}/*", consolidation=consolidation))
    events = sorted(
        (str(answer["event"]), str(answer.get("key", "")), str(answer.get("payload"))) for answer in answers
    )
    talk.same("answers", [("error", "", "ee"), ("reply", keys[0], "aa"), ("reply", keys[1], "bb")], events)


@scenario()
def a_reply_may_be_a_delete(talk: Talk) -> None:
    """It says that there is no such value any more."""
    talk.serves({"delete": talk.key})
    answers = talk.answers(talk.asks())
    events = [(answer["event"], answer.get("kind"), answer.get("key")) for answer in answers]
    talk.same("answers", [("reply", "delete", talk.key)], events)


@scenario(encoding=("zenoh/bytes", "text/plain;utf-8", "video/vp9"))
def a_reply_keeps_what_it_carries(talk: Talk, encoding: str) -> None:
    """Key, payload, encoding, attachment."""
    talk.serves({"reply": "aa", "encoding": encoding, "attachment": "0102"})
    asked = talk.asks()
    talk.expect(asked, "reply", key=talk.key, payload="aa", encoding=encoding, attachment="0102", kind="put")
    talk.same("more answers", [], talk.answers(asked))


@scenario(parameters=("", "a=1", "a=1;b=2", "text with blanks", "x=%20;y"))
def parameters_arrive_as_written(talk: Talk, parameters: str) -> None:
    """What follows the question mark of a selector, and the query's payload."""
    ear = talk.serves({"reply": "aa"})
    asked = talk.asks(f"{talk.key}?{parameters}" if parameters else talk.key, payload="0b")
    talk.expect(ear, "query", key=talk.key, parameters=parameters, payload="0b")
    talk.same("replies", ["aa"], talk.payloads(asked))


@scenario()
def a_late_answer_arrives(talk: Talk) -> None:
    """The queryable holds the query; something else is said meanwhile; then it answers."""
    ear = talk.serves({"reply": "01"}, {"hold": True})
    asked = talk.asks(consolidation="none")
    talk.expect(ear, "query")
    talk.expect(asked, "reply", payload="01")
    talk.settle()
    talk.there.do("answer_held", id=ear.id, plan=[{"reply": "02"}])
    talk.same("replies", ["02"], talk.payloads(asked))


@scenario()
def queries_do_not_mix(talk: Talk) -> None:
    """Twenty open at once: each gets its own answer."""
    ear = talk.there.declare("queryable", f"{talk.key}/*", plan=[{"hold": True}])
    talk.settle()
    asked = {f"{talk.key}/{number}": talk.asks(f"{talk.key}/{number}") for number in range(20)}
    order = [talk.expect(ear, "query")["key"] for _ in asked]
    talk.same("queries", sorted(asked), sorted(order))
    for key in order:
        talk.there.do("answer_held", id=ear.id, plan=[{"reply": key.encode().hex()}])
    for key, question in asked.items():
        talk.same("replies", [key.encode().hex()], talk.payloads(question))


@scenario()
def a_query_ends_with_its_timeout(talk: Talk) -> None:
    """Nobody answers: it ends, not before its time, without a reply; an error may say that it was too late."""
    ear = talk.serves({"hold": True})
    began = time.monotonic()
    asked = talk.here.get(talk.key, timeout_ms=int(scaled(0.5) * 1000))
    answers = talk.answers(asked)
    took = time.monotonic() - began
    talk.require(took >= scaled(0.5) * 0.9, f"it ended after {took:.1f} s of its {scaled(0.5):.1f}")
    talk.same("replies", [], [answer for answer in answers if answer["event"] != "error"])
    talk.expect(ear, "query")
    talk.there.do("answer_held", id=ear.id, plan=[{"reply": "aa"}])
    talk.settle()
    talk.same("heard after the end", [], [heard["event"] for heard in asked.so_far()])
