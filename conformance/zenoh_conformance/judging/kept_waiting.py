"""Whether it was we who kept the other side waiting in a handshake.

No page says how long a handshake may take. On a busy machine our words come late, and a node that gave the link up meanwhile, without
a word, has refused nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side

from .finding import NOT_REACHED, Finding

SLOW: Final = 0.1
"""Seconds after which the most hasty node that was met gives a link up: zenoh-pico's time for one read."""

KEPT_WAITING: Final = f"{NOT_REACHED}: we kept it waiting in the handshake"
"""The step of a finding if the target rightly ended the link."""

ENDS: Final = (Happened.EOF, Happened.RESET)
STEPS: Final = 2
"""Messages of a handshake that one side sends; a side that has sent more has waited long enough."""


def as_seen_in_time(conversation: Conversation, finding: Finding) -> Finding:
    """The finding; where the target ended a link without a word in a handshake that we held up, one that says nothing of it."""
    if not finding.got.startswith("link "):
        return finding
    events = [event for event in conversation if event.connection == finding.connection]
    said = sum(event.sender is finding.sender and event.kind is Happened.BYTES for event in events)
    return replace(finding, path=KEPT_WAITING) if said <= STEPS and _held_up(events, finding.sender) else finding


def _held_up(events: Sequence[Event], target: Side) -> bool:
    """Whether we were slow to say something on a link before the target ended it, or had not said it by then."""
    ends = (at for at, event in enumerate(events) if event.sender is target and event.kind in ENDS)
    over = next(ends, -1)
    for before, now in pairwise(events[: over + 1]):
        our_turn = now.sender is not target or (now is events[over] and before.sender is target)
        if our_turn and now.time - before.time >= SLOW:
            return True
    return False
