"""A peer whose messages never end: the reference holds so much of them, and closes the session."""

from __future__ import annotations

import lz4.block
import pytest

from zenoh_conformance.messages import Fragment, sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.reading.connection import MOST_PENDING
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.reference import INVALID, Reference, traffic
from zenoh_harness.reference.configured import config_of
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


@pytest.mark.parametrize("compressed", [False, True], ids=["long length", "exploding block"])
def test_a_batch_that_is_too_large_ends_the_session(compressed: bool) -> None:
    mode = "Compression" if compressed else "LowLatency"
    syn = sane.init_syn(b"\x01", exts=sane.offers(mode))
    node = Reference(config_of("compression" if compressed else "low-latency"))
    node.connected("a", Side.RESPONDER, 0.0)
    answers = node.received("a", frame_batch(encode(syn)), 0.0)
    ack = decode(answers[0].data[2:]).message
    node.received("a", frame_batch(encode(sane.open_syn(ack))), 0.0)
    assert node.links["a"].live
    bomb = b"\x01" + lz4.block.compress(bytes(1 << 24), store_size=False)
    said = [(MOST_PENDING + 1).to_bytes(4, "little"), *[bytes(1 << 16)] * 3]
    if compressed:
        bomb = bomb[:0xFFFF]
        said = [len(bomb).to_bytes(2, "little") + bomb]
    ends = [action.end for data in said for action in node.received("a", data, 0.0)]
    assert ends[-1:] == [True]
    assert not node.links
