"""A long session with a real router, with traffic on all lanes: everything comes, in order, and no law has anything to say."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.own_side import own_faults
from zenoh_conformance.messages import InterestMode, InterestOptions, Push, UToken, sane
from zenoh_conformance.models.divisions import Channel, frame_of, pieces_of
from zenoh_conformance.models.modelled import is_known
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.reading.names import root_of_scene
from zenoh_conformance.talking import Dialogue, Party
from zenoh_harness.files import known as lists
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.links.wires import Recorder
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

RELEASE = "1.10.2"
SECONDS = float(os.environ.get("ZCONFORM_LONG_SESSION", "600"))
PAUSE = 0.02
"""Seconds between two publications."""
ROUND = 16
"""Publications after which there is a query and a declaration."""
CHANNELS: list[Channel] = [(reliable, priority) for priority in range(1, 8) for reliable in (True, False)]


@contextmanager
def two_parties() -> Iterator[tuple[Party, Party, Conversation]]:
    """A publisher and a subscriber around a router, and what is said in both sessions."""
    recorder = Recorder()
    with open_target(parse(f"wheel:{RELEASE}?role=router")).start() as node:
        sessions = list[Dialogue]()
        for number, name in enumerate(("publisher", "subscriber"), 1):
            wire = recorder.wire(node, name, Deadline.after(10))
            us = Dialogue(wire, zid=bytes([0x6C, number, 0x5A]), unit=scaled(2.0), requirement="target/stays-up")
            us.open(whatami=sane.CLIENT, exts=sane.offers("QoS", patch=1))
            us.join(sessions)
        root = root_of_scene(sessions[0].zid)
        yield Party(sessions[0], "publisher", root), Party(sessions[1], "subscriber", root), recorder.conversation


def exchange(publisher: Party, subscriber: Party, number: int) -> None:
    """A query with its answer, and a token that is declared and taken back."""
    asked = publisher.asks("q", parameters=str(number), consolidation=1)
    subscriber.takes(asked)
    subscriber.replies(asked, number.to_bytes(4, "big"))
    subscriber.finishes(asked)
    publisher.expect_answers(asked, [number.to_bytes(4, "big")])
    token = publisher.declares_token("t")
    publisher.retracts(UToken, token.id)
    publisher.settles()


def findings_of(conversation: Conversation) -> list[Finding]:
    """What the laws find in what the router said, beyond the list that ships."""
    listed = [entry for path in lists.shipped_lists() for entry in lists.read(path)]
    known = lists.of(listed, kind="wheel").requirements(RELEASE)
    said = judge(conversation)
    assert list(own_faults(conversation, said, Side.INITIATOR, ())) == []
    return [each for one in said for each in one.findings if one.sender is Side.RESPONDER and not is_known(known, each)]


@pytest.mark.soak
def test_a_long_session_with_traffic_on_all_lanes_breaks_no_law() -> None:
    with two_parties() as (publisher, subscriber, conversation):
        subscriber.declares_subscriber("k")
        subscriber.declares_queryable("q")
        subscriber.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, "t")
        subscriber.settles()
        said, began = defaultdict[Channel, list[bytes]](list), publisher.us.wire.now()

        for number in count():
            if publisher.us.wire.now() - began > SECONDS:
                break
            channel = CHANNELS[number % len(CHANNELS)]
            value = number.to_bytes(4, "big") * 10
            said[channel].append(value)
            units = (
                pieces_of(publisher, channel, value, 3) if number % 5 == 0 else [frame_of(publisher, channel, value)]
            )
            for unit in units:
                publisher.us.send(unit)
            publisher.us.listen(PAUSE)
            if number % ROUND == 0:
                exchange(publisher, subscriber, number)
        publisher.settles()
        subscriber.settles()

        for channel, values in said.items():
            wanted = set(values)
            came = [heard.message.body.payload for heard in subscriber.heard(Push)]
            mine = [value for value in came if value in wanted]
            assert mine == (values if channel[0] else sorted(mine))
    assert [finding.cause for finding in findings_of(conversation)] == []
