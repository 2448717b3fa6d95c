"""Engines on this machine, started and ended by whoever measures or tests: a standalone cluster, and a Connect server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from zenoh_reports.java import java_home

PATIENCE = 300
"""Seconds until a program has to be up."""


@contextmanager
def spark_class(
    scratch: Path, name: str, *arguments: str, says: str, env: Mapping[str, str] | None = None
) -> Iterator[re.Match[str]]:
    """One of Spark's own programs, up when it has said `says`; ended by its id."""
    import pyspark

    home = Path(pyspark.__file__).parent
    scratch.mkdir(parents=True, exist_ok=True)
    around = {
        **os.environ, "JAVA_HOME": str(java_home(scratch)), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(scratch / "local"), "SPARK_WORKER_DIR": str(scratch / "work"),
        **(env or {}),
    }  # fmt: skip
    process = subprocess.Popen(
        [str(home / "bin" / "spark-class"), name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=around, cwd=scratch, start_new_session=True,
    )  # fmt: skip
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    told = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(line)
            if found := re.search(says, line):
                break
        else:
            raise RuntimeError("".join(told[-20:]))
        alarm.cancel()
        drain = threading.Thread(target=process.stdout.read, daemon=True)
        drain.start()
        yield found
    finally:
        alarm.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


QUIET = "-Dspark.master.rest.enabled=false -Dspark.ui.enabled=false"


@contextmanager
def cluster(scratch: Path, workers: int) -> Iterator[str]:
    """A master and its workers on the loopback."""
    port = free_port()
    host = "--host", "127.0.0.1", "--webui-port", "0"
    env = {"SPARK_MASTER_OPTS": QUIET, "SPARK_DAEMON_MEMORY": "256m"}
    with ExitStack() as stack:
        master = spark_class(
            scratch / "master", "org.apache.spark.deploy.master.Master", *host, "--port", str(port), says="I have been elected leader",
            env=env,
        )  # fmt: skip
        stack.enter_context(master)
        for number in range(workers):
            worker = spark_class(
                scratch / f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *host, "--cores", "1", "--memory", "1g",
                f"spark://127.0.0.1:{port}", says="Successfully registered with master", env=env,
            )  # fmt: skip
            stack.enter_context(worker)
        yield f"spark://127.0.0.1:{port}"


@contextmanager
def connect_server(scratch: Path) -> Iterator[str]:
    """A Connect server on the loopback, with an engine of two cores behind it."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    }  # fmt: skip
    conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = spark_class(
        scratch / "connect", "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", *conf, "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal", says="Spark Connect server started at",
    )  # fmt: skip
    with server:
        yield f"sc://127.0.0.1:{port}"
