"""What the declarations, interests and answers of golden vectors do at a router, seen from two sessions of ours.

Each exchange prepares what its vector is about, says the vector, looks for the effect, and ends what it began: a declared subscriber
receives a publication, and none after its id is undeclared; an expression id resolves; a snapshot ends and has the declarations that
were asked for; an answer reaches the querier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeVar

from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    Query,
    Request,
    Response,
    ResponseFinal,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.names import Names, plain
from zenoh_conformance.reading.names import undeclared_key as with_key
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import vle
from zenoh_harness.run.vectors.effects import difference
from zenoh_harness.run.vectors.standing import OURS, VectorInSession, concrete, undeclared_key, whole

M = TypeVar("M")

MOMENTS: Final = 4
"""How often is looked whether what is taken back has lost its effect."""


@dataclass(slots=True)
class Hearing:
    """What one session of ours has heard, with whole keys."""

    us: Dialogue
    names: Names = field(default_factory=Names)
    heard: list[tuple[Any, str | None]] = field(default_factory=list)
    read: int = 0

    def all(self, kind: type[M]) -> Iterator[tuple[M, str | None]]:
        """Yield the messages of a class so far, and the key that each is about."""
        new, self.read = self.us.heard[self.read :], len(self.us.heard)
        sender = self.us.wire.side.other
        for seen in new:
            message = seen.message
            if seen.kind == "undecodable":
                continue
            if isinstance(message, Declare):
                self.names.note(sender, message.body)
            key = getattr(message.body if isinstance(message, Declare) else message, "key", None)
            self.heard.append((message, self.names.whole(sender, key) if isinstance(key, WireExpr) else None))
        return ((message, key) for message, key in self.heard if isinstance(message, kind))

    def awaits(self, kind: type[M], where: Callable[[M, str | None], bool]) -> tuple[M, str | None] | None:
        """Return the first message of a class that fits, waiting for it; None if none comes in time."""
        found: list[tuple[M, str | None]] = []

        def came() -> bool:
            found.extend(pair for pair in self.all(kind) if where(*pair))
            return bool(found)

        self.us.wait_until(came)
        return found[0] if found else None

    def note_own(self, body: DKeyExpr) -> None:
        """Note an expression id of ours: the node may use it, too."""
        self.names.note(self.us.wire.side, body)

    def forget(self) -> None:
        """Forget what came so far."""
        list(self.all(object))
        self.heard.clear()


@dataclass(slots=True)
class Exchange:
    """Two sessions with a router: `near` says the vectors, `far` is another application."""

    near: Hearing
    far: Hearing
    marks: Iterator[int] = field(default_factory=count)

    def mark(self) -> bytes:
        """A payload that nobody else says."""
        return b"zconform vector %d" % next(self.marks)

    def settle(self) -> None:
        """Both sessions have been read to here."""
        self.far.us.fence()
        self.near.us.fence()

    def reaches(self, key: str, ear: Hearing, other: Hearing) -> str:
        """A publication of `other` comes to `ear`: return what is wrong, empty if nothing."""
        mark = self.mark()
        other.us.publish(key, mark)
        came = ear.awaits(Push, lambda push, _: getattr(push.body, "payload", b"") == mark)
        if came is None:
            return f"a publication to {key!r} does not come to the subscriber"
        return "" if came[1] == key else f"key: expected {key!r}, found {came[1]!r}"

    def subscriber_ends(self, key: str) -> bool:
        """Whether publications of `far` stop coming to `near`, at once or a little later: no page says how soon."""
        for _ in range(MOMENTS):
            mark = self.mark()
            self.far.us.publish(key, mark)
            self.settle()
            if not any(getattr(push.body, "payload", b"") == mark for push, _ in self.near.all(Push)):
                return True
            self.near.us.listen(self.near.us.unit / (4 * MOMENTS))
        return False

    def ask(self, key: str) -> Request | None:
        """A query of `far`, as it comes to `near`; None if it ends without."""
        number, mark = self.far.us.new_id(), f"zconform={next(self.marks)}"
        self.far.us.say(Request(id=number, key=plain(key), body=Query(parameters=mark)))
        came = None

        def has_come_or_ended() -> bool:
            nonlocal came
            came = next((one for one, _ in self.near.all(Request) if one.body.parameters == mark), None)
            return came is not None

        def ended() -> bool:
            return any(final.id == number for final, _ in self.far.all(ResponseFinal))

        if not ended() and not has_come_or_ended():
            self.far.us.fence()
            if not ended():
                self.near.us.wait_until(has_come_or_ended)
        return came

    def takes_query(self, key: str) -> bool:
        """Whether a query of `far` comes to `near`, which ends it."""
        came = self.ask(key)
        if came is not None:
            self.near.us.say(ResponseFinal(id=came.id))
        return came is not None


Says = Callable[[], None]
"""Says the vector and a fence. Raises SessionEndedError."""


class NoSessionError(Exception):
    """The node opens no session that begins at this sequence number, or reads nothing by which we prepare for a vector."""


class SessionEndedError(Exception):
    """The session ended at the vector, in the way that the argument tells."""


def subscriber(of: Exchange, one: VectorInSession, body: DSubscriber, says: Says) -> str:
    """A publication comes, and none after the id is undeclared."""
    says()
    key = concrete(whole(body.key))
    if fault := of.reaches(key, of.near, of.far):
        return fault
    of.near.us.declare(USubscriber(id=body.id, exts=with_key(body.key)))
    of.near.us.fence()
    return "" if of.subscriber_ends(key) else f"a publication comes after the id {body.id} is undeclared"


def no_subscriber(of: Exchange, one: VectorInSession, body: USubscriber, says: Says) -> str | None:
    """A subscriber of that id hears nothing any more."""
    if (key := undeclared_key(body)) is None:
        says()
        return None
    of.near.us.declare(DSubscriber(id=body.id, key=plain(key)))
    of.near.us.fence()
    if fault := of.reaches(concrete(key), of.near, of.far):
        return fault
    says()
    return "" if of.subscriber_ends(concrete(key)) else f"a publication comes after the id {body.id} is undeclared"


def queryable(of: Exchange, one: VectorInSession, body: DQueryable, says: Says) -> str:
    """A query comes; one that comes late, after the end of the queryable, is no fault."""
    says()
    key = concrete(whole(body.key))
    if not of.takes_query(key):
        return f"a query for {key!r} does not come to the queryable"
    of.near.us.declare(UQueryable(id=body.id, exts=with_key(body.key)))
    of.near.us.fence()
    return ""


def token(of: Exchange, one: VectorInSession, body: DToken, says: Says) -> str:
    """Another session with an interest in tokens is told of it, and of its end."""
    says()
    key = whole(body.key)
    told = of.far.awaits(Declare, lambda declare, about: isinstance(declare.body, DToken) and about == key)
    if told is None:
        return f"the token {key!r} is not told"
    of.near.us.declare(UToken(id=body.id, exts=with_key(body.key)))
    return _token_ends(of, told[0].body)


def no_token(of: Exchange, one: VectorInSession, body: UToken, says: Says) -> str | None:
    """Another session is told that the token of that id has ended."""
    if (key := undeclared_key(body)) is None:
        says()
        return None
    of.near.us.declare(DToken(id=body.id, key=plain(key)))
    told = of.far.awaits(Declare, lambda declare, about: isinstance(declare.body, DToken) and about == key)
    if told is None:
        return f"the token {key!r} is not told"
    says()
    return _token_ends(of, told[0].body)


def _token_ends(of: Exchange, told: Any) -> str:
    ended = of.far.awaits(
        Declare, lambda declare, _: isinstance(declare.body, UToken) and bool(declare.body.id == told.id)
    )
    return "" if ended is not None else "the end of the token is not told"


def key_number(of: Exchange, one: VectorInSession, body: DKeyExpr, says: Says) -> str | None:
    """A publication to the number comes to the whole key; no page says whose number the key's own scope is."""
    if body.key.scope:
        says()
        return None
    says()
    of.near.note_own(body)
    fault = _through_number(of, body.expr_id, whole(body.key))
    of.near.us.declare(UKeyExpr(expr_id=body.expr_id))
    return fault


