"""Nodes that pass queries on wrongly: to whom, under which id, and when they take them for ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from zenoh_conformance import keyexpr
from zenoh_conformance.messages import Err, Request, Response
from zenoh_conformance.messages.request import Target
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Entity, Link, Pending

from . import faulty

TARGETS, ENDS, VALUES = "query-targets", "query-ends", "reply-values"
FEWER = {"query-*": "it needs a queryable that is asked", "reply-*": "it needs a queryable that is asked"}


@faulty(
    "asks-everybody",
    caught_by=f"{TARGETS}/a-query-reaches-no-other",
    also={"*": "it asks those who serve something else"},
)
class AsksEverybody(Reference):
    """Passes a query on to every session that has a queryable, of whatever key."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        return [other for other in self.others(link) if other.queryables]


@faulty("asks-for-equal-keys-only", caught_by="routing-plain/a-query-reaches-a-queryable", also=FEWER)
class AsksForEqualKeysOnly(Reference):
    """Knows no wildcards where it looks for queryables."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        return [
            other
            for other in super().targets(link, request, key)
            if any(held.key == key for held in other.queryables.values())
        ]


@faulty(
    "asks-who-has-left-off",
    caught_by=f"{TARGETS}/who-has-left-off-is-not-asked",
    also={"query-*": "it waits for who has left off"},
)
class AsksWhoHasLeftOff(Reference):
    """Does not take a queryable back."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        held = link.queryables.get(entity)
        super().on_entity_gone(link, kind, entity)
        if held is not None and kind == "queryable" and link.live:
            link.queryables[entity] = held


@faulty(
    "asks-one-for-all",
    caught_by=f"{TARGETS}/all-are-asked",
    also={"query-*": "the other one is not asked", "reply-*": "the other one is not asked"},
)
class AsksOneForAll(Reference):
    """Passes a query for All on to the first only."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        found = super().targets(link, request, key)
        return found[:1] if self.target_of(request) == Target.ALL else found


@faulty(
    "asks-all-for-all-complete",
    caught_by=(f"{TARGETS}/all-complete-ones-are-asked", f"{TARGETS}/nobody-complete-is-nobody-asked"),
    also={f"{TARGETS}/complete-is*": "all are asked"},
)
class AsksAllForAllComplete(Reference):
    """Does not look whether who is asked is complete."""

    def target_of(self, request: Request) -> int:
        target = super().target_of(request)
        return Target.ALL if target == Target.ALL_COMPLETE else target


@faulty("takes-a-part-for-the-whole", caught_by=f"{TARGETS}/complete-is-said-of-its-own-key")
class TakesAPartForTheWhole(Reference):
    """Takes a complete queryable for complete in whatever it meets."""

    def held(self, link: Link, fits: Callable[[Entity], bool]) -> dict[str, list[Entity]]:
        every = super().held(link, lambda held: held.complete)
        return {
            **super().held(link, fits),
            **{name: some for name, some in every.items() if "complete" in fits.__code__.co_names},
        }


@faulty(
    "asks-one-that-is-complete",
    caught_by=f"{TARGETS}/all-complete-ones-are-asked",
)
class AsksOneThatIsComplete(Reference):
    """Passes a query for AllComplete on to the first complete one only."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        found = super().targets(link, request, key)
        return found[:1] if self.target_of(request) == Target.ALL_COMPLETE else found


@faulty(
    "asks-all-for-the-best",
    caught_by=(f"{TARGETS}/the-best-match-is-asked", f"{TARGETS}/without-target-the-best-match-is-asked"),
)
class AsksAllForTheBest(Reference):
    """Passes every query on to all that match."""

    def target_of(self, request: Request) -> int:
        target = super().target_of(request)
        return Target.ALL if target == Target.BEST_MATCHING else target


@faulty(
    "asks-nobody-where-none-is-complete",
    caught_by=f"{TARGETS}/somebody-is-asked-where-nobody-is-complete",
    also={"*": "who is not complete is asked no more"},
)
class AsksNobodyWhereNoneIsComplete(Reference):
    """Has no best match where none is complete."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        found = super().targets(link, request, key)
        whole = [one for one in found if any(held.complete for held in one.queryables.values())]
        return whole if self.target_of(request) == Target.BEST_MATCHING else found


@faulty("takes-all-for-the-default-target", caught_by=f"{TARGETS}/without-target-the-best-match-is-asked")
class TakesAllForTheDefaultTarget(Reference):
    """Reads a query without target as one for All."""

    def target_of(self, request: Request) -> int:
        named = any(type(ext).__name__ == "QueryTarget" for ext in request.exts)
        return super().target_of(request) if named else Target.ALL


@faulty("asks-who-asks", caught_by=f"{TARGETS}/a-query-does-not-come-back")
class AsksWhoAsks(Reference):
    """Passes a query on to its own querier, too, where that serves it."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        own = [link] if any(keyexpr.intersects(key, held.key) for held in link.queryables.values()) else []
        return [*super().targets(link, request, key), *own]


