"""How the reference passes queries on and answers back: targets, completeness, timeout, budget, finals, consolidation.

Pages: query#query-target, query#budget, query#timeout, query#consolidation, reply#final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Request, Response, ResponseFinal
from zenoh_conformance.messages.request import Budget, QueryTarget, Target
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.wire.extensions import Exts

from .consolidation import Consolidated
from .declaring import Declaring, whole
from .link import Entity, Link, Pending


class Querying(Declaring):
    """Queries out, answers back, and exactly one final for each."""

    def forwarded(self, message: Any) -> Any:
        """The extensions that go on: all but the hop's own node id."""
        raise NotImplementedError

    # -- out

    def on_request(self, link: Link, request: Request) -> None:
        """To the queryables that its target names; final at once when there is none. An id beyond the settled range is not served."""
        if not self.serves_id(link, request.id):
            return
        key = self.key_of(link, request.key)
        targets = self.targets(link, request, key) if key is not None else []
        pending = self.pending(link, request)
        for other in targets:
            number = self.free_id(other)
            if number is not None:
                pending.owing[other.session] = number
                other.requests[number] = pending
        if not pending.owing:
            self.finish(pending)
        for other in targets:
            if other.session in pending.owing:
                self.pass_on(other, request, key or "", pending)

    def free_id(self, link: Link) -> int | None:
        """The next id in that session's range that no open query has; None where all are in use."""
        most = self.most_ids(link)
        following = (number % most for _, number in zip(range(most), link.request_ids, strict=False))
        return next(
            (number for number in following if number not in link.requests and number not in link.unended), None
        )

    def serves_id(self, link: Link, number: int) -> bool:
        """Whether a request id fits what was settled for request ids."""
        return number < self.most_ids(link)

    def most_ids(self, link: Link) -> int:
        """How many request ids there are by what was settled."""
        return int(1 << (8 << (link.terms.resolution >> 2 & 3)))

    def pending(self, link: Link, request: Request) -> Pending:
        """What is to be remembered of a query."""
        values = {type(ext).__name__: getattr(ext, "value", None) for ext in request.exts}
        return Pending(
            link.session, request.id, deadline=self.deadline_of(values.get("Timeout")), budget=values.get("Budget") or None,
            thinned=Consolidated(request.body.consolidation or 0) if self.config.consolidates else None,
        )  # fmt: skip

    def deadline_of(self, timeout: int | None) -> float | None:
        """When a query is over at the latest; a Timeout counts milliseconds."""
        return None if timeout is None else self.now + timeout / 1000

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        """The query, under an id of that session."""
        number = pending.owing[other.session]
        exts = Exts(ext for ext in self.forwarded(request) if not (isinstance(ext, Budget) and not ext.value))
        self.say(other, replace(request, id=number, key=whole(key), exts=exts))

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        """The sessions that a query goes to; our own application's goes to whoever passes on."""
        if link.inside is not None and any(map(self.hears_unasked, self.others(link))):
            return [other for other in self.others(link) if self.hears_unasked(other)]
        matching = self.held(link, lambda held: keyexpr.intersects(key, held.key))
        complete = self.held(link, lambda held: self.serves_all(held, key))
        target = self.target_of(request)
        names = list(complete if target == Target.ALL_COMPLETE else matching)
        if target == Target.BEST_MATCHING and complete:
            names = [self.best(complete)]
        return [other for other in map(self.link_of, names) if other is not None]

    def held(self, link: Link, fits: Callable[[Entity], bool]) -> dict[str, list[Entity]]:
        """Session to the queryables of others that fit; no session without."""
        found = {
            other.session: [held for held in other.queryables.values() if fits(held)]
            for other in self.others(link)
        }  # fmt: skip
        return {name: some for name, some in found.items() if some}

    def serves_all(self, held: Entity, key: str) -> bool:
        """Whether a queryable answers every query for `key` alone."""
        return held.complete and keyexpr.includes(held.key, key)

    def target_of(self, request: Request) -> int:
        """QueryTarget; the best match where there is none."""
        return next((ext.value for ext in request.exts if isinstance(ext, QueryTarget)), Target.BEST_MATCHING)

    def best(self, complete: dict[str, list[Entity]]) -> str:
        """Of the sessions that serve all of a query the nearest."""
        return min(complete, key=lambda name: min(held.distance for held in complete[name]))

    # -- back

    def on_response(self, link: Link, response: Response) -> None:
        """Back to who asked, under the id that it asked with."""
        pending = link.requests.get(response.id)
        asker = self.link_of(pending.asker) if pending is not None else None
        key = self.key_of(link, response.key)
        if pending is None or asker is None or key is None or pending.budget == 0:
            return
        if pending.thinned is None:
            self.answer(pending, asker, key, response)
        else:
            for each_key, each in pending.thinned.take(key, response):
                self.answer(pending, asker, each_key, each)

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        """One answer to who asked; the budget's last one ends the query."""
        if pending.budget is not None:
            pending.budget -= 1
        self.say(asker, replace(response, id=pending.request_id, key=whole(key), exts=self.forwarded(response)))
        if pending.budget == 0:
            self.abandon(pending)

    def on_final(self, link: Link, request_id: int) -> None:
        """One source is done."""
        link.unended.discard(request_id)
        pending = link.requests.pop(request_id, None)
        if pending is not None:
            self.settle_final(pending, link.session)

    def settle_final(self, pending: Pending, source: str) -> None:
        """When all sources are done, exactly one final goes back."""
        if pending.owing.pop(source, None) is not None and not pending.owing:
            self.finish(pending)

    def finish(self, pending: Pending) -> None:
        """What was held back, and the final."""
        asker = self.link_of(pending.asker)
        if asker is None or pending.over:
            return
        pending.over = True
        for key, response in pending.thinned.rest() if pending.thinned is not None else ():
            self.say(asker, replace(response, id=pending.request_id, key=whole(key), exts=self.forwarded(response)))
        self.say(asker, ResponseFinal(id=pending.request_id))

    def abandon(self, pending: Pending) -> None:
        """Wait for no more: what comes later is nobody's. The ids are free once their finals have come."""
        for name, request_id in pending.owing.items():
            other = self.link_of(name)
            if other is not None:
                other.requests.pop(request_id, None)
                other.unended.add(request_id)
        pending.owing.clear()
        self.finish(pending)

    def expire_queries(self) -> None:
        """Queries whose timeout ran out are final."""
        pending = {id(p): p for link in self.links.values() for p in link.requests.values()}
        for query in pending.values():
            if query.deadline is not None and self.now >= query.deadline:
                self.abandon(query)

    def on_gone(self, link: Link) -> None:
        """A session ended: what it still owed is settled."""
        super().on_gone(link)
        for pending in {id(p): p for p in link.requests.values()}.values():
            self.settle_final(pending, link.session)
