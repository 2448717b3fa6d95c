"""Nodes that change what they pass on, where a router may: they thin answers out, or say when something was."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from zenoh_conformance.messages import Del, Push, Put, Reply, Response
from zenoh_conformance.primitives import Timestamp, ZenohID
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import variant


@variant("consolidates", permitted="erratum consolidation-by-querier: either reading is right")
class Consolidates(Reference):
    """Thins answers out itself."""

    settings: ClassVar = {"consolidates": True}


@variant("stamps-deletions-and-answers", permitted="push, reply: T is optional; a router may add a timestamp")
class StampsDeletionsAndAnswers(Reference):
    """Adds timestamps to publications, deletions and answers that have none, each later than the last."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.turn = count()

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if isinstance(message, Push):
            message = replace(message, body=self.stamped(message.body))
        elif isinstance(message, Response) and isinstance(message.body, Reply):
            message = replace(message, body=replace(message.body, body=self.stamped(message.body.body)))
        super().say(link, message, **how)

    def stamped(self, body: Any) -> Any:
        """A value, or a deletion, with a timestamp."""
        if not isinstance(body, Put | Del) or body.timestamp is not None:
            return body
        stamp = Timestamp(time=0x6A00_0000_0000_0001 + next(self.turn), zid=ZenohID(self.config.zid))
        return replace(body, timestamp=stamp)
