"""Nodes that have too little room for ids, or for many of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.messages import DSubscriber, Interest
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

IDS = "routing-ids"


@faulty("knows-numbers-of-a-byte", caught_by=f"{IDS}/any-number-may-name-a-key")
class KnowsNumbersOfAByte(Reference):
    """Takes no expression id of more than eight bits."""

    def on_alias(self, link: Link, body: Any) -> None:
        if body.expr_id < 256:
            super().on_alias(link, body)


@faulty(
    "cuts-ids-of-entities",
    caught_by=(f"{IDS}/a-subscriber-may-have-any-id", f"{IDS}/a-queryable-may-have-any-id"),
)
class CutsIdsOfEntities(Reference):
    """Keeps sixteen bits of an entity's id."""

    def on_entity(self, link: Link, body: Any) -> None:
        super().on_entity(link, replace(body, id=body.id & 0xFFFF))

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        super().on_entity_gone(link, kind, entity & 0xFFFF)


@faulty("answers-interests-of-two-bytes", caught_by=f"{IDS}/an-interest-may-have-any-id")
class AnswersInterestsOfTwoBytes(Reference):
    """Does not answer an interest whose id has more than sixteen bits."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        if interest.id < 1 << 16:
            super().on_interest(link, interest)


MANY = f"{IDS}/a-session-may-declare-many"


@faulty("has-room-for-sixteen-subscribers", caught_by=MANY)
class HasRoomForSixteenSubscribers(Reference):
    """Takes no more of one session."""

    MOST: ClassVar = 16

    def on_entity(self, link: Link, body: Any) -> None:
        if not isinstance(body, DSubscriber) or len(link.subscribers) < self.MOST:
            super().on_entity(link, body)


@faulty("has-room-for-sixteen-numbers", caught_by=MANY)
class HasRoomForSixteenNumbers(Reference):
    """Takes no more of one session."""

    MOST: ClassVar = 16

    def on_alias(self, link: Link, body: Any) -> None:
        if len(link.keys) < self.MOST:
            super().on_alias(link, body)
