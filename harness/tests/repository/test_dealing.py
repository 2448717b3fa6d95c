"""How the tests are dealt out: what takes long first, as marks or the last run say, and none of it in the quick round."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[3]

SAMPLE = """
import pytest

def test_short(): ...

@pytest.mark.long
def test_long(): ...

@pytest.mark.long(40)
def test_longest(): ...

@pytest.mark.needs("cargo")
def test_heavy(): ...

@pytest.mark.needs("bash")
def test_light(): ...
"""


@pytest.fixture(scope="module")
def dealing():
    """The conftest.py of the repository, as a module."""
    spec = importlib.util.spec_from_file_location("dealing", ROOT / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def collected(pytester):
    """The names of the tests of the sample, in the order in which they are dealt out."""
    shutil.copy(ROOT / "conftest.py", pytester.path)
    pytester.makepyfile(SAMPLE)

    def collect(*words: str) -> list[str]:
        lines = pytester.runpytest_inprocess("--collect-only", "-q", *words).outlines
        return [line.partition("::test_")[2] for line in lines if "::test_" in line]

    return collect


def test_what_is_marked_with_the_most_seconds_comes_first(collected):
    assert collected() == ["longest", "long", "heavy", "short", "light"]


def test_the_quick_round_has_what_is_not_long(collected):
    assert collected("--quick") == ["short", "light"]


def test_what_took_longest_is_dealt_out_first_and_what_never_ran_keeps_its_place(dealing):
    assert dealing.longest(["a", "b", "c"], {"b": 2.0, "c": 5.0}) == "c"
    assert dealing.longest(["a", "b"], {}) == "a"


def test_each_run_keeps_what_its_tests_took(pytester, dealing):
    shutil.copy(ROOT / "conftest.py", pytester.path)
    pytester.makepyfile("import time\ndef test_slow(): time.sleep(0.2)\ndef test_fast(): ...\n")
    file = pytester.path / ".pytest_cache/v" / dealing.SECONDS

    pytester.runpytest_inprocess()
    first = json.loads(file.read_text())
    pytester.runpytest_inprocess("-k", "fast")

    assert {name.partition("::")[2]: took >= 0.2 for name, took in first.items()} == {"test_slow": True}
    assert json.loads(file.read_text()) == first


def test_a_worker_begins_with_what_took_longest(pytester, dealing):
    """Without times it is the order of the file."""
    shutil.copy(ROOT / "conftest.py", pytester.path)
    file = pytester.makepyfile("\n".join(["import pytest", "pytestmark = pytest.mark.spread", *map(a_test, range(8))]))

    def ran() -> str:
        shown = pytester.runpytest_inprocess("-n", "1", "-v").stdout.str()
        return "".join(re.findall(r"PASSED \S+::test_(\d)", shown))

    assert ran() == "01234567"
    kept = pytester.path / ".pytest_cache/v" / dealing.SECONDS
    kept.write_text(json.dumps({f"{file.name}::test_6": 9.0, f"{file.name}::test_7": 5.0}))
    assert ran() == "67012345"


def a_test(number: int) -> str:
    """An empty test."""
    return f"def test_{number}(): ..."
