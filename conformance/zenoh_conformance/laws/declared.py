"""Declarations of one session: expression ids, entities, and what takes them back (companion declarations)."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import (
    Declare,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Interest,
    Push,
    Request,
    Response,
    UQueryable,
    USubscriber,
    UToken,
    WireExprExt,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import SIDES, Side

from .network import SessionLaw, path_of

TAKES_BACK: dict[type[Any], type[Any]] = {USubscriber: DSubscriber, UQueryable: DQueryable, UToken: DToken}
Entity = tuple[type[Any], int]
"""What declared it, and its id."""
FUTURE = 2
"""Bit of the mode: what is to come is asked for."""


@law("declarations/expr-id-not-reused", per="session")
class ExprIdNotReused(SessionLaw):
    """An expression id stands for another key only after it was released."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        body = declare.body
        if isinstance(body, DKeyExpr) and self.session.knows(seen.sender):
            held = self.session.names.spaces[seen.sender].get(body.expr_id)
            wanted = self.session.names.whole(seen.sender, body.key, mapping=True)
            self.subject(seen)
            free = held is None or wanted is None or held == wanted
            self.require(free, at=seen, path="d_key_expr.expr_id", expected="a free expression id", got="one in use")


@law("primitives/scope-is-declared", per="session")
class ScopeIsDeclared(SessionLaw):
    """A scope is an id that the side which M names has declared; of its own ids nobody uses one that it has released."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: dict[Side, set[int]] = {side: set() for side in SIDES}
        """All ids that a side ever declared: what it released the other side may not have heard of yet."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        body = declare.body
        if isinstance(body, DKeyExpr):
            self.ever[seen.sender].add(body.expr_id)
        elif isinstance(body, DSubscriber | DQueryable | DToken):
            self.judge(seen, body.key, "declare.body.key.scope")

    def on_push(self, seen: Seen, message: Push | Request | Response | Interest) -> None:
        if message.key is not None:
            self.judge(seen, message.key, path_of(seen, "key.scope"))

    on_request = on_response = on_interest = on_push

    def judge(self, seen: Seen, key: WireExpr, path: str) -> None:
        """Whether the scope of a key is known."""
        owner = seen.sender if key.mapping else seen.sender.other
        if not key.scope or not self.session.knows(owner):
            return
        known = self.session.names.spaces[owner] if key.mapping else self.ever[owner]
        self.subject(seen)
        whose = "its sender" if key.mapping else "its receiver"
        self.require(key.scope in known, at=seen, path=path, expected=f"a scope that {whose} declared", got="another")


@law("declarations/entity-sent-once", per="session")
class EntitySentOnce(SessionLaw):
    """No entity is declared to a session again, unless it has changed or an INTEREST asks for all that there is."""

    def __init__(self) -> None:
        super().__init__()
        self.declared: dict[Side, dict[tuple[type[Any], int], Any]] = {side: {} for side in SIDES}
        self.answering: dict[tuple[Side, int], set[tuple[type[Any], int, Any]]] = {}
        """(Who asked, interest) to what its snapshot had."""
        self.lasting: set[tuple[Side, int]] = set()
        """(Who asked, interest) of those that want the future, too: their snapshots' ids stay."""

    def on_interest(self, seen: Seen, interest: Interest) -> None:
        """A snapshot begins anew."""
        key = (seen.sender, interest.id)
        self.answering[key] = set()
        (self.lasting.add if interest.mode & FUTURE else self.lasting.discard)(key)

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        body = declare.body
        declared = self.declared[seen.sender]
        if isinstance(body, USubscriber | UQueryable | UToken):
            declared.pop((TAKES_BACK[type(body)], body.id), None)
        elif isinstance(body, DSubscriber | DQueryable | DToken):
            self.subject(seen)
            if declare.interest_id is None:
                again = declared.get((type(body), body.id)) == body
            else:
                snapshot = self.answering.setdefault((seen.sender.other, declare.interest_id), set())
                again = (type(body), body.id, body.key) in snapshot
                snapshot.add((type(body), body.id, body.key))
            if declare.interest_id is None or (seen.sender.other, declare.interest_id) in self.lasting:
                declared[type(body), body.id] = body
            new = not again or self.lossy  # what took it back may not have been seen
            self.require(new, at=seen, path="declare.body", expected="a new entity", got="one told before")


@law("declarations/undeclared-was-declared", per="session")
class UndeclaredWasDeclared(SessionLaw):
    """What takes back names, by its id or by its key, something that was declared."""

    def __init__(self) -> None:
        super().__init__()
        self.declared: dict[Side, set[Entity]] = {side: set() for side in SIDES}
        self.early: dict[tuple[Side, Entity], Seen] = {}
        """What took something back that was not declared, or not yet."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        body = declare.body
        declared = self.declared[seen.sender]
        if isinstance(body, DSubscriber | DQueryable | DToken):
            declared.add((type(body), body.id))
            self.is_late(seen.sender, (type(body), body.id), "an id that is declared after it")
        elif isinstance(body, USubscriber | UQueryable | UToken) and self.session.knows(seen.sender):
            entity = (TAKES_BACK[type(body)], body.id)
            self.subject(seen)
            if entity not in declared and not names_key(body):
                self.is_late(seen.sender, entity)
                self.early[seen.sender, entity] = seen
            declared.discard(entity)

    def end(self) -> None:
        for sender, entity in list(self.early):
            self.is_late(sender, entity)

    def is_late(self, sender: Side, entity: Entity, got: str = "an id that nothing has") -> None:
        """It is known now why something was taken back too soon, if it was."""
        seen = self.early.pop((sender, entity), None)
        if seen is not None:
            self.require(False, at=seen, path="declare.body.id", expected="what was declared", got=got)


class _NamesKey(Law):
    """What takes a declaration back says its key."""

    kind: type[Any]

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        """An extension without content names no key either."""
        if isinstance(declare.body, self.kind):
            self.subject(seen)
            path = "declare.body.exts"
            self.require(names_key(declare.body), at=seen, path=path, expected="WireExpr with the key", got="none")


@law("declarations/undeclare-subscriber-names-key")
class UndeclaredSubscriberNamesKey(_NamesKey):
    """U_SUBSCRIBER says the key of the subscriber."""

    kind = USubscriber


@law("declarations/undeclare-queryable-names-key")
class UndeclaredQueryableNamesKey(_NamesKey):
    """U_QUERYABLE says the key of the queryable."""

    kind = UQueryable


@law("declarations/undeclare-token-names-key")
class UndeclaredTokenNamesKey(_NamesKey):
    """U_TOKEN says the key of the token."""

    kind = UToken


def names_key(body: Any) -> bool:
    """Whether the WireExpr extension is there and names something."""
    named = body.exts.get(WireExprExt)
    return named is not None and bool(named.scope or named.suffix)
