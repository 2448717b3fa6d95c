"""The scripts that count how the code stands, and that look at the subjects of commits, find what is planted."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BODY = "\n\nBecause."


def script(name):
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
}


def test_what_is_planted_is_counted(tmp_path):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    counts = script("counts")
    found = counts.trees(tmp_path)
    assert {name: count(tmp_path, found) for name, count in counts.COUNTS.items()} == {
        "python files": 4,
        "loose modules at the top of the harness": 1,
        "arrows between subjects of the harness": 3,
        "arrows up": 1,
        "lines of the longest file": 6,
        "lines of the longest function": 3,
        "comment lines": 1,
        "class names that stand for several": 1,
        "Any": 1,
    }