def no_key_number(of: Exchange, one: VectorInSession, body: UKeyExpr, says: Says) -> str:
    """The number may mean another key afterwards."""
    of.near.us.declare(DKeyExpr(expr_id=body.expr_id, key=WireExpr(suffix=f"{OURS}/1")))
    if fault := _through_number(of, body.expr_id, f"{OURS}/1"):
        return fault
    says()
    of.near.us.declare(DKeyExpr(expr_id=body.expr_id, key=WireExpr(suffix=f"{OURS}/2")))
    fault = _through_number(of, body.expr_id, f"{OURS}/2")
    of.near.us.declare(UKeyExpr(expr_id=body.expr_id))
    return fault


def _through_number(of: Exchange, number: int, key: str) -> str:
    mark = of.mark()
    of.near.us.say(Push(key=WireExpr(scope=number, mapping=True), body=Put(payload=mark)))
    came = of.far.awaits(Push, lambda push, _: getattr(push.body, "payload", b"") == mark)
    if came is None:
        return f"a publication to the number {number} is not passed on"
    return "" if came[1] == key else f"key: expected {key!r}, found {came[1]!r}"


def interest(of: Exchange, one: VectorInSession, asked: Interest, says: Says) -> str | None:
    """Tokens that are there are told before D_FINAL, and later ones; what does not ask for tokens shows nothing."""
    if asked.mode == InterestMode.FINAL:
        return _no_interest(of, asked, says)
    if not asked.options or not asked.options & InterestOptions.TOKENS:
        says()
        return None
    key, entity, fault = OURS if asked.key is None else concrete(whole(asked.key)), of.far.us.new_id(), ""
    of.near.forget()
    if asked.mode == InterestMode.FUTURE:
        says()
    of.far.us.declare(DToken(id=entity, key=plain(key)))
    of.far.us.fence()
    if asked.mode != InterestMode.FUTURE:
        says()
        ends = of.near.awaits(Declare, lambda told, _: isinstance(told.body, DFinal) and told.interest_id == asked.id)
        fault = "" if ends else f"no D_FINAL ends the snapshot {asked.id}"
    told = fault or of.near.awaits(Declare, lambda told, _: isinstance(told.body, DToken))
    if asked.mode != InterestMode.CURRENT:
        of.near.us.say(Interest(id=asked.id, mode=InterestMode.FINAL))
    of.far.us.declare(UToken(id=entity, exts=with_key(plain(key))))
    of.settle()
    return fault or ("" if told else f"the token {key!r} is not told")


