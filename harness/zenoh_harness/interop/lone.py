"""A pair of which one node has no application that anybody can reach: what can still be judged is what both say on the link.

The application on the other side does all that applications do, so that there is something to say; the laws judge it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.conversation import Conversation, Event
from zenoh_harness.errors import AgentUnimplemented, CannotConnect
from zenoh_harness.interop.talk import Fences, Missed
from zenoh_harness.interop.voice import PATIENCE, Voice
from zenoh_harness.links.timing import Deadline, scaled, strain
from zenoh_harness.targets.adapters.launched import LaunchedNode

KEY: Final = "zconform/lone"
ROUTES: Final = 3.0
"""Seconds in which a node that passes on what its applications say has done so."""
_GLANCE: Final = 0.02
"""Seconds between two looks at a program that may have ended."""


class Opening:
    """Passes events on to a sink, and sees when a session is open."""

    def __init__(self, sink: Callable[[Event], None]) -> None:
        self._sink, self._decoders = sink, Decoders(Conversation())
        self._open = threading.Event()

    def __call__(self, event: Event) -> None:
        """Called by the tap's thread."""
        if not self._open.is_set() and any(
            seen.kind == "open" and seen.message.ack for seen in self._decoders.feed(event)
        ):
            self._open.set()
        self._sink(event)

    def wait(self, comes: LaunchedNode) -> None:
        """Until there is a session; the one who comes is started again where it has ended in order. Raises CannotConnect."""
        patience = Deadline.after(strain() * PATIENCE)
        while not self._open.wait(_GLANCE):
            if comes.vitals().ended:
                comes.start_again()
            if patience.passed:
                raise CannotConnect("the two nodes open no session", step="interop", seen=comes.state())


def stir(voice: Voice) -> None:
    """All that an application does, once; at the end a question that nobody answers, by which the rest has arrived."""
    for what in ("subscriber", "queryable", "token"):
        with suppress(AgentUnimplemented):
            voice.declare(what, f"{KEY}/{what}")
    with suppress(AgentUnimplemented):
        voice.put(f"{KEY}/value", b"alone")
        voice.put(f"{KEY}/large", bytes(100_000))
        voice.delete(f"{KEY}/value")
    with suppress(AgentUnimplemented):
        for _ in voice.get(f"{KEY}/nobody", timeout_ms=int(scaled(ROUTES) * 1000)).until_end():
            pass
    voice.hush()


def routes(one: Voice, other: Voice) -> bool:
    """Whether two applications at one node hear each other through it."""
    try:
        Fences(one, other).join(one, other, within=ROUTES)
    except Missed:
        return False
    return True
