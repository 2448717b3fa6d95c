"""What a scenario sees: two applications, the link between their nodes, and fences instead of waiting."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, Protocol

from zenoh_conformance.judging.law import show
from zenoh_harness.interop.voice import PATIENCE, Ear, Heard, Voice
from zenoh_harness.links.timing import Deadline, scaled, strain, stretched

FENCE: Final = "zconform/fence"
GATHERED: Final = 0.1
"""Seconds in which zenoh-rust's routers gather changes of their links before they look at them."""
OUTAGE: Final = 3 * GATHERED
"""Seconds that an outage lasts: nobody may overlook it."""
_QUICK: Final = 0.7 * GATHERED
"""Seconds in which the next link must be there, for a router to have the new session before it looks."""
_BLINK: Final = 3.0
"""Seconds in which two that were parted for a moment must hear each other again."""
_GLANCE: Final = 0.02
"""Seconds between two attempts to be heard on the other side."""

_FRESH: Final = count(1)


class Missed(Exception):  # noqa: N818  it carries what two nodes did not bring about; it is no error of ours
    """Ends a scenario: something else arrived than what must."""


class Unfit(Exception):  # noqa: N818  nothing went wrong
    """Ends a scenario that says nothing about such a pair."""


class Bars(Protocol):
    """What can cut the link: a `Tap`."""

    newest: float

    def bar(self) -> None: ...

    def unbar(self) -> None: ...


class Fences:
    """One subscriber on each side; whoever is heard there is connected, and what it said before has arrived."""

    def __init__(self, one: Voice, other: Voice) -> None:
        self._ears = {id(voice): voice.declare("subscriber", self._key(voice)) for voice in (one, other)}
        for voice in (one, other):
            voice.keep()
        self._numbers = count(1)

    def pass_(self, sender: Voice, receiver: Voice, **options: Any) -> None:
        """Wait until what `sender` said so far is with `receiver`. Missed when the fence does not arrive."""
        number = self._put(sender, receiver, options)
        self._await(
            receiver, number, stretched(PATIENCE), f"from {sender.side.value}: what was put last has not arrived"
        )

    def join(self, one: Voice, other: Voice, *, within: float = 2 * PATIENCE) -> float:
        """Wait until both hear each other; the last moment at which one was still deaf. Missed when they do not in time."""
        now = deaf = time.monotonic()
        for sender, receiver in ((one, other), (other, one)):
            deadline = Deadline.after(strain() * within)
            while not self._heard(receiver, self._put(sender, receiver, {}), scaled(_GLANCE)):
                if deadline.passed:
                    raise Missed(f"what the {sender.side.value}'s application puts never arrives on the other side")
                deaf, now = now, time.monotonic()
        return deaf

    def _put(self, sender: Voice, receiver: Voice, options: dict[str, Any]) -> int:
        number = next(self._numbers)
        sender.put(self._key(receiver), number.to_bytes(8, "big"), **options)
        return number

    def _await(self, receiver: Voice, number: int, within: float, why: str) -> None:
        if not self._heard(receiver, number, within):
            raise Missed(f"fence {why}")

    def _heard(self, receiver: Voice, number: int, within: float) -> bool:
        """Whether that fence or a later one comes."""
        while (heard := self._ears[id(receiver)].next(within)) is not None:
            if int(heard.get("payload", "0") or "0", 16) >= number:
                return True
        return False

    def _key(self, voice: Voice) -> str:
        return f"{FENCE}/{voice.side.value}"


