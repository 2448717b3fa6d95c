"""The same job on a standalone cluster and on a Connect server, which the tests start and end: equal rows, equal types.

A cluster costs a minute where the machine is busy; so everything that needs one is in one test of each engine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fleets import captured, wrong_version

from zenoh_reports.java import java_home

pytestmark = [pytest.mark.needs("java", "spark"), pytest.mark.soak]

HERE = Path(__file__).parent
PATIENCE = 300


@contextmanager
def spark_class(
    scratch: Path, name: str, *arguments: str, says: str, env: dict[str, str] | None = None
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
            pytest.fail("".join(told[-20:]))
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


JOB = HERE / "engine_job.py"


def job(master: str, files: list[Path], *flags: str) -> dict[str, object]:
    """The tables of a job, in a process of its own: an engine's mark on a process does not go away."""
    done = subprocess.run(
        [sys.executable, str(JOB), master, *flags, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two captures and a results file."""
    from test_judgement_stages import a_year

    return [
        captured(tmp_path), captured(tmp_path, "bad/fleet.pcap", nodes=3, net=1, plant=wrong_version),
        *map(Path, a_year(tmp_path / "year", 2)),
    ]  # fmt: skip


def test_a_cluster_makes_what_one_machine_makes_also_when_a_worker_is_lost(files: list[Path], tmp_path: Path) -> None:
    here = job("local[2]", files)
    with cluster(tmp_path / "spark", 2) as master:
        assert job(master, files) == here
        assert job(master, files, "--lose-an-executor") == here


@pytest.mark.needs("grpc")
def test_a_connect_server_makes_what_one_machine_makes(files: list[Path], tmp_path: Path) -> None:
    here = job("local[2]", files)
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    }  # fmt: skip
    conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = spark_class(
        tmp_path / "connect", "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", *conf, "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal", says="Spark Connect server started at",
    )  # fmt: skip
    with server:
        there = job(f"sc://127.0.0.1:{port}", files)

    assert there == here
