"""Opens a Spark session on whatever engine Spark knows; the jobs are the same.

local[*]                    this machine, nothing to set up
spark://HOST:PORT           a standalone cluster
sc://HOST:PORT              a Spark Connect server
yarn, k8s://.., local-cluster[..]    and what else Spark takes: it is handed over as it is

Our packages are shipped to workers that are not this process.
"""

from __future__ import annotations

import importlib
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zenoh_harness.errors import CannotGoOn, UsageError

from .java import java_home
from .shipping import archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
CONNECT, STANDALONE = "sc", "spark"
LOCAL_KINDS = ("local", "local-cluster")
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
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
}
"""What every engine is told; a session's own settings, so that a Connect server takes them too.

Filters are pushed down where a source is asked for by name (option `wanted`), and not by Spark: with pyspark 4.3.0 a table that
stands twice in one query is read with the filters of one of its places. No table of ours comes out of a stream's own sink: Spark
looks for its log all the same, and writes a long warning for each table that is not there yet.
"""


@contextmanager
def session(
    name: str = "zenoh-reports", master: str | None = None, settings: Mapping[str, str] | None = None, *, ship: bool = True,
    quiet: bool = False,
) -> Iterator[SparkSession]:  # fmt: skip
    """A session on the engine that `master` names, which Spark reads and we do not; `settings` go over ours.

    Without `master` it is the session that is there already (`spark-submit`, a notebook), which stays, else one on all cores of this
    machine. `ship`: what the pipeline needs of our packages goes to the workers. It would hide the whole of them where they are
    installed. `quiet`: a Java machine that this starts on this machine writes no log, for a command that says itself what went wrong;
    one that is running keeps its log.
    Raises CannotGoOn for a master that Spark refuses, without pyspark, Java, a server that listens, or a worker.
    """
    kind = kind_of(master or LOCAL)
    _check_packages(kind)
    if master is None and (running := _running()) is not None:
        with tempfile.TemporaryDirectory(prefix="zreports-") as scratch:
            _settle(running, settings or {})
            if ship:
                _ship(running, Path(scratch))
            yield running
        return
    master = master or LOCAL
    with tempfile.TemporaryDirectory(prefix="zreports-") as scratch:
        if kind == CONNECT:
            spark = _connect(name, master, dict(settings or {}))
        else:
            spark = _classic(name, master, dict(settings or {}), Path(scratch), quiet=quiet)
        try:
            if ship:
                _ship(spark, Path(scratch))
            yield spark
        finally:
            spark.stop()


def kind_of(master: str) -> str:
    """Return what stands before the first colon or bracket: `local`, `spark`, `sc`, `yarn`, `k8s`, ..."""
    return re.split(r"[:\[]", master, maxsplit=1)[0]


def _running() -> SparkSession | None:
    """The session that was opened before in this process; what `spark-submit` starts counts as one."""
    from pyspark.sql import SparkSession

    if "PYSPARK_GATEWAY_PORT" in os.environ and SparkSession.getActiveSession() is None:
        return SparkSession.builder.getOrCreate()
    return SparkSession.getActiveSession()


def _check_packages(kind: str) -> None:
    """Raise CannotGoOn if a package that the engine needs is not installed."""
    extras = {"spark": NEEDED, **({"connect": NEEDED_BY_CONNECT} if kind == CONNECT else {})}
    for extra, names in extras.items():
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError as missing:
                hint = f"install zenoh-conformance[{extra}]"
                raise CannotGoOn(f"{missing.name} is not installed", step=STEP, hint=hint) from missing


def _classic(name: str, master: str, settings: dict[str, str], scratch: Path, *, quiet: bool) -> SparkSession:
    host = "127.0.0.1" if kind_of(master) in LOCAL_KINDS or is_loopback(_address(master)[0]) else ""
    if kind_of(master) == STANDALONE:
        _listens(master)
    os.environ["JAVA_HOME"] = str(java_home(scratch))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if host:
        os.environ["SPARK_LOCAL_IP"] = host
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**_driver(kind_of(master), scratch, host, quiet=quiet), **COMMON, **settings}.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as why:
        raise CannotGoOn(f"no session with {master}", step=STEP, seen=str(why).splitlines()[:3]) from why
    if kind_of(master) == STANDALONE:
        _await_executor(spark, master)
    return spark


def _settle(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Give a session that is there already those of the settings that it can still take."""
    for key, value in {**COMMON, **settings}.items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)


def is_connected(spark: SparkSession) -> bool:
    """Whether the session is one of a Connect server: there is no Java machine in this process."""
    return not hasattr(spark, "_jsc")


def _ship(spark: SparkSession, scratch: Path) -> None:
    """Send our packages to remote workers. Raises CannotGoOn if the archive cannot be written."""
    try:
        if is_connected(spark):
            spark.addArtifacts(str(archive(scratch)), pyfile=True)
        elif kind_of(spark.sparkContext.master or LOCAL) != "local":
            spark.sparkContext.addPyFile(str(archive(scratch)))
    except OSError as why:
        raise CannotGoOn("our packages cannot be sent to the workers", step=STEP, seen=str(why)) from why


def _driver(kind: str, scratch: Path, host: str, *, quiet: bool) -> dict[str, str]:
    """Return the settings of the driver. Only on this machine they say more than its address: a cluster has its own."""
    bound = {"spark.driver.bindAddress": host, "spark.driver.host": host} if host else {}
    if kind not in LOCAL_KINDS:
        return bound
    options = {"derby.system.home": str(scratch), "java.io.tmpdir": str(scratch)}
    if quiet:
        options["log4j2.configurationFile"] = _quiet(scratch).as_uri()
    return {
        **bound,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(f"-D{name}={value}" for name, value in options.items()),
    }


def _connect(name: str, master: str, settings: dict[str, str]) -> SparkSession:
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
    """The first host and port of a URL, or no host; several masters of a standalone cluster are separated by commas."""
    found = re.match(r"\w+://(\[[^\]]*\]|[^/:,]*):(\d+)", master)
    return (found[1].strip("[]"), int(found[2])) if found else ("", 0)


def is_loopback(host: str) -> bool:
    """Whether the address is of the loopback interface."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _listens(master: str) -> None:
    """Raise CannotGoOn at once if nothing listens there; Spark itself would try for minutes. Of several masters Spark finds the one."""
    if "," in master or not _address(master)[1]:
        return
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


def settings_of(options: Iterable[str]) -> dict[str, str]:
    """Return the settings of options `KEY=VALUE`. Raises UsageError for one that is none."""
    found = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not key or not equals:
            raise UsageError(f"{option!r} is no setting", step="--conf", hint="write spark.KEY=VALUE")
        found[key] = value
    return found
