"""The wheel must hold every file of the packages; one that is left out is named."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[3]
WHOLE = ("zenoh_harness/__init__.py", "zenoh_harness/targets/wheel.toml", "zenoh_harness/targets/zenoh.known.toml")


@pytest.fixture(scope="module")
def dist():
    spec = importlib.util.spec_from_file_location("dist", ROOT / ".ci/dist.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path, dist, monkeypatch) -> Path:
    """A checkout of one package with data that git does not know yet."""
    data = tmp_path / "harness/zenoh_harness/targets"
    data.mkdir(parents=True)
    for name in (*WHOLE, "notes.md"):
        (tmp_path / "harness" / name).touch()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(dist, "ROOT", tmp_path)
    return tmp_path


def wheel(folder: Path, *names: str) -> Path:
    with ZipFile(folder / "some.whl", "w") as made:
        for name in names:
            made.writestr(name, "")
    return folder / "some.whl"


def test_a_whole_wheel_has_lost_nothing(dist, checkout):
    assert dist.lost(wheel(checkout, *WHOLE)) == []


@pytest.mark.parametrize("missing", WHOLE)
def test_a_file_that_is_left_out_is_named(dist, checkout, missing):
    assert dist.lost(wheel(checkout, *(name for name in WHOLE if name != missing))) == [missing]


def test_a_step_that_fails_ends_it_with_what_was_said(dist, tmp_path):
    with pytest.raises(SystemExit, match=r"exit 3 from: sh -c(?s:.*)no such target"):
        dist.step("sh", "-c", "echo no such target; exit 3", cwd=tmp_path)
