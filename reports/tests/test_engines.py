"""The same job on a standalone cluster and on a Connect server, which the tests start and end: equal rows, equal types.

A cluster costs a minute where the machine is busy; so everything that needs one is in one test of each engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Event, Thread

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fleets import bench, captured, wrong_version

pytestmark = [pytest.mark.needs("java", "spark"), pytest.mark.soak]

engines = bench("engines")
HERE = Path(__file__).parent


JOB = HERE / "engine_job.py"


def job(master: str, files: list[Path], *flags: str) -> dict[str, object]:
    """The tables of a job, in a process of its own: an engine's mark on a process does not go away."""
    done = subprocess.run(
        [sys.executable, str(JOB), master, *flags, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        env={**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},
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
    with engines.cluster(tmp_path / "spark", 2) as master:
        assert job(master, files) == here
        assert job(master, files, "--lose-an-executor") == here


PARTS = {
    "an executor": "CoarseGrainedExecutorBackend", "a process of Python": "pyspark.daemon",
    "a worker with its executor": "deploy.worker.Worker",
}  # fmt: skip
"""What may be killed in a cluster, and a word of its command line."""
JOBS = 10


def running(word: str) -> list[psutil.Process]:
    """Processes below this one that run such a command."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if word in " ".join(one.cmdline()):
                found.append(one)
    return found


@contextmanager
def killing(parts: list[str], moments: list[float]) -> Iterator[list[str]]:
    """Kill one process of each part, so many seconds after the one before or when there is one; yield what was killed so far."""
    killed: list[str] = []
    over = Event()

    def kill() -> None:
        for part, moment in zip(parts, moments, strict=True):
            over.wait(moment)
            while not over.is_set() and not (there := running(PARTS[part])):
                over.wait(0.1)
            if not over.is_set():
                there[-1].kill()
                killed.append(part)

    thread = Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def test_what_is_killed_at_twenty_random_moments_changes_nothing(files: list[Path], tmp_path: Path) -> None:
    """Executors, processes of Python and a worker of two; drivers and writers are killed in the tests of the store."""
    random, killed = Random(37), list[str]()
    here = job("local[2]", files)
    with engines.cluster(tmp_path / "undisturbed", 2) as master:
        began = time.monotonic()
        assert job(master, files) == here
        whole = time.monotonic() - began
    for index in range(JOBS):
        parts = [list(PARTS)[index % 2], list(PARTS)[-(index % 2)]]
        with (
            engines.cluster(tmp_path / str(index), 2) as master,
            killing(parts, [random.uniform(0, whole / 2) for _ in parts]) as done,
        ):
            assert job(master, files) == here, (index, done)
            killed += done
    assert len(killed) == 2 * JOBS and {*killed} == {*PARTS}


def test_a_local_cluster_makes_what_one_machine_makes(files: list[Path]) -> None:
    """Executors in processes of their own, as Spark's own tests have them; the master is handed to Spark as it is."""
    assert job("local-cluster[2,1,1024]", files) == job("local[2]", files)


def test_spark_submit_runs_a_job_in_the_session_that_it_starts(files: list[Path], tmp_path: Path) -> None:
    import pyspark

    script = tmp_path / "job.py"
    script.write_text(
        "import sys\nfrom zenoh_reports.pipeline import job\nfrom zenoh_reports.spark import session\n"
        "with session() as spark:\n    print(spark.conf.get('spark.mine'), job.report(spark, sys.argv[2:], sys.argv[1]))\n"
    )
    results = [str(file) for file in files if file.suffix == ".jsonl"]
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    done = subprocess.run(
        [submit, "--master", "local[2,4]", "--conf", "spark.mine=1", str(script), str(tmp_path / "tables"), *results],
        capture_output=True, text=True, timeout=1800, check=False, env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert f"1 4 runs, 24 judgements: tables in {tmp_path / 'tables'}" in done.stdout, done.stderr[-3000:]


def test_a_cluster_without_workers_is_told_and_left(tmp_path: Path) -> None:
    lines = (
        "import sys; from zenoh_reports import spark; spark.PATIENCE = 3.0; spark.session('x', sys.argv[1]).__enter__()"
    )
    with engines.cluster(tmp_path, 0) as master:
        done = subprocess.run(
            [sys.executable, "-c", lines, master], capture_output=True, text=True, timeout=engines.PATIENCE, check=False
        )

    assert done.returncode == 1
    assert f"no worker of {master} takes our work in 3 s" in done.stderr.replace("\n", " ")


@pytest.mark.needs("grpc")
def test_a_connect_server_makes_what_one_machine_makes(files: list[Path], tmp_path: Path) -> None:
    here = job("local[2]", files)
    with engines.connect_server(tmp_path) as server:
        there = job(server, files)

    assert there == here
