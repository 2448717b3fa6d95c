"""Measure how long a node waits for our next message of a handshake, as far as that is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.kept_waiting import SAID, Waits
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenSyn
from zenoh_conformance.talking import Dialogue
from zenoh_harness.targets.habits import LONG_ENOUGH

AT_ONCE: Final = 0.02
"""Seconds within which a node ends a link for another reason than our silence."""

TIMES: Final = 3
"""Measurements of a short patience; the shortest counts, since a busy machine sees an end late."""

Another = Callable[[], Dialogue | None]
"""Opens one more link."""


def first_silence(us: Dialogue, long: float = LONG_ENOUGH) -> float | None:
    """Say nothing on a link until the node ends it: the seconds, or None if it waits for `long` seconds or did not wait at all.

    What the node says meanwhile stays to be read, and the link, if it is still up, can be used.
    """
    began = us.wire.now() - waited_in_queue(us)
    us.listen(long)
    waited = us.wire.now() - began
    return waited if us.ended is not None and waited >= AT_ONCE else None


def waited_in_queue(us: Dialogue) -> float:
    """Seconds that the node has waited for us when we took the link."""
    link = getattr(us.wire, "raw", None)
    return float(getattr(link, "waited", 0.0)) if us.wire.side is Side.RESPONDER else 0.0


def measure_waits(side: Side, first: float, another: Another) -> Waits:
    """Seconds that an impatient node waits in each state, of which one was measured already (`first`)."""
    before, after = SAID[side][side is Side.INITIATOR : 2 + (side is Side.INITIATOR)]
    waits = {before: min([first, *_measurements(another, lambda _us: None)])}
    later = _measurements(another, answer_once)
    return {**waits, after: min(later)} if later else waits


def _measurements(another: Another, lead: Callable[[Dialogue], object]) -> list[float]:
    found = []
    for _ in range(TIMES):
        us = another()
        try:
            if us is not None:
                lead(us)
                found += [waited for waited in (first_silence(us),) if waited is not None]
        except Deviation:
            continue
        finally:
            if us is not None:
                us.hang_up()
    return found


def answer_once(us: Dialogue) -> None:
    """Lead a node to the state after its next message. Raises Deviation."""
    if us.wire.side is Side.INITIATOR:
        us.send(us.init_syn())
        us.expect(InitAck)
    else:
        us.ask(us.init_ack(us.expect(InitSyn)), expect=OpenSyn)
