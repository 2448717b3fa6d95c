"""Nodes on which declarations and interests have their effect a little later than what is said behind them."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from zenoh_conformance.messages import Interest
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.declaring import CURRENT, FUTURE
from zenoh_harness.reference.link import Link

from . import variant

T = TypeVar("T")


class Late(Generic[T]):
    """What waits for its time, in order."""

    SECONDS: ClassVar = 0.05

    def __init__(self) -> None:
        self.waiting: list[tuple[float, T]] = []

    def add(self, what: T, now: float) -> None:
        """Let something wait."""
        self.waiting.append((now + self.SECONDS, what))

    def due(self, now: float) -> list[T]:
        """What has waited long enough."""
        due = [what for at, what in self.waiting if at <= now]
        self.waiting = [one for one in self.waiting if one[0] > now]
        return due


@variant(
    "answers-interests-later",
    permitted="interests#modes: no page says when a snapshot comes, nor that queries wait for it",
)
class AnswersInterestsLater(Reference):
    """Answers an interest in what is current a little later, and queries at once; what comes meanwhile is told."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.late: Late[tuple[Link, Interest]] = Late()

    def on_interest(self, link: Link, interest: Interest) -> None:
        if not interest.mode & CURRENT:
            super().on_interest(link, interest)
            return
        if interest.mode & FUTURE:
            link.interests[interest.id] = interest
        self.late.add((link, interest), self.now)

    def tick(self, now: float) -> list[Action]:
        self.now = now
        for link, interest in self.late.due(now):
            if link.live and interest.mode & FUTURE and interest.id not in link.interests:
                self.end_snapshot(link, interest)  # it was taken back meanwhile
            elif link.live:
                super().on_interest(link, interest)
        return super().tick(now)


@variant(
    "takes-up-interests-later",
    permitted="interests#modes: no page says when an interest is taken up, but that D_FINAL ends its snapshot",
)
class TakesUpInterestsLater(Reference):
    """Takes up an interest in what is current a little later, in what is to come, too, and answers queries at once."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.late: Late[tuple[Link, Interest]] = Late()

    def on_interest(self, link: Link, interest: Interest) -> None:
        behind = any(other is link for _, (other, _) in self.late.waiting)
        if interest.mode & CURRENT or behind:
            self.late.add((link, interest), self.now)
        else:
            super().on_interest(link, interest)

    def tick(self, now: float) -> list[Action]:
        self.now = now
        for link, interest in self.late.due(now):
            if link.live:
                super().on_interest(link, interest)
        return super().tick(now)


@variant(
    "hears-leaving-subscribers-later", permitted="declarations: no page says how soon what is taken back has an effect"
)
class HearsLeavingSubscribersLater(Reference):
    """Publishes to a subscriber for a moment more after it was taken back, and tells later that subscribers and tokens are gone."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.late: Late[tuple[Link, str, int]] = Late()

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        if kind == "queryable" or not link.live:
            super().on_entity_gone(link, kind, entity)
        else:
            self.late.add((link, kind, entity), self.now)

    def tick(self, now: float) -> list[Action]:
        self.now = now
        for link, kind, entity in self.late.due(now):
            super().on_entity_gone(link, kind, entity)
        return super().tick(now)
