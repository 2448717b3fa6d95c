"""The interface of an interoperability scenario: two applications, the link between their nodes, and fences."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, Protocol

from zenoh_conformance.judging.law import show
from zenoh_harness.errors import AgentRefuses
from zenoh_harness.interop.voice import PATIENCE, Ear, Heard, Voice
from zenoh_harness.links.timing import Deadline, scaled, strain, stretched

KEYS: Final = "zconform/interop"
FENCE: Final = "zconform/fence"
_ALWAYS: Final = frozenset({"encoding", "priority", "congestion", "express"})
"""What each sample has: an agent that leaves it out does not tell it. Attachment and timestamp are not always there."""
GATHERED: Final = 0.1
"""Seconds for which routers of zenoh-rust collect changes of their links before they process them."""
OUTAGE: Final = 3 * GATHERED
"""Seconds that an outage lasts, so that every node notices it."""
_QUICK: Final = 0.7 * GATHERED
"""Seconds within which the next link must be open for a router to process its loss and its return together."""
_BLINK: Final = 3.0
"""Seconds within which two nodes must communicate again after a short interruption."""
_NEVER_PUT: Final = 1 << 64
"""A number that no fence has."""
_GLANCE: Final = 0.02
"""Seconds between two attempts to get a publication through."""

_FRESH: Final = count(1)


class Missed(Exception):  # noqa: N818  it carries what two nodes did not bring about; it is no error of ours
    """Ends a scenario as failed: something else arrived than is required."""


class Unfit(Exception):  # noqa: N818  nothing went wrong
    """Ends a scenario that does not apply to the pair."""


class Bars(Protocol):
    """The interface that cuts and restores the link; a `Tap` has it."""

    newest: float

    def bar(self) -> None: ...

    def unbar(self) -> None: ...


class Fences:
    """One subscriber on each side; when a publication arrives there, the sender's earlier messages have arrived, too."""

    def __init__(self, one: Voice, other: Voice) -> None:
        self._ears = {id(voice): voice.declare("subscriber", self._key(voice)) for voice in (one, other)}
        for voice in (one, other):
            voice.keep()
        self._numbers = count(1)

    def pass_(self, sender: Voice, receiver: Voice, **options: Any) -> None:
        """Wait until all messages of `sender` so far have arrived at `receiver`. Raises Missed if the fence does not."""
        number = self._put(sender, receiver, options)
        if not self._fence_arrives(receiver, number, stretched(PATIENCE)):
            raise Missed(f"fence from {sender.side.value}: what was put last has not arrived")

    def join(self, one: Voice, other: Voice, *, within: float = 2 * PATIENCE) -> float:
        """Wait until publications arrive in both directions; return the time of the last one that did not arrive.

        `within`: seconds, scaled. Raises Missed if none arrives in this time.
        """
        now = deaf = time.monotonic()
        for sender, receiver in ((one, other), (other, one)):
            deadline = Deadline.after(strain() * within)
            while not self._gets_through(sender, receiver):
                if deadline.passed:
                    raise Missed(f"what the {sender.side.value}'s application puts never arrives on the other side")
                deaf, now = now, time.monotonic()
        return deaf

    def _gets_through(self, sender: Voice, receiver: Voice) -> bool:
        """Whether a fence arrives soon; a library may refuse to publish as long as it has no session."""
        try:
            number = self._put(sender, receiver, {})
        except AgentRefuses:
            number = _NEVER_PUT
        return self._fence_arrives(receiver, number, scaled(_GLANCE))

    def _put(self, sender: Voice, receiver: Voice, options: dict[str, Any]) -> int:
        number = next(self._numbers)
        sender.put(self._key(receiver), number.to_bytes(8, "big"), **options)
        return number

    def _fence_arrives(self, receiver: Voice, number: int, within: float) -> bool:
        """Return whether the fence with this number, or a later one, arrives within these seconds."""
        deadline = Deadline(time.monotonic() + within)
        while (heard := self._ears[id(receiver)].next(deadline.remaining())) is not None:
            if int(heard.get("payload", "0") or "0", 16) >= number:
                return True
        return False

    def _key(self, voice: Voice) -> str:
        return f"{FENCE}/{voice.side.value}"


