"""Nodes on which declarations and interests have their effect a little later than what is said behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from zenoh_conformance.messages import Interest
from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.declaring import CURRENT, FUTURE
from zenoh_harness.reference.hooked import Base
from zenoh_harness.reference.link import Link

from . import variant

A_LITTLE = 0.05
"""Seconds that a task waits, unless a variant says otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A call that a node makes later."""

    due: float
    link: Link
    """The first argument."""
    act: partial[object]
    while_live: bool
    """It is left out if the link is not live then."""


class TimedNode(Reference):
    """A node that does some of its work after a delay; of tasks that are due at a tick, the earliest planned comes first."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self.tasks: list[Task] = []

    def after(
        self,
        seconds: float,
        act: Callable[..., object],
        link: Link,
        *arguments: Any,
        while_live: bool = False,
        **options: Any,
    ) -> None:
        """Plan a call with `link` as its first argument; `while_live`: leave it out if the link is not live then."""
        self.tasks.append(Task(self.now + seconds, link, partial(act, link, *arguments, **options), while_live))

    def tasks_of(self, link: Link, act: Callable[..., object] | None = None) -> list[Task]:
        """The planned calls about a link, or those of `act` only."""
        return [task for task in self.tasks if task.link is link and act in (None, task.act.func)]

    def carry_out(self, tasks: list[Task]) -> None:
        """Make planned calls now."""
        self.tasks = [task for task in self.tasks if task not in tasks]
        for task in tasks:
            if task.link.live or not task.while_live:
                task.act()

    def tick(self, now: float) -> list[Action]:
        self.now = now
        self.carry_out([task for task in self.tasks if task.due <= now])
        return super().tick(now)


@variant(
    "on_interest",
    permitted="interests#modes: no page says when a snapshot comes, nor that queries wait for it",
    of=TimedNode,
)
def answers_interests_later(node: TimedNode, base: Base[None], link: Link, interest: Interest) -> None:
    """Answers an interest in what is current a little later, and queries at once; what comes meanwhile is told."""

    def answer(link: Link) -> None:
        if link.live and interest.mode & FUTURE and interest.id not in link.interests:
            node.end_snapshot(link, interest)  # it was taken back meanwhile
        elif link.live:
            base(link, interest)

    if not interest.mode & CURRENT:
        base(link, interest)
        return
    if interest.mode & FUTURE:
        link.interests[interest.id] = interest
    node.after(A_LITTLE, answer, link)


@variant(
    "on_interest",
    permitted="interests#modes: no page says when an interest is taken up, but that D_FINAL ends its snapshot",
    of=TimedNode,
)
def takes_up_interests_later(node: TimedNode, base: Base[None], link: Link, interest: Interest) -> None:
    """Takes up an interest in what is current a little later, in what is to come, too, and answers queries at once."""
    if interest.mode & CURRENT or node.tasks_of(link):
        node.after(A_LITTLE, base, link, interest, while_live=True)
    else:
        base(link, interest)


@variant(
    "on_entity_gone",
    permitted="declarations: no page says how soon what is taken back has an effect",
    of=TimedNode,
)
def hears_leaving_subscribers_later(node: TimedNode, base: Base[None], link: Link, kind: str, entity: int) -> None:
    """Publishes to a subscriber for a moment more after it was taken back, and tells later that subscribers and tokens are gone."""
    if kind == "queryable" or not link.live:
        base(link, kind, entity)
    else:
        node.after(A_LITTLE, base, link, kind, entity)