def _no_interest(of: Exchange, asked: Interest, says: Says) -> str | None:
    """After the end of an interest no token is told, unless the node tells those without an interest, too."""
    if _tells_token(of):
        says()
        return None
    of.near.us.say(Interest(id=asked.id, mode=InterestMode.FUTURE, options=int(InterestOptions.TOKENS)))
    of.near.us.fence()
    if not _tells_token(of, late=True):
        return "a token is not told"
    says()
    return "a token is told after the interest ended" if _tells_token(of) else ""


def _tells_token(of: Exchange, *, late: bool = False) -> bool:
    """Whether a token of `far` is told to `near`, at once or `late`."""
    number = of.far.us.new_id()
    key = f"{OURS}/{number}"

    def is_it(declare: Declare, about: str | None) -> bool:
        return isinstance(declare.body, DToken) and about == key

    of.near.forget()
    of.far.us.declare(DToken(id=number, key=plain(key)))
    of.settle()
    told = of.near.awaits(Declare, is_it) is not None if late else any(is_it(*one) for one in of.near.all(Declare))
    of.far.us.declare(UToken(id=number, exts=with_key(plain(key))))
    of.settle()
    return told


def answer(of: Exchange, one: VectorInSession, response: Response, says: Callable[[bytes], None]) -> str | None:
    """The answer to a query reaches the querier; that its key is a number which the router did not declare is for the laws."""
    number, came = ask_through(of, concrete(whole(response.key)))
    if came is None:
        return "the query is not passed on"
    says(with_id(one, "response.id", came.id))
    of.near.us.say(ResponseFinal(id=came.id))
    got = of.far.awaits(Response, lambda told, _: told.id == number)
    if got is None:
        return "the answer does not come to the querier"
    if of.far.awaits(ResponseFinal, lambda final, _: final.id == number) is None:
        return "the query does not end"
    return None if got[1] is None else difference(response, *got)


def final(of: Exchange, one: VectorInSession, message: ResponseFinal, says: Callable[[bytes], None]) -> str:
    """The query of that id ends."""
    number, came = ask_through(of, OURS)
    if came is None:
        return "the query is not passed on"
    says(with_id(one, "response_final.id", came.id))
    ended = of.far.awaits(ResponseFinal, lambda final, _: final.id == number)
    return "" if ended is not None else "the query does not end"


def ask_through(of: Exchange, key: str) -> tuple[int, Request | None]:
    """The id of a query of `far`, and what comes of it to a queryable of `near`."""
    entity, mark = of.near.us.new_id(), f"zconform={next(of.marks)}"
    of.near.us.declare(DQueryable(id=entity, key=plain(key)))
    of.near.us.fence()
    number = of.far.us.new_id()
    of.far.us.say(Request(id=number, key=plain(key), body=Query(parameters=mark)))
    came = of.near.awaits(Request, lambda request, _: request.body.parameters == mark)
    of.near.us.declare(UQueryable(id=entity, exts=with_key(plain(key))))
    return number, came[0] if came else None


def with_id(one: VectorInSession, path: str, number: int) -> bytes:
    """The bytes of a vector with another id."""
    segments = one.vector.segments
    return b"".join(vle.encode(number) if each.path == path else each.data for each in segments)


OF_BODIES: Final[Mapping[type[Any], Callable[..., str | None]]] = {
    DSubscriber: subscriber,
    USubscriber: no_subscriber,
    DQueryable: queryable,
    DToken: token,
    UToken: no_token,
    DKeyExpr: key_number,
    UKeyExpr: no_key_number,
}
OF_MESSAGES: Final[Mapping[type[Any], Callable[..., str | None]]] = {
    Interest: interest,
    Response: answer,
    ResponseFinal: final,
}


def exchange_of(message: Any) -> Callable[..., str | None] | None:
    """The exchange that shows a message; None if none does."""
    if isinstance(message, Declare):
        return OF_BODIES.get(type(message.body)) if message.interest_id is None else None
    return OF_MESSAGES.get(type(message))
