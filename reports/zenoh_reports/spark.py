"""Opens a Spark session on this machine, a standalone cluster, or a Connect server; the jobs are the same.

local[*]             this machine, nothing to set up
spark://HOST:PORT    a standalone cluster; our packages are shipped to its workers
sc://HOST:PORT       a Spark Connect server; our packages are shipped to it
"""

from __future__ import annotations

import importlib
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zenoh_harness.errors import CannotGoOn, UsageError

from .java import java_home
from .shipping import archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
FORMS = "local[*], local[N], spark://HOST:PORT or sc://HOST:PORT"
STEP = "start Spark"
NEEDED = ("pyspark", "pyarrow", "pandas")
NEEDED_BY_CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")
"""Packages that are checked at the start, so that no job fails half way."""
PATIENCE = 180.0
"""Time limit in seconds for a cluster to offer an executor."""
COMMON = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
"""What every engine is told; a session's own settings, so that a Connect server takes them too.

Filters are pushed down where a source is asked for by name (option `wanted`), and not by Spark: with pyspark 4.3.0 a table that
stands twice in one query is read with the filters of one of its places.
"""


@contextmanager
def session(
    name: str = "zenoh-reports", master: str = LOCAL, settings: Mapping[str, str] | None = None, *, ship: bool = True
) -> Iterator[SparkSession]:
    """A session on the engine that `master` names, ended at the end; `settings` go over ours.

    `ship`: what the pipeline needs of our packages goes to the workers. It would hide the whole of them where they are installed.
    Raises UsageError for a master that is none, CannotGoOn without pyspark, Java, a server that listens, or a worker.
    """
    kind = kind_of(master)
    _check_packages(kind)
    with tempfile.TemporaryDirectory(prefix="zreports-") as scratch:
        make = _connect if kind == "sc" else _classic
        spark = make(name, master, dict(settings or {}), Path(scratch))
        try:
            if ship:
                _ship(spark, kind, Path(scratch))
            yield spark
        finally:
            spark.stop()


def kind_of(master: str) -> str:
    """Return `local`, `spark` or `sc`. Raises UsageError for another master."""
    found = re.fullmatch(r"(local)(\[(\*|\d+)\])?|(spark|sc)://[^/:]+:\d+.*", master)
    if found is None:
        raise UsageError(f"{master!r} names no engine", step="--master", hint=f"write {FORMS}")
    return found[1] or found[4]


def _check_packages(kind: str) -> None:
    """Raise CannotGoOn if a package that the engine needs is not installed."""
    extras = {"spark": NEEDED, **({"connect": NEEDED_BY_CONNECT} if kind == "sc" else {})}
    for extra, names in extras.items():
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError as missing:
                hint = f"install zenoh-conformance[{extra}]"
                raise CannotGoOn(f"{missing.name} is not installed", step=STEP, hint=hint) from missing


def _classic(name: str, master: str, settings: dict[str, str], scratch: Path) -> SparkSession:
    host = "127.0.0.1" if kind_of(master) == "local" or is_loopback(_address(master)[0]) else ""
    if kind_of(master) == "spark":
        _listens(master)
    os.environ["JAVA_HOME"] = str(java_home(scratch))
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    if host:
        os.environ["SPARK_LOCAL_IP"] = host
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**_driver(scratch, host), **COMMON, **settings}.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as why:
        raise CannotGoOn(f"no session with {master}", step=STEP, seen=str(why).splitlines()[:3]) from why
    if kind_of(master) == "spark":
        _await_executor(spark, master)
    return spark


def _ship(spark: SparkSession, kind: str, scratch: Path) -> None:
    """Send our packages to remote workers. Raises CannotGoOn if the archive cannot be written."""
    try:
        if kind == "spark":
            spark.sparkContext.addPyFile(str(archive(scratch)))
        elif kind == "sc":
            spark.addArtifacts(str(archive(scratch)), pyfile=True)
    except OSError as why:
        raise CannotGoOn("our packages cannot be sent to the workers", step=STEP, seen=str(why)) from why


def _driver(scratch: Path, host: str) -> dict[str, str]:
    """Return the settings of the driver: quiet, on the loopback interface if possible, temporary files in one folder."""
    options = {
        "derby.system.home": str(scratch),
        "java.io.tmpdir": str(scratch),
        "log4j2.configurationFile": _quiet(scratch).as_uri(),
    }
    bound = {"spark.driver.bindAddress": host, "spark.driver.host": host} if host else {}
    return {
        **bound,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(f"-D{name}={value}" for name, value in options.items()),
    }


def _connect(name: str, master: str, settings: dict[str, str], scratch: Path) -> SparkSession:
    _listens(master)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        spark: SparkSession = SparkSession.builder.remote(master).appName(name).getOrCreate()
        for key, value in {**COMMON, **settings}.items():
            spark.conf.set(key, value)
    except (PySparkException, OSError) as why:
        raise CannotGoOn(f"no session with {master}", step=STEP, seen=str(why).splitlines()[:3]) from why
    return spark


def _address(master: str) -> tuple[str, int]:
    found = re.match(r"\w+://([^/:]+):(\d+)", master)
    return (found[1], int(found[2])) if found else ("127.0.0.1", 0)


def is_loopback(host: str) -> bool:
    """Whether the address is of the loopback interface."""
    return host == "localhost" or host.startswith("127.")


def _listens(master: str) -> None:
    """Raise CannotGoOn at once if nothing listens there; Spark itself would try for minutes."""
    try:
        socket.create_connection(_address(master), timeout=10).close()
    except OSError as why:
        hint = "is the master, or the Connect server, running, and is this its port?"
        raise CannotGoOn(f"nobody answers at {master}", step=STEP, seen=str(why), hint=hint) from why


def _await_executor(spark: SparkSession, master: str) -> None:
    """Wait for an executor. Stops the session and raises CannotGoOn after PATIENCE seconds."""
    gateway: Any = spark.sparkContext
    status = gateway._jsc.sc()
    until = time.monotonic() + PATIENCE
    while status.getExecutorMemoryStatus().size() < 2:  # the driver is one of them
        if time.monotonic() > until:
            spark.stop()
            hint = "start a worker, or free one: `spark-class org.apache.spark.deploy.worker.Worker` with the master's address"
            raise CannotGoOn(f"no worker of {master} takes our work in {PATIENCE:.0f} s", step=STEP, hint=hint)
        time.sleep(0.05)  # Spark tells nobody when an executor registers; only its status can be asked


def _quiet(scratch: Path) -> Path:
    """Write a logging configuration that suppresses what Python exceptions report too."""
    file = scratch / "log4j2.properties"
    file.write_text(
        "rootLogger.level = fatal\nrootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\nappender.stderr.name = stderr\nappender.stderr.target = SYSTEM_ERR\n"
        "appender.stderr.layout.type = PatternLayout\nappender.stderr.layout.pattern = %p %c{1}: %m%n\n"
    )
    return file
