"""`./toxw` tells in one line what keeps it from starting tox."""

from __future__ import annotations

import ast
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what toxw itself needs."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("toxw", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def refusing_index() -> Iterator[str]:
    """The address of a package index that refuses each connection: bound, never listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/simple"


def toxw(checkout: Path, changes: Mapping[str, str], **more) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))} | changes
    command = [sys.executable, str(checkout / "toxw"), "--version"]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=checkout.parent, check=False, **more)


def told_in_one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done
    lines = [line for line in done.stderr.splitlines() if not line.startswith("toxw: making")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def startup(folder: Path, code: str) -> dict[str, str]:
    """Has each Python run this code as it starts."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}


def test_any_python_can_read_it():
    ast.parse((ROOT / "toxw").read_text(), feature_version=(3, 4))


def test_a_python_that_is_too_old_is_told(checkout, tmp_path):
    old = startup(tmp_path / "old", "import sys; sys.version_info = (3, 9, 18, 'final', 0)")
    line = told_in_one_line(toxw(checkout, old | {"PATH": str(tmp_path)}))
    assert line.startswith("toxw: this is Python 3.9, and Python 3.11 or newer is needed")


def test_a_newer_python_on_the_path_is_taken_instead(checkout, tmp_path):
    old = startup(tmp_path / "old", "import sys; sys.version_info = (3, 9, 18, 'final', 0)")
    newer = tmp_path / "python3.12"
    newer.write_text('#!/bin/sh\necho "went on with: $*"\n')
    newer.chmod(0o755)
    done = toxw(checkout, old | {"PATH": str(tmp_path)})
    assert done.stdout == f"went on with: {checkout / 'toxw'} --version\n"


def test_a_missing_venv_module_names_the_package(checkout, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "ensurepip.py").write_text("raise ImportError('as on a bare Debian')")
    line = told_in_one_line(toxw(checkout, {"PYTHONPATH": str(bare)}))
    assert "apt install python3-venv" in line


def test_no_network_is_told_and_an_environment_of_other_pins_is_not_used(checkout, refusing_index):
    place = checkout / ".tox/toxw"
    place.mkdir(parents=True)
    (place / "stamp").write_text("made from other pins")
    line = told_in_one_line(toxw(checkout, {"PIP_INDEX_URL": refusing_index, "PIP_RETRIES": "0"}))
    assert "no network" in line
    assert not (place / "stamp").exists()


def obey_permissions() -> None:
    """Root, too, is bound by a folder's permissions from here on."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_read_only_folder_is_told(checkout):
    checkout.chmod(0o555)
    try:
        line = told_in_one_line(toxw(checkout, {}, preexec_fn=obey_permissions if os.geteuid() == 0 else None))
    finally:
        checkout.chmod(0o755)
    assert line.startswith(f"toxw: cannot write in {checkout} (Permission denied)")