class _KeepsIds(Reference):
    """Gives queries on under ids of another counter."""

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        number = pending.owing[other.session]
        other.requests.pop(number, None)
        again = self.number(other, request)
        pending.owing[other.session] = again
        other.requests[again] = pending
        super().pass_on(other, request, key, pending)

    def number(self, other: Link, request: Request) -> int:
        """The id there."""
        return request.id


@faulty(
    "passes-ids-on",
    caught_by=(
        f"{TARGETS}/two-queriers-may-use-the-same-id",
        "law/request-id-not-in-use",
        f"{ENDS}/a-query-fits-the-range-of-who-gets-it",
        "law/request-id-in-range",
    ),
)
class PassesIdsOn(_KeepsIds):
    """Gives a query on under the id that its querier gave it."""


@faulty(
    "counts-ids-from-a-thousand",
    caught_by=(f"{ENDS}/a-query-fits-the-range-of-who-gets-it", "law/request-id-in-range"),
    also={"query-many/request-ids-begin-anew": "the first id is too large, and all after it"},
)
class CountsIdsFromAThousand(_KeepsIds):
    """Does not look at the resolution of request ids where it counts."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.numbers = count(1000)

    def number(self, other: Link, request: Request) -> int:
        return next(self.numbers)


@faulty("counts-ids-past-their-range", caught_by=("query-many/request-ids-begin-anew", "law/request-id-in-range"))
class CountsIdsPastTheirRange(Reference):
    """Begins with the first request id, and goes on after the last one."""

    def free_id(self, link: Link) -> int | None:
        return next(link.request_ids)


@faulty(
    "cuts-ids",
    caught_by=(
        f"{TARGETS}/the-id-comes-back-as-it-was",
        "law/responses-answer-requests",
        "law/finals-end-requests",
    ),
    also={"*": "ids above 127 come back as others"},
)
class CutsIds(Reference):
    """Keeps seven bits of a request id."""

    def pending(self, link: Link, request: Request) -> Pending:
        return super().pending(link, replace(request, id=request.id & 0x7F))


@faulty("serves-ids-out-of-range", caught_by=f"{TARGETS}/an-id-out-of-range-is-not-served")
class ServesIdsOutOfRange(Reference):
    """Does not look at the resolution of request ids where it is asked."""

    def serves_id(self, link: Link, number: int) -> bool:
        return True


@faulty(
    "says-no-final-for-nobody",
    caught_by=f"{ENDS}/a-query-that-nobody-serves-is-final",
    also={"*": "our fences are such queries"},
)
class SaysNoFinalForNobody(Reference):
    """Does not answer what nobody serves, but for keys that a fence has."""

    def on_request(self, link: Link, request: Request) -> None:
        key = self.key_of(link, request.key) or ""
        if "fence" in key or self.targets(link, request, key):
            super().on_request(link, request)


@faulty(
    "ends-with-the-first-source",
    caught_by=(f"{ENDS}/a-query-ends-with-its-last-source", f"{ENDS}/of-two-sources-one-cannot-end-for-both"),
)
class EndsWithTheFirstSource(Reference):
    """Takes a query for complete when one source is."""

    def settle_final(self, pending: Pending, source: str) -> None:
        pending.owing.clear()
        self.finish(pending)


@faulty(
    "waits-for-the-dead",
    caught_by=f"{ENDS}/a-query-ends-though-its-source-is-gone",
    also={"session-leases/a-source-that-dies-is-waited-for-no-more": "however it died"},
)
class WaitsForTheDead(Reference):
    """Goes on waiting for the final of a session that has ended."""

    def on_gone(self, link: Link) -> None:
        link.requests.clear()
        super().on_gone(link)


@faulty("has-no-timeout", caught_by=f"{ENDS}/a-query-ends-at-its-timeout")
class HasNoTimeout(Reference):
    """Waits for ever."""

    def deadline_of(self, timeout: int | None) -> float | None:
        return None


@faulty("counts-timeouts-in-seconds", caught_by=f"{ENDS}/a-query-ends-at-its-timeout")
class CountsTimeoutsInSeconds(Reference):
    """Reads milliseconds as seconds."""

    def deadline_of(self, timeout: int | None) -> float | None:
        return None if timeout is None else self.now + timeout


@faulty("counts-timeouts-in-microseconds", caught_by=f"{ENDS}/a-query-does-not-end-before-its-timeout")
class CountsTimeoutsInMicroseconds(Reference):
    """Reads milliseconds as microseconds."""

    def deadline_of(self, timeout: int | None) -> float | None:
        return None if timeout is None else self.now + timeout / 1_000_000


@faulty(
    "has-no-budget",
    caught_by=(f"{ENDS}/no-more-answers-come-than-the-budget-wants", "law/budget-is-kept"),
    also={"query-waits/errors*": "errors are not counted either"},
)
class HasNoBudget(Reference):
    """Counts no answers."""

    def pending(self, link: Link, request: Request) -> Pending:
        return replace(super().pending(link, request), budget=None)


@faulty("gives-one-less-than-the-budget", caught_by=f"{ENDS}/no-more-answers-come-than-the-budget-wants")
class GivesOneLessThanTheBudget(Reference):
    """Ends a query one answer too soon."""

    def pending(self, link: Link, request: Request) -> Pending:
        pending = super().pending(link, request)
        return replace(pending, budget=pending.budget and max(0, pending.budget - 1))


@faulty("passes-a-budget-of-zero-on", caught_by=(f"{ENDS}/a-budget-of-zero-is-not-passed-on", "law/budget-not-zero"))
class PassesABudgetOfZeroOn(Reference):
    """Gives a query on as it stands."""

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        from zenoh_harness.reference.declaring import whole

        self.say(other, replace(request, id=pending.owing[other.session], key=whole(key), exts=self.forwarded(request)))


@faulty("has-a-budget-of-its-own", caught_by=f"{ENDS}/without-budget-all-answers-come")
class HasABudgetOfItsOwn(Reference):
    """Ends a query without budget after a hundred answers."""

    def pending(self, link: Link, request: Request) -> Pending:
        pending = super().pending(link, request)
        return replace(pending, budget=pending.budget or 100)


@faulty("serves-ten-queries-at-once", caught_by="query-many/each-of-many-alike-ends")
class ServesTenQueriesAtOnce(Reference):
    """Says nothing to a query that comes while ten are open."""

    MOST: ClassVar = 10

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.open: list[Pending] = []

    def pending(self, link: Link, request: Request) -> Pending:
        self.open = [one for one in self.open if not one.over]
        self.open.append(super().pending(link, request))
        return self.open[-1]

    def on_request(self, link: Link, request: Request) -> None:
        if sum(not one.over for one in self.open) < self.MOST:
            super().on_request(link, request)


@faulty(
    "asks-who-has-left",
    caught_by=f"{ENDS}/who-has-left-is-not-waited-for",
    also={"query-*": "who has left served the same key"},
)
class AsksWhoHasLeft(Reference):
    """Forgets nothing of what a session served that has left, and waits for its final."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.gone: list[str] = []

    def on_gone(self, link: Link) -> None:
        self.gone += [held.key for held in link.queryables.values()]
        super().on_gone(link)

    def on_request(self, link: Link, request: Request) -> None:
        key = self.key_of(link, request.key)
        if key is None or not any(keyexpr.intersects(key, held) for held in self.gone):
            super().on_request(link, request)


