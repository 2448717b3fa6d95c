"""Routers that drop long, repeated or numerous messages, or withdraw more than was undeclared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

from zenoh_conformance.messages import DQueryable, Err, Push, Put, Request
from zenoh_conformance.primitives import WireExpr
from zenoh_harness.reference import Reference, after

from . import fault, faulty

SIZES, STAYS = "routing-sizes", "routing-stays"
OUTLIVES = (
    f"{STAYS}/a-subscriber-outlives-the-number-of-its-key",
    f"{STAYS}/a-queryable-outlives-the-number-of-its-key",
)
OF_TWO = "interest-changes/interests-of-two-sessions-may-have-one-id"

fault(
    "knows-short-keys-only",
    "Matches no key of more than 127 bytes.",
    receivers=lambda base, key: base() if len(key.encode()) < 128 else [],
    targets=lambda base, key: base() if len(key.encode()) < 128 else [],
    caught_by=(
        f"{SIZES}/a-publication-to-a-long-key-reaches-its-subscriber",
        f"{SIZES}/a-query-for-a-long-key-reaches-its-queryable",
    ),
)
fault(
    "keeps-its-first-word",
    "Ignores the second declaration of a queryable under the same id.",
    on_entity=lambda base, link, body: (
        base() if not isinstance(body, DQueryable) or body.id not in link.queryables else None
    ),
    caught_by="query-targets/a-queryable-is-as-complete-as-it-was-declared-last",
)
fault(
    "answers-an-id-of-interests-to-one-session",
    "Does not answer an interest whose id another session uses.",
    on_interest=lambda node, base, link, interest: (
        base() if not any(interest.id in other.interests for other in node.others(link)) else None
    ),
    caught_by=OF_TWO,
    also={"*": "our sessions use the same ids"},
)


fault(
    "tells-of-short-keys-only",
    "Does not forward a token whose key has a dozen chunks or more.",
    told_of=lambda base, kind, key: [] if kind == "token" and key.count("/") > 10 else base(),
    caught_by=f"{SIZES}/a-token-of-a-long-key-is-told",
)


@faulty(
    "on_response",
    caught_by=(f"{SIZES}/an-answer-of-any-size-comes-whole", f"{SIZES}/an-error-of-any-size-comes-whole"),
    also={"routing-sizes/an-error-of-any-size-keeps*": "it cuts a large error, too"},
)
def cuts_large_answers(base, response):
    """Cuts the payload of a reply to 16,383 bytes."""
    body = response.body
    if isinstance(body, Err):
        body = replace(body, payload=body.payload[:16383])
    elif isinstance(body.body, Put):
        body = replace(body, body=replace(body.body, payload=body.body.payload[:16383]))
    base(response=replace(response, body=body))


@faulty(
    "on_entity_gone",
    caught_by=(f"{STAYS}/the-other-subscribers-of-a-session-stay", f"{STAYS}/the-other-queryables-of-a-session-stay"),
    also={"*": "it withdraws other declarations, too"},
)
def takes_all_back_with_one(node, base, link, kind, entity):
    """Withdraws all subscribers of a session with one of them, and all queryables with one of them."""
    for each in [entity, *(one for one in node.table(link, kind) if one != entity and kind != "token")]:
        base(entity=each)


@faulty("on_alias_gone", caught_by=OUTLIVES)
def lets_go_with_the_number(node, base, link, body):
    """Withdraws the declarations of a key when its expression id is released."""
    key = link.keys.get(body.expr_id)
    base()
    for kind in ("subscriber", "queryable"):
        for entity in [one for one, held in node.table(link, kind).items() if held.key == key]:
            node.on_entity_gone(link, kind, entity)


@faulty(
    "on_entity_gone",
    caught_by=(f"{STAYS}/the-other-subscriber-of-one-key-stays", f"{STAYS}/the-other-queryable-of-one-key-stays"),
)
def takes_equal_ones_back_together(node, base, link, kind, entity):
    """Withdraws all declarations of a session of one kind and key with one of them."""
    gone = node.table(link, kind).get(entity)
    base()
    for each in [one for one, held in node.table(link, kind).items() if gone is not None and held.key == gone.key]:
        base(entity=each)


fault(
    "ends-all-interests-with-one",
    "Ends all interests of a session with one of them.",
    on_interest=after(lambda link, interest: None if interest.mode else link.interests.clear()),
    caught_by="interest-changes/an-interest-outlives-the-end-of-another",
)


@faulty("on_interest", caught_by=OF_TWO, also={"*": "our sessions use the same ids"})
def ends_an_id_of_interests_for_all(node, base, link, interest):
    """Ends the interests of other sessions that have the same id."""
    base()
    for other in node.others(link) if not interest.mode else ():
        other.interests.pop(interest.id, None)


@faulty(
    "receivers",
    caught_by=f"{SIZES}/a-session-hears-however-many-there-are",
    also={
        "session-lanes/numbers-of-every-lane-wrap": "the case sends more than a hundred",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "there are more than a hundred",
    },
    state={"passed": Counter},
)
def goes_deaf_after_a_hundred(node, base):
    """Forwards a hundred publications to a session, and no more."""
    receivers = base()
    node.passed.update(other.session for other in receivers)
    return [other for other in receivers if node.passed[other.session] <= 100]


@faulty(
    "on_push",
    caught_by=f"{SIZES}/the-same-again-comes-again",
    state={"last": dict},
)
def drops_the_same_again(node, base, link, push):
    """Drops a publication equal to the last one of its key."""
    key = node.key_of(link, push.key)
    if node.last.get(key) != push.body:
        node.last[key] = push.body
        base()


@faulty(caught_by=OUTLIVES)
class PassesOnUnderReleasedNumbers(Reference):
    """Uses an expression id of a session after the session released it."""

    released = cached_property(lambda node: dict[tuple[str, str], int]())

    def on_alias_gone(self, link, body):
        key = link.keys.get(body.expr_id)
        if key is not None:
            self.released[link.session, key] = body.expr_id
        super().on_alias_gone(link, body)

    def say(self, link, message, **options):
        number = self.released.get((link.session, getattr(getattr(message, "key", None), "suffix", None) or ""))
        if number is not None and isinstance(message, Push | Request):
            message = replace(message, key=WireExpr(scope=number))
        super().say(link, message, **options)


@faulty(
    "on_interest",
    caught_by="interest-changes/an-interest-that-is-over-may-be-asked-anew",
    state={"had": set},
)
def answers_an_interest_of_an_id_once(node, base, link, interest):
    """Does not answer an interest whose id an earlier one had."""
    if not interest.mode or (link.session, interest.id) not in node.had:
        base()
    node.had.add((link.session, interest.id))