class Talk:
    """One scenario's view. Keys are its own: no scenario hears another."""

    def __init__(self, here: Voice, there: Voice, fences: Fences, link: Bars, *, routers: bool = False) -> None:
        """`routers`: both nodes are routers."""
        self.here, self.there = here, there
        self.key = f"zconform/interop/{next(_FRESH)}"
        self._routers = routers
        self._fences, self._link = fences, link
        self._cut_at = self._deaf = 0.0

    def settle(self) -> None:
        """What both have declared so far is known on both sides."""
        self._fences.pass_(self.there, self.here)
        self._fences.pass_(self.here, self.there)

    def listens(self, key: str = "") -> Ear:
        """A settled subscriber `there`, on the talk's key unless told otherwise."""
        return self._declares("subscriber", key)

    def serves(self, *steps: Mapping[str, Any], key: str = "", **options: Any) -> Ear:
        """A settled queryable `there`, which does these steps for each query."""
        return self._declares("queryable", key, plan=list(steps), **options)

    def _declares(self, what: str, key: str, **options: Any) -> Ear:
        ear = self.there.declare(what, key or self.key, **options)
        self.settle()
        return ear

    def asks(self, key: str = "", **options: Any) -> Ear:
        """A query from `here`; its timeout is a minute, which no query of a scenario needs."""
        return self.here.get(key or self.key, **{"timeout_ms": 60_000, **options})

    def carries(self, ear: Ear, payload: bytes, **fields: Any) -> None:
        """What `here` puts on the talk's key arrives with that payload and these fields."""
        self.here.put(self.key, payload, **fields)
        self.heard(ear, payload=payload, **fields)

    def reconnect(self) -> None:
        """Cut the link, and restore it."""
        self.cut()
        self.restore()

    def quiet(self, ear: Ear, **options: Any) -> None:
        """Nothing more was heard: a fence that `here` puts after it (as important as told) arrives alone."""
        self._fences.pass_(self.here, self.there, **options)
        self.same("heard", [], [heard["event"] for heard in ear.so_far()])

    def cut(self) -> None:
        """The network fails: the link is cut, and no other comes through."""
        self._link.bar()
        self._cut_at = time.monotonic()

    def restore(self) -> None:
        """The network is back, after an outage that both have noticed; returns when they hear each other again."""
        time.sleep(max(0.0, self._cut_at + scaled(OUTAGE) - time.monotonic()))
        self._link.unbar()
        self._fences.join(self.here, self.there)

    def blink(self) -> bool:
        """The link is cut, and the next one comes through at once. Missed when the two do not hear each other again.

        They are left hearing each other: an outage makes good what a blink has spoiled. Whether the link was back while
        a router still gathered changes; on a busy machine it may not be.
        """
        self._link.bar()
        self._link.unbar()
        try:
            deaf = self._fences.join(self.here, self.there, within=_BLINK)
        except Missed:
            self.cut()
            self.restore()
            raise
        self._deaf, before = deaf, self._deaf
        return self._link.newest - before < _QUICK

    def fits(self, holds: bool, why: str) -> None:
        """Unfit, for that reason, unless it holds."""
        if not holds:
            raise Unfit(why)

    def between(self, whom: str) -> None:
        """Unfit unless both nodes are `routers`, or one of them is none (`others`)."""
        why = "both nodes are routers" if self._routers else "not both nodes are routers"
        self.fits(self._routers is (whom == "routers"), why)

    def heard(self, ear: Ear, event: str = "sample", **fields: object) -> Heard:
        """The next thing heard is such an event with these fields. Missed when nothing or something else comes."""
        found = ear.next()
        if found is None:
            raise Missed(f"no {event} arrived")
        self.same("event", event, found["event"])
        for name, wanted in fields.items():
            self.same(name, wanted.hex() if isinstance(wanted, bytes) else wanted, found.get(name))
        return found

    def answers(self, ear: Ear) -> list[Heard]:
        """All that answers a question. Missed when it never ends."""
        found = list(ear.until_end())
        if not found or found[-1]["event"] != "end":
            raise Missed(f"the query never ended, after {len(found)} answers")
        return found[:-1]

    def payloads(self, ear: Ear) -> list[str]:
        """The payloads of all replies, sorted. Missed for an error among them."""
        answers = self.answers(ear)
        self.same("answers", ["reply"] * len(answers), [answer["event"] for answer in answers])
        return sorted(answer.get("payload", "") for answer in answers)

    def same(self, what: str, wanted: object, got: object) -> None:
        """Missed unless both are the same."""
        if wanted != got:
            raise Missed(f"{what}: {_cut(got)} where {_cut(wanted)} is required")

    def require(self, holds: bool, why: str) -> None:
        """Missed, with that sentence, unless it holds."""
        if not holds:
            raise Missed(why)


def _cut(value: object) -> str:
    if isinstance(value, str | bytes):
        text = show(value)
        return text if len(text) <= 80 else f"{text[:40]}..{text[-16:]} ({len(text)} characters)"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_cut(each) for each in value[:8]) + (", ..]" if len(value) > 8 else "]")
    return show(value)
