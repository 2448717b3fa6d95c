"""Routers that forward publications wrongly: receivers, number and keys."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from zenoh_conformance.messages import Push
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_harness.reference import Reference

from . import fault, faulty

DELIVERY = "push-delivery"

fault(
    "publishes-to-everybody",
    "Forwards a publication to every session.",
    subscribes=lambda: True,
    caught_by=f"{DELIVERY}/a-publication-reaches-no-other",
    also={f"{DELIVERY}/*": "sessions without subscriber get it"},
)
fault(
    "publishes-to-equal-keys-only",
    "Matches subscribers with the same key only, without wildcards.",
    subscribes=lambda link, key: any(held.key == key for held in link.subscribers.values()),
    caught_by="routing-plain/a-publication-reaches-a-subscriber",
    also={
        f"{DELIVERY}/*": "its subscriber has a wildcard",
        "establishment-patch/marked-pieces-of-two-channels-are-told-apart": "the subscriber has a wildcard",
        "session-fragments/what-is-dropped-is-discarded": "the subscriber has a wildcard",
    },
)
fault(
    "publishes-to-prefixes",
    "Matches subscribers by prefix of the key, too.",
    subscribes=lambda base, link, key: (
        base() or any(key.startswith(held.key.rstrip("*")) for held in link.subscribers.values())
    ),
    caught_by=f"{DELIVERY}/a-publication-reaches-no-other",
    also={f"{DELIVERY}/*": "a wildcard is no prefix"},
)
fault(
    "publishes-back",
    "Sends a publication back to its publisher if that subscribes.",
    receivers=lambda node, base, link, key: [*base(), *([link] if node.subscribes(link, key) else [])],
    caught_by=f"{DELIVERY}/a-publication-does-not-come-back",
)
fault(
    "publishes-for-each-subscriber",
    "Forwards a publication once for each matching subscriber of a session.",
    receivers=lambda node, link, key: [
        other for other in node.others(link) for held in other.subscribers.values() if keyexpr.intersects(key, held.key)
    ],
    caught_by=f"{DELIVERY}/each-session-gets-it-once",
)
fault(
    "publishes-to-the-first",
    "Forwards a publication to one subscriber only.",
    receivers=lambda base: base()[:1],
    caught_by=f"{DELIVERY}/each-session-gets-it-once",
    also={
        f"{DELIVERY}/the-rest-goes-on*": "the publication goes to the other one",
        "session-lanes/who-has-no-lanes-hears-none": "there are two subscribers",
    },
)
fault(
    "publishes-to-the-verbatim",
    "Lets wildcards match chunks that begin with @.",
    subscribes=lambda link, key: any(
        keyexpr.intersects(key.replace("@", ""), held.key.replace("@", "")) for held in link.subscribers.values()
    ),
    caught_by=f"{DELIVERY}/a-publication-reaches-no-other",
)
fault(
    "takes-any-text-for-a-key",
    "Accepts any text as a key expression.",
    key_of=lambda node, link, key: node.spelt(link, key),
    caught_by=(f"{DELIVERY}/what-is-no-key-reaches-nobody", "law/keys-follow-the-grammar"),
)
fault(
    "puts-a-slash-behind-a-number",
    "Joins an expression id and a suffix with a slash between them.",
    spelt=lambda base, key: base(
        key=replace(key, suffix=f"/{key.suffix.removeprefix('/')}") if key.scope and key.suffix else key
    ),
    caught_by=(
        f"{DELIVERY}/a-suffix-is-put-to-the-scope-as-it-stands",
        "query-targets/a-query-may-name-its-key-by-number",
        "reply-values/an-answer-may-name-its-key-by-number",
    ),
)
fault(
    "forgets-the-suffix",
    "Ignores the suffix after an expression id.",
    spelt=lambda base, key: base(key=replace(key, suffix=None) if key.scope else key),
    caught_by=(
        f"{DELIVERY}/a-number-of-the-sender-names-the-key",
        "query-targets/a-query-may-name-its-key-by-number",
        "reply-values/an-answer-may-name-its-key-by-number",
    ),
    also={f"{DELIVERY}/a-suffix*": "it ignores the suffix", "routing-numbers/a-number*": "it changes the key"},
)
fault(
    "reads-every-number-as-the-senders",
    "Ignores M.",
    spelt=lambda base, key: base(key=replace(key, mapping=True)),
    caught_by=(
        f"{DELIVERY}/a-number-of-the-receiver-is-its-own",
        "query-targets/a-query-may-name-its-key-by-number",
        "reply-values/an-answer-may-name-its-key-by-number",
    ),
    also={"routing-numbers/*-of-the-receiver": "the same in declarations"},
)
fault(
    "keeps-a-number-by-which-something-is-declared",
    "Does not release an expression id by which a subscriber was declared.",
    on_alias_gone=lambda base, link, body: (
        None if link.keys.get(body.expr_id) in {held.key for held in link.subscribers.values()} else base()
    ),
    caught_by=f"{DELIVERY}/a-released-number-may-stand-for-another-key",
)
fault(
    "reads-every-number-as-its-own",
    "Reads every expression id as one of its own.",
    spelt=lambda base, key: base(key=replace(key, mapping=False)),
    caught_by=(
        f"{DELIVERY}/a-number-of-the-sender-names-the-key",
        f"{DELIVERY}/a-released-number-may-stand-for-another-key",
    ),
    also={"*": "it reads no expression id of a sender"},
)
fault(
    "never-releases-a-number",
    "Ignores U_KEYEXPR.",
    on_alias_gone=lambda: None,
    caught_by=(
        f"{DELIVERY}/a-released-number-may-stand-for-another-key",
        f"{DELIVERY}/a-number-of-nobody-names-nothing",
    ),
)


@faulty("on_push", caught_by=f"{DELIVERY}/a-publication-goes-under-no-other-key")
def publishes_under_another_key(node, base, link, push):
    """Forwards a publication again to all other sessions under an unrelated key."""
    base()
    for other in node.others(link):
        node.say(other, replace(push, key=WireExpr(suffix="astray", mapping=True)))


@faulty(
    "on_entity_gone",
    caught_by=f"{DELIVERY}/the-rest-goes-on-when-one-leaves",
    also={
        "interest-snapshots/what-two-declared*": "the same for forwarded declarations",
        "routing-stays/*one-key-stays": "both have the same key",
    },
)
def ends_a_key_with_its_first_subscriber(node, base, link, kind, entity):
    """Removes all subscribers of a key with the first one."""
    held = node.table(link, kind).get(entity)
    base()
    for other in node.links.values():
        table = node.table(other, kind)
        for number in [n for n, each in table.items() if held is not None and each.key == held.key]:
            del table[number]


@faulty("on_entity_gone", caught_by=f"{DELIVERY}/who-has-left-off-hears-nothing")
def keeps_who_has_left_off(base, link, kind, entity):
    """Keeps a subscriber after its undeclaration."""
    held = link.subscribers.get(entity)
    base()
    if held is not None and kind == "subscriber" and link.live:
        link.subscribers[entity] = held


@faulty(
    "spelt",
    caught_by=f"{DELIVERY}/a-suffix-is-put-to-the-scope-as-it-stands",
    also={f"{DELIVERY}/*": "its suffix is joined with a slash"},
)
def puts_a_slash_behind_the_scope(base, key):
    """Joins scope and suffix with a slash."""
    whole = base()
    if whole is None or not key.scope or not key.suffix:
        return whole
    return f"{whole[: -len(key.suffix)]}/{key.suffix.lstrip('/')}"


@faulty("on_alias", caught_by=f"{DELIVERY}/two-sessions-may-use-the-same-number")
def shares_numbers_between_sessions(node, base, link, body):
    """Keeps one table of expression ids for all sessions."""
    base()
    for other in node.links.values():
        other.keys.setdefault(body.expr_id, link.keys.get(body.expr_id, ""))


fault(
    "takes-a-number-of-nobody-for-nothing",
    "Reads an undeclared expression id as the key of its first subscriber.",
    spelt=lambda node, base: (
        whole
        if (whole := base()) is not None
        else next((held.key for other in node.links.values() for held in other.subscribers.values()), None)
    ),
    caught_by=f"{DELIVERY}/a-number-of-nobody-names-nothing",
)


@faulty(caught_by=f"{DELIVERY}/who-has-left-off-hears-nothing", also={"*": "later subscribers get old publications"})
class GivesTheLateTheLast(Reference):
    """Sends the last publication of a key to later subscribers."""

    last = cached_property(lambda node: dict[str, Push]())

    def on_push(self, link, push, **options):
        super().on_push(link, push, **options)
        self.last[self.key_of(link, push.key) or ""] = push

    def on_entity(self, link, body):
        super().on_entity(link, body)
        for key, push in self.last.items():
            if type(body).__name__ == "DSubscriber" and keyexpr.intersects(key, self.key_of(link, body.key) or "-"):
                self.say(link, replace(push, key=WireExpr(suffix=key, mapping=True)))
