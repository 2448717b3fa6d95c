"""All vectors against our codec: meaning, bytes, the byte of each refusal, remarks, segments."""

from __future__ import annotations

import time

from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import Layer

MESSAGES = ("transport", "network", "scouting")


def test_every_vector_is_understood_written_and_refused_as_it_says(vectors, ours):
    assert list(ours.disagreements(vectors)) == []
    assert sum(vector.canonical for vector in vectors) > 1500
    assert sum(vector.refuses is not None for vector in vectors) > 1500


def test_all_of_them_take_less_than_two_seconds(vectors, ours):
    begin = time.process_time()
    list(ours.disagreements(vectors))
    assert time.process_time() - begin < 2.0


def test_a_point_that_is_left_open_is_read_in_one_of_the_two_ways_that_are_written_down(vectors, ours):
    astray = []
    for vector in (part for whole in vectors for part in whole.parts):
        outcome = ours.decode(vector.layer, vector.data)
        means = [vector.means, *vector.also, *(erratum.other_means for erratum in vector.errata)]
        if outcome.means not in means and vector.refuses is None:
            astray.append(vector.id)
    assert astray == []


def test_refusals_point_at_the_byte_at_fault(vectors, ours):
    wrong = []
    for vector in vectors:
        if vector.refuses is not None:
            outcome = ours.decode(vector.layer, vector.data)
            at = outcome.size if outcome.means is not None else outcome.at
            if at != vector.refuses.at:
                wrong.append(
                    f"{vector.id}: expected {vector.refuses.at} ({vector.refuses.path}), found {at}: {outcome.why}"
                )
    assert wrong == []


def test_what_is_read_is_written_back_where_there_is_nothing_to_remark(vectors):
    lost = []
    for vector in vectors:
        if vector.means is not None and vector.layer in MESSAGES:
            decoded = codec.decode_whole(vector.data, Layer(vector.layer))
            kinds = {diagnostic.kind for diagnostic in decoded.diagnostics}
            if (
                kinds <= {"unknown-extension", "duplicate-extension", "unknown-value"}
                and codec.encode(decoded.message) != vector.data
            ):
                lost.append(vector.id)
    assert lost == []


def test_remarks_are_made_where_the_vectors_have_them_and_nowhere_else(vectors):
    wrong = []
    for vector in vectors:
        if vector.means is None or vector.layer not in MESSAGES:
            continue
        made = {(each.kind, each.at) for each in codec.decode_whole(vector.data, Layer(vector.layer)).diagnostics}
        wanted = {(remark.kind, remark.at) for remark in vector.remarks}
        if wanted != made:
            wrong.append(f"{vector.id}: expected {sorted(wanted)}, made {sorted(made)}")
    assert wrong == []


def test_segments_begin_and_end_where_the_codec_has_them(vectors):
    wrong = []
    for vector in vectors:
        paths = [segment.path for segment in vector.segments]
        if vector.means is None or vector.layer not in MESSAGES or len(set(paths)) < len(paths):
            continue
        found = {segment.path: segment.data for segment in codec.trace(vector.data, Layer(vector.layer)).segments}
        for segment in vector.segments:
            below = (segment.path + ".", segment.path + "[")
            data = b"".join(data for path, data in found.items() if path == segment.path or path.startswith(below))
            if data != segment.data:
                wrong.append(f"{vector.id}: {segment.path}: {segment.data.hex()} and {data.hex()}")
    assert wrong[:20] == []
