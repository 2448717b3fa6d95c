"""How the reference node forwards queries and their answers: target, completeness, timeout, budget, final, consolidation.

Pages: query#query-target, query#budget, query#timeout, query#consolidation, reply#final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Budget, QueryTarget, Request, Response, ResponseFinal, Target
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.wire import Exts

from .consolidation import Consolidated
from .declaring import DeclarationHandling, whole
from .link import Entity, Link, Pending


class QueryHandling(DeclarationHandling):
    """Forwards each query to the targeted queryables, their answers back, and then exactly one final."""

    def forwarded(self, message: Any) -> Any:
        """Return the extensions that are forwarded: all but NodeId, which concerns one hop."""
        raise NotImplementedError

    def forward(self, other: Link, message: Any, *, reliable: bool = True) -> None:
        """Send a PUSH, REQUEST or RESPONSE of another session to a session."""
        self.say(other, message, reliable=reliable)

    # -- queries

    def on_request(self, link: Link, request: Request) -> None:
        """Forward a query to the queryables that its target selects; without any, send the final at once.

        A request whose id is beyond the negotiated resolution is ignored.
        """
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
        if pending.owing:
            link.asked.add(pending)
        else:
            self.finish(pending)
        for other in targets:
            if other.session in pending.owing:
                self.pass_on(other, request, key or "", pending)

    def free_id(self, link: Link) -> int | None:
        """Return the next free request id of a session; None if all ids of its resolution are in use."""
        most = self.most_ids(link)
        following = (number % most for _, number in zip(range(most), link.request_ids, strict=False))
        return next(
            (number for number in following if number not in link.requests and number not in link.unended), None
        )

    def serves_id(self, link: Link, number: int) -> bool:
        """Return whether a request id is within the negotiated resolution."""
        return number < self.most_ids(link)

    def most_ids(self, link: Link) -> int:
        """Return the number of request ids that the negotiated resolution permits."""
        return int(1 << (8 << (link.terms.resolution >> 2 & 3)))

    def pending(self, link: Link, request: Request) -> Pending:
        """Return the state of a forwarded query until its final."""
        values = {type(ext).__name__: getattr(ext, "value", None) for ext in request.exts}
        return Pending(
            link.session, request.id, deadline=self.deadline_of(values.get("Timeout")), budget=values.get("Budget") or None,
            thinned=Consolidated(request.body.consolidation or 0) if self.config.consolidates else None,
        )  # fmt: skip

    def deadline_of(self, timeout: int | None) -> float | None:
        """Return the time, in seconds, at which a query times out; `timeout` in milliseconds."""
        return None if timeout is None else self.now + timeout / 1000

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        """Forward the query to a session, with the id that it has there."""
        number = pending.owing[other.session]
        exts = Exts(ext for ext in self.forwarded(request) if not (isinstance(ext, Budget) and not ext.value))
        self.forward(other, replace(request, id=number, key=whole(key), exts=exts))

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        """Return the sessions to which a query is forwarded.

        A query of the node's own application goes to all routers, if there are any.
        """
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
        """Return each other session that has queryables for which `fits` is true, with these queryables."""
        found = {
            other.session: [held for held in other.queryables.values() if fits(held)]
            for other in self.others(link)
        }  # fmt: skip
        return {name: some for name, some in found.items() if some}

    def serves_all(self, held: Entity, key: str) -> bool:
        """Return whether a queryable is complete and its key includes `key`."""
        return held.complete and keyexpr.includes(held.key, key)

    def target_of(self, request: Request) -> int:
        """Return the QueryTarget; BEST_MATCHING if there is none."""
        return next((ext.value for ext in request.exts if isinstance(ext, QueryTarget)), Target.BEST_MATCHING)

    def best(self, complete: dict[str, list[Entity]]) -> str:
        """Return the session with the nearest of the complete queryables."""
        return min(complete, key=lambda name: min(held.distance for held in complete[name]))

    # -- answers

    def on_response(self, link: Link, response: Response) -> None:
        """Forward an answer to the session that sent the query, with the id of the query there."""
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
        """Send one answer to the session that sent the query; the last answer within the budget ends the query."""
        if pending.budget is not None:
            pending.budget -= 1
        self.forward(asker, replace(response, id=pending.request_id, key=whole(key), exts=self.forwarded(response)))
        if pending.budget == 0:
            self.abandon(pending)

    def on_final(self, link: Link, request_id: int) -> None:
        """Handle the final of one queryable's session."""
        link.unended.discard(request_id)
        pending = link.requests.pop(request_id, None)
        if pending is not None:
            self.settle_final(pending, link.session)

    def settle_final(self, pending: Pending, source: str) -> None:
        """Note that a session has sent its final; send ours when all have."""
        if pending.owing.pop(source, None) is not None and not pending.owing:
            self.finish(pending)

    def finish(self, pending: Pending) -> None:
        """Send the answers that consolidation held back, and the final; do nothing if it was sent already."""
        asker = self.link_of(pending.asker)
        if asker is None or pending.over:
            return
        pending.over = True
        asker.asked.discard(pending)
        for key, response in pending.thinned.rest() if pending.thinned is not None else ():
            self.forward(asker, replace(response, id=pending.request_id, key=whole(key), exts=self.forwarded(response)))
        self.say(asker, ResponseFinal(id=pending.request_id))

    def abandon(self, pending: Pending) -> None:
        """End a query before all finals have come. Later answers are ignored; an id is free after its final."""
        for name, request_id in pending.owing.items():
            other = self.link_of(name)
            if other is not None:
                other.requests.pop(request_id, None)
                other.unended.add(request_id)
        pending.owing.clear()
        self.finish(pending)

    def expire_queries(self) -> None:
        """End the queries that have timed out."""
        pending = {id(p): p for link in self.links.values() for p in link.requests.values()}
        for query in pending.values():
            if query.deadline is not None and self.now >= query.deadline:
                self.abandon(query)

    def on_gone(self, link: Link) -> None:
        """Withdraw the declarations of an ended session, and count its missing finals as received."""
        super().on_gone(link)
        for pending in {id(p): p for p in link.requests.values()}.values():
            self.settle_final(pending, link.session)
