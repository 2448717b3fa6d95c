"""The mutator keeps within bounds, repeats from its seed, and mostly yields what still is a message."""

from __future__ import annotations

from zenoh_conformance.codec import encode
from zenoh_conformance.messages import Close, Open
from zenoh_fuzz.mutator import mutate
from zenoh_fuzz.oracles.decode import one_input

OPEN = b"\x00" + encode(Open(ack=False, lease_in_seconds=True, lease=10, initial_sn=7, cookie=b"\x01\x02"))


def as_bytes(data: bytes, most: int) -> bytes:
    return data[:most]


def test_a_seed_repeats() -> None:
    assert [mutate(OPEN, 4096, seed, as_bytes) for seed in range(50)] == [
        mutate(OPEN, 4096, seed, as_bytes) for seed in range(50)
    ]


def test_the_bound_is_kept() -> None:
    assert all(len(mutate(OPEN, 9, seed, as_bytes)) <= 9 for seed in range(200))


def test_most_changes_change_something_and_no_change_breaks_the_codec() -> None:
    changed = [mutate(OPEN, 4096, seed, as_bytes) for seed in range(300)]

    assert len(set(changed)) > 100
    for data in changed:
        one_input(data)


def test_what_is_no_message_is_mutated_as_bytes() -> None:
    assert mutate(b"\x00\xff\xff", 4096, 1, lambda data, most: b"bytes") == b"bytes"
    assert mutate(b"\x00" + encode(Close(reason=0)), 4096, 3, lambda data, most: b"bytes")
