"""The page about targets names every kind, profile, blank and command that there is."""

import re
from pathlib import Path

import pytest

from zenoh_harness.profiles import PROFILES
from zenoh_harness.targets.agent import _schemas
from zenoh_harness.targets.reach import reachable

PAGE = Path(__file__).parents[3] / "docs" / "pages" / "targets.md"


@pytest.fixture(scope="module")
def words():
    return set(re.findall(r"[A-Za-z0-9_-]+", PAGE.read_text()))


@pytest.mark.parametrize("name", sorted({*reachable(), *PROFILES}))
def test_is_told(words, name):
    assert name in words


def test_every_command_is_told(words):
    rules = _schemas()["request"].schema["oneOf"]
    names = {rule["properties"]["cmd"].get("const") or rule["properties"]["cmd"]["enum"][0] for rule in rules}
    assert names <= words