class Talk:
    """The interface of one scenario. Its keys are unique, so that scenarios do not affect each other."""

    def __init__(
        self, here: Voice, there: Voice, fences: Fences, link: Bars, *, routers: bool = False, unseen: float = 0.0
    ) -> None:
        """`routers`: both nodes are routers; `unseen`: seconds after which they see the end of a link that does not show it."""
        self.here, self.there = here, there
        self.key = f"{KEYS}/{next(_FRESH)}"
        self._routers = routers
        self._fences, self._link = fences, link
        self._cut_at = self._deaf = 0.0
        self.is_cut = False
        """Whether the link is cut, and no new one permitted."""
        self._blink = _BLINK + unseen

    def settle(self) -> None:
        """Wait until the declarations of both sides are known on the other side."""
        self._fences.pass_(self.there, self.here)
        self._fences.pass_(self.here, self.there)

    def listens(self, key: str = "") -> Ear:
        """Declare a subscriber `there`, on the scenario's key by default, and wait until it is known `here`."""
        return self._declares("subscriber", key)

    def serves(self, *steps: Mapping[str, Any], key: str = "", **options: Any) -> Ear:
        """Declare a queryable `there` that does these steps for each query, and wait until it is known `here`."""
        return self._declares("queryable", key, plan=list(steps), **options)

    def _declares(self, what: str, key: str, **options: Any) -> Ear:
        ear = self.there.declare(what, key or self.key, **options)
        self.settle()
        return ear

    def asks(self, key: str = "", **options: Any) -> Ear:
        """Send a query from `here`; its timeout is a minute, which is more than any query of a scenario takes."""
        return self.here.get(key or self.key, **{"timeout_ms": 60_000, **options})

    def carries(self, ear: Ear, payload: bytes, **fields: Any) -> None:
        """Put a value `here`, and require that it arrives with this payload and these fields. Raises Missed."""
        self.here.put(self.key, payload, **fields)
        self.expect(ear, payload=payload, **fields)

    def reconnect(self) -> None:
        """Cut the link and restore it. Raises Missed."""
        self.cut()
        self.restore()

    def quiet(self, ear: Ear, **options: Any) -> None:
        """Require that nothing more arrives before a fence from `here`, put with these options. Raises Missed."""
        self._fences.pass_(self.here, self.there, **options)
        self.same("heard", [], [heard["event"] for heard in ear.so_far()])

    def cut(self) -> None:
        """Cut the link, and block new ones."""
        self._link.bar()
        self._cut_at, self.is_cut = time.monotonic(), True

    def restore(self) -> None:
        """Permit links again after an outage of `OUTAGE` seconds; return when both sides communicate again."""
        time.sleep(max(0.0, self._cut_at + scaled(OUTAGE) - time.monotonic()))
        self._link.unbar()
        self.is_cut = False
        self._fences.join(self.here, self.there)

    def blink(self) -> bool:
        """Cut the link and permit the next one at once. Raises Missed if the two do not communicate again.

        Before Missed is raised, the connection is repaired by an outage. Returns whether the link was back while a router
        still collected changes, which may fail on an overloaded machine.
        """
        self._link.bar()
        self._link.unbar()
        try:
            deaf = self._fences.join(self.here, self.there, within=self._blink)
        except Missed:
            self.cut()
            self.restore()
            raise
        self._deaf, before = deaf, self._deaf
        return self._link.newest - before < _QUICK

    def tells(self, heard: Heard, *names: str) -> None:
        """Raise Unfit unless the agent tells these fields."""
        untold = sorted({*names} - {*heard})
        self.fits(not untold, f"the agent does not tell {', '.join(untold)}")

    def fits(self, holds: bool, why: str) -> None:
        """Raise Unfit with this reason unless the condition holds."""
        if not holds:
            raise Unfit(why)

    def between(self, whom: str) -> None:
        """Raise Unfit unless both nodes are routers (`routers`), or at least one is not (`others`)."""
        why = "both nodes are routers" if self._routers else "not both nodes are routers"
        self.fits(self._routers is (whom == "routers"), why)

    def expect(self, ear: Ear, event: str = "sample", **fields: object) -> Heard:
        """Require that the next event has this kind and these fields; return it. Raises Missed, and Unfit where it never tells one."""
        found = ear.next()
        if found is None:
            raise Missed(f"no {event} arrived")
        self.same("event", event, found["event"])
        self.tells(found, *_ALWAYS & {*fields})
        for name, wanted in fields.items():
            self.same(name, wanted.hex() if isinstance(wanted, bytes) else wanted, found.get(name))
        return found

    def answers(self, ear: Ear) -> list[Heard]:
        """Return all answers to a query. Raises Missed if it does not end."""
        found = list(ear.until_end())
        if not found or found[-1]["event"] != "end":
            raise Missed(f"the query never ended, after {len(found)} answers")
        return found[:-1]

    def payloads(self, ear: Ear) -> list[str]:
        """Return the payloads of all replies, sorted. Raises Missed if one is an error."""
        answers = self.answers(ear)
        self.same("answers", ["reply"] * len(answers), [answer["event"] for answer in answers])
        return sorted(answer.get("payload", "") for answer in answers)

    def same(self, what: str, wanted: object, got: object) -> None:
        """Raise Missed unless both values are equal."""
        if wanted != got:
            raise Missed(f"{what}: {_cut(got)} where {_cut(wanted)} is required")

    def require(self, holds: bool, why: str) -> None:
        """Raise Missed with this sentence unless the condition holds."""
        if not holds:
            raise Missed(why)


def _cut(value: object) -> str:
    if isinstance(value, str | bytes):
        shown = show(value)
        return shown if len(shown) <= 80 else f"{shown[:40]}..{shown[-16:]} ({len(shown)} characters)"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_cut(each) for each in value[:8]) + (", ..]" if len(value) > 8 else "]")
    return show(value)
