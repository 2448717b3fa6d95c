"""Nodes that do the first thing right: their fault shows in a second circumstance, a later turn, or a larger value."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count, cycle
from typing import ClassVar

from zenoh_conformance.messages import Declare, Del, Drop, Err, Frame, Push, Target, sane
from zenoh_conformance.messages.frame import QoS
from zenoh_conformance.reading.codec import Layer, decode, encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire import DecodeError, Exts
from zenoh_harness.reference import Reference, before, refuse, whole

from . import fault, faulty

MANDATORY = 0x10
"""Bit M of an extension's header."""

fault(
    "checks-no-cookie-of-a-bare-proposal",
    "Accepts any cookie if InitSyn has no extensions.",
    cookie_matches=lambda base, link: not link.theirs.exts or base(),
    caught_by="establishment-cookie/a-longer-cookie-is-refused",
)
fault(
    "closes-no-short-proposal",
    "Ends the link without CLOSE at a wrong version in an InitSyn without S.",
    check_init=lambda node, base, syn: (
        refuse(None) if syn.resolution is None and not node.accepts_version(syn.version) else base()
    ),
    caught_by="establishment-init/an-unknown-version-is-closed",
    also={"law/refusal-is-close": "the law sees it too"},
)
fault(
    "initiator-cuts-long-cookies",
    "Returns at most 16,383 bytes of the cookie.",
    confirm=lambda base, ack: base(ack=replace(ack, cookie=(ack.cookie or b"")[:16_383])),
    caught_by=("initiator-init-ack/any-cookie-comes-back", "law/cookie-echo"),
)
fault(
    "publishes-to-two",
    "Forwards a publication to two sessions at most.",
    receivers=lambda base: base()[:2],
    caught_by="push-delivery/each-session-gets-it-once",
)
fault(
    "deletes-in-the-default-lane",
    "Sends a DEL in the lane of Data, whatever its priority.",
    lane_of=lambda base, message: (
        sane.DEFAULT_PRIORITY if isinstance(message, Push) and isinstance(message.body, Del) else base()
    ),
    caught_by="law/frame-carries-priority",
)


def with_reserved_bit(batch: bytes) -> bytes:
    """A FRAME with a reserved bit beside its priority; other batches as they are."""
    message = decode(batch, Layer.TRANSPORT).message
    lane = message.exts.get(QoS) if isinstance(message, Frame) else None
    return encode(replace(message, exts=Exts([QoS(value=lane.value | 0x20)]))) if lane else batch


fault(
    "sets-reserved-lane-bits",
    "Sets a reserved bit beside the priority of a FRAME.",
    send_batch=lambda node, base, link, batch: base(batch=batch if link.terms.lowlatency else with_reserved_bit(batch)),
    caught_by="law/frame-qos-reserved",
)
fault(
    "asks-no-incomplete-wildcard",
    "Skips incomplete queryables with a wildcard for target All.",
    targets=lambda node, base, request, key: [
        other
        for other in base()
        if node.target_of(request) != Target.ALL
        or any(held.complete or "*" not in held.key for held in other.queryables.values())
    ],
    caught_by="query-targets/all-are-asked",
)


def _reads_mandatory(node, base, link, seen, inside):
    """Read a FRAME without M of an unknown extension, of its own (`inside` false) or of a message in it."""
    error = seen.message
    at_fault = isinstance(error, DecodeError) and error.why.endswith("unknown and mandatory")
    if not at_fault or not error.path.startswith("frame.") or inside != error.path.startswith("frame.messages"):
        base()
        return
    data = bytearray(seen.raw)
    data[error.at] &= ~MANDATORY
    node.on_message(link, replace(seen, kind="frame", message=decode(bytes(data), Layer.TRANSPORT).message))


fault(
    "skips-what-is-mandatory-on-a-frame",
    "Accepts a FRAME with an unknown mandatory extension.",
    on_undecodable=lambda node, base, link, seen: _reads_mandatory(node, base, link, seen, inside=False),
    caught_by="session-extensions/what-has-an-unknown-mandatory-extension-is-rejected",
)
fault(
    "skips-what-is-mandatory-in-a-frame",
    "Accepts a network message with an unknown mandatory extension.",
    on_undecodable=lambda node, base, link, seen: _reads_mandatory(node, base, link, seen, inside=True),
    caught_by="session-extensions/what-has-an-unknown-mandatory-extension-is-rejected",
)


fault(
    "marks-two-messages",
    "Marks the first fragments of two messages of a link only.",
    state={"chains": Counter},
    say_fragments=before(lambda node, link: node.chains.update([link.name])),
    marks_first=lambda node, base, link: base() and node.chains[link.name] <= 2,
    caught_by="establishment-patch/the-first-fragment-is-marked",
)


@faulty(
    caught_by=("law/sn-within-resolution", "push-delivery/a-value-of-any-size-comes-whole"),
    also={"law/interest-id-is-known": "a message is completed by what it numbers past the last one"},
)
class CountsOnInAChain(Reference):
    """Numbers the fragments of a message past the end of the resolution."""

    first = None
    """The number of the first fragment of the message that it fragments now."""

    def say_fragments(self, link, data, sn, *channel):
        self.first = sn
        super().say_fragments(link, data, sn, *channel)
        self.first = None

    def next_sn(self, link, reliable, priority):
        number = super().next_sn(link, reliable, priority)
        past = self.first is not None and number < self.first
        return number + self.sn_mask(link) + 1 if past else number


