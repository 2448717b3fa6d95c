"""Our sessions around one routing node: each says what an application would, and hears what the node passes on.

A case reads like its drawing: `near.declares_queryable("k")`, `asked = querier.asks("k")`, `near.replies(asked, b"1")`,
`near.finishes(asked)`, `querier.expect_answers(asked, [b"1"])`. Keys are below a root that no other case has; a key that
begins with `/` is whole. Nothing here waits for silence: what does not come is shown by fences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import (
    Budget,
    Declare,
    Del,
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Err,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    QoSLink,
    Query,
    QueryableInfo,
    QueryTarget,
    Reply,
    Request,
    Response,
    ResponseFinal,
    Target,
    Timeout,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    sane,
)
from zenoh_conformance.messages.init import LowLatency
from zenoh_conformance.messages.init import QoS as Lanes
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.names import Names, plain, undeclared_key
from zenoh_conformance.wire import Exts

from .asked import BEHIND, Asked, Heard, payload_of, told
from .dialogue import Dialogue
from .fences import QUIET_ONES
from .full_dress import MOST as MOST_DRESSED
from .full_dress import FullDress

NETWORK = ("push", "declare", "interest", "request", "response", "response_final", "oam")
"""Kinds of network messages."""

BESIDE = "beside"
"""The chunk below our root of the keys that nobody declares: what is said there must come to nobody (`laws/receivers.py`)."""

TAKEN_BACK: dict[type[Any], type[Any]] = {DSubscriber: USubscriber, DQueryable: UQueryable, DToken: UToken}
"""Declarations of entities, and what takes each back."""


class Party:
    """One session of ours with a routing node."""

    def __init__(self, us: Dialogue, name: str, root: str) -> None:
        self.us, self.name, self.root = us, name, root
        self.names = Names()
        self.dress: Callable[[Any], Any] = lambda message: message
        """What becomes of each message that `says` says."""
        self.full_dress = FullDress(us.zid, 0 if self._settled(LowLatency) else MOST_DRESSED)
        self.took: dict[int, tuple[Request, int]] = {}
        """Queries that came here: by `id` of their `Asked.request`, that request, so that it lives on, and their own id here."""
        self.keys: dict[tuple[type[Any], int], WireExpr] = {}
        """What takes it back, and the id, of what was declared here, to its key."""
        self._read = 0
        self._heard: list[Heard] = []
        self._of_others: list[Heard] = []
        self._told: dict[tuple[type[Any], int], str | None] = {}
        """What takes it back, and the id, of what the node has told of, to its key."""
        self._fresh = 0
        """Before it everything was expected."""
        self._used: set[int] = set()
        self._ends: Counter[int] = Counter()
        self._snapshots: set[int] = set()
        """Interests in what is current that have not come to their D_FINAL yet."""
        self._answers: dict[int, list[Heard]] = {}
        self._said_beside: set[type[Any]] = set()
        self._wanted: list[str | None] = []
        """The whole keys of the interests that were asked here; None for all keys, or one that is not known."""

    # -- saying

    def key(self, key: str | WireExpr) -> WireExpr:
        """A key as it goes on the wire: by its whole name, below our root unless it begins with `/`."""
        return key if isinstance(key, WireExpr) else plain(self.whole(key))

    def whole(self, key: str) -> str:
        """The whole name of a key of ours."""
        return key[1:] if key.startswith("/") else f"{self.root}/{key}"

    @property
    def has_lanes(self) -> bool:
        """Whether lanes were settled: both INITs show QoS."""
        return self._settled(Lanes | QoSLink)

    def _settled(self, kind: Any) -> bool:
        """Whether both INITs show an extension of this kind."""
        inits = (self.us.mine, self.us.theirs)
        return all(init is not None and any(isinstance(ext, kind) for ext in init.exts) for init in inits)

    def says(self, *messages: Any, **channel: Any) -> None:
        """Network messages, each in a FRAME or in FRAGMENTs; in the default lane where none were settled."""
        if not self.has_lanes:
            channel["priority"] = None
        for message in messages:
            if isinstance(message, Declare):
                self.names.note(self.us.wire.side, message.body)
            self.us.say(self.dress(message), **channel)

    def declares(self, body: Any, interest: int | None = None) -> None:
        """One declaration, in the lane of whatever is asked after it."""
        if type(body) in TAKEN_BACK:
            self.keys[TAKEN_BACK[type(body)], body.id] = body.key
        self.says(Declare(interest_id=interest, exts=Exts((sane.qos(sane.OUR_DECLARE_QOS),)), body=body))

    def names_key(self, key: str | WireExpr, expr_id: int | None = None) -> WireExpr:
        """Give a key a number; the key by its number."""
        number = self.us.new_id() if expr_id is None else expr_id
        named = self.key(key)
        self.declares(DKeyExpr(expr_id=number, key=WireExpr(scope=named.scope, suffix=named.suffix)))  # there is no M
        return WireExpr(scope=number, mapping=True)

    def releases_key(self, expr_id: int) -> None:
        """Take a number back."""
        self.declares(UKeyExpr(expr_id=expr_id))

    def declares_subscriber(self, key: str | WireExpr, entity: int | None = None) -> DSubscriber:
        """Whatever is published there is to come here."""
        body = DSubscriber(id=self._entity(entity), key=self.key(key))
        self._declared(body)
        return body

    def declares_queryable(
        self, key: str | WireExpr, *, complete: bool = False, distance: int = 0, entity: int | None = None
    ) -> DQueryable:
        """Declare a queryable: queries for its key may come here."""
        info: Exts[Any] = Exts()
        if complete or distance:
            info = Exts((QueryableInfo(value=int(complete) | distance << 8),))
        body = DQueryable(id=self._entity(entity), key=self.key(key), exts=info)
        self._declared(body)
        return body

    def declares_token(self, key: str | WireExpr, entity: int | None = None) -> DToken:
        """Declare a liveliness token."""
        body = DToken(id=self._entity(entity), key=self.key(key))
        self._declared(body)
        return body

    def _declared(self, body: Any) -> None:
        self.declares(body)
        self.settles(f"not reached: {self.name} declares")

    def _entity(self, entity: int | None) -> int:
        return self.us.new_id() if entity is None else entity

    def retracts(self, kind: type[Any], entity: int, exts: Exts[Any] | None = None) -> None:
        """Take back what was declared, by its id and key: USubscriber, UQueryable or UToken."""
        if exts is None:
            exts = undeclared_key(self.keys.pop((kind, entity), None))
        self.declares(kind(id=entity, exts=exts))
        self.settles(f"not reached: {self.name} takes back")

    def asks_interest(
        self, options: InterestOptions, mode: InterestMode, key: str | WireExpr | None = None, number: int | None = None
    ) -> Interest:
        """Ask to be told of declarations; RESTRICTED, NAMED and MAPPING follow from the key."""
        where = None if key is None else self.key(key)
        if where is not None:
            options |= InterestOptions.RESTRICTED
            options |= InterestOptions.NAMED if where.suffix is not None else 0
            options |= InterestOptions.MAPPING if where.mapping else 0
        interest = Interest(id=self._entity(number), mode=mode, options=int(options), key=where)
        if mode & InterestMode.CURRENT:
            self._snapshots.add(interest.id)
        self._wanted.append(None if where is None else self.names.whole(self.us.wire.side, where))
        self.says(interest)
        return interest

    def ends_interest(self, number: int) -> None:
        """No more of it."""
        self.says(Interest(id=number, mode=InterestMode.FINAL))

    def puts(
        self, key: str | WireExpr, payload: bytes = b"", *, exts: Sequence[Any] = (), body: Any = None,
        priority: int | None = None, **fields: Any,
    ) -> Push:  # fmt: skip
        """A value, in full dress unless `fields` say what PUT has, or another body; `exts` are PUSH's.

        `priority`: that of its QoS, and of its lane; the further bits of QoS may be set.
        """
        lane = () if priority is None else (QoS(value=priority),)
        if body is None:
            body = Put(payload=payload, **fields) if fields else self.full_dress.put(payload)
        self._say_beside(Push, key, lambda where: Push(key=where, body=Put(payload=b"beside")))
        push = Push(key=self.key(key), exts=Exts((*lane, *exts)), body=body)
        self.says(push, priority=None if priority is None else priority & 7)
        return push

    def deletes(self, key: str | WireExpr, priority: int | None = None, **fields: Any) -> Push:
        """There is no value any more: in full dress unless `fields` say what DEL has."""
        return self.puts(key, body=Del(**fields) if fields else self.full_dress.delete(), priority=priority)

    def asks(
        self, key: str | WireExpr, *, target: Target | None = None, consolidation: int | None = None,
        parameters: str | None = None, timeout_ms: int | None = None, budget: int | None = None,
        exts: Sequence[Any] = (), query_exts: Sequence[Any] | None = None, number: int | None = None,
    ) -> Asked:  # fmt: skip
        """A query; its body has all extensions, unless `query_exts` says which.

        One whose `number` a case chose is alone: the id of a query beside it could be the same.
        """
        chain = [*exts]
        chain += [] if target is None else [QueryTarget(value=int(target))]
        chain += [] if budget is None else [Budget(value=budget)]
        chain += [] if timeout_ms is None else [Timeout(value=timeout_ms)]
        query = Query(
            consolidation=consolidation,
            parameters=parameters,
            exts=Exts(self.full_dress.query() if query_exts is None else query_exts),
        )
        where = self.key(key)
        request = Request(id=self._entity(number), key=where, exts=Exts(chain), body=query)
        whole = self.names.whole(self.us.wire.side, where)
        if number is None:
            self._say_beside(Request, key, self._ask_beside)
        self.says(request)
        return Asked(request.id, whole or "", request, self)

    def _say_beside(self, kind: type[Any], key: str | WireExpr, make: Callable[[WireExpr], Any]) -> None:
        """Once for each kind of message: say the same of a key next to it, under which nobody has declared anything."""
        if kind not in self._said_beside and isinstance(key, str) and not key.startswith("/"):
            self._said_beside.add(kind)
            self.says(make(plain(f"{self._beside}{key}")))

    def declares_beside(self, kind: type[Any], key: str) -> None:
        """Once for each kind: declare the same under a key that no interest of ours names, unless it names all."""
        if kind not in self._said_beside:
            self._said_beside.add(kind)
            self.declares(kind(id=self.us.new_id(), key=plain(f"{self._beside}told/{key}")))

    @property
    def _beside(self) -> str:
        return f"{self.root}/{BESIDE}/"

    def told_beside(self, kind: type[Any]) -> bool:
        """Whether a declaration of that kind beside ours came here so far, though no interest that was asked here has its key."""
        keys = [one.key for one in self._of_others if isinstance(getattr(one.message, "body", None), kind)]
        beside = [key for key in keys if key is not None and key.startswith(self._beside)]
        return any(not any(one is None or keyexpr.intersects(one, key) for one in self._wanted) for key in beside)

    def _ask_beside(self, where: WireExpr) -> Request:
        number = self.us.new_id()
        self.us.fences.add(number)
        return Request(id=number, key=where, body=Query())

    def replies(
        self, asked: Asked, payload: bytes = b"", *, key: str | WireExpr | None = None, body: Any = None,
        consolidation: int | None = None, exts: Sequence[Any] | None = None, **fields: Any,
    ) -> None:  # fmt: skip
        """An answer to a query that came here, which is waited for.

        A value, in full dress unless `fields` say what PUT has, or another body.
        """
        where = plain(asked.key) if key is None else self.key(key)
        if body is None:
            put = Put(payload=payload, **fields) if fields else self.full_dress.put(payload)
            body = Reply(consolidation=consolidation, body=put)
        chain = self.full_dress.responder() if exts is None else exts
        self.says(Response(id=self.takes(asked), key=where, exts=Exts(chain), body=body))

    def replies_deleted(self, asked: Asked) -> None:
        """An answer that there is no value any more, in full dress."""
        self.replies(asked, body=Reply(body=self.full_dress.delete()))

    def fails(self, asked: Asked, payload: bytes = b"", **fields: Any) -> None:
        """An error for an answer, in full dress unless `fields` say what ERR has."""
        self.replies(asked, body=Err(payload=payload, **fields) if fields else self.full_dress.error(payload))

    def finishes(self, asked: Asked, *, exts: Sequence[Any] = ()) -> None:
        """No more answers from here."""
        self.says(ResponseFinal(id=self.takes(asked), exts=Exts(exts)))

    def takes(self, asked: Asked, *, step: str = "") -> int:
        """The id under which a query came here; it is waited for. Without a step its loss is filed under the rule that it comes."""
        mark = id(asked.request)
        if mark not in self.took:
            with self.us.about(self.us.requirement if step else "query/query-reaches-intersecting"):
                request = self.expect_request(asked, step=step or "the query is passed on")
            self.took[mark] = asked.request, request.id
        return self.took[mark][1]

    def leaves(self) -> None:
        """CLOSE the session; returns when the node has ended the link."""
        self.us.send(sane.close())
        self.us.expect_end(step=f"not reached: {self.name} leaves")

    # -- hearing

    def settles(self, step: str = "not reached: the session works") -> None:
        """All that was said here before is dealt with; a snapshot that was asked for may take longer than a query."""
        self.us.fence(step=step)
        self.us.wait_until(lambda: not self._awaited())
        self._snapshots.clear()  # a node that has not answered by now is judged elsewhere

    def _awaited(self) -> bool:
        """Whether a snapshot is still to end."""
        if self._snapshots:
            told = (heard.message for heard in self.heard(Declare))
            self._snapshots -= {one.interest_id for one in told if isinstance(one.body, DFinal)}
        return bool(self._snapshots)

    def settles_or_ends(self, step: str = "not reached: the session works") -> None:
        """The same, or the target ended this session: for whatever it may refuse."""
        self.us.works_or_is_over(step=step)

    def heard(self, kind: type[Any] | None = None) -> list[Heard]:
        """Network messages so far, of one class or all, without answers to our fences and without others' keys."""
        self._listen()
        return [one for one in self._heard if kind is None or isinstance(one.message, kind)]

    def _listen(self) -> None:
        """Take in what came since."""
        new = self.us.heard[self._read :]
        for seen in new:
            if seen.kind in NETWORK:
                message = seen.message
                if isinstance(message, Declare):
                    self.names.note(self.us.wire.side.other, message.body)
                heard = Heard(message, self._key_of(message), seen)
                if self.is_of_others(heard):
                    self._of_others.append(heard)
                elif not (isinstance(message, ResponseFinal) and message.id in self.us.fences):
                    self._heard.append(heard)
                    if isinstance(message, ResponseFinal):
                        self._ends[message.id] += 1
                    elif isinstance(message, Response):
                        self._answers.setdefault(message.id, []).append(heard)
        self._read = len(self.us.heard)

    def is_of_others(self, heard: Heard) -> bool:
        """Whether it is about a key that is not below our root, or about one beside ours.

        The node and its other clients may have declarations of their own.
        """
        if not isinstance(heard.message, Push | Declare | Request) or heard.key is None:
            return False
        return not f"{heard.key}/".startswith(f"{self.root}/") or heard.key.startswith(self._beside)

    def strays(self, mark: bytes) -> int:
        """How much came here so far that is about keys of others and yet holds these bytes, which nobody else says."""
        self._listen()
        return sum(mark in encode(heard.message) for heard in self._of_others)

    def _key_of(self, message: Any) -> str | None:
        """The whole key that a message is about; of what takes back, that of what was told under its id."""
        holder: Any = message.body if isinstance(message, Declare) else message
        key = getattr(holder, "key", None)
        sender = self.us.wire.side.other
        if key is None:
            return self._told.pop((type(holder), getattr(holder, "id", 0)), None)
        whole = self.names.whole(sender, key, mapping=True if isinstance(holder, DKeyExpr) else None)
        if type(holder) in TAKEN_BACK:
            self._told[TAKEN_BACK[type(holder)], holder.id] = whole
        return whole

    def now(self, kind: type[Any] | None = None) -> list[Heard]:
        """As `heard`, after a fence: what the node had for us has come."""
        self.settles(step=f"not reached: {self.name} is served")
        return self.heard(kind)

    def awaits(self, holds: Callable[[], bool]) -> bool:
        """Read until it holds, for as long as our patience lasts, then to a fence: whether it holds.

        What one session said may reach another one after the first was answered: only what must not come is shown by fences.
        """
        self.us.wait_until(holds)
        self.settles(step=f"not reached: {self.name} is served")
        return holds()

    def expect(
        self, kind: type[Any], where: Callable[[Heard], bool] = lambda heard: True, *, step: str, what: str = ""
    ) -> Heard:
        """The first message of that class which fits and was not expected before; deviates when none comes in time."""
        found: list[Heard] = []

        def came() -> bool:
            """Whether it is there; taken once."""
            heard = self._unused(kind, where)
            found.extend([heard] if heard else [])
            return heard is not None

        if not self.us.wait_until(came):
            missed, about = self.us.text_of(None), self.us.requirement
            if kind is Push and self._is_held_back(came):
                missed, about = f"Push {BEHIND}", "batching/flush-on-timer"
            with self.us.about(about):
                self.us.deviate(expected=what or kind.__name__, got=missed, step=step)
        return found[0]

    def _is_held_back(self, came: Callable[[], bool]) -> bool:
        """Whether a message comes as soon as another one does: a sender that flushes no batch by itself keeps it until then."""
        if not self.us.is_over and self.us.fencing.how not in QUIET_ONES:
            with suppress(Deviation):
                self.us.fence()
        return came()

    def _unused(self, kind: type[Any], where: Callable[[Heard], bool]) -> Heard | None:
        self._listen()
        while self._fresh in self._used:
            self._used.remove(self._fresh)
            self._fresh += 1
        for at in range(self._fresh, len(self._heard)):
            heard = self._heard[at]
            if isinstance(heard.message, kind) and at not in self._used and where(heard):
                self._used.add(at)
                return heard
        return None

    def expect_push(self, key: str, *, step: str = "delivery") -> Any:
        """What was published to that key comes here: the PUSH."""
        whole = self.whole(key)
        return self.expect(Push, lambda heard: heard.key == whole, step=step).message

    def expect_no_push(self, *, step: str = "delivery", but: int = 0, key: str | None = None) -> None:
        """Nothing that was published (to that key) came here, but for so many; say first who published `settles`."""
        came = sum(key is None or one.key == self.whole(key) for one in self.now(Push))
        self.us.require(came == but, expected=f"{but or 'no'} Push", got=f"{came} Push", step=step)

    def expect_request(self, asked: Asked, *, step: str = "the query is passed on") -> Request:
        """The query comes here."""
        same = (asked.key, asked.request.body.parameters or "")
        found: Request = self.expect(
            Request, lambda heard: (heard.key, heard.message.body.parameters or "") == same, step=step
        ).message
        return found

    def expect_no_request(self, asked: Asked, *, step: str = "the query is passed on") -> None:
        """The query did not come here; `asked.by` has settled first."""
        came = [heard for heard in self.now(Request) if heard.key == asked.key]
        self.us.require(not came, expected="no Request", got="Request", step=step)

    def expect_final(self, asked: Asked, *, step: str = "the query ends", within: float | None = None) -> None:
        """The query comes to its end here."""
        if not self.us.wait_until(lambda: bool(self.finals(asked)), within):
            self.us.deviate(expected="ResponseFinal", got=self.us.text_of(None), step=step)

    def expect_end(self, asked: Asked) -> None:
        """As `expect_final`, in a check of something else: a query that does not end is filed under the rule that it does."""
        with self.us.about("reply/final-always-comes"):
            self.expect_final(asked)

    def finals(self, asked: Asked) -> int:
        """How often the query has come to an end here so far."""
        self._listen()
        return self._ends[asked.id]

    def counts_anew(self, number: int) -> None:
        """What has answered the query of that id so far, and its end, belong to one before."""
        self._listen()
        self._ends.pop(number, None)
        self._answers.pop(number, None)

    def answers(self, asked: Asked) -> list[Heard]:
        """What has answered so far, errors too, in order."""
        self._listen()
        return [*self._answers.get(asked.id, ())]

    def expect_answer(self, asked: Asked, *, step: str = "the answer") -> Any:
        """The next answer: the RESPONSE."""
        return self.expect(Response, lambda heard: heard.message.id == asked.id, step=step).message

    def expect_answers(self, asked: Asked, payloads: Sequence[bytes | None], *, step: str = "the answers") -> None:
        """Exactly these values answer, in this order, and then one final comes and nothing after it."""
        self.expect_final(asked, step=step)
        self.settles(step=f"not reached: {self.name} is served")
        got = [payload_of(heard.message) for heard in self.answers(asked)]
        self.us.require(got == [*payloads], expected=told(payloads), got=told(got), step=step)
        self.us.require(self.finals(asked) == 1, expected="one ResponseFinal", got=f"{self.finals(asked)}", step=step)
