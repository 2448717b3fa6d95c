"""The stored tables: what two writers, a killed writer and a copy leave; and tables of the release before."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_judgement_stages import FOOTER, REQUIREMENT, a_year, collected, header, judgement, night, tuples

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain import clusters, history
from zenoh_reports.plain import judgements as plain
from zenoh_reports.plain.results import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from zenoh_reports.pipeline.store import Store

pytestmark = pytest.mark.needs("java", "spark")
KEPT = Path(__file__).parent / "kept_tables"


def digests(spark: SparkSession, store: Store) -> dict[str, Any]:
    """The rows of each table, whatever the files are."""
    from zenoh_reports.pipeline import job

    log = store.log(spark)
    return {kept.name: collected(job.get(spark, store, kept, log)) for kept in (*job.OF_RUNS, *job.DERIVED)}


def plainly(files: list[str]) -> dict[str, Any]:
    """The same in plain Python."""
    lines = [row for file in files for row in rows(file)]
    judged = plain.judgements(lines)
    newest = plain.newest(judged)
    made = {
        "runs": plain.runs(lines), "judgements": judged, "matrix": plain.matrix(newest, requirements().values()),
        "history": history.history(judged), "flakes": history.flakes(judged),
        "judgement_clusters": clusters.of_judgements(newest), "results_faults": [],
    }  # fmt: skip
    return {name: tuples(table) for name, table in made.items()}


@pytest.mark.soak
def test_night_after_night_the_tables_are_those_of_all_nights(spark: SparkSession, tmp_path: Path) -> None:
    """In order they are continued; a night that comes late, and one that is read again, are put into their places."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 4)
    store = Store(tmp_path / "tables")
    for part in (files[:2], files[4:6], files[:4], files[6:]):
        job.report(spark, part, store.folder)

    derived = store.log(spark).derived
    assert derived is not None and len(derived.chain) == 2  # the late night began anew, the last one went on
    assert digests(spark, store) == plainly(files)


class Killed(BaseException):
    """Stands for SIGKILL: nothing that follows is done."""


def test_a_writer_that_is_killed_anywhere_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two writes of tables and of commits; each attempt goes a few steps further than the one before."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 2)
    store = Store(tmp_path / "tables")
    for moment in (2, 7):
        with monkeypatch.context() as ended:
            left = iter(range(moment))
            for name in ("append", "commit"):
                ended.setattr(Store, name, dying(getattr(Store, name), left))
            with pytest.raises(Killed):
                job.report(spark, files[:2] if moment < 7 else files, store.folder)
    job.report(spark, files, store.folder)

    assert digests(spark, store) == plainly(files)


def dying(step: Any, left: Iterator[int]) -> Any:
    """A step that is not done when none is left."""

    def go(*given: Any) -> Any:
        if next(left, None) is None:
            raise Killed
        return step(*given)

    return go


def both_at_once(write: Callable[[list[str]], object], files: list[str]) -> None:
    """Two writers, of runs of their own and of some that both have."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as writers:
        for written in [writers.submit(write, part) for part in (files[:3], files[1:])]:
            written.result()


def test_two_writers_at_once_lose_and_double_no_run(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 2)
    store = Store(tmp_path / "tables")
    both_at_once(lambda part: job.keep_results(spark, part, store), files)

    expected = plainly(files)
    assert {kept.name: collected(job.get(spark, store, kept)) for kept in job.OF_RUNS} == {
        kept.name: expected[kept.name] for kept in job.OF_RUNS
    }


@pytest.mark.soak
def test_two_writers_at_once_in_ten_rounds(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    for index in range(10):
        files = a_year(tmp_path / f"{index}", 2)
        store = Store(tmp_path / f"tables-{index}")
        both_at_once(lambda part, store=store: job.report(spark, part, store.folder), files)  # type: ignore[misc]
        assert digests(spark, store) == plainly(files), index


@pytest.mark.soak
def test_killed_at_twenty_random_moments_the_tables_are_the_undisturbed_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    import os
    import signal
    import subprocess
    from random import Random

    from zenoh_reports.pipeline.store import Store

    random = Random(37)
    files = a_year(tmp_path / "year", 4)
    command = [sys.executable, str(Path(__file__).parent / "report_job.py"), str(tmp_path / "tables")]
    around = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    for index in range(20):
        part = files[: 2 + index // 3]
        job = subprocess.Popen([*command, *part], start_new_session=True, env=around, stdout=subprocess.PIPE, text=True)
        assert job.stdout is not None and job.stdout.readline() == "up\n"
        try:
            job.wait(random.uniform(0, 30))
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        job.stdout.close()
    subprocess.run([*command, *files], env=around, check=True, stdout=subprocess.DEVNULL)

    assert digests(spark, Store(tmp_path / "tables")) == plainly(files)


def test_a_copy_counts_once_whenever_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """Beside the file, after it, and as a part of it, read while it was being written."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    at = {"date": "2026-01-01T12:00:00Z", "run": "20260101T120000Z-aaaaaaaaaaaa"}
    lines = header(**at), *(judgement(REQUIREMENT, Verdict.PASS, bit=str(bit)) for bit in range(3)), FOOTER
    whole, copy = (night(tmp_path, name, *lines) for name in ("whole", "copy"))
    cut = night(tmp_path, "cut", *lines[:2])
    store = Store(tmp_path / "tables")
    job.keep_results(spark, [copy, cut, whole, whole], store)
    job.keep_results(spark, [whole], store)
    job.keep_results(spark, [cut], store)

    log = store.log(spark)
    assert (len(log.live), len(log.runs)) == (1, 1)
    assert [job.get(spark, store, kept).count() for kept in job.OF_RUNS] == [1, 3, 0]


