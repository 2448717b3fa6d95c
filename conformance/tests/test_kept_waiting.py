"""A link that is given up while we keep the other side waiting in a handshake says nothing of who gave it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zenoh_conformance.judging.finding import KEPT_WAITING, Finding
from zenoh_conformance.judging.kept_waiting import Waits, as_seen_in_time, delays, is_impatient, kept_waiting
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side

US, THEY = Side.RESPONDER, Side.INITIATOR
OPEN, SAID, OVER = Happened.OPEN, Happened.BYTES, Happened.EOF
FOUND = Finding(requirement="x/y", sender=THEY, connection="us", path="stage init", expected="OpenSyn", got="link shut")
"""We were to hear OpenSyn, and the target shut the link."""


def told(*events: tuple[float, Side, Happened], finding: Finding = FOUND) -> Finding:
    """The finding, of a conversation in which that happened when."""
    said = Conversation(connections={"us": Connection("us")})
    said.events += [Event(time, "us", side, kind) for time, side, kind in events]
    said.events.insert(1, Event(0.0, "another", US, SAID))
    return as_seen_in_time(said, finding)


PROMPT = ((0.0, THEY, OPEN), (0.0, THEY, SAID), (0.01, US, SAID), (0.5, THEY, OVER))
LATE = ((0.0, THEY, OPEN), (0.0, THEY, SAID), (0.38, US, SAID), (0.381, THEY, OVER))


@pytest.mark.parametrize(
    ("events", "ours"),
    [
        (LATE, True),
        ((*PROMPT[:3], (0.2, US, SAID), (0.21, THEY, OVER)), True),
        ((*PROMPT[:2], (0.3, THEY, OVER), (0.31, US, SAID)), True),
        ((*LATE[:3], (0.39, THEY, SAID), (0.4, US, SAID), (0.41, THEY, OVER)), True),
        ((*LATE[:3], (0.39, THEY, SAID), (0.4, US, SAID), (0.41, THEY, SAID), (0.42, THEY, OVER)), False),
        (PROMPT, False),
        ((*PROMPT, (0.9, US, SAID)), False),
        (LATE[:3], False),
    ],
    ids=[
        "a late answer",
        "a piece too late",
        "no answer yet",
        "it went on and gave up",
        "a live session",
        "a prompt answer",
        "a word after the end",
        "no end",
    ],
)
def test_whose_delay_it_was(events: tuple[tuple[float, Side, Happened], ...], ours: bool) -> None:
    assert (told(*events).path == KEPT_WAITING) is ours
    assert told(*events).reached is not ours


@pytest.mark.parametrize(("data", "framing", "ours"), [
    ("0f00", Framing.STREAM, True), ("0100040f00c109", Framing.STREAM, True), ("0100040200c109", Framing.STREAM, False),
    ("0f00", Framing.DATAGRAM, False),
])  # fmt: skip
def test_it_is_our_turn_until_the_last_piece_of_a_batch(data: str, framing: Framing, ours: bool) -> None:
    said = Conversation(connections={"us": Connection("us", framing=framing)})
    said.events += [
        Event(0.0, "us", US, OPEN),
        Event(0.01, "us", US, SAID, bytes.fromhex(data)),
        Event(0.7, "us", THEY, OVER),
    ]
    assert (as_seen_in_time(said, FOUND).path == KEPT_WAITING) is ours


@pytest.mark.parametrize("got", ["Close(INVALID)", "silence", "Frame"])
def test_what_is_said_is_judged(got: str) -> None:
    finding = replace(FOUND, got=got)
    assert told(*LATE, finding=finding) is finding


def heard(*events: tuple[float, Side, Happened], waited: float = 0.0) -> Conversation:
    """A conversation in which that happened when; `waited` of the last thing that we sent."""
    said = Conversation(connections={"us": Connection("us")})
    said.events += [Event(time, "us", side, kind) for time, side, kind in events]
    ours = [event for event in said if event.sender is US and event.kind is SAID]
    if ours:
        ours[-1].waited = waited
    return said


HASTY: Waits = {"InitSyn": 0.1, "OpenSyn": 0.2}
SOON = ((0.0, THEY, OPEN), (0.0, THEY, SAID), (0.01, US, SAID), (0.02, THEY, OVER))
AT_90_MS = (*SOON[:2], (0.09, US, SAID), (0.091, THEY, OVER))
OPEN_AT_90_MS = (*SOON[:3], (0.02, THEY, SAID), (0.11, US, SAID), (0.12, THEY, OVER))


@pytest.mark.parametrize(
    ("said", "waits", "late"),
    [
        (heard(*AT_90_MS), HASTY, "we answered 90 ms after InitSyn, the target waits 100 ms"),
        (heard(*AT_90_MS), {"OpenSyn": 0.1}, "we answered 90 ms after InitSyn, the target waits 100 ms"),
        (heard(*SOON, waited=0.06), HASTY, "we answered 60 ms after InitSyn, the target waits 100 ms"),
        (heard(*OPEN_AT_90_MS), HASTY, None),
        (heard(*OPEN_AT_90_MS), {"OpenSyn": 0.1}, "we answered 90 ms after OpenSyn, the target waits 100 ms"),
        (heard(*SOON), HASTY, None),
        (heard(*AT_90_MS[:3]), HASTY, None),
        (heard(*AT_90_MS), {}, None),
        (heard(*LATE), {}, None),
        (heard(*LATE), {"InitSyn": 1.0}, None),
    ],
)
def test_with_an_impatient_target_half_of_its_patience_is_late(
    said: Conversation, waits: Waits, late: str | None
) -> None:
    found = kept_waiting(said, THEY, waits)
    assert (found and found.why) == late
    assert found is None or (found.path == KEPT_WAITING and not found.reached)


def test_a_silence_that_is_meant_is_no_delay() -> None:
    silent = heard((0.0, THEY, OPEN), (0.0, THEY, SAID), (0.1, THEY, OVER))
    assert kept_waiting(silent, THEY, HASTY)
    assert kept_waiting(silent, THEY, HASTY, silence_is_meant=True) is None
    assert kept_waiting(heard(*AT_90_MS), THEY, HASTY, silence_is_meant=True)


def test_a_target_that_was_seen_to_wait_is_held_to_it() -> None:
    assert as_seen_in_time(heard(*LATE), FOUND, {"InitSyn": 2.0}) is FOUND
    assert as_seen_in_time(heard(*LATE), FOUND, {"InitSyn": 0.7}).path == KEPT_WAITING


def test_a_listener_waits_from_the_opening_of_the_link() -> None:
    said = heard((0.0, US, OPEN), (0.06, US, SAID), (0.07, US, SAID), (0.1, THEY, OVER))
    for event in said:
        event.sender = event.sender if event.sender is THEY else US
    late = [delay.after for delay in delays(said, THEY, {"the link's opening": 0.1})]
    assert late == ["the link's opening"]


@pytest.mark.parametrize(("waits", "impatient"), [({}, False), ({"InitSyn": 0.1}, True), ({"InitSyn": 1.5}, False)])
def test_who_is_impatient(waits: Waits, impatient: bool) -> None:
    assert is_impatient(waits) is impatient
