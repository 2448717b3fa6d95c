"""The application above the reference node: does the commands of an agent in a session inside the node.

Its commands and events are those of the agent's line protocol (`files/schemas/agent-request.json`). The node treats it as
one more session, to which it passes messages instead of encoding and sending them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from zenoh_conformance.messages import (
    ConsolidationMode,
    Declare,
    Del,
    DQueryable,
    DSubscriber,
    DToken,
    Err,
    Push,
    Put,
    Query,
    QueryableInfo,
    QueryTarget,
    Reply,
    Request,
    Response,
    ResponseFinal,
    SourceInfo,
    Target,
    Timeout,
    UQueryable,
    USubscriber,
    UToken,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import Timestamp, ZenohID, keyexpr
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import Exts

from .consolidation import Consolidated
from .link import Link

if TYPE_CHECKING:
    from .node import Reference

NAME = "application"
"""The name of the application's session."""
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
"""The commands that the application supports."""
PATIENCE_MS = 10_000
"""The timeout, in milliseconds, of a get without one."""
EPOCH = 1_700_000_000
"""The time at which the clock of its timestamps begins, in seconds since 1970."""
TAKES_BACK: dict[type[Any], type[Any]] = {DSubscriber: USubscriber, DQueryable: UQueryable, DToken: UToken}
"""Declaration to its undeclaration."""


@dataclass(slots=True)
class Held:
    """A declared entity; for a queryable, the plan is the steps by which it answers a query."""

    name: str
    body: Any
    plan: list[Mapping[str, Any]] = field(default_factory=list)


class Application:
    """One session inside a node. Its methods are hooks, too, which faulty nodes and variants replace."""

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
        """Do a command with the fields of its line. Raises KeyError for an unknown id."""
        getattr(self, command)(line)

    def declare_subscriber(self, line: Mapping[str, Any]) -> None:
        self.declare(line, DSubscriber(id=next(self.numbers), key=plain(line["key"])))

    def declare_token(self, line: Mapping[str, Any]) -> None:
        self.declare(line, DToken(id=next(self.numbers), key=plain(line["key"])))

    def declare_queryable(self, line: Mapping[str, Any]) -> None:
        exts = Exts((QueryableInfo(value=1),) if line.get("complete") else ())
        self.declare(line, DQueryable(id=next(self.numbers), key=plain(line["key"]), exts=exts))

    def declare(self, line: Mapping[str, Any], body: Any) -> None:
        """Declare an entity to the node, and remember it by the id in the command."""
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
        """Publish a value or a deletion with the priority and the congestion control of the command."""
        block = sane.BLOCK & ~sane.DEFAULT_PRIORITY if line.get("congestion") == "block" else 0
        value = line.get("priority", sane.DEFAULT_PRIORITY) | block
        exts = Exts((QoS(value=value),) if value != sane.DEFAULT_PRIORITY else ())
        self.node.route(self.link, Push(key=plain(line["key"]), exts=exts, body=body))

    def stamp(self) -> Timestamp | None:
        """Return the timestamp of a new value, by the node's clock (time since `EPOCH`)."""
        return Timestamp(time=int((EPOCH + self.node.now) * (1 << 32)), zid=ZenohID(self.node.config.zid))

    def source(self) -> Exts[Any]:
        """Return the SourceInfo of a new value: the node's ZenohID, entity 1, and a number that counts from 0."""
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
        """Continue with the oldest query that a plan holds open. Raises KeyError or IndexError if there is none."""
        self.play(self.waiting[line["id"]].popleft(), list(line.get("plan", ())), line["id"])

    # -- messages from the node

    def hear(self, message: Any) -> None:
        """Handle a message that the node passes to the application."""
        if isinstance(message, Push):
            self.on_sample(message)
        elif isinstance(message, Request):
            self.on_query(message)
        elif isinstance(message, Response):
            self.on_answer(message)
        elif isinstance(message, ResponseFinal):
            self.on_end(message.id)

    def on_sample(self, push: Push) -> None:
        """Report a publication for each subscriber whose key intersects its key."""
        key = push.key.suffix or ""
        for held in self.held.values():
            if isinstance(held.body, DSubscriber) and keyexpr.intersects(held.body.key.suffix or "", key):
                self.events.append({"event": "sample", "id": held.name, **sample(key, push.body)})

    def on_query(self, request: Request) -> None:
        """Report a query for the first queryable whose key intersects its key, and do the steps of its plan."""
        key = request.key.suffix or ""
        for held in self.held.values():
            if isinstance(held.body, DQueryable) and keyexpr.intersects(held.body.key.suffix or "", key):
                told = {"event": "query", "id": held.name, "key": key, "parameters": request.body.parameters or ""}
                self.events.append(told)
                self.play(request, held.plan, held.name)
                return
        self.finish(request)

    def play(self, request: Request, plan: list[Mapping[str, Any]], name: str) -> None:
        """Do the steps of a plan and send the final, unless a step holds the query open."""
        for step in plan:
            if "hold" in step:
                self.waiting[name].append(request)
                return
            self.reply(request, step)
        self.finish(request)

    def reply(self, request: Request, step: Mapping[str, Any]) -> None:
        """Send the answer that one step describes: a value, a deletion or an error."""
        body: Any = Err(payload=bytes.fromhex(step.get("error", "")))
        if "reply" in step:
            body = Reply(body=Put(timestamp=self.stamp(), payload=bytes.fromhex(step["reply"])))
        elif "delete" in step:
            body = Reply(body=Del(timestamp=self.stamp()))
        key = step.get("key") or step.get("delete") or request.key.suffix or ""
        self.node.route(self.link, Response(id=request.id, key=plain(key), body=body))

    def finish(self, request: Request) -> None:
        """Send the final of a query."""
        self.node.route(self.link, ResponseFinal(id=request.id))

    def on_answer(self, response: Response) -> None:
        """Report the answers to a get that its consolidation mode passes on."""
        if response.id in self.gets:
            name, thinned = self.gets[response.id]
            for key, each in thinned.take(response.key.suffix or "", response):
                self.tell(name, key, each)

    def on_end(self, number: int) -> None:
        """Report the answers that consolidation held back until the final, and the end of the get."""
        if number in self.gets:
            name, thinned = self.gets.pop(number)
            for key, each in thinned.rest():
                self.tell(name, key, each)
            self.events.append({"event": "end", "id": name})

    def tell(self, name: str, key: str, response: Response) -> None:
        """Report one answer as an event."""
        body = response.body
        told = {"payload": body.payload.hex()} if isinstance(body, Err) else sample(key, body.body)
        self.events.append({"event": "error" if isinstance(body, Err) else "reply", "id": name, **told})


def sample(key: str, body: Any) -> dict[str, Any]:
    """Return a value or a deletion with the fields that the line protocol has for it."""
    if isinstance(body, Del):
        return {"key": key, "kind": "delete"}
    return {"key": key, "kind": "put", "payload": body.payload.hex()}
