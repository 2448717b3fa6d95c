"""Nodes that have their own declarations, and declare them anew whenever another session declares something."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, ClassVar

from zenoh_conformance.messages import (
    Declare,
    DKeyExpr,
    DSubscriber,
    Open,
    Request,
    ResponseFinal,
    UKeyExpr,
    USubscriber,
)
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Side
from zenoh_conformance.tables.session import State
from zenoh_harness.reference import Base, Config, Link, Reference, declaring
from zenoh_harness.reference.declaring import DECLARE, whole

from . import row, variant
from .limits import ANSWERS_NOTHING

OWN = "declarations: a node, and other nodes behind it, may declare and undeclare at any time"


class _ThingsOfItsOwn(Reference):
    """Has its own entities, and declares them anew after each declaration of a session; its queryables never reply."""

    keys: ClassVar[Mapping[str, str]] = {}
    """Kind of an entity to its key."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self.own = Link("own", Side.RESPONDER, ConnectionDecoder(Connection("own")), 0.0, State.LIVE, inside=self.hear)
        self.links["own"] = self.own
        self.entities = count(1)
        self.comes()

    def hear(self, message: Any) -> None:
        """Answer a query with the final only."""
        if isinstance(message, Request):
            self.route(self.own, ResponseFinal(id=message.id))

    def comes(self) -> None:
        """Declare all own entities."""
        for kind, key in self.keys.items():
            self.route(self.own, declaring.declare(DECLARE[kind](id=next(self.entities), key=whole(key))))

    def on_declare(self, link: Link, declare: Declare) -> None:
        super().on_declare(link, declare)
        if link is not self.own and not isinstance(declare.body, DKeyExpr | UKeyExpr):
            for kind in self.keys:
                for entity in list(self.table(self.own, kind)):
                    self.on_entity_gone(self.own, kind, entity)
            self.comes()

    def check_open(self, link: Link, open_: Open) -> None:
        del self.links["own"]  # it does not count for the limit of sessions
        try:
            super().check_open(link, open_)
        finally:
            self.links["own"] = self.own


row(
    "has-an-admin-space",
    "Has its own queryable, subscriber and token below `@/`, which it declares anew after each declaration of a session.",
    permitted=OWN,
    of=_ThingsOfItsOwn,
    keys={"subscriber": "@/0807/router/**", "queryable": "@/0807/router/**", "token": "@/0807/alive"},
)
row(
    "has-a-storage-of-everything",
    "Has its own subscriber and queryable of `**`, which never replies; it declares both anew after each declaration.",
    permitted=OWN,
    of=_ThingsOfItsOwn,
    keys={"subscriber": "**", "queryable": "**"},
)
row(
    "has-tokens-everywhere",
    "Has its own token of `**`, which it declares anew after each declaration of a session.",
    permitted=OWN,
    of=_ThingsOfItsOwn,
    keys={"token": "**"},
)


@variant("on_declare", permitted="declarations: no page restricts what a node declares", **ANSWERS_NOTHING)
def declares_back(node: Reference, base: Base[None], link: Link, declare: Declare) -> None:
    """Answers neither queries nor interests, and declares a subscriber of each key for which it receives one."""
    body = declare.body
    base(link, declare)
    key = node.key_of(link, body.key) if isinstance(body, DSubscriber) else None
    if isinstance(body, DSubscriber) and key is not None:
        entity = next(link.entity_ids)
        link.announced["back", link.session, body.id] = entity
        node.say(link, declaring.declare(DSubscriber(id=entity, key=whole(key))))
    elif isinstance(body, USubscriber) and ("back", link.session, body.id) in link.announced:
        entity = link.announced.pop(("back", link.session, body.id))
        node.say(link, declaring.declare(USubscriber(id=entity, exts=body.exts)))
