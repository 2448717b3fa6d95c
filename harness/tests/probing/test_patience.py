"""How long a node waits, and how it comes back: measured on the reference, whose patience is known."""

from __future__ import annotations

from collections.abc import Callable

from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_harness.probing.probe.patience import (
    ENDS,
    RETURNS,
    TOWARD_INITIATOR,
    TOWARD_RESPONDER,
    pauses_text,
    return_pauses,
    silence_limits,
)
from zenoh_harness.reference.memory import MemoryScene

REQUIREMENT = "session-establishment/init-ack-answers-init-syn"


def links(most: int) -> Callable[[], Dialogue | None]:
    """Links to a reference that comes to us, so many and no more."""
    scene, left = MemoryScene(REQUIREMENT, role=Side.INITIATOR), iter(range(most))
    return lambda: scene.dialogue() if next(left, None) is not None else None


def silent(role: Side, longest: float = 15.0) -> dict[str, str]:
    """What we are told when we lead the reference somewhere and fall silent."""
    scene = MemoryScene(REQUIREMENT, role=role)
    found: dict[str, str] = {}
    for name, lead in (TOWARD_RESPONDER if role is Side.RESPONDER else TOWARD_INITIATOR).items():
        us = scene.dialogue()
        lead(us)
        found |= silence_limits({name: us}, longest)
    return found


def test_it_waits_as_long_as_it_is_told_to() -> None:
    assert silent(Side.RESPONDER) == {"nothing was said": "10.0 s, then link shut", "InitAck": "10.0 s, then link shut"}
    assert silent(Side.INITIATOR) == {"InitSyn": "10.0 s, then link shut", "OpenSyn": "10.0 s, then link shut"}


def test_whoever_waits_longer_than_we_do_is_told_apart() -> None:
    assert set(silent(Side.RESPONDER, longest=5).values()) == {"more than 5 s"}


def test_how_it_ends_is_told() -> None:
    us = MemoryScene(REQUIREMENT).dialogue()
    us.send(b"\xff")

    assert silence_limits({"garbage": us}) == {"garbage": "0.0 s, then Close(INVALID)"}


def test_it_comes_back_after_every_end() -> None:
    for lead, end in ENDS.values():
        assert return_pauses(links(100), lead, end).count(",") == RETURNS - 1


def test_one_that_stops_coming_is_told() -> None:
    lead, end = ENDS["link shut for InitAck"]

    assert return_pauses(links(1), lead, end) == "it does not reconnect"
    assert return_pauses(links(0), lead, end) == "it does not reconnect"
    assert return_pauses(links(3), lead, end).endswith("ms, then not any more")


def test_pauses_are_told_in_milliseconds() -> None:
    assert pauses_text([1.4, 2.6, 5, 5, 5]) == "1, 3, 5, 5, 5 ms"
