"""Nodes that end queries wrongly, thin answers out by rules of their own, or change what goes with a query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Reply, Request, Response, ResponseFinal
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link, Pending

from . import faulty

TARGETS, ENDS, VALUES = "query-targets", "query-ends", "reply-values"
FEWER = {"query-*": "it needs a queryable that is asked", "reply-*": "it needs a queryable that is asked"}


@faulty(
    "ends-twice",
    caught_by=(f"{ENDS}/any-number-of-answers-comes", f"{ENDS}/a-second-final-changes-nothing", "law/one-final"),
    also={"*": "every query ends twice"},
)
class EndsTwice(Reference):
    """Says RESPONSE_FINAL twice for what somebody served."""

    def on_final(self, link: Link, request_id: int) -> None:
        pending = link.requests.get(request_id)
        super().on_final(link, request_id)
        asker = self.link_of(pending.asker) if pending is not None and not pending.owing else None
        if pending is not None and asker is not None:
            self.say(asker, ResponseFinal(id=pending.request_id))


@faulty(
    "passes-every-final-on",
    caught_by=(f"{ENDS}/a-query-ends-with-its-last-source", "law/one-final"),
    also={"*": "each source ends it for its querier"},
)
class PassesEveryFinalOn(Reference):
    """Passes the final of each source on."""

    def on_final(self, link: Link, request_id: int) -> None:
        pending = link.requests.get(request_id)
        asker = self.link_of(pending.asker) if pending is not None else None
        if pending is not None and asker is not None and len(pending.owing) > 1:
            self.say(asker, ResponseFinal(id=pending.request_id))
        super().on_final(link, request_id)


@faulty(
    "counts-finals",
    caught_by=f"{ENDS}/of-two-sources-one-cannot-end-for-both",
    also={
        "law/*": "the answers of the other one are late",
        f"{ENDS}/an-answer-after*": "the query is kept when it has ended",
    },
)
class CountsFinals(Reference):
    """Counts finals, and does not look whose they are."""

    def on_final(self, link: Link, request_id: int) -> None:
        pending = link.requests.get(request_id)
        if pending is not None:
            pending.owing.pop(next(iter(pending.owing), ""), None)
            if not pending.owing:
                self.finish(pending)


@faulty(
    "takes-answers-after-the-final",
    caught_by=(f"{ENDS}/an-answer-after-the-final-is-dropped", "law/nothing-after-final"),
)
class TakesAnswersAfterTheFinal(Reference):
    """Passes answers on to queries that are over."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.over: dict[tuple[str, int], Pending] = {}

    def on_final(self, link: Link, request_id: int) -> None:
        if request_id in link.requests:
            self.over[link.session, request_id] = link.requests[request_id]
        super().on_final(link, request_id)

    def on_response(self, link: Link, response: Response) -> None:
        late = self.over.get((link.session, response.id))
        asker = self.link_of(late.asker) if late is not None else None
        if late is not None and asker is not None:
            self.say(asker, replace(response, id=late.request_id))
        super().on_response(link, response)


@faulty(
    "takes-anybodys-answer",
    caught_by=f"{ENDS}/an-answer-to-nothing-goes-nowhere",
    also={f"{ENDS}/of-two*": "the other one has the same id"},
)
class TakesAnybodysAnswer(Reference):
    """Looks for the query of an answer in every session."""

    def on_response(self, link: Link, response: Response) -> None:
        holder = next((other for other in self.links.values() if response.id in other.requests), link)
        super().on_response(holder, response)

    def on_final(self, link: Link, request_id: int) -> None:
        holder = next((other for other in self.links.values() if request_id in other.requests), link)
        super().on_final(holder, request_id)


@faulty("keeps-a-hundred-queries", caught_by=f"{ENDS}/many-queries-are-open-at-once")
class KeepsAHundredQueries(Reference):
    """Forgets the oldest of more than a hundred queries that are open in a session."""

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        if len(other.requests) > 100:
            other.requests.pop(next(iter(other.requests)))
        super().pass_on(other, request, key, pending)


@faulty("falls-with-who-asked", caught_by=f"{ENDS}/who-asked-may-leave")
class FallsWithWhoAsked(Reference):
    """Ends the session of a queryable that answers one who has gone."""

    def on_response(self, link: Link, response: Response) -> None:
        pending = link.requests.get(response.id)
        if pending is not None and self.link_of(pending.asker) is None:
            self.refuse(link, 0)
            return
        super().on_response(link, response)


@faulty(
    "answers-who-has-not-asked",
    caught_by=(f"{ENDS}/who-asked-may-leave", "law/responses-answer-requests", "law/finals-end-requests"),
)
class AnswersWhoHasNotAsked(Reference):
    """Gives the answer to one who has gone to whoever is there."""

    def on_response(self, link: Link, response: Response) -> None:
        pending = link.requests.get(response.id)
        if pending is not None and self.link_of(pending.asker) is None:
            for other in self.others(link):
                self.say(other, replace(response, id=pending.request_id))
                self.say(other, ResponseFinal(id=pending.request_id))
        super().on_response(link, response)


