"""Key expressions agree with the wheel: validity on every string, intersection and inclusion on every pair, of an alphabet."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import zenoh_conformance
from zenoh_harness.programs.environments import python_with


def test_the_wheel_agrees_on_every_string_and_every_pair() -> None:
    python = python_with("eclipse-zenoh", "1.10.2")
    room = str(Path(zenoh_conformance.__file__).parents[1])

    text = subprocess.run(
        [python, Path(__file__).parents[1] / "keyexpr_witness.py", "6", "4"],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": room},
    ).stdout  # fmt: skip
    said = json.loads(text)

    assert (said["strings"], said["pairs"]) == (55_986, 62_500)
    assert said["validity"] == []
    assert said["intersects"] == []
    assert said["includes"] == []
