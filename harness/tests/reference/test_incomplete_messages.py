"""A peer whose messages never end: the reference holds so much of them, and closes the session."""

from __future__ import annotations

import pytest

from zenoh_conformance.messages import Fragment
from zenoh_harness.reference import INVALID, traffic
from zenoh_harness.reference.memory import MemoryScene

MOST = 200_000


@pytest.mark.parametrize("reliable", [(True,), (True, False)], ids=["one lane", "two lanes"])
def test_a_message_without_an_end_ends_the_session(reliable: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MOST_PARTIAL", MOST)
    scene = MemoryScene("fragmentation/fragments-reassemble")
    us = scene.session("us")
    [link] = scene.world.node.links.values()
    numbers = dict.fromkeys(reliable, us.my_open.initial_sn)
    held = []
    for step in range(40):
        lane = reliable[step % len(reliable)]
        us.send(Fragment(reliable=lane, more=True, sn=numbers[lane], payload=bytes(10_000)))
        numbers[lane] += 1
        held.append(sum(map(len, link.partial.values())))
    us.listen(0.1)
    assert max(held) <= MOST
    assert (us.closed, len(held)) == (INVALID, 40)