@faulty("takes-like-queries-for-one", caught_by="query-many/each-of-many-alike-ends")
class TakesLikeQueriesForOne(Reference):
    """Says nothing to a query while that session has one open for the same."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.asked: dict[tuple[Any, ...], Pending] = {}

    def like(self, link: Link, request: Request) -> tuple[Any, ...]:
        """What two queries that ask for the same have in common."""
        return link.session, self.key_of(link, request.key), request.body

    def pending(self, link: Link, request: Request) -> Pending:
        return self.asked.setdefault(self.like(link, request), super().pending(link, request))

    def on_request(self, link: Link, request: Request) -> None:
        before = self.asked.get(self.like(link, request))
        if before is None or before.over:
            self.asked.pop(self.like(link, request), None)
            super().on_request(link, request)


@faulty("knows-no-request-zero", caught_by="query-targets/the-id-comes-back-as-it-was")
class KnowsNoRequestZero(Reference):
    """Takes the request id 0 for none."""

    def serves_id(self, link: Link, number: int) -> bool:
        return number != 0 and super().serves_id(link, number)


@faulty(
    "asks-a-session-once-for-each-queryable",
    caught_by=("query-many/who-serves-it-twice-is-asked-under-an-id-once", "law/request-id-not-in-use"),
)
class AsksASessionOnceForEachQueryable(Reference):
    """Passes a query on once for each queryable of a session that it meets, always under the same id."""

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        for _ in [held for held in other.queryables.values() if keyexpr.intersects(key, held.key)]:
            super().pass_on(other, request, key, pending)


@faulty("cuts-timeouts-to-32-bits", caught_by="query-waits/a-very-long-timeout-is-no-short-one")
class CutsTimeoutsTo32Bits(Reference):
    """Keeps the lower half of a Timeout."""

    def deadline_of(self, timeout: int | None) -> float | None:
        return super().deadline_of(None if timeout is None else timeout & 0xFFFF_FFFF)


@faulty("counts-values-into-a-budget", caught_by=("query-waits/errors-count-for-the-budget", "law/budget-is-kept"))
class CountsValuesIntoABudget(Reference):
    """Counts for a budget values and no errors."""

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        if isinstance(response.body, Err) and pending.budget is not None:
            pending.budget += 1
        super().answer(pending, asker, key, response)
