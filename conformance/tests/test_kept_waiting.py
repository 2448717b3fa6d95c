"""A link that is given up while we keep the other side waiting in a handshake says nothing of who gave it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.kept_waiting import KEPT_WAITING, as_seen_in_time
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side

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


@pytest.mark.parametrize("got", ["Close(INVALID)", "silence", "Frame"])
def test_what_is_said_is_judged(got: str) -> None:
    finding = replace(FOUND, got=got)
    assert told(*LATE, finding=finding) is finding
