"""A missing part of the machine is told outside CI, and is a failure in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness import pytest_needs

pytestmark = pytest.mark.long

SAMPLE = """
import pytest

@pytest.mark.needs("docker")
def test_in_a_container(): ...

@pytest.mark.needs("docker")
def test_in_two(): ...

def test_anywhere(): ...
"""


def run(tmp_path: Path, text: str, **changes: str) -> tuple[int, str]:
    (tmp_path / "test_sample.py").write_text(text)
    env = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS"}} | changes
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider"]
    command += ["-p", "zenoh_harness.pytest_needs", "."]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_outside_ci_a_missing_docker_is_listed_and_costs_nothing(tmp_path):
    code, said = run(tmp_path, SAMPLE, ZCONFORM_WITHOUT="docker")
    assert code == 0
    assert "not run here: test_sample.py::test_in_a_container and 1 more, needs Docker Engine" in said
    assert "1 passed, 2 skipped" in said


def test_in_ci_a_missing_docker_is_red(tmp_path):
    code, said = run(tmp_path, SAMPLE, ZCONFORM_WITHOUT="docker", CI="true")
    assert code == 1
    assert "2 errors" in said or "2 failed" in said
    assert "not run here" in said


def test_a_part_that_nobody_declared_is_a_mistake(tmp_path):
    code, said = run(tmp_path, SAMPLE.replace("docker", "here"), CI="true", PYTHONPATH=str(tmp_path))
    assert code != 0
    assert "needs 'here', which is none of docker, java" in said


def test_a_part_that_is_there_is_used(tmp_path):
    (tmp_path / "atheris.py").touch()
    code, said = run(tmp_path, SAMPLE.replace("docker", "atheris"), CI="true", PYTHONPATH=str(tmp_path))
    assert (code, "3 passed" in said) == (0, True)


def test_a_cargo_without_a_toolchain_is_no_cargo(tmp_path):
    (tmp_path / "cargo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "cargo").chmod(0o755)
    code, said = run(tmp_path, SAMPLE.replace("docker", "cargo"), PATH=str(tmp_path))
    assert (code, "1 passed, 2 skipped" in said) == (0, True)


@pytest.mark.parametrize("name", pytest_needs.PARTS)
def test_each_part_says_what_to_install(name, monkeypatch):
    monkeypatch.setenv("ZCONFORM_WITHOUT", name)
    pytest_needs.present.cache_clear()
    assert not pytest_needs.present(name)
    pytest_needs.present.cache_clear()
    assert pytest_needs.PARTS[name].hint
