"""Nodes on which declarations and interests take effect a little later than the messages that follow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from zenoh_conformance.messages import Interest, Response
from zenoh_harness.reference import Action, Base, Config, Link, Pending, Reference
from zenoh_harness.reference.declaring import CURRENT, FUTURE
from zenoh_harness.reference.link import Entity

from . import row, variant

A_LITTLE = 0.05
"""The default delay of a task, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A call that a node makes later."""

    due: float
    """The time of the call, in seconds."""
    link: Link
    """The first argument of the call."""
    act: partial[object]
    while_live: bool
    """Whether the call is omitted if the link is not live at that time."""


class TimedNode(Reference):
    """A node that does some of its work after a delay; tasks that are due at the same tick run in the order of planning."""

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
        """Plan a call in these seconds, with `link` as its first argument; `while_live`: only if the link is live then."""
        self.tasks.append(Task(self.now + seconds, link, partial(act, link, *arguments, **options), while_live))

    def tasks_of(self, link: Link, act: Callable[..., object] | None = None) -> list[Task]:
        """Return the planned calls for a link, or only those of `act`."""
        return [task for task in self.tasks if task.link is link and act in (None, task.act.func)]

    def forget_later(self, act: Callable[..., object], link: Link, kind: str, entity: int) -> None:
        """Plan a call that forgets an entity; it is omitted if the entity has been declared again by then."""
        self.after(A_LITTLE, self.forget, link, kind, entity, act, self.table(link, kind).get(entity))

    def forget(self, link: Link, kind: str, entity: int, act: Callable[..., object], held: Entity | None) -> None:
        """Forget an entity that was undeclared a little earlier, if it is still the same."""
        if self.table(link, kind).get(entity) is held:
            act(link, kind, entity)

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
    """Answers a Current interest a little later and queries at once, and forwards declarations in the meantime."""

    def answer(link: Link) -> None:
        if link.live and interest.mode & FUTURE and interest.id not in link.interests:
            node.end_snapshot(link, interest)  # the interest was ended in the meantime
        elif link.live:
            base(link, interest)

    if not interest.mode & CURRENT:
        base(link, interest)
        return
    if interest.mode & FUTURE:
        link.interests[interest.id] = interest
    node.after(A_LITTLE, answer, link)


row(
    "takes-up-interests-later",
    "Processes a Current interest a little later, also its Future part, and answers queries at once.",
    permitted="interests#modes: no page says when an interest is taken up, but that D_FINAL ends its snapshot",
    of=TimedNode,
    on_interest=lambda node, base, link, interest: (
        node.after(A_LITTLE, base, link, interest, while_live=True)
        if interest.mode & CURRENT or node.tasks_of(link)
        else base()
    ),
)


@variant(permitted="reply#consolidation: no page says when an answer is passed on, but that it comes before the final")
class KeepsAnswersUntilTheFinal(Reference):
    """Passes the answers to a query on with its final."""

    kept = cached_property(lambda node: dict[int, list[tuple[str, Response]]]())
    """The answers of each query, by the identity of its state."""

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        self.kept.setdefault(id(pending), []).append((key, response))

    def finish(self, pending: Pending) -> None:
        asker = self.link_of(pending.asker)
        for key, response in self.kept.pop(id(pending), []):
            if asker is not None and not pending.over:
                super().answer(pending, asker, key, response)
        super().finish(pending)


row(
    "hears-leaving-subscribers-later",
    "Publishes to a subscriber for a moment after its undeclaration, and forwards undeclarations later.",
    permitted="declarations: no page says how soon what is taken back has an effect",
    of=TimedNode,
    on_entity_gone=lambda node, base, link, kind, entity: (
        base() if kind == "queryable" or not link.live else node.forget_later(base, link, kind, entity)
    ),
)
