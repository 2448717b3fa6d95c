"""The rule by which a codec is judged, each verdict with a sample of its own."""

from __future__ import annotations

import pytest

from zenoh_vectors import confirmed
from zenoh_vectors.judge import VectorOutcome, judge, judge_written


@pytest.fixture
def named(vectors):
    return {vector.id: vector for vector in vectors}.__getitem__


def test_the_meaning_passes_and_another_one_does_not(named):
    vector = named("open/syn-in-seconds")
    assert judge(vector, VectorOutcome(vector.means)).verdict == "pass"
    other = {"Open": {**vector.means["Open"], "lease": 11}}
    judged = judge(vector, VectorOutcome(other))
    assert judged.verdict == "fail" and judged.cause == "Open.lease: expected 10, found 11"


def test_bytes_left_over_are_a_refusal(named):
    vector = named("open/syn-in-seconds")
    judged = judge(vector, VectorOutcome(vector.means, size=len(vector.data) - 1))
    assert judged.verdict == "fail" and "1 bytes are left over" in judged.cause
    trailing = named("init/trailing-byte")
    assert judge(trailing, VectorOutcome({"Init": {}}, size=len(trailing.data) - 1)).verdict == "pass"


def test_a_refusal_passes_whatever_the_byte_and_its_absence_fails(named):
    vector = named("init/whatami-unassigned")
    assert judge(vector, VectorOutcome(None, "no", 99)).verdict == "pass"
    judged = judge(vector, VectorOutcome({"Init": {}}))
    assert judged.verdict == "fail" and "init.packed" in judged.cause


def test_what_says_the_same_passes(named):
    vector = named("push/ext-unknown-optional-z64")
    assert vector.also and judge(vector, VectorOutcome(vector.also[0])).verdict == "pass"


def test_the_other_reading_of_a_pinned_point_fails_and_is_named(named):
    vector = named("query/body-with-inner-length")
    [erratum] = vector.errata
    judged = judge(vector, VectorOutcome(erratum.other_means))
    assert (judged.verdict, judged.reading) == ("fail", "as written")
    assert judge(vector, VectorOutcome(vector.means)).reading == "as erratum"


def test_an_open_point_never_fails(named):
    vector = (
        named("open/syn-lease-overlong-2")
        if "open/syn-lease-overlong-2" in _ids(named)
        else named("vle/value-5-in-2-bytes")
    )
    judged = judge(vector, VectorOutcome(None, "overlong", 0))
    assert judged.verdict == "pass" and judged.cause.startswith("open point vle-overlong-accepted")


def _ids(named):
    return named.__self__.keys()


def test_a_part_that_a_build_does_not_have_is_not_applicable(named):
    vector = named("put/shm-one-raw-slice")
    assert vector.needs == ("shm",) and judge(vector, VectorOutcome(None, "no")).verdict == "not-applicable"
    assert judge_written(vector, b"").verdict == "not-applicable"


def test_written_bytes_are_compared_and_the_first_difference_is_named(named):
    vector = named("open/syn-in-seconds")
    assert judge_written(vector, vector.data).verdict == "pass"
    judged = judge_written(vector, b"\x42\x0b" + vector.data[2:])
    assert judged.verdict == "fail" and judged.cause.startswith("byte 1 (open.lease)")
    assert judge_written(vector, None, "no field lease").cause == "cannot be written: no field lease"


def test_confirmations_last_as_long_as_the_vector(tmp_path, named, vectors):
    path = tmp_path / "confirmed.json"
    some = vectors[:3]
    assert confirmed.record(some, "zenoh-codec 1.10.2", [some[0].id, some[1].id], path) == 2
    assert confirmed.record(some, "wheel 1.10.2", [some[0].id], path) == 1
    table = confirmed.read(path)
    assert table[some[0].id] == {confirmed.digest(some[0]): ["wheel 1.10.2", "zenoh-codec 1.10.2"]}
    assert some[2].id not in table
    confirmed.record(some, "zenoh-codec 1.10.2", [some[1].id], path)
    assert confirmed.read(path)[some[0].id] == {confirmed.digest(some[0]): ["wheel 1.10.2"]}


def test_the_builder_and_the_loader_make_the_same_digest(vectors):
    from zenoh_vectors.build.tree import all_vectors, digest

    loaded = {vector.id: confirmed.digest(vector) for vector in vectors}
    assert {vector.id: digest(vector) for group in all_vectors().values() for vector in group} == loaded
