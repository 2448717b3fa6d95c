"""Nodes that do the first and the second thing right: their fault needs a third party, a longer past, or another kind of message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.messages import Declare, DFinal, InterestMode, Target
from zenoh_conformance.primitives import keyexpr
from zenoh_harness.reference import Reference

from . import fault, faulty


@faulty(caught_by="push-delivery/who-comes-again-has-subscribed-to-nothing")
class RemembersWhoComesAgain(Reference):
    """Gives the new session of a node the subscribers of its last one."""

    state: ClassVar = {"before": dict}
    before: dict[Any, Any]

    def on_close(self, link, close):
        self.before[link.zid] = dict(link.subscribers)
        super().on_close(link, close)

    def on_live(self, link):
        super().on_live(link)
        link.subscribers.update({1 << 20 | key: held for key, held in self.before.pop(link.zid, {}).items()})


@faulty(caught_by="push-delivery/a-released-number-may-stand-for-another-key")
class RemembersReleasedNumbers(Reference):
    """Takes a number that was released and given to another key for the old key, where a suffix follows."""

    state: ClassVar = {"before": dict}
    before: dict[Any, Any]

    def on_alias_gone(self, link, body):
        self.before[link.session, body.expr_id] = link.keys.get(body.expr_id)
        super().on_alias_gone(link, body)

    def spelt(self, link, key):
        before = self.before.get((link.session, key.scope)) if key.mapping and key.suffix else None
        return super().spelt(link, key) if before is None or key.scope not in link.keys else before + key.suffix


@faulty(caught_by="interest-snapshots/a-snapshot-names-its-interest")
class NamesTheInterestOnce(Reference):
    """Names the interest in the first declaration of a snapshot alone."""

    count_told = 0

    def on_interest(self, link, interest):
        self.count_told = 0
        super().on_interest(link, interest)

    def say(self, link, message, **how):
        if isinstance(message, Declare) and message.interest_id is not None and not isinstance(message.body, DFinal):
            self.count_told += 1
            message = message if self.count_told == 1 else replace(message, interest_id=None)
        super().say(link, message, **how)


@faulty(caught_by="interest-snapshots/after-final-nothing-is-told")
class TakesCurrentForMore(Reference):
    """Takes Current for CurrentFuture under an id whose interest has ended."""

    state: ClassVar = {"ended": set}
    ended: set[Any]

    def on_interest(self, link, interest):
        super().on_interest(link, interest)
        if interest.mode == InterestMode.FINAL:
            self.ended.add((link.session, interest.id))
        elif interest.mode == InterestMode.CURRENT and (link.session, interest.id) in self.ended:
            link.interests[interest.id] = self.spelt_out(link, interest)


fault(
    "hears-two-interests",
    "Looks at the first two interests of a session alone when something is declared.",
    told_of=lambda node, base, kind, key: [
        other
        for other in base()
        if node.hears_unasked(other)
        or any(node.covers(other, one, kind, key) for one in [*other.interests.values()][:2])
    ],
    caught_by="interest-changes/an-interest-outlives-the-end-of-another",
)
fault(
    "asks-who-is-complete-elsewhere",
    "Asks, for AllComplete, each session with a queryable that matches and a complete one of any key.",
    targets=lambda node, base, link, request, key: [
        other
        for other in node.others(link)
        if other in base()
        or (
            node.target_of(request) == Target.ALL_COMPLETE
            and any(held.complete for held in other.queryables.values())
            and any(keyexpr.intersects(key, held.key) for held in other.queryables.values())
        )
    ],
    caught_by="query-targets/complete-is-said-of-its-own-key",
)


@faulty(caught_by="query-ends/a-query-ends-with-its-last-source")
class EndsAfterTwoOfThree(Reference):
    """Sends RESPONSE_FINAL when two of three queryables have ended."""

    state: ClassVar = {"ended": dict}
    ended: dict[Any, Any]

    def settle_final(self, pending, source):
        super().settle_final(pending, source)
        self.ended[id(pending)] = before = (pending, self.ended.get(id(pending), (pending, 0))[1] + 1)
        if before[1] == 2 and len(pending.owing) == 1:
            self.finish(pending)


@faulty(caught_by="routing-plain/a-query-reaches-a-queryable")
class MissesTheKeyBeforeItsWildcard(Reference):
    """Asks for `k/**` no queryable of `k`."""

    asked = ""

    def targets(self, link, request, key):
        self.asked = key
        return super().targets(link, request, key)

    def held(self, link, fits):
        return super().held(link, lambda held: fits(held) and self.asked != f"{held.key}/**")


def ends_alike(key, held):
    """Whether two keys have the same last chunk."""
    return key.rpartition("/")[2] == held.rpartition("/")[2]


fault(
    "publishes-by-the-last-chunk",
    "Sends a publication also to subscribers of other keys with the same last chunk.",
    subscribes=lambda base, link, key: base() or any(ends_alike(key, held.key) for held in link.subscribers.values()),
    caught_by="law/forwarded-to-subscribers",
    also={"*/*": "what nobody awaited comes"},
)
fault(
    "asks-by-the-last-chunk",
    "Asks also queryables of other keys with the same last chunk.",
    targets=lambda node, base, link, key: [
        other
        for other in node.others(link)
        if other in base() or any(ends_alike(key, held.key) for held in other.queryables.values())
    ],
    caught_by="law/forwarded-to-queryables",
    also={"*/*": "the end of one that nobody answers does not come"},
)
