"""REQUEST, RESPONSE and RESPONSE_FINAL in one session: ids, budgets, finals (query#request, reply#response, reply#final)."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum

from zenoh_conformance.judging.law import Per, Record, law
from zenoh_conformance.messages import Budget, ConsolidationMode, Query, Reply, Request, Response, ResponseFinal
from zenoh_conformance.messages.sane import DEFAULT_RESOLUTION
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import SIDES, Side

from .network import Session, SessionLaw

MOST_OVER = 65536
"""Finished requests that are remembered for each side."""


class At(Enum):
    """Where a request stands."""

    OPEN = "open"
    OVER = "over"
    NEVER = "never"


class Requests(Record):
    """Which requests of each side are open, and which are over."""

    per, name = Per.SESSION, "requests"
    reads = (Session,)
    session: Session

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[Side, dict[int, Request]] = {side: {} for side in SIDES}
        self.over: dict[Side, OrderedDict[int, None]] = {side: OrderedDict() for side in SIDES}
        self.forgot = False
        """Some that were over are no longer known."""

    def on_request(self, seen: Seen, request: Request) -> None:
        """One more is open; its id may have been that of one that is over."""
        self.open[seen.sender][request.id] = request
        self.over[seen.sender].pop(request.id, None)

    def on_response_final(self, seen: Seen, final: ResponseFinal) -> None:
        """It is over."""
        asker = seen.sender.other
        if self.open[asker].pop(final.id, None) is not None:
            self.over[asker][final.id] = None
            if len(self.over[asker]) > MOST_OVER:
                self.over[asker].popitem(last=False)
                self.forgot = True

    def stands(self, asker: Side, number: int) -> At | None:
        """Where a request of that side stands; None where we cannot know."""
        if self.lossy:
            return None
        if number in self.open[asker]:
            return At.OPEN
        if number in self.over[asker]:
            return At.OVER
        return None if self.forgot or not self.session.knows(asker) else At.NEVER


class RequestLaw(SessionLaw):
    """A law that reads which requests are open."""

    reads = (Session, Requests)
    requests: Requests


@law("query/request-id-in-range", per="session")
class RequestIdInRange(SessionLaw):
    """A request id fits the resolution that was settled for request ids."""

    def on_request(self, seen: Seen, request: Request) -> None:
        if self.session.begun:
            codes = [
                DEFAULT_RESOLUTION if one.resolution is None else one.resolution for one in self.session.inits.values()
            ]
            bits = 8 << min(code >> 2 & 3 for code in codes)
            self.subject(seen)
            fits = request.id < 1 << bits
            self.require(fits, at=seen, path="request.id", expected=f"an id of {bits} bits", got="a larger one")


@law("query/request-id-not-in-use", per="session")
class RequestIdNotInUse(RequestLaw):
    """No two open queries of one side have the same id."""

    def on_request(self, seen: Seen, request: Request) -> None:
        if self.session.begun:
            self.subject(seen)
            free = request.id not in self.requests.open[seen.sender]
            self.require(free, at=seen, path="request.id", expected="an id that is free", got="that of an open query")


@law("query/budget-not-zero", per="session")
class BudgetNotZero(SessionLaw):
    """Who limits the answers wants one at least."""

    def on_request(self, seen: Seen, request: Request) -> None:
        budget = request.exts.get(Budget)
        if budget is not None:
            self.subject(seen)
            self.require(budget.value != 0, at=seen, path="request.exts.budget", expected="one or more", got="0")


@law("query/query-consolidation", per="session")
class ConsolidationIsKnown(SessionLaw):
    """A consolidation mode, of a query or of a reply, is one that the page names."""

    def on_query(self, seen: Seen, body: Query | Reply) -> None:
        if body.consolidation is not None:
            self.subject(seen)
            known = body.consolidation in tuple(ConsolidationMode)
            path = f"{seen.kind}.consolidation"
            self.require(known, at=seen, path=path, expected="a mode from 0 to 3", got="another")

    on_reply = on_query


@law("reply/response-correlates", per="session")
class ResponsesAnswerRequests(RequestLaw):
    """What answers, answers a query that was asked."""

    def on_response(self, seen: Seen, response: Response) -> None:
        stands = self.requests.stands(seen.sender.other, response.id)
        if stands is not None:
            self.subject(seen)
            asked = stands is not At.NEVER
            self.require(asked, at=seen, path="response.id", expected="the id of a query", got="one that none has")


@law("reply/nothing-after-final", per="session")
class NothingAfterFinal(RequestLaw):
    """After the final of a query nothing answers it."""

    def on_response(self, seen: Seen, response: Response) -> None:
        stands = self.requests.stands(seen.sender.other, response.id)
        if stands in (At.OPEN, At.OVER):
            self.subject(seen)
            is_open = stands is At.OPEN
            self.require(is_open, at=seen, path="response", expected="no Response after ResponseFinal", got="Response")


@law("reply/final-matches-request", per="session")
class FinalsEndRequests(RequestLaw):
    """What ends, ends a query that was asked."""

    def on_response_final(self, seen: Seen, final: ResponseFinal) -> None:
        stands = self.requests.stands(seen.sender.other, final.id)
        if stands is not None:
            self.subject(seen)
            asked = stands is not At.NEVER
            self.require(
                asked, at=seen, path="response_final.id", expected="the id of a query", got="one that none has"
            )


@law("reply/exactly-one-final", per="session")
class OneFinal(RequestLaw):
    """A query ends once on a link."""

    def on_response_final(self, seen: Seen, final: ResponseFinal) -> None:
        stands = self.requests.stands(seen.sender.other, final.id)
        if stands in (At.OPEN, At.OVER):
            self.subject(seen)
            first = stands is At.OPEN
            self.require(first, at=seen, path="response_final", expected="one ResponseFinal", got="a second one")


@law("query/budget-stops-forwarding", per="session")
class BudgetIsKept(RequestLaw):
    """No more answers come than the query's budget wants."""

    def __init__(self) -> None:
        super().__init__()
        self.came: dict[tuple[Side, int], int] = {}
        """Answers to each open query with a budget."""

    def on_request(self, seen: Seen, request: Request) -> None:
        self.came.pop((seen.sender, request.id), None)

    def on_response(self, seen: Seen, response: Response) -> None:
        asker = seen.sender.other
        request = self.requests.open[asker].get(response.id)
        budget = request.exts.get(Budget) if request is not None else None
        if budget is not None and budget.value:
            came = self.came[asker, response.id] = self.came.get((asker, response.id), 0) + 1
            self.subject(seen)
            kept = came <= budget.value
            self.require(kept, at=seen, path="response", expected="no Response past the budget", got="Response")

    def on_response_final(self, seen: Seen, final: ResponseFinal) -> None:
        self.came.pop((seen.sender.other, final.id), None)