fault(
    "keeps-who-has-published",
    "Never ends a session that has published by its lease.",
    state={"publishers": set},
    on_push=before(lambda node, link: node.publishers.add(link.session)),
    lease_of=lambda node, base, link: float("inf") if link.session in node.publishers else base(),
    caught_by="session-leases/a-silent-session-of-any-lease-expires",
)


def _without_drop(fragment):
    """The fragment without the marker Drop."""
    return replace(fragment, exts=Exts(ext for ext in fragment.exts if not isinstance(ext, Drop)))


DROPPED = "session-fragments/what-is-dropped-is-discarded"

fault(
    "drops-what-is-reliable-only",
    "Ignores Drop on best effort.",
    on_fragment=lambda base, fragment: base() if fragment.reliable else base(fragment=_without_drop(fragment)),
    caught_by=DROPPED,
)
fault(
    "drops-in-the-default-lane-only",
    "Ignores Drop in every lane but that of Data.",
    on_fragment=lambda base, fragment: (
        base() if priority_of(fragment) == sane.DEFAULT_PRIORITY else base(fragment=_without_drop(fragment))
    ),
    caught_by=DROPPED,
)


@faulty(caught_by="interest-snapshots/an-aggregate-is-one-declaration")
class KeepsAnAggregateOfNobody(Reference):
    """Does not undeclare an aggregate when the session of its last entity ends."""

    leaving = False
    """Whether a session is ending."""

    def on_gone(self, link):
        self.leaving = True
        super().on_gone(link)
        self.leaving = False

    def refresh_aggregates(self, link):
        if not self.leaving:
            super().refresh_aggregates(link)


fault(
    "gives-three-numbers-in-turn",
    "Gives a session three expression ids, and the first one again to the fourth key.",
    named=before(lambda to: setattr(to, "expr_ids", cycle((1, 2, 3))) if isinstance(to.expr_ids, count) else None),
    caught_by="law/expr-id-not-reused",
)


@faulty("on_entity_gone", caught_by="query-ends/a-query-ends-though-its-source-is-gone")
def waits_for_no_retracted_source(node, base, link, kind):
    """Takes the queries of a session for ended when it undeclares a queryable."""
    base()
    if kind == "queryable" and link.live:
        for request_id in list(link.requests):
            node.on_final(link, request_id)


@faulty("on_response", caught_by="query-ends/a-query-ends-with-its-last-source")
def ends_at_the_error_of_one(node, base, link, response):
    """Sends RESPONSE_FINAL after an ERR, though other queryables have not ended."""
    pending = link.requests.get(response.id)
    base()
    if pending is not None and len(pending.owing) > 1 and isinstance(response.body, Err):
        node.abandon(pending)


@faulty(
    "on_response",
    caught_by=("query-waits/a-budget-is-one-for-all-sources", "law/budget-is-kept"),
    state={"spent": Counter},
)
def counts_a_budget_for_each_source(node, base, link, response):
    """Forwards as many answers of each queryable as the Budget of the query permits."""
    pending, source = link.requests.get(response.id), (link.session, response.id)
    if pending is None or pending.budget is None:
        base()
    elif node.spent[source] < pending.budget:
        node.spent[source] += 1
        answer = replace(response, id=pending.request_id, key=whole(node.key_of(link, response.key)))
        node.forward(node.link_of(pending.asker), answer)


@faulty("on_request", caught_by="query-many/request-ids-begin-anew", state={"served": set})
def serves_each_request_id_once(node, base, link, request):
    """Ignores a query whose id an earlier query of the session had, though that has ended."""
    if (link.session, request.id) not in node.served:
        base()
    node.served.add((link.session, request.id))


@faulty(caught_by=("law/batch-size-is-receive-limit", "law/unit-fits-batch-size"))
class DividesNoDeclarations(Reference):
    """Sends a DECLARE in one batch, however large it is."""

    is_declaring = False

    def say(self, link, message, *, reliable=True):
        self.is_declaring = isinstance(message, Declare)
        super().say(link, message, reliable=reliable)
        self.is_declaring = False

    def room(self, link):
        return sane.DEFAULT_BATCH if self.is_declaring else super().room(link)


@faulty(caught_by="interest-changes/who-comes-again-is-told-again")
class RemembersInterestsOfANode(Reference):
    """Gives a new session of a node the interests of the session before it."""

    remembered: dict[bytes | None, dict[int, object]]
    state: ClassVar = {"remembered": dict}

    def on_gone(self, link):
        self.remembered[link.zid] = dict(link.interests)
        super().on_gone(link)

    def on_live(self, link):
        super().on_live(link)
        link.interests.update(self.remembered.pop(link.zid, {}))


@faulty("expire_queries", caught_by="query-waits/a-very-long-timeout-is-no-short-one")
def ends_all_queries_at_the_timeout_of_one(node, base):
    """Ends each query of a session when one of them times out."""
    pending = [each for link in node.links.values() for each in link.requests.values()]
    late = {each.asker for each in pending if each.deadline is not None and node.now >= each.deadline}
    base()
    for each in pending:
        if each.asker in late and not each.over:
            node.abandon(each)


@faulty(
    "route_bytes",
    caught_by=(
        "routing-sizes/a-publication-to-a-long-key-reaches-its-subscriber",
        "routing-sizes/a-query-for-a-long-key-reaches-its-queryable",
        "routing-sizes/a-token-of-a-long-key-is-told",
    ),
)
def loses_declarations_in_fragments(base, data):
    """Drops a DECLARE that came in fragments."""
    try:
        lost = isinstance(decode(data, Layer.NETWORK).message, Declare)
    except DecodeError:
        lost = False
    if not lost:
        base()
