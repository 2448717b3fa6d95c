"""Nodes that pass publications on wrongly: to whom, how often, under which key, and what is left of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import keyexpr
from zenoh_conformance.messages import DKeyExpr, Push, UKeyExpr
from zenoh_conformance.primitives import WireExpr
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

DELIVERY = "push-delivery"


@faulty(
    "publishes-to-everybody",
    caught_by=f"{DELIVERY}/a-publication-reaches-no-other",
    also={f"{DELIVERY}/*": "it comes to those who must not get it"},
)
class PublishesToEverybody(Reference):
    """Passes a publication on to every session."""

    def subscribes(self, link: Link, key: str) -> bool:
        return True


@faulty(
    "publishes-to-equal-keys-only",
    caught_by="routing-plain/a-publication-reaches-a-subscriber",
    also={
        f"{DELIVERY}/*": "its subscriber has a wildcard",
        "establishment-patch/marked-pieces-of-two-channels-are-told-apart": "the subscriber has a wildcard",
        "session-fragments/what-is-dropped-is-discarded": "the subscriber has a wildcard",
    },
)
class PublishesToEqualKeysOnly(Reference):
    """Knows no wildcards where it looks for subscribers."""

    def subscribes(self, link: Link, key: str) -> bool:
        return any(held.key == key for held in link.subscribers.values())


@faulty(
    "publishes-to-prefixes",
    caught_by=f"{DELIVERY}/a-publication-reaches-no-other",
    also={"routing-plain/*": "a wildcard is no prefix", f"{DELIVERY}/*": "a wildcard is no prefix"},
)
class PublishesToPrefixes(Reference):
    """Takes the beginning of a key for a match."""

    def subscribes(self, link: Link, key: str) -> bool:
        return any(key.startswith(held.key.rstrip("*")) for held in link.subscribers.values())


@faulty("publishes-back", caught_by=f"{DELIVERY}/a-publication-does-not-come-back")
class PublishesBack(Reference):
    """Passes a publication on to its own publisher, too, where that subscribes."""

    def receivers(self, link: Link, key: str) -> list[Link]:
        return [*super().receivers(link, key), *([link] if self.subscribes(link, key) else [])]


@faulty("publishes-for-each-subscriber", caught_by=f"{DELIVERY}/each-session-gets-it-once")
class PublishesForEachSubscriber(Reference):
    """Passes a publication on once for each subscriber of a session that it meets."""

    def receivers(self, link: Link, key: str) -> list[Link]:
        return [
            other
            for other in self.others(link)
            for held in other.subscribers.values()
            if keyexpr.intersects(key, held.key)
        ]


@faulty("publishes-under-another-key", caught_by=f"{DELIVERY}/a-publication-goes-under-no-other-key")
class PublishesUnderAnotherKey(Reference):
    """Passes a publication on once more, to everybody, under a key that nobody has asked for."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        super().on_push(link, push, reliable=reliable)
        for other in self.others(link):
            self.say(other, replace(push, key=WireExpr(suffix="astray", mapping=True)))


@faulty(
    "publishes-to-the-first",
    caught_by=f"{DELIVERY}/each-session-gets-it-once",
    also={
        f"{DELIVERY}/the-rest-goes-on*": "it comes to the other one",
        "session-lanes/who-has-no-lanes-hears-none": "two have subscribed",
    },
)
class PublishesToTheFirst(Reference):
    """Passes a publication on to one subscriber only."""

    def receivers(self, link: Link, key: str) -> list[Link]:
        return super().receivers(link, key)[:1]


@faulty(
    "ends-a-key-with-its-first-subscriber",
    caught_by=f"{DELIVERY}/the-rest-goes-on-when-one-leaves",
    also={
        "interest-snapshots/what-two-declared*": "so it is with what is told",
        "routing-stays/*one-key-stays": "both are of that key",
    },
)
class EndsAKeyWithItsFirstSubscriber(Reference):
    """Takes a key for free of subscribers as soon as one of them has gone."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        held = self.table(link, kind).get(entity)
        super().on_entity_gone(link, kind, entity)
        for other in self.links.values():
            table = self.table(other, kind)
            for number in [n for n, each in table.items() if held is not None and each.key == held.key]:
                del table[number]


@faulty("publishes-to-the-verbatim", caught_by=f"{DELIVERY}/a-publication-reaches-no-other")
class PublishesToTheVerbatim(Reference):
    """Lets wildcards stand for chunks that begin with @."""

    def subscribes(self, link: Link, key: str) -> bool:
        return any(
            keyexpr.intersects(key.replace("@", ""), held.key.replace("@", "")) for held in link.subscribers.values()
        )


@faulty("keeps-who-has-left-off", caught_by=f"{DELIVERY}/who-has-left-off-hears-nothing")
class KeepsWhoHasLeftOff(Reference):
    """Does not take a subscriber back."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        held = link.subscribers.get(entity)
        super().on_entity_gone(link, kind, entity)
        if held is not None and kind == "subscriber" and link.live:
            link.subscribers[entity] = held


