"""Routers that limit ids or their number, or drop messages with unknown optional extensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.messages import Declare, DSubscriber, DToken, Interest, Request, Response, ResponseFinal
from zenoh_conformance.wire import Unknown
from zenoh_harness.reference import Reference, refuse

from . import fault, faulty

IDS, EXTENSIONS = "routing-ids", "routing-extensions"


class _LosesMarked(Reference):
    """Base of nodes that drop messages of some kinds with an unknown extension."""

    kinds: ClassVar[tuple[type[Any], ...]] = ()

    def route(self, link, message, **options):
        marked = isinstance(message, self.kinds) and any(isinstance(ext, Unknown) for ext in message.exts)
        if not marked:
            super().route(link, message, **options)


fault(
    "knows-numbers-of-a-byte",
    "Ignores expression ids of more than eight bits.",
    on_alias=lambda base, body: base() if body.expr_id < 256 else None,
    caught_by=f"{IDS}/any-number-may-name-a-key",
)
fault(
    "cuts-ids-of-entities",
    "Keeps sixteen bits of an entity's id.",
    on_entity=lambda base, body: base(body=replace(body, id=body.id & 0xFFFF)),
    on_entity_gone=lambda base, entity: base(entity=entity & 0xFFFF),
    caught_by=(f"{IDS}/a-subscriber-may-have-any-id", f"{IDS}/a-queryable-may-have-any-id"),
)


@faulty("on_entity", caught_by="interest-snapshots/a-snapshot-of-many-is-whole")
def keeps_the_tokens_of_all_under_their_ids(node, base, link, body):
    """Ends a session that declares a token under an id that another session, even one that has ended, gave to another key."""
    if isinstance(body, DToken):
        keys, key = vars(node).setdefault("keys_of_tokens", {}), node.key_of(link, body.key)
        if keys.setdefault(body.id, key) != key:
            refuse(None)
    base()


fault(
    "answers-interests-of-two-bytes",
    "Does not answer an interest whose id has more than sixteen bits.",
    on_interest=lambda base, interest: base() if interest.id < 1 << 16 else None,
    caught_by=f"{IDS}/an-interest-may-have-any-id",
)
fault(
    "has-room-for-sixteen-subscribers",
    "Ignores further ones of a session.",
    on_entity=lambda base, link, body: (
        base() if not isinstance(body, DSubscriber) or len(link.subscribers) < 16 else None
    ),
    caught_by=f"{IDS}/a-session-may-declare-many",
)
fault(
    "has-room-for-sixteen-numbers",
    "Ignores further ones of a session.",
    on_alias=lambda base, link: base() if len(link.keys) < 16 else None,
    caught_by=f"{IDS}/a-session-may-declare-many",
)
fault(
    "loses-marked-declarations",
    "Drops a DECLARE or an INTEREST with an unknown optional extension.",
    of=_LosesMarked,
    kinds=(Declare, Interest),
    caught_by=f"{EXTENSIONS}/what-is-declared-with-an-unknown-extension-counts",
)
fault(
    "loses-marked-queries",
    "Drops a REQUEST, RESPONSE or RESPONSE_FINAL with an unknown optional extension.",
    of=_LosesMarked,
    kinds=(Request, Response, ResponseFinal),
    caught_by=f"{EXTENSIONS}/what-is-asked-with-an-unknown-extension-counts",
)


@faulty("spelt", caught_by="push-delivery/a-number-of-another-session-names-nothing")
def looks_up_numbers_of_other_sessions(node, base, link, key):
    """Takes a number that the sender has not declared for that of another session."""
    others = [each.keys[key.scope] for each in node.others(link) if key.mapping and key.scope in each.keys]
    whole = base()
    return others[0] + (key.suffix or "") if whole is None and others else whole


@faulty(caught_by="session-batch-effects/a-low-latency-batch-holds-many-messages")
class ReadsOneMessageOfALowLatencyBatch(Reference):
    """Takes the first message of each batch where low latency is settled."""

    begun: set[str]
    state: ClassVar = {"begun": set}

    def on_batch(self, link, batch):
        self.begun.discard(link.name)
        super().on_batch(link, batch)

    def on_message(self, link, seen):
        is_first = link.name not in self.begun
        self.begun.add(link.name)
        if is_first or not (link.live and link.terms.lowlatency):
            super().on_message(link, seen)
