"""Whoever states a batch size in which hardly anything has room: the reference keeps to it, and goes on working."""

from __future__ import annotations

import pytest

from zenoh_conformance.messages import Fragment, Push
from zenoh_harness.reference.memory import MemoryScene

PAYLOAD = bytes(range(200))


@pytest.mark.parametrize("size", [13, 16, 17, 64])
def test_a_publication_comes_in_fragments_however_small_batches_are(size: int) -> None:
    scene = MemoryScene("fragmentation/fragments-reassemble")
    near = scene.dialogue("near").open(batch_size=size)
    near.subscribe("k")
    near.fence()

    us = scene.session("us")
    us.publish("k", PAYLOAD)
    us.fence()

    near.expect(Push, where=lambda push: push.body.payload == PAYLOAD)
    assert sum(isinstance(seen.message, Fragment) for seen in near.heard) > 1
    assert near.largest <= size


@pytest.mark.parametrize("size", [0, 1, 6, 8])
def test_what_has_no_room_for_a_fragment_is_not_said_and_others_are_served(size: int) -> None:
    scene = MemoryScene("session-establishment/batch-size-effective-minimum")
    near = scene.dialogue("near").open(batch_size=size)
    near.subscribe("k")

    us = scene.session("us")
    us.publish("k", PAYLOAD)
    us.fence()

    assert not any(isinstance(seen.message, Push | Fragment) for seen in near.heard)