@faulty(
    "gives-the-late-the-last",
    caught_by=f"{DELIVERY}/who-has-left-off-hears-nothing",
    also={"*": "whoever subscribes gets what is old"},
)
class GivesTheLateTheLast(Reference):
    """Keeps the last publication of a key for who subscribes later."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.last: dict[str, Push] = {}

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        super().on_push(link, push, reliable=reliable)
        self.last[self.key_of(link, push.key) or ""] = push

    def on_entity(self, link: Link, body: Any) -> None:
        super().on_entity(link, body)
        for key, push in self.last.items():
            if type(body).__name__ == "DSubscriber" and keyexpr.intersects(key, self.key_of(link, body.key) or "-"):
                self.say(link, replace(push, key=WireExpr(suffix=key, mapping=True)))


@faulty(
    "takes-any-text-for-a-key", caught_by=(f"{DELIVERY}/what-is-no-key-reaches-nobody", "law/keys-follow-the-grammar")
)
class TakesAnyTextForAKey(Reference):
    """Does not look whether a key is one."""

    def key_of(self, link: Link, key: WireExpr) -> str | None:
        return self.spelt(link, key)


@faulty(
    "puts-a-slash-behind-the-scope", caught_by=f"{DELIVERY}/a-suffix-is-put-to-the-scope-as-it-stands",
    also={f"{DELIVERY}/*": "its suffix is joined with a slash"},
)  # fmt: skip
class PutsASlashBehindTheScope(Reference):
    """Joins scope and suffix with a slash."""

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        whole = super().spelt(link, key)
        if whole is None or not key.scope or not key.suffix:
            return whole
        return f"{whole[: -len(key.suffix)]}/{key.suffix.lstrip('/')}"


@faulty(
    "forgets-the-suffix",
    caught_by=(
        f"{DELIVERY}/a-number-of-the-sender-names-the-key",
        "query-targets/a-query-may-name-its-key-by-number",
        "reply-values/an-answer-may-name-its-key-by-number",
    ),
    also={f"{DELIVERY}/a-suffix*": "the suffix is gone", "routing-numbers/a-number*": "the key is another"},
)
class ForgetsTheSuffix(Reference):
    """Takes a number for the whole key, whatever stands behind it."""

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        return super().spelt(link, replace(key, suffix=None) if key.scope else key)


@faulty(
    "reads-every-number-as-the-senders",
    caught_by=(
        f"{DELIVERY}/a-number-of-the-receiver-is-its-own",
        "query-targets/a-query-may-name-its-key-by-number",
        "reply-values/an-answer-may-name-its-key-by-number",
    ),
    also={"routing-numbers/*-of-the-receiver": "nor does it in declarations"},
)
class ReadsEveryNumberAsTheSenders(Reference):
    """Does not look at M."""

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        return super().spelt(link, replace(key, mapping=True))


@faulty(
    "reads-every-number-as-its-own",
    caught_by=(
        f"{DELIVERY}/a-number-of-the-sender-names-the-key",
        f"{DELIVERY}/a-released-number-may-stand-for-another-key",
    ),
    also={"*": "no number of a sender names a key"},
)
class ReadsEveryNumberAsItsOwn(Reference):
    """Takes each number for one that it has declared itself."""

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        return super().spelt(link, replace(key, mapping=False))


@faulty("shares-numbers-between-sessions", caught_by=f"{DELIVERY}/two-sessions-may-use-the-same-number")
class SharesNumbersBetweenSessions(Reference):
    """Keeps one table of expression ids for all sessions."""

    def on_alias(self, link: Link, body: DKeyExpr) -> None:
        super().on_alias(link, body)
        for other in self.links.values():
            other.keys.setdefault(body.expr_id, link.keys.get(body.expr_id, ""))


@faulty(
    "never-releases-a-number",
    caught_by=(
        f"{DELIVERY}/a-released-number-may-stand-for-another-key",
        f"{DELIVERY}/a-number-of-nobody-names-nothing",
    ),
)
class NeverReleasesANumber(Reference):
    """Does not hear U_KEYEXPR."""

    def on_alias_gone(self, link: Link, body: UKeyExpr) -> None:
        pass


@faulty("takes-a-number-of-nobody-for-nothing", caught_by=f"{DELIVERY}/a-number-of-nobody-names-nothing")
class TakesANumberOfNobodyForNothing(Reference):
    """Reads a number that nobody declared as no scope: the suffix of the last key that was named stands for all."""

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        whole = super().spelt(link, key)
        known = [held.key for other in self.links.values() for held in other.subscribers.values()]
        return known[0] if whole is None and known else whole