def test_tables_that_release_04063a9_made_are_read_and_go_on(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    store = Store(tmp_path / "tables")
    shutil.copytree(KEPT, store.folder)
    before = {name: sorted(row["id"] for row in pq.read_table(KEPT / name).to_pylist()) for name in ("judgements",)}
    job.keep_results(spark, a_year(tmp_path / "year", 3)[4:], store)
    judged = job.get(spark, store, job.JUDGEMENTS)
    assert sorted(row.id for row in judged.where("day < '2026-03-03'").collect()) == before["judgements"]

    rows_ = [plain.JudgementRow(*row) for row in judged.collect()]
    assert len(rows_) == 36
    assert job.compact(spark, store) == 2
    assert len(store.log(spark).live) == 1 and store.log(spark).unread
    assert job.compact(spark, store) == 1
    assert not store.log(spark).unread
    assert collected(job.get(spark, store, job.JUDGEMENTS)) == tuples(rows_)
    assert collected(job.get(spark, store, job.HISTORY)) == tuples(history.history(rows_))


def test_inputs_and_tables_lie_in_another_file_system_of_hadoop_and_are_read_by_a_notebook(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`viewfs:` is the one of its client that needs no server. The example of the module is run."""
    from zenoh_harness.console import Uri
    from zenoh_reports import notebook
    from zenoh_reports.pipeline import job, remote

    files = a_year(tmp_path / "year", 1)
    hadoop: Any = spark.sparkContext
    hadoop._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.there.link./data", tmp_path.as_uri())
    found = remote.list_files(spark, [Uri("viewfs://there/data/year")], remote.OF_RESULTS)
    job.report(spark, found, "viewfs://there/data/tables")

    names = [path.removeprefix("viewfs://there/data") for path in found]
    assert names == sorted(file.removeprefix(str(tmp_path)) for file in files)
    assert collected(notebook.verdicts(spark, tmp_path / "tables")) == plainly(files)["judgements"]
    assert (tmp_path / "tables" / "commits").is_dir()

    example = next(line.strip() for line in str(notebook.__doc__).splitlines() if "flaky =" in line)
    scope: dict[str, Any] = {"notebook": notebook, "spark": spark}
    exec(example.replace("s3a://bucket/tables", str(tmp_path / "tables")), scope)  # noqa: S102 - what the docstring says
    assert all(row.rate > 0.1 for row in scope["flaky"].collect())
    for function in (
        notebook.runs,
        notebook.verdicts,
        notebook.matrix,
        notebook.turns,
        notebook.flakes,
        notebook.clusters,
    ):
        said = ", ".join(
            f"{each.name} {each.dataType.simpleString()}" for each in function(spark, tmp_path / "tables").schema
        )
        assert f": {said}\n" in str(function.__doc__)


def test_the_command_keeps_and_merges_in_the_session_that_is_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from zenoh_harness.cli import invoke

    night(tmp_path, "2026-01-01", header(), judgement(REQUIREMENT, Verdict.PASS), FOOTER)
    options = ["--tables", str(tmp_path / "tables"), "--conf", "spark.sql.shuffle.partitions=2", "--compact"]
    assert invoke(["report", str(tmp_path / "2026-01-01"), "--out", str(tmp_path / "site"), *options]) == 0

    assert f"1 run, 1 judgements: tables in {tmp_path}/tables, 1 commits merged" in capsys.readouterr().out
    assert spark.range(1).count() == 1


def test_captures_lie_in_another_file_system_of_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    from fleets import captured, wrong_version

    from zenoh_harness.console import Uri
    from zenoh_reports.pipeline import captures, remote
    from zenoh_reports.plain import captures as plain_captures

    files = [
        captured(tmp_path / "in", "b.pcap", plant=wrong_version),
        captured(tmp_path / "in", "a.pcap", nodes=2, net=1),
    ]
    hadoop: Any = spark.sparkContext
    hadoop._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.taken.link./data", tmp_path.as_uri())
    found = remote.list_files(spark, [Uri("viewfs://taken/data/in")], remote.CAPTURES)
    there = captures.audit(spark, found, "viewfs://taken/data/tables")
    here = plain_captures.audit([str(file) for file in files])

    assert [Path(row.path).name for row in there.captures] == [Path(row.path).name for row in here.captures]
    assert (there.messages, there.subjects, there.packets) == (here.messages, here.subjects, here.packets)
    assert {row.id for row in there.findings} == {row.id for row in here.findings} != set()
