"""The data files: as the builder writes them, as the schema wants them, and with all that was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from vector_schema import schema_faults

from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.requirement import requirements
from zenoh_vectors.build.__main__ import main
from zenoh_vectors.build.octets import overlong, vle
from zenoh_vectors.build.tree import Clash, texts, unique
from zenoh_vectors.build.write import changed, rewrite
from zenoh_vectors.loader import check_covers, data_folder

pytestmark = pytest.mark.long


def test_the_tree_is_what_the_builder_writes(capsys):
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_a_tree_that_differs_is_named_and_mended(tmp_path, capsys, monkeypatch):
    whole = texts()
    monkeypatch.setattr("zenoh_vectors.build.__main__.texts", lambda: whole)
    (tmp_path / "stray.json").write_text("{}")
    assert main(["--check", "--into", str(tmp_path)]) == 1
    assert "differs: stray.json" in capsys.readouterr().out
    assert main(["--into", str(tmp_path)]) == 0
    assert main(["--check", "--into", str(tmp_path)]) == 0
    assert not (tmp_path / "stray.json").exists()
    (tmp_path / "open.json").write_text((tmp_path / "open.json").read_text().replace("OPEN", "NEPO", 1))
    assert changed(whole, tmp_path) == ["open.json"] == rewrite(whole, tmp_path)


def test_the_same_input_gives_the_same_bytes(tmp_path):
    command = [sys.executable, "-m", "zenoh_vectors.build", "--into", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert (
        changed({file.name: file.read_text(encoding="utf-8") for file in data_folder().glob("*.json")}, tmp_path) == []
    )


def test_two_vectors_of_one_id_stop_the_builder(vectors):
    from zenoh_vectors.build.tree import all_vectors

    one = all_vectors()["close"][0]
    with pytest.raises(Clash, match=one.id):
        list(unique([one, one]))


def test_ids_are_sorted_and_stand_in_their_file(vectors):
    assert [vector.id for vector in vectors] == sorted(vector.id for vector in vectors)
    for file in data_folder().glob("*.json"):
        ids = [entry["id"] for entry in json.loads(file.read_text(encoding="utf-8"))["vectors"]]
        assert ids == sorted(ids)


@pytest.mark.parametrize("name", ["open", "vle", "batch", "handshake", "keyexpr"])
def test_the_files_follow_the_schema(name):
    schema = json.loads((data_folder().parent / "vectors.schema.json").read_text(encoding="utf-8"))
    assert schema_faults(data_folder() / f"{name}.json", schema) == []


@pytest.mark.soak
def test_all_files_follow_the_schema():
    schema = json.loads((data_folder().parent / "vectors.schema.json").read_text(encoding="utf-8"))
    assert [str(fault) for file in sorted(data_folder().glob("*.json")) for fault in schema_faults(file, schema)] == []


def test_every_requirement_that_a_codec_can_keep_is_covered(vectors):
    covered = {ident for vector in vectors for ident in vector.covers}
    owed = {each.id for each in requirements().values() if each.by_codec and not each.unobservable}
    assert sorted(owed - covered) == []
    check_covers(vectors, requirements())


def test_every_erratum_exists_and_has_the_stance_that_is_written(vectors):
    table = errata()
    for vector in vectors:
        for erratum in vector.errata:
            assert erratum.id in table, f"{vector.id}: no erratum is called {erratum.id}"
            assert erratum.stance in (table[erratum.id].stance, "GAP"), f"{vector.id}: {erratum.id}"


def test_there_are_as_many_as_the_pages_hold(vectors):
    counts = Counter(vector.refuses is not None for vector in vectors)
    assert counts[False] > 1000 and counts[True] > 1000


def test_a_refusal_is_no_meaning_and_has_one_failure(vectors):
    for vector in vectors:
        if vector.refuses is not None:
            assert not vector.remarks and not vector.also and not vector.canonical


def test_every_proper_beginning_of_some_vector_is_refused_somewhere(vectors):
    cut = {vector.refuses.path for vector in vectors if vector.refuses and vector.refuses.why == "truncated"}
    for path in (
        "init.zid",
        "open.lease",
        "push.put.payload.length",
        "request.id",
        "declare.d_subscriber.id",
        "join.next_sn_reliable",
    ):
        assert path in cut


@pytest.mark.parametrize(("value", "wire"), [
    (0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (16384, "808001"), (2**28 - 1, "ffffff7f"),
    (2**28, "8080808001"), (2**35 - 1, "ffffffff7f"), (2**56 - 1, "ff" * 7 + "7f"), (2**56, "80" * 8 + "01"),
    (2**63, "80" * 9), (2**64 - 1, "ff" * 9),
])  # fmt: skip
def test_the_builders_own_integers_are_those_of_the_table(value, wire):
    assert vle(value).hex() == wire


def test_overlong_integers_hold_the_same_value():
    assert overlong(5, 2) == b"\x85\x00" and overlong(5, 9) == b"\x85" + b"\x80" * 7 + b"\x00"
    assert overlong(300, 3) == b"\xac\x82\x00"


EXERCISED = {
    "primitives/truncated-is-refused": lambda vector: vector.refuses is not None,
    "primitives/strings-are-utf8": lambda vector: vector.refuses is not None,
    "primitives/extension-encoding-3-refused": lambda vector: vector.refuses is not None,
    "primitives/unknown-optional-skipped": lambda vector: vector.refuses is None and remarked(vector),
    "primitives/extension-mandatory-bit": lambda vector: (
        vector.refuses is None or vector.refuses.why == "unknown-mandatory-extension"
    ),
    "primitives/extension-encoding-bits": lambda vector: (
        "unknown-mandatory" not in vector.id and "enc-11" not in vector.id
    ),
    "message-reference/network-qos-extension": lambda vector: vector.layer == "network",
}
"""What a vector does that exercises a requirement which many vectors cover."""


def remarked(vector):
    """An unknown extension was seen, and passed by."""
    return any(remark.kind == "unknown-extension" for remark in vector.remarks)


@pytest.mark.parametrize("requirement", EXERCISED)
def test_what_covers_a_requirement_exercises_it(requirement, vectors):
    covering = [vector for vector in vectors if requirement in vector.covers]

    assert covering
    assert [vector.id for vector in covering if not EXERCISED[requirement](vector)] == []
