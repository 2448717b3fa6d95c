"""What users name stays: ids, fields, words, exit codes, target kinds and shipped data, held against `inventory.json`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def inventory():
    spec = importlib.util.spec_from_file_location("inventory", ROOT / ".ci/inventory.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def here(inventory):
    return inventory.now()


def test_nothing_has_vanished_and_what_is_new_is_listed(inventory, here):
    kept = inventory.kept()
    vanished, new = inventory.lacking(kept, here), inventory.lacking(here, kept)
    text = []
    if vanished:
        text = [
            "vanished (an id lives for ever: bring it back, or keep it as an alias of what replaced it; if it is really",
            "to go, take it out of harness/tests/inventory.json and say so in CHANGELOG.md; folders and data that moved:",
            f"{inventory.UPDATE}):",
            *(f"  {line}" for line in vanished),
        ]
    if new:
        text += [f"new (write it into the list: {inventory.UPDATE}):", *(f"  {line}" for line in new)]
    if text:
        pytest.fail("\n".join(text), pytrace=False)


def test_no_part_is_empty(here):
    assert [part for part, names in here.items() if not names] == []


def test_what_vanishes_is_named(inventory, here):
    """Of each part, one name less is seen as vanished, one more as new."""
    for part, names in here.items():
        fewer = {**here, part: names[1:]}
        assert inventory.lacking(here, fewer) == [f"{part}: {names[0]}"]
        assert inventory.lacking(fewer, here) == []


def test_an_update_drops_no_id_and_follows_the_files(inventory):
    before = {"cases": ["a", "b"], "data in the wheel": ["old"]}
    here = {"cases": ["b", "c"], "data in the wheel": ["new"]}
    assert inventory.updated(before, here) == {"cases": ["a", "b", "c"], "data in the wheel": ["new"]}


def test_the_fields_of_a_schema(inventory):
    schema = {
        "oneOf": [{"properties": {"type": {"const": "header"}, "at": {"properties": {"name": {"type": "string"}}}}}],
        "$defs": {"word": {"enum": ["x", 1]}},
        "items": {"properties": {"one": {}}},
    }
    found = ['#word="x"', "#word=1", "[].one", "type", 'type="header"', "at", "at.name"]
    assert sorted(inventory.fields_of(schema)) == sorted(found)
