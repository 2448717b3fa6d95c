"""The scripts that count how the code stands, and that look at the subjects of commits, find what is planted."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BODY = "\n\nBecause."


def script(name):
    if (folder := str(ROOT / ".ci")) not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("cli: help loads no subcommand" + BODY, None),
        ("reports, fuzz: one session" + BODY, None),
        ("Merge branch 'main' into x", None),
        ("cli: " + "x" * 67 + BODY, None),
        ("cli: " + "x" * 68 + BODY, "73 characters, at most 72"),
        ("Let no two taps read into one buffer" + BODY, "is not `area: what`"),
        ("cli: help loads no subcommand", "no body that says why"),
        ("cli: help loads no subcommand\n# a remark of git", "no body that says why"),
        ("", "is not `area: what`"),
    ],
)
def test_a_subject_is_an_area_and_what(message, fault):
    found = " ".join(script("subjects").faults(message))
    assert (fault in found) if fault else not found


HARNESS = "harness/zenoh_harness"
TREE = {
    f"{HARNESS}/__init__.py": "",
    f"{HARNESS}/loose.py": "from typing import Any\nfrom zenoh_harness.links import wires\nx: Any = 1  # why\n# alone\n",
    f"{HARNESS}/links/wires.py": "class Same: ...\n\n\ndef f():\n    # fmt: off\n    from ..run import plan\n",
    f"{HARNESS}/run/plan.py": "from zenoh_harness.links.wires import Same as Other\n\nclass Same: ...\n",
    "conformance/zenoh_conformance/reading/codec.py": 'def told(text: set, other: str):\n    """Whoever hears."""\n',
    "fuzz/zenoh_fuzz/cli.py": "SILENT = {Verdict.PASS, Verdict.KNOWN}  # fmt: skip\n",
    "README.md": "Somebody reads.\n",
}
COUNTED = {
    "python files": 6,
    "logical lines": 11,
    "modules at the top of conformance": 1,
    "modules at the top of fuzz": 1,
    "modules at the top of the harness": 1,
    "arrows between subjects of the harness": 3,
    "arrows up": 1,
    "lines of the longest file": 6,
    "lines of the longest function": 3,
    "comment lines": 1,
    "class names with several meanings": 1,
    "functions named by a lone participle": 1,
    "forbidden phrases": 2,
    "names `text` that hold no str": 1,
    "verdict sets written by hand": 1,
    "# fmt: skip": 1,
    "Any": 1,
}


@pytest.fixture
def checkout(tmp_path):
    """A checkout in which each measure has something to count."""
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def test_what_is_planted_is_counted(checkout):
    assert script("counts").measure(checkout) == COUNTED


def test_every_ceiling_names_a_measure():
    """That each holds says `tox -e arch`, which reads the whole tree for it."""
    counts = script("counts")
    assert set(counts.ceilings()) <= set(counts.MEASURES)


@pytest.mark.parametrize("name", script("counts").ceilings())
def test_a_number_above_its_ceiling_is_a_fault(name):
    [fault] = script("counts").faults(COUNTED, {name: COUNTED[name] - 1})
    assert fault.startswith(f"{name}: {COUNTED[name]}, at most {COUNTED[name] - 1}; ")
    assert script("counts").faults(COUNTED, {name: COUNTED[name]}) == []


def test_a_ceiling_is_lowered_and_never_raised():
    lower = script("counts").lower
    assert lower(COUNTED, '# why\n"Any" = 9\n"python files" = 2\n') == '# why\n"Any" = 1\n"python files" = 2\n'


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("text = path.read_text()", 0),
        ("text = f'{x}' if x else ''", 0),
        ("text: str = read(x)", 0),
        ("text: bytes = read(x)", 1),
        ("for text in texts: ...", 1),
        ("[text for text in texts]", 1),
        ("text = {1, 2}", 1),
        ("def f(text: str | None): ...", 0),
        ("def f(text: Path): ...", 1),
    ],
)
def test_a_text_is_a_str(code, count):
    wording = script("wording")
    assert len(list(wording.misnamed_texts(ROOT, {Path("x.py"): ast.parse(code)}))) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def told(): ...", 1),
        ("def _judged(): ...", 1),
        ("def read(): ...", 0),
        ("def feed(): ...", 0),
        ("def red(): ...", 0),
        ("def judged_by(): ...", 0),
        ("@property\ndef closed(self): ...", 0),
    ],
)
def test_a_function_is_named_by_a_verb(code, count):
    wording = script("wording")
    assert len(list(wording.lone_participles(ROOT, {Path("x.py"): ast.parse(code)}))) == count