@faulty("asks-under-another-key", caught_by="query-targets/a-query-goes-under-no-other-key")
class AsksUnderAnotherKey(Reference):
    """Asks everybody else the same under a key that nobody serves."""

    def on_request(self, link: Link, request: Request) -> None:
        super().on_request(link, request)
        for other in self.others(link):
            if (number := self.free_id(other)) is not None:
                other.unended.add(number)
                self.say(other, replace(request, id=number, key=WireExpr(suffix="astray", mapping=True), exts=Exts()))


@faulty("answers-one-in-three", caught_by=f"{ENDS}/any-number-of-answers-comes", also={"*": "answers are lost"})
class AnswersOneInThree(Reference):
    """Loses the third answer to a query, and each third one after it."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.counts: dict[int, int] = {}

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        self.counts[id(pending)] = self.counts.get(id(pending), 0) + 1
        if self.counts[id(pending)] % 3:
            super().answer(pending, asker, key, response)


class Thins(Reference):
    """Thins answers out by a rule of its own."""

    def on_response(self, link: Link, response: Response) -> None:
        if isinstance(response.body, Reply) and not self.lets(link.requests.get(response.id), response):
            return
        super().on_response(link, response)

    def lets(self, pending: Pending | None, response: Response) -> bool:
        """Whether an answer goes on."""
        raise NotImplementedError


@faulty(
    "thins-out-what-nobody-wants-thinned",
    caught_by=(f"{VALUES}/none-lets-all-through"),
    also={"*": "one answer of each key only"},
)
class ThinsOutWhatNobodyWantsThinned(Thins):
    """Passes one answer of each key on, whatever the mode."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.seen: set[tuple[int, Any]] = set()

    def lets(self, pending: Pending | None, response: Response) -> bool:
        known = (id(pending), response.key)
        new = known not in self.seen
        self.seen.add(known)
        return new


@faulty(
    "keeps-the-oldest",
    caught_by=(
        f"{VALUES}/monotonic-loses-nothing-newer",
        f"{VALUES}/latest-loses-no-newest",
        f"{VALUES}/auto-loses-no-newest",
    ),
    also={"application/an-application-gets*": "so it is toward its own application"},
)
class KeepsTheOldest(Thins):
    """Drops what is newer than what it sent for a key, unless all is wanted."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.first: dict[tuple[int, Any], int] = {}
        self.modes: dict[int, int] = {}

    def pending(self, link: Link, request: Request) -> Pending:
        found = super().pending(link, request)
        self.modes[id(found)] = request.body.consolidation or 0
        return found

    def lets(self, pending: Pending | None, response: Response) -> bool:
        stamp = getattr(response.body.body, "timestamp", None) if isinstance(response.body, Reply) else None
        if stamp is None or self.modes.get(id(pending)) == 1:
            return True
        return bool(self.first.setdefault((id(pending), response.key), stamp.time) >= stamp.time)


class _ChangesQueries(Reference):
    """Changes each query before it goes on."""

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        super().pass_on(other, replace(request, body=self.body(request.body)), key, pending)

    def body(self, body: Any) -> Any:
        """The question, as it goes on."""
        raise NotImplementedError


@faulty("writes-parameters-its-own-way", caught_by=f"{VALUES}/parameters-pass-unchanged")
class WritesParametersItsOwnWay(_ChangesQueries):
    """Puts semicolons where ampersands stand."""

    def body(self, body: Any) -> Any:
        return replace(body, parameters=body.parameters and body.parameters.replace("&", ";"))


@faulty("takes-ascii-parameters-only", caught_by=f"{VALUES}/parameters-pass-unchanged")
class TakesAsciiParametersOnly(_ChangesQueries):
    """Drops what is not ASCII."""

    def body(self, body: Any) -> Any:
        return replace(body, parameters=body.parameters and body.parameters.encode("ascii", "ignore").decode())


@faulty("forgets-what-goes-with-a-query", caught_by=f"{VALUES}/a-query-comes-with-all-its-fields")
class ForgetsWhatGoesWithAQuery(_ChangesQueries):
    """Passes a query on without its extensions."""

    def body(self, body: Any) -> Any:
        return replace(body, exts=Exts())


@faulty(
    "asks-in-a-mode-of-its-own",
    caught_by="law/consolidation-is-known",
    also={f"{VALUES}/a-query-comes*": "the mode is another"},
)
class AsksInAModeOfItsOwn(_ChangesQueries):
    """Writes a consolidation mode that no page names."""

    def body(self, body: Any) -> Any:
        return replace(body, consolidation=7)
