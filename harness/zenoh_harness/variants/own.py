"""Nodes with entities of their own, which come and go while others declare theirs."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar

from zenoh_conformance.connection import ConnectionDecoder
from zenoh_conformance.conversation import Connection, Side
from zenoh_conformance.messages import Declare, DKeyExpr, Open, Request, ResponseFinal, UKeyExpr
from zenoh_conformance.session import State
from zenoh_harness.reference import Reference
from zenoh_harness.reference.declaring import DECLARE, declare, whole
from zenoh_harness.reference.link import Link

from . import variant

OWN = "declarations: a node, and whoever else it serves, declares and takes back when it likes"


class _ThingsOfItsOwn(Reference):
    """Has entities of its own, which come and go whenever somebody declares something; its queryables have no answers."""

    KEYS: ClassVar[dict[str, str]] = {}
    """By kind."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.own = Link("own", Side.RESPONDER, ConnectionDecoder(Connection("own")), 0.0, State.LIVE, inside=self.hear)
        self.links["own"] = self.own
        self.entities = count(1)
        self.comes()

    def hear(self, message: Any) -> None:
        """A query ends without an answer."""
        if isinstance(message, Request):
            self.route(self.own, ResponseFinal(id=message.id))

    def comes(self) -> None:
        """Declare all of it."""
        for kind, key in self.KEYS.items():
            self.route(self.own, declare(DECLARE[kind](id=next(self.entities), key=whole(key))))

    def goes(self) -> None:
        """Take all of it back."""
        for kind in self.KEYS:
            for entity in list(self.table(self.own, kind)):
                self.on_entity_gone(self.own, kind, entity)

    def on_declare(self, link: Link, declare: Declare) -> None:
        super().on_declare(link, declare)
        if link is not self.own and not isinstance(declare.body, DKeyExpr | UKeyExpr):
            self.goes()
            self.comes()

    def check_open(self, link: Link, open_: Open) -> None:
        del self.links["own"]  # it takes no session's place
        try:
            super().check_open(link, open_)
        finally:
            self.links["own"] = self.own


@variant("has-an-admin-space", permitted=OWN)
class HasAnAdminSpace(_ThingsOfItsOwn):
    """Has a queryable, a subscriber and a token of its own below `@/`, which come and go whenever somebody declares something."""

    KEYS: ClassVar = {"subscriber": "@/0807/router/**", "queryable": "@/0807/router/**", "token": "@/0807/alive"}


@variant("has-a-storage-of-everything", permitted=OWN)
class HasAStorageOfEverything(_ThingsOfItsOwn):
    """Has a subscriber and a queryable of `**`, which has no answers, and which come and go whenever somebody declares something."""

    KEYS: ClassVar = {"subscriber": "**", "queryable": "**"}


@variant("has-tokens-everywhere", permitted=OWN)
class HasTokensEverywhere(_ThingsOfItsOwn):
    """Has a token of `**`, which comes and goes whenever somebody declares something."""

    KEYS: ClassVar = {"token": "**"}
