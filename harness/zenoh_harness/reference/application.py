"""The application above the reference: what an agent is asked to do, done by a session inside the node.

It speaks the agent's line protocol, command by command (`files/schemas/agent-request.json`), and notes the same events. The node
sees it as one more session, to which messages are handed instead of being sent.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from zenoh_conformance.messages import (
    Declare,
    Del,
    DQueryable,
    DSubscriber,
    DToken,
    Err,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    UQueryable,
    USubscriber,
    UToken,
    sane,
)
from zenoh_conformance.messages.data import SourceInfo
from zenoh_conformance.messages.declarations import QueryableInfo
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.messages.query import ConsolidationMode
from zenoh_conformance.messages.request import QueryTarget, Target, Timeout
from zenoh_conformance.primitives import Timestamp, ZenohID, keyexpr
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire.extensions import Exts

from .consolidation import Consolidated
from .link import Link

if TYPE_CHECKING:
    from .node import Reference

NAME = "application"
"""The name of its session."""
COMMANDS = (
    "declare_subscriber",
    "declare_queryable",
    "declare_token",
    "undeclare",
    "put",
    "delete",
    "get",
    "answer_held",
)
"""What it can be asked."""
PATIENCE_MS = 10_000
"""How long a get waits that says nothing of it."""
EPOCH = 1_700_000_000
"""Seconds since 1970 at which its clock begins."""
TAKES_BACK: dict[type[Any], type[Any]] = {DSubscriber: USubscriber, DQueryable: UQueryable, DToken: UToken}


@dataclass(slots=True)
class Held:
    """Something that was declared, and what a queryable does with a query."""

    name: str
    body: Any
    plan: list[Mapping[str, Any]] = field(default_factory=list)


class Application:
    """One session inside a node. Every hook answers one question."""

    def __init__(self, node: Reference) -> None:
        self.node = node
        decoder = ConnectionDecoder(Connection(NAME))
        self.link = Link(NAME, Side.RESPONDER, decoder, node.now, State.LIVE, inside=self.hear)
        node.links[NAME] = self.link
        self.events: deque[dict[str, Any]] = deque()
        self.held: dict[str, Held] = {}
        self.waiting: dict[str, deque[Request]] = defaultdict(deque)
        self.gets: dict[int, tuple[str, Consolidated]] = {}
        self.numbers = count(1)
        self.source_sn = count(0)

    # -- commands

    def ask(self, command: str, line: Mapping[str, Any]) -> None:
        """Do what is asked. Raises KeyError for an id that it does not know."""
        getattr(self, command)(line)

    def declare_subscriber(self, line: Mapping[str, Any]) -> None:
        self.declare(line, DSubscriber(id=next(self.numbers), key=plain(line["key"])))

    def declare_token(self, line: Mapping[str, Any]) -> None:
        self.declare(line, DToken(id=next(self.numbers), key=plain(line["key"])))

    def declare_queryable(self, line: Mapping[str, Any]) -> None:
        exts = Exts((QueryableInfo(value=1),) if line.get("complete") else ())
        self.declare(line, DQueryable(id=next(self.numbers), key=plain(line["key"]), exts=exts))

    def declare(self, line: Mapping[str, Any], body: Any) -> None:
        """Keep it under its name, and declare it."""
        self.held[line["id"]] = Held(line["id"], body, list(line.get("plan", ())))
        self.node.route(self.link, Declare(body=body))

    def undeclare(self, line: Mapping[str, Any]) -> None:
        body = self.held.pop(line["id"]).body
        self.node.route(self.link, Declare(body=TAKES_BACK[type(body)](id=body.id)))

    def put(self, line: Mapping[str, Any]) -> None:
        put = Put(timestamp=self.stamp(), exts=self.source(), payload=bytes.fromhex(line.get("payload", "")))
        self.publish(line, put)

    def delete(self, line: Mapping[str, Any]) -> None:
        self.publish(line, Del(timestamp=self.stamp(), exts=self.source()))

    def publish(self, line: Mapping[str, Any], body: Any) -> None:
        """A value or a deletion, in the lane of its priority, and not to be dropped where that is asked."""
        block = sane.BLOCK & ~sane.DEFAULT_PRIORITY if line.get("congestion") == "block" else 0
        value = line.get("priority", sane.DEFAULT_PRIORITY) | block
        exts = Exts((QoS(value=value),) if value != sane.DEFAULT_PRIORITY else ())
        self.node.route(self.link, Push(key=plain(line["key"]), exts=exts, body=body))

    def stamp(self) -> Timestamp | None:
        """When a value is made, by the clock of the node."""
        return Timestamp(time=int((EPOCH + self.node.now) * (1 << 32)), zid=ZenohID(self.node.config.zid))

    def source(self) -> Exts[Any]:
        """Who makes a value: this session, and the how-manieth it is."""
        return Exts((SourceInfo(zid=ZenohID(self.node.config.zid), eid=1, sn=next(self.source_sn)),))

    def get(self, line: Mapping[str, Any]) -> None:
        key, _, parameters = line["key"].partition("?")
        mode = ConsolidationMode[line.get("consolidation", "auto").upper()]
        target = Target[line.get("target", "best_matching").upper()]
        exts: Exts[Any] = Exts((QueryTarget(value=int(target)), Timeout(value=line.get("timeout_ms", PATIENCE_MS))))
        number = next(self.numbers)
        self.gets[number] = (line["id"], Consolidated(mode))
        query = Query(consolidation=int(mode), parameters=parameters or None)
        self.node.route(self.link, Request(id=number, key=plain(key), exts=exts, body=query))

    def answer_held(self, line: Mapping[str, Any]) -> None:
        """Go on with the oldest query that is held."""
        self.play(self.waiting[line["id"]].popleft(), list(line.get("plan", ())), line["id"])

    # -- what it is told

    def hear(self, message: Any) -> None:
        """A message that the node has for it."""
        if isinstance(message, Push):
            self.on_sample(message)
        elif isinstance(message, Request):
            self.on_query(message)
        elif isinstance(message, Response):
            self.on_answer(message)
        elif isinstance(message, ResponseFinal):
            self.on_end(message.id)

    def on_sample(self, push: Push) -> None:
        """Each of its subscribers that a publication meets is told."""
        key = push.key.suffix or ""
        for held in self.held.values():
            if isinstance(held.body, DSubscriber) and keyexpr.intersects(held.body.key.suffix or "", key):
                self.events.append({"event": "sample", "id": held.name, **sample(key, push.body)})

    def on_query(self, request: Request) -> None:
        """The first of its queryables that a query meets is told, and does what it was told to."""
        key = request.key.suffix or ""
        for held in self.held.values():
            if isinstance(held.body, DQueryable) and keyexpr.intersects(held.body.key.suffix or "", key):
                told = {"event": "query", "id": held.name, "key": key, "parameters": request.body.parameters or ""}
                self.events.append(told)
                self.play(request, held.plan, held.name)
                return
        self.finish(request)

    def play(self, request: Request, plan: list[Mapping[str, Any]], name: str) -> None:
        """The steps of a plan, and the final, unless the query is held."""
        for step in plan:
            if "hold" in step:
                self.waiting[name].append(request)
                return
            self.reply(request, step)
        self.finish(request)

    def reply(self, request: Request, step: Mapping[str, Any]) -> None:
        """One answer."""
        body: Any = Err(payload=bytes.fromhex(step.get("error", "")))
        if "reply" in step:
            body = Reply(body=Put(timestamp=self.stamp(), payload=bytes.fromhex(step["reply"])))
        elif "delete" in step:
            body = Reply(body=Del(timestamp=self.stamp()))
        key = step.get("key") or step.get("delete") or request.key.suffix or ""
        self.node.route(self.link, Response(id=request.id, key=plain(key), body=body))

    def finish(self, request: Request) -> None:
        """No more answers from here."""
        self.node.route(self.link, ResponseFinal(id=request.id))

    def on_answer(self, response: Response) -> None:
        """An answer to a get, thinned out by its mode."""
        if response.id in self.gets:
            name, thinned = self.gets[response.id]
            for key, each in thinned.take(response.key.suffix or "", response):
                self.tell(name, key, each)

    def on_end(self, number: int) -> None:
        """A get has ended: what was held back, and the end."""
        if number in self.gets:
            name, thinned = self.gets.pop(number)
            for key, each in thinned.rest():
                self.tell(name, key, each)
            self.events.append({"event": "end", "id": name})

    def tell(self, name: str, key: str, response: Response) -> None:
        """One answer, as an event."""
        if isinstance(response.body, Err):
            self.events.append({"event": "error", "id": name, "payload": response.body.payload.hex()})
        else:
            self.events.append({"event": "reply", "id": name, **sample(key, response.body.body)})


def sample(key: str, body: Any) -> dict[str, Any]:
    """A value or a deletion as the line protocol tells it."""
    if isinstance(body, Del):
        return {"key": key, "kind": "delete"}
    return {"key": key, "kind": "put", "payload": body.payload.hex()}
