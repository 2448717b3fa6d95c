"""Planted nodes: the reference that goes wrong after a few right messages in a row; generated, to measure campaigns with.

Each is a target, as in `python:zenoh_fuzz.live.planted:key_7`: what it stops doing, and the number from which its messages are drawn.
As a program, `python -m zenoh_fuzz.live.planted key_7 LOCATOR`, it connects.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import cycle
from random import Random
from typing import Any, Final

from zenoh_conformance.messages import Declare, Frame, Interest, InterestMode, Push, Request, Response
from zenoh_conformance.reading.connection import priority_of
from zenoh_fuzz import inputs
from zenoh_harness.errors import UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.reference import Reference
from zenoh_harness.reference.serve import Server

from .acts import Act

RARE: Final = ("DKeyExpr", "DToken", "UToken", "UKeyExpr", "UQueryable", "Interest", "InterestFinal", "Del")
"""Kinds that our bystanders and health checks never send: each trigger has two of them."""
OTHERS: Final = ("DSubscriber", "DQueryable", "USubscriber", "Put")
LANE: Final = 3
"""The priority that a node with the effect `lane` stops serving."""
COUNT: Final = 400
"""Network messages after which a node with the effect `count` stops serving."""


FAULTY: Final = tuple(f"all_{number}" for number in range(10))
"""Nodes that serve nobody any more, once they got the messages of their trigger."""


def is_across(number: int) -> bool:
    """Return whether the last message of a trigger must come on another link than those before it."""
    return number % 3 == 2


def trigger_of(number: int) -> tuple[str, ...]:
    """Return the kinds of messages that make a planted node go wrong, three or four in order; equal numbers give equal kinds."""
    random = Random(number)
    kinds = [*random.sample(RARE, 3 if number % 4 == 3 and not is_across(number) else 2), random.choice(OTHERS)]
    random.shuffle(kinds)
    return tuple(kinds)


def kind_of(message: object) -> str:
    """Return the kind of a network message, by its body if it has one."""
    if isinstance(message, Interest):
        return "InterestFinal" if message.mode is InterestMode.FINAL else "Interest"
    return type(message.body if isinstance(message, Declare | Push) else message).__name__


def kind_of_act(act: Act) -> str:
    """Return the kind of the first network message of an act."""
    read, _ = inputs.messages(inputs.BATCH, act.batch(lambda _reliable, _priority: 0))
    return kind_of(read[0].message.messages[0])


class Planted(Reference):
    """A node that waits for right messages in a row and then applies `effect`."""

    trigger: tuple[str, ...] = ()
    across: bool = False
    effect: str = ""

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self.met: defaultdict[str, deque[tuple[str, str]]] = defaultdict(lambda: deque(maxlen=len(self.trigger)))
        """Link to the kinds of its last messages with their links; those of all links under one name if `across`."""
        self.count = 0
        self.wrong: set[str] = set()
        """The links on which the trigger came."""

    def route(self, link: Any, message: Any, *, reliable: bool = True) -> None:
        """Count the message, and drop it where the effect says so."""
        self.count += 1
        if not isinstance(message, Request):  # the fences of a campaign come in between
            met = self.met["" if self.across else link.name]
            met.append((kind_of(message), link.name))
            if tuple(kind for kind, _ in met) == self.trigger and self.across == (met[-1][1] != met[-2][1]):
                self.wrong.add(link.name)
        if not self.drops(link, message):
            super().route(link, message, reliable=reliable)

    def on_session(self, link: Any, message: Any) -> None:
        """Drop a FRAME of the lane that is not served any more."""
        lane = isinstance(message, Frame) and priority_of(message) == LANE
        if not (self.effect == "lane" and self.wrong and lane):
            super().on_session(link, message)

    def check_init(self, link: Any, init: Any) -> None:
        """Refuse new sessions once they are not served any more."""
        if self.effect == "new" and self.wrong:
            self.drop(link)
            return
        super().check_init(link, init)

    def drops(self, link: Any, message: Any) -> bool:
        """Return whether the node ignores a message now."""
        return EFFECTS[self.effect](self, link, message)


def _key(node: Planted, link: Any, message: Any) -> bool:
    return bool(node.wrong) and isinstance(message, Push) and message.key.suffix == "zconform/fuzz"


EFFECTS: Final[dict[str, Callable[[Planted, Any, Any], bool]]] = {
    "all": lambda node, link, message: bool(node.wrong),
    "key": _key,
    "lane": lambda node, link, message: False,
    "session": lambda node, link, message: link.name in node.wrong,
    "replies": lambda node, link, message: bool(node.wrong) and isinstance(message, Response),
    "count": lambda node, link, message: node.count > COUNT,
    "new": lambda node, link, message: False,
}
"""Effect to whether a message is dropped: all, pushes to one key, one lane, one session, replies, all after a count, new sessions."""


ZOMBIES: Final = tuple(
    f"{effect}_{number}" for number, effect in zip(range(20), cycle(effect for effect in EFFECTS if effect != "all"))
)
"""Nodes that go on and do one thing no more."""


def planted_node(name: str) -> type[Planted]:
    """Return the planted node of a name, EFFECT_NUMBER. Raises UsageError."""
    effect, _, number = name.partition("_")
    if effect not in EFFECTS or not number.isdigit():
        raise UsageError(
            f"no planted node {name!r}", step="target string", hint=f"EFFECT_NUMBER, of {', '.join(EFFECTS)}"
        )
    facts = {"effect": effect, "trigger": trigger_of(int(number)), "across": is_across(int(number))}
    return type(name, (Planted,), facts)


class _Served:
    """A node in a thread of this process, until it is closed."""

    def __init__(self, node: Reference, locator: Locator) -> None:
        self.server = Server(node)
        self.server.listen(locator.host, locator.port)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End it."""
        self.server.goes_on = False
        self.thread.join()


def serve(make: Callable[[], Reference]) -> Callable[[str], _Served]:
    """Return the function that `python:MODULE:NAME` calls: it serves a node that `make` creates."""
    return lambda locator: _Served(make(), Locator.parse(locator))


def __getattr__(name: str) -> Callable[[str], _Served]:
    """Return the function that serves a planted node, by its name; `sane_0` is the reference."""
    if name == "sane_0":
        return serve(Reference)
    if name.startswith("__"):
        raise AttributeError(name)
    return serve(planted_node(name))


def main(name: str, locator: str) -> None:
    """Let a planted node connect to a locator, again after each end."""
    node = Reference() if name == "sane_0" else planted_node(name)()
    Server(node).serve(connect_to=Locator.parse(locator))


if __name__ == "__main__":
    main(*sys.argv[1:])
