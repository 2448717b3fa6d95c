"""An application beside a node, as scenarios use it: its agent, with the events sorted by what they are about."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import AgentError, AgentUnimplemented
from zenoh_harness.links.timing import stretched
from zenoh_harness.targets.agent import SILENT, AgentClient, cost

PATIENCE: Final = 10.0
"""Seconds that something which must come may take."""

ANSWERED: Final = 60.0 + PATIENCE
"""Seconds within which a question ends: no scenario gives it a longer timeout than a minute."""
MOST_HEARD: Final = 1 << 26
"""Bytes of the events of one scenario, as `cost` counts them."""

Heard = Mapping[str, Any]
"""An event of an agent: a sample, a query, a reply, an error, an end."""


class Voice:
    """One application. What it declares for a scenario is taken back with `hush`."""

    def __init__(self, agent: AgentClient, side: Side) -> None:
        self.agent, self.side = agent, side
        self._heard: dict[str, deque[Heard]] = {}
        self._ids = (f"{side.value}-{number}" for number in count(1))
        self._declared: list[str] = []
        self._spent = 0
        """The cost of all events since the last hush."""
        self.stalled = False
        """Whether it did not answer a command in time."""

    def do(self, command: str, **arguments: Any) -> None:
        """One command. AgentUnimplemented when the agent does not have it, AgentError when it refuses or stalls."""
        if command not in self.agent.capabilities:
            raise AgentUnimplemented(f"no {command}", step=f"agent {command}", seen="the agent does not have it")
        try:
            self.agent.ask(command, **arguments)
        except AgentError as why:
            self.stalled = self.stalled or SILENT in why.seen
            raise

    def declare(self, what: str, key: str, **options: Any) -> Ear:
        """A subscriber, queryable, token, publisher or liveliness subscriber, until it is undeclared or hushed."""
        name = next(self._ids)
        self.do(f"declare_{what}", id=name, key=key, **options)
        self._declared.append(name)
        return Ear(self, name)

    def undeclare(self, ear: Ear) -> None:
        """Take back one declaration."""
        self._declared.remove(ear.id)
        self.do("undeclare", id=ear.id)

    def hush(self) -> None:
        """Take back what is still declared, and forget what was not listened to."""
        while self._declared:
            self.do("undeclare", id=self._declared.pop())
        for heard in self._heard.values():
            heard.clear()
        self._spent = 0

    def keep(self) -> None:
        """What is declared now outlives every hush."""
        self._declared.clear()

    def put(self, key: str, payload: bytes = b"", **options: Any) -> None:
        """Put, blocking rather than dropping unless told otherwise."""
        self.do("put", key=key, payload=payload.hex(), **{"congestion": "block", **options})

    def delete(self, key: str, **options: Any) -> None:
        """Delete a key."""
        self.do("delete", key=key, **{"congestion": "block", **options})

    def get(self, key: str, **options: Any) -> Ear:
        """Ask; the ear hears replies, errors and the end."""
        name = next(self._ids)
        self.do("get", id=name, key=key, **options)
        return Ear(self, name)

    def tokens(self, key: str) -> Ear:
        """Ask which tokens are there."""
        name = next(self._ids)
        self.do("get_liveliness", id=name, key=key, timeout_ms=int(stretched(PATIENCE) * 1000))
        return Ear(self, name)

    def hear(self, name: str, within: float) -> Heard | None:
        """The next event about that id; None when `within` seconds pass without one.

        Raises AgentError when the application has heard more than a scenario can lead to.
        """
        mine = self._heard.setdefault(name, deque())
        until = time.monotonic() + within
        while not mine:
            fresh = self.agent.events(1, max(0.0, until - time.monotonic()))
            if not fresh:
                return None
            self._spent += cost(fresh[0])
            if self._spent > MOST_HEARD:
                why = f"more than {MOST_HEARD >> 20} MiB of events in one scenario"
                raise AgentError(f"the {self.side.value}'s application hears without end", step="interop", seen=why)
            self._heard.setdefault(str(fresh[0].get("id")), deque()).append(fresh[0])
        return mine.popleft()


@dataclass(frozen=True, slots=True)
class Ear:
    """What one declaration or one question hears."""

    voice: Voice
    id: str

    def next(self, within: float | None = None) -> Heard | None:
        """The next event; None when none came in time (`within` seconds, by default what scenarios wait)."""
        return self.voice.hear(self.id, stretched(PATIENCE) if within is None else within)

    def so_far(self) -> list[Heard]:
        """What has come already."""
        return list(iter(lambda: self.next(0.0), None))

    def until_end(self, within: float | None = None) -> Iterator[Heard]:
        """The events of a question up to its end, which is the last; stops where none came in time, or no end."""
        until = time.monotonic() + stretched(ANSWERED)
        while (heard := self.next(within)) is not None:
            yield heard
            if heard["event"] == "end" or time.monotonic() > until:
                return
