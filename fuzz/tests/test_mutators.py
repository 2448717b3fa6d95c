"""Mutators keep within bounds, repeat from their seed, reach every kind of message, and fall back to bytes."""

from __future__ import annotations

from random import Random

import pytest

from zenoh_conformance.messages import Close, Open
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.layer import Layer
from zenoh_fuzz import inputs
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.mutators import EDITS, Mutator, segments_of
from zenoh_fuzz.mutators.edits import DoesNotFitError
from zenoh_fuzz.mutators.generate import a_message, an_input
from zenoh_fuzz.triage.minimise import smallest

OPEN = b"\0" + encode(Open(ack=False, lease_in_seconds=True, lease=10, initial_sn=7, cookie=b"\1\2"))
PUSH = bytes.fromhex("01bd000161210581010002 6869".replace(" ", ""))


def test_a_seed_repeats():
    first, second = Mutator(), Mutator()
    assert [first(OPEN, 4096, seed) for seed in range(80)] == [second(OPEN, 4096, seed) for seed in range(80)]


def test_the_bound_is_kept():
    change = Mutator()
    assert all(len(change(OPEN, 9, seed)) <= 9 and len(change.cross(OPEN, PUSH, 9, seed)) <= 9 for seed in range(200))


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_changes_some_message(name):
    changed = 0
    for data in (OPEN, PUSH, bytes.fromhex("0322010930c4c3c2c104")):
        segments, _ = segments_of(data)
        for seed in range(20):
            try:
                changed += EDITS[name](segments, Random(seed)).join() != data[1:]
            except (DoesNotFitError, LookupError, ValueError):
                continue
    assert changed


def test_what_is_no_message_is_mutated_as_bytes():
    change = Mutator(lambda data, most: b"bytes")
    assert {change(b"\0\xff\xff", 4096, seed) for seed in range(80)} >= {b"bytes"}
    assert segments_of(b"\0\xff\xff") is None


def test_inputs_stay_in_the_layers_that_were_asked_for():
    change = Mutator(layers=(2,))
    assert {change(OPEN, 4096, seed)[0] for seed in range(100)} == {2}


def test_generated_messages_are_right_and_of_every_kind():
    random = Random(3)
    for layer in (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING):
        seen = {type(decode(a_message(layer, random), layer).message) for _ in range(300)}
        assert seen == set(registry.kinds(layer).values())
    assert {an_input(random)[0] for _ in range(200)} == set(range(len(inputs.LAYERS)))


def test_what_is_kept_is_credited():
    change = Mutator()
    change(OPEN, 4096, 1)
    change.credit()
    assert change.brought == change.used
    assert sum(change.used.values()) == len(change.last)


def test_a_dictionary_is_what_libfuzzer_reads():
    assert seeds.dictionary([b"\x01\xff", b"", b"\x01\xff"]) == '"\\x01\\xff"\n'
    assert seeds.dictionary(seeds.message_words()).count("\n") > 40


def test_seeds_are_written_once_and_large_ones_left_out(tmp_path):
    assert seeds.write_corpus(tmp_path, [b"a", b"a", b"bb", b"ccc", b""], largest=2) == 2


# --- minimising -------------------------------------------------------------------------------------------------------


def test_the_smallest_input_is_the_same_finding():
    frame = b"\0" + bytes.fromhex("25073d0001610101763d000162010177") + encode(Close(reason=7))
    assert smallest(frame, lambda data: b"b" in data[1:]) == b"\0b"
    kept = smallest(frame, lambda data: segments_of(data) is not None and "w" in str(segments_of(data)))
    assert len(kept) < len(frame)


def test_what_is_tried_is_bounded():
    tried = []

    def same(data):
        tried.append(data)
        return False

    assert smallest(b"\0" + bytes(range(200)), same, most=50) == b"\0" + bytes(range(200))
    assert len(tried) <= 51
