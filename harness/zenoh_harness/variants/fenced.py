"""Nodes that can be fenced in one way only; who finishes queries, or answers interests, alone is among the limited ones."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import Close, DSubscriber, USubscriber
from zenoh_harness.reference.declaring import declare, whole
from zenoh_harness.reference.link import Link

from . import variant
from .limits import AnswersNothingInASession


@variant("declares-back", permitted="declarations: what a node declares is its own affair")
class DeclaresBack(AnswersNothingInASession):
    """It answers no question, and subscribes to whatever somebody subscribes to."""

    def on_declare(self, link: Link, declare_: Any) -> None:
        body = declare_.body
        super().on_declare(link, declare_)
        key = self.key_of(link, body.key) if isinstance(body, DSubscriber) else None
        if isinstance(body, DSubscriber) and key is not None:
            entity = next(link.entity_ids)
            link.announced["back", link.session, body.id] = entity
            self.say(link, declare(DSubscriber(id=entity, key=whole(key))))
        elif isinstance(body, USubscriber) and ("back", link.session, body.id) in link.announced:
            entity = link.announced.pop(("back", link.session, body.id))
            self.say(link, declare(USubscriber(id=entity, exts=body.exts)))


@variant("ends-links-in-its-own-time", permitted="no page says how soon after CLOSE a link ends")
class EndsLinksInItsOwnTime(AnswersNothingInASession):
    """It answers no question, and ends a link 0.7 seconds after CLOSE."""

    LATE = 0.7

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.closed_at: dict[str, float] = {}

    def on_close(self, link: Link, close: Close) -> None:
        self.closed_at.setdefault(link.name, self.now)

    def on_time(self, link: Link) -> None:
        if link.name not in self.closed_at:
            super().on_time(link)
        elif self.now >= self.closed_at[link.name] + self.LATE:
            super().on_close(link, Close(session=False, reason=0))
