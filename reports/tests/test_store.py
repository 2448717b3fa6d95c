"""The stored tables: what two writers, a killed writer and a copy leave; and tables of the release before."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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


@pytest.mark.soak
def test_a_writer_that_is_killed_between_two_writes_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tables and of commits; what was derived before is continued, and is what all nights at once make."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 2)
    store = Store(tmp_path / "tables")
    made = job.report(spark, files[:2], store.folder)
    for moment in (2, 7):  # before the runs are committed, and before what is derived of them is
        with monkeypatch.context() as ended:
            left = iter(range(moment))
            for name in ("append", "commit"):
                ended.setattr(Store, name, dying(getattr(Store, name), left))
            with pytest.raises(Killed):
                job.report(spark, files, store.folder)
    again = job.report(spark, files, store.folder)

    assert (made.runs, made.judgements, again.runs, again.judgements) == (2, 12, 4, 24)
    assert digests(spark, store) == plainly(files)
    derived = store.log(spark).derived
    assert derived is not None and len(derived.chain) == 2


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


def test_two_writers_at_once_lose_and_double_no_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that was killed before, when it had written its rows and not its commit."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 2)
    store = Store(tmp_path / "tables")
    with monkeypatch.context() as ended:
        ended.setattr(Store, "commit", dying(Store.commit, iter(())))
        with pytest.raises(Killed):
            job.keep_results(spark, files[:2], store)
    assert (tmp_path / "tables" / job.JUDGEMENTS.name).is_dir() and not store.log(spark).live
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


MOST_WRITTEN = 120
"""Files that a report writes, about: the moment of a kill is one of them, and not a second, of which a slow machine has more."""


def files_written(tables: Path) -> int:
    """How many files there are, those that are being written among them."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(tables))  # does not mind what goes meanwhile


@pytest.mark.soak
def test_killed_at_twenty_random_moments_the_tables_are_the_undisturbed_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    import signal
    import subprocess
    from random import Random

    from zenoh_reports.pipeline.store import Store

    random = Random(37)
    files = a_year(tmp_path / "year", 4)
    command = [sys.executable, str(Path(__file__).parent / "report_job.py"), str(tmp_path / "tables")]
    around = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    for index in range(20):
        moment = files_written(tmp_path / "tables") + random.randrange(MOST_WRITTEN)
        job = subprocess.Popen([*command, *files[: 2 + index // 3]], start_new_session=True, env=around)
        while job.poll() is None and files_written(tmp_path / "tables") < moment:
            time.sleep(0.01)  # files tell nobody
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    subprocess.run([*command, *files], env=around, check=True, stdout=subprocess.DEVNULL)

    assert digests(spark, Store(tmp_path / "tables")) == plainly(files)


def test_a_run_counts_once_and_as_whole_as_it_was_read(spark: SparkSession, tmp_path: Path) -> None:
    """A part of it, read while it was being written, is replaced by the whole; a copy beside it or after it adds nothing."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    def one(name: str, run: str, *lines: str) -> str:
        return night(tmp_path, name, header(date="2026-01-01T12:00:00Z", run=f"20260101T120000Z-{run * 12}"), *lines)

    def kept() -> list[int]:
        return [job.get(spark, store, each).count() for each in job.OF_RUNS]

    said, store = judgement(REQUIREMENT, Verdict.PASS), Store(tmp_path / "tables")
    cut, other = one("cut", "a", said, said[:40]), one("other", "b", said, said, FOOTER)
    job.keep_results(spark, [cut, other], store)
    assert kept() == [2, 3, 1]

    whole, copy = (one(name, "a", said, said, said, FOOTER) for name in ("whole", "copy"))
    for files in ([copy, cut, whole, whole], [whole, cut]):
        job.keep_results(spark, files, store)
        assert kept() == [2, 5, 0]
    log = store.log(spark)
    assert (len(log.live), len(log.runs)) == (2, 2)
    assert sorted(row.judgements for row in job.get(spark, store, job.RUNS).collect()) == [2, 3]


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


@pytest.mark.parametrize("merges", [(), pytest.param(("--compact",), marks=pytest.mark.soak)])
def test_the_command_keeps_and_merges_in_another_file_system_and_a_notebook_reads_it(
    merges: tuple[str, ...], spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`viewfs:` is the one of Hadoop's client that needs no server. The session that is there stays; the module's example is run."""
    from zenoh_harness.cli import invoke
    from zenoh_reports import notebook

    files = a_year(tmp_path / "year", 1)
    hadoop, there = cast("Any", spark.sparkContext), f"there-{len(merges)}"
    hadoop._jsc.hadoopConfiguration().set(f"fs.viewfs.mounttable.{there}.link./data", tmp_path.as_uri())
    options = ["--tables", f"viewfs://{there}/data/tables", "--conf", "spark.sql.shuffle.partitions=2", *merges]
    assert invoke(["report", f"viewfs://{there}/data/year", "--spark", *options]) == 0

    said = f"2 runs, 12 judgements: tables in viewfs://{there}/data/tables{', 1 commits merged' if merges else ''}\n"
    assert said in capsys.readouterr().out
    assert spark.range(1).count() == 1
    names = {
        row.file.removeprefix(f"viewfs://{there}/data") for row in notebook.runs(spark, tmp_path / "tables").collect()
    }
    assert names == {file.removeprefix(str(tmp_path)) for file in files}
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
