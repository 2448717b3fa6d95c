"""Environments come from uv's cache, and from the network only when the cache does not suffice."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def install(tmp_path: Path):
    """Runs the script with a `uv` that has nothing in its cache or all, and is online or not; returns code and calls."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/install.py", tmp_path / ".ci")
    uv = tmp_path / ".tox/toxw/bin/uv"
    uv.parent.mkdir(parents=True)

    def run(*, cached: bool, online: bool) -> tuple[int, list[str], str]:
        calls = tmp_path / "calls"
        answers = f'case "$*" in *--offline*) exit {int(not cached)};; *) exit {0 if online else 2};; esac'
        uv.write_text(f'#!/bin/sh\necho "$*" >> {calls}\necho complaint >&2\n{answers}\n')
        uv.chmod(0o755)
        command = [sys.executable, str(tmp_path / ".ci/install.py"), "lz4", "-c", "constraints.txt"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, calls.read_text().splitlines(), done.stderr

    return run


def test_what_is_cached_asks_nobody(install):
    assert install(cached=True, online=False) == (0, ["pip install --offline lz4 -c constraints.txt"], "")


def test_what_is_not_cached_is_fetched(install):
    code, calls, _ = install(cached=False, online=True)
    assert (code, calls[1:]) == (0, ["pip install lz4 -c constraints.txt"])


def test_what_cannot_be_had_is_told_once(install):
    code, calls, said = install(cached=False, online=False)
    assert (code, len(calls), said) == (2, 2, "complaint\n")


def packages_of(extra: str) -> set[str]:
    """Return the packages that an extra of the distribution installs, with those of the extras that it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found: set[str] = set()
    for line in extras[extra]:
        nested = re.fullmatch(r"zenoh-conformance\[(\w+)\]", line)
        found |= packages_of(nested[1]) if nested else {re.split(r"[\s<>=;\[]", line)[0]}
    return found


def test_the_extra_spark_alone_brings_what_its_commands_import():
    """`report --spark`, `audit --spark` and `audit --follow` write pages, which need the templates."""
    assert {"pyspark", "pyarrow", "pandas", "jinja2", "matplotlib"} <= packages_of("spark")
