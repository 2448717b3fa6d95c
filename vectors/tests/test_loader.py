"""A file that is no good is named with file, id and field."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from vector_schema import schema_faults

import zenoh_vectors.loader as loader
from zenoh_vectors.loader import VectorError, load, load_file

GOOD = {
    "id": "open/sample", "about": "a sample", "covers": ["session-establishment/open-id"], "layer": "transport",
    "bytes": "2264", "segments": [["open.header", "22", "OPEN, A"], ["open.lease", "64", "100 ms"]],
    "means": {"Open": {"ack": True}}, "canonical": False, "source": "made up", "confirmed_by": [],
}  # fmt: skip
REFUSED = {**{k: v for k, v in GOOD.items() if k not in ("means", "canonical")},
           "refuses": {"why": "truncated", "at": 2, "path": "open.initial_sn"}}  # fmt: skip
SCHEMA = json.loads((loader.data_folder().parent / "vectors.schema.json").read_text(encoding="utf-8"))


def written(folder: Path, *entries, name="open.json", **top):
    file = folder / name
    file.write_text(json.dumps({"format": 1, "message": "open", "vectors": list(entries), **top}), encoding="utf-8")
    return file


def without(entry, *names):
    return {name: value for name, value in entry.items() if name not in names}


FAULTS = {
    "bytes that differ from the segments": (GOOD | {"bytes": "2265"}, "bytes", "byte 1"),
    "bytes that are longer": (GOOD | {"bytes": "226400"}, "bytes", "byte 2"),
    "bytes that are no hex": (GOOD | {"bytes": "22zz"}, "bytes", "hexadecimal"),
    "a segment that is no hex": (GOOD | {"segments": [["open.header", "2", ""]]}, "segments[0]", "[path, hex, note]"),
    "a segment without a note": (GOOD | {"segments": [["open.header", "22"]]}, "segments[0]", "[path, hex, note]"),
    "a path of strange letters": (GOOD | {"segments": [["Open header", "22", ""]]}, "segments[0]", "[path, hex, note]"),
    "no layer": (without(GOOD, "layer"), "layer", "expected one of"),
    "a layer that does not exist": (GOOD | {"layer": "session"}, "layer", "session"),
    "an id without a file": (GOOD | {"id": "sample"}, "id", "phrase"),
    "neither meaning nor refusal": (without(GOOD, "means"), "means", "exactly one"),
    "both": (GOOD | {"refuses": REFUSED["refuses"]}, "means", "exactly one"),
    "a meaning that is no object": (GOOD | {"means": []}, "means", "dict"),
    "nothing about canonical": (without(GOOD, "canonical"), "canonical", "missing"),
    "a refusal beyond the bytes": (
        REFUSED | {"refuses": {"why": "truncated", "at": 3, "path": "x"}},
        "refuses.at",
        "outside",
    ),
    "a refusal without a byte": (REFUSED | {"refuses": {"why": "truncated", "path": "x"}}, "refuses", '"at"'),
    "an erratum without a reading": (GOOD | {"errata": [{"id": "x", "stance": "PIN"}]}, "errata", "reading"),
    "an erratum of no stance": (
        GOOD | {"errata": [{"id": "x", "stance": "NO", "reading": "as written"}]},
        "errata",
        "stance",
    ),
    "a remark beyond the bytes": (GOOD | {"remarks": [["reserved-bit", 9, "open.header"]]}, "remarks", "outside"),
    "a field that does not exist": (GOOD | {"comment": "x"}, "comment", "no such field"),
    "no source": (without(GOOD, "source"), "source", "missing"),
    "a step of nobody": (
        without(GOOD, "means", "bytes", "segments") | {"steps": [{"from": "us"}]},
        "steps[0].from",
        "initiator",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_entry_is_named(tmp_path, name):
    entry, field, why = FAULTS[name]
    with pytest.raises(VectorError) as raised:
        load_file(written(tmp_path, entry))
    assert (raised.value.file, raised.value.id, raised.value.field) == ("open.json", entry.get("id"), field)
    assert why in str(raised.value) and "open.json" in str(raised.value) and field in str(raised.value)


@pytest.mark.parametrize("name", FAULTS)
def test_the_schema_finds_it_too_unless_it_cannot_count(tmp_path, name):
    entry, _, why = FAULTS[name]
    found = schema_faults(written(tmp_path, entry), SCHEMA)
    assert bool(found) is (why not in ("byte 1", "byte 2", "outside"))


def test_a_good_entry_is_read(tmp_path):
    [vector, refused] = load_file(written(tmp_path, GOOD, REFUSED | {"id": "open/refused"}))
    assert vector.data == b"\x22\x64" and vector.means == {"Open": {"ack": True}} and not vector.acceptable
    assert refused.refuses == ("truncated", 2, "open.initial_sn") and refused.means is None
    assert schema_faults(tmp_path / "open.json", SCHEMA) == []


def test_an_id_that_stands_twice_is_named(tmp_path):
    written(tmp_path, GOOD)
    written(tmp_path, GOOD, name="other.json")
    with pytest.raises(VectorError, match=r"other.json: open/sample: id: stands in open.json too"):
        load(tmp_path)


def test_a_requirement_that_does_not_exist_is_named(tmp_path):
    written(tmp_path, GOOD)
    assert len(load(tmp_path, requirements={"session-establishment/open-id"})) == 1
    with pytest.raises(
        VectorError, match=r"open.json: open/sample: covers: unknown requirement 'session-establishment/open-id'"
    ):
        load(tmp_path, requirements={"session-establishment/other"})


@pytest.mark.parametrize(("text", "field"), [("{", "(file)"), ("[]", "vectors"), ('{"format": 1}', "vectors"),
                                             ('{"format": 2, "vectors": []}', "format")])  # fmt: skip
def test_a_file_that_is_none_is_named(tmp_path, text, field):
    (tmp_path / "open.json").write_text(text, encoding="utf-8")
    with pytest.raises(VectorError) as raised:
        load(tmp_path)
    assert (raised.value.file, raised.value.field) == ("open.json", field)


def test_a_folder_without_vectors_is_named(tmp_path):
    with pytest.raises(VectorError, match="holds no vector file"):
        load(tmp_path)


def test_the_loader_imports_nothing_of_ours():
    tree = ast.parse(Path(loader.__file__).read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [name for name in names if name.startswith("zenoh")]
