"""Captures that arrive: what goes on from one to the next is counted once, whatever is killed in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fleets import captured, wrong_version

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import pcap
from zenoh_harness.files.captures import PORTS
from zenoh_reports.plain import audit, tables, traffic
from zenoh_reports.plain.audit import AuditRow
from zenoh_reports.plain.follow import Arrivals, Checkpoint, arrived, goes_on, packet_of
from zenoh_reports.plain.packets import PackedRow, Span, gathered, packets, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def parts_of(file: Path, folder: Path, count: int) -> list[Path]:
    """A capture as so many that follow each other, cut anywhere."""
    whole = list(pcap.Capture(file))
    step = -(-len(whole) // count)
    made = []
    for index in range(count):
        made.append(folder / f"part-{index:02}.pcapng")
        folder.mkdir(exist_ok=True)
        pcap.write(whole[index * step : (index + 1) * step], made[-1])
    return made


def statistics(facts):
    """Messages by node and kind: the minute is the same however the file is cut."""
    return tables.statistics(facts)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_flows_go_on_from_file_to_file(count: int, tmp_path: Path) -> None:
    file = captured(tmp_path, plant=wrong_version)
    whole = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    facts, kept, newest = [], [], 0
    for index, part in enumerate(parts_of(file, tmp_path / "parts", count)):
        arriving = traffic.sorted_rows([*map(packet_of, kept), *rows(Span(str(part), index))])
        found = list(goes_on(arriving, PORTS, newest))
        kept = [row for row in found if row.what == "flow"]
        facts += [row for row in found if row.what != "flow"]
        newest = max([newest, *(row.time for row in found)])
    handshakes = sorted((row for row in facts if row.what == "handshake"), key=audit.order_of)
    facts += audit.wide_rows(handshakes)

    assert kept == []
    assert statistics(facts) == statistics(whole)
    assert Counter((row.law, row.sender, row.node, row.cause) for row in facts if row.what == "finding") == Counter(
        (row.law, row.sender, row.node, row.cause) for row in whole if row.what == "finding"
    )
    assert any(row.what == "finding" for row in facts)


def test_a_flow_that_is_silent_for_an_hour_is_over(tmp_path: Path) -> None:
    file = captured(tmp_path)
    whole = list(pcap.Capture(file))
    pcap.write(whole[:200], tmp_path / "a.pcapng")
    first = list(goes_on(traffic.sorted_rows(rows(Span(str(tmp_path / "a.pcapng"), 0))), PORTS, 0))
    kept = [row for row in first if row.what == "flow"]
    later = list(
        goes_on(traffic.sorted_rows(map(packet_of, kept)), PORTS, max(row.time for row in kept) + 2 * 3600 * 10**9)
    )

    assert len(kept) == 6
    assert not [row for row in later if row.what == "flow"]
    assert sum(row.amount for row in [*first, *later] if row.what == "messages" and row.kind == "push") > 100


def test_a_plan_is_done_again_until_it_is_committed(tmp_path: Path) -> None:
    arriving = tmp_path / "in"
    file = captured(arriving)
    (arriving / "notes.txt").write_text("no capture")
    shutil.copy(file, arriving / "copy.pcap")
    first = Checkpoint(tmp_path / "c")
    plan = first.next(arrived(arriving, settled=-1))
    again = Checkpoint(tmp_path / "c")

    assert plan is not None and len(plan.captures) == 1 and plan.results == ()
    assert again.next([]) == plan
    again.commit(plan, {"newest": 7})
    assert Checkpoint(tmp_path / "c").next(arrived(arriving, settled=-1)) is None
    assert Checkpoint(tmp_path / "c").last() == {"newest": 7}


@pytest.mark.needs("spark")
def test_a_first_batch_that_spark_did_not_commit_is_read_again(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.sources.arriving import ArrivingReader

    captured(tmp_path / "in")
    reader = ArrivingReader(str(tmp_path / "in"), str(tmp_path / "c"), -1, True)
    end = reader.latestOffset(reader.initialOffset(), None)
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.commit(checkpoint.plans[0], {"newest": 7})

    assert len(reader.partitions(reader.initialOffset(), end)) == 2


def test_a_file_that_is_being_written_is_not_taken(tmp_path: Path) -> None:
    file = captured(tmp_path)

    assert arrived(tmp_path, settled=60) == []
    assert arrived(tmp_path, settled=-1) == [str(file)]


def test_a_checkpoint_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "00000000.json").write_text("[]")

    with pytest.raises(CannotGoOn, match="no checkpoint of ours"):
        Checkpoint(tmp_path)


def test_files_of_a_clock_that_was_set_back_are_taken_when_they_stay_as_they_are(tmp_path: Path) -> None:
    file = captured(tmp_path)
    to_come = time.time() + 86_400
    os.utime(file, (to_come, to_come))
    arrivals = Arrivals(tmp_path, settled=0.2)

    assert arrivals() == []
    assert arrivals.once() == [str(file)]
    with file.open("ab") as grows:
        grows.write(b"more")
    os.utime(file, (to_come, to_come))
    assert arrivals() == []


def killed(*_given: object) -> None:
    """Stands for SIGKILL: nothing that follows is done."""
    raise OSError("killed")


class StateStore:
    """Spark's map of a state, in a dictionary."""

    def __init__(self) -> None:
        self.held: dict[tuple[object, ...], tuple[object, ...]] = {}
        self.iterator = self.held.items().__iter__
        self.updateValue, self.removeKey = self.held.__setitem__, self.held.pop

    def getMapState(self, *_names: str) -> StateStore:  # noqa: N802 - Spark's name
        return self


@pytest.mark.needs("spark")
def test_the_flows_of_the_state_store_are_the_plain_ones_and_another_version_leaves_them(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.flow_state import FlowState, across_rows
    from zenoh_reports.pipeline.sources.arriving import TICK

    parts = parts_of(captured(tmp_path, plant=wrong_version), tmp_path / "parts", 4)
    store, handshakes, kept, newest, state = StateStore(), [], [], 0, iter(())
    flows = FlowState(PORTS, "this")
    flows.init(store)  # type: ignore[arg-type] - what is asked of it
    for index, part in enumerate(parts):
        arrived_ = list(rows(Span(str(part), index)))
        tick = PackedRow(TICK, "0", newest, b"")
        found = [AuditRow(**row.asDict()) for row in flows.handleInputRows((0,), [*gathered(arrived_), tick], None)]
        there = list(goes_on(traffic.sorted_rows([*map(packet_of, kept), *arrived_]), PORTS, newest))
        kept = [row for row in there if row.what == "flow"]
        assert found == [row for row in there if row.what != "flow"]
        assert {key for (key,) in store.held} == {row.connection for row in kept}
        newest = max([newest, *(row.time for row in there)])
        new = sorted((row for row in found if row.what == "handshake"), key=audit.order_of)
        *said, laws = across_rows(iter([*state, *new]), "this")
        handshakes, state = [*handshakes, *new], iter([laws])
        if index == 1:
            assert kept
            other = FlowState(PORTS, "another")
            other.init(store_of := StateStore())  # type: ignore[arg-type] - as above
            store_of.held.update(store.held)
            assert list(other.handleInputRows((0,), [tick], None)) == [] and not store_of.held
    in_one = [row for row in audit.wide_rows(handshakes) if row.what == "finding"]
    assert kept == [] and len(handshakes) > 20 and not in_one and not [row for row in said if row.what == "finding"]


@pytest.mark.needs("java", "spark")
def test_batches_are_counted_once_and_alerted_once(spark: SparkSession, tmp_path: Path) -> None:
    """Without the stream: a batch that is done again when all but the commit was written, and one that goes on with its flows."""
    from zenoh_reports.pipeline import follow as stages
    from zenoh_reports.pipeline.types import schema

    file, out = captured(tmp_path, plant=wrong_version), tmp_path / "out"
    said, kept = list[str](), list[AuditRow]()
    followed, batch = stages.Followed(out, said.append), stages.Batch(str(out), "this")
    for number, part in enumerate(parts_of(file, tmp_path / "in", 2)):
        checkpoint = Checkpoint(out / "checkpoint")
        assert checkpoint.plan(number, lambda part=part: [str(part)]) is not None  # type: ignore[misc]
        arriving = traffic.sorted_rows([*map(packet_of, kept), *rows(Span(str(part), number))])
        found = list(goes_on(arriving, PORTS, checkpoint.last().get("newest", 0)))
        kept = [row for row in found if row.what == "flow"]
        facts = spark.createDataFrame([row for row in found if row.what != "flow"], schema(AuditRow))
        if number == 0:
            with pytest.MonkeyPatch.context() as ended:
                ended.setattr(Checkpoint, "commit", killed)
                with pytest.raises(OSError, match="killed"):
                    batch(facts, number)
        batch(facts, number)
    followed.tell()

    assert stages.make_tables(spark, out) and followed.failed and not kept
    whole = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    assert counted(out) == by_kind(tables.statistics(whole))
    assert said[-1] == "batch 1: 1 captures, 0 results" and sum(line.startswith("fail") for line in said) == len(
        {(row.signature, row.node) for row in tables.findings(whole) if row.verdict == "fail"}
    )


@pytest.mark.soak
@pytest.mark.needs("java", "spark")
def test_what_was_planned_and_what_arrived_since_are_batches_of_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """A job that was ended after the plan of its first batch, with a store in which nothing is: what arrived later is taken too."""
    from zenoh_reports.pipeline import follow as stages

    file = captured(tmp_path, plant=wrong_version)
    parts = parts_of(file, tmp_path / "in", 2)
    (tmp_path / "out" / "checkpoint" / "spark" / "state" / "0" / "0").mkdir(parents=True)
    assert Checkpoint(tmp_path / "out" / "checkpoint").plan(0, lambda: [str(parts[0])]) is not None
    said: list[str] = []
    assert stages.follow(spark, tmp_path / "in", tmp_path / "out", once=True, say=said.append, settled=-1) == 1

    whole = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    assert counted(tmp_path / "out") == by_kind(tables.statistics(whole))
    assert said[-1] == "batch 1: 1 captures, 0 results" and sum(line.startswith("fail") for line in said) == len(
        {(row.signature, row.node) for row in tables.findings(whole) if row.verdict == "fail"}
    )


@pytest.mark.soak
@pytest.mark.needs("java", "spark")
def test_what_arrives_is_counted_once_and_alerted_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that is ended when all but the commit is written is done again; a finding that comes again is no second alert."""
    from zenoh_reports.pipeline import follow as stages

    file = captured(tmp_path, plant=wrong_version)
    parts = parts_of(file, tmp_path / "parts", 2)
    arriving, out = tmp_path / "in", tmp_path / "out"
    arriving.mkdir()
    said: list[str] = []

    shutil.copy(parts[0], arriving)
    with monkeypatch.context() as ended:
        ended.setattr(Checkpoint, "commit", killed)
        with pytest.raises(CannotGoOn, match="Spark could not do it"):
            stages.follow(spark, arriving, out, once=True, say=said.append, settled=-1)
    assert not said
    assert stages.follow(spark, arriving, out, once=True, say=said.append, settled=-1) == 1
    shutil.copy(parts[1], arriving)
    assert stages.follow(spark, arriving, out, once=True, say=said.append, settled=-1) == 0

    whole = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    assert counted(out) == by_kind(tables.statistics(whole))
    assert len([line for line in said if line.startswith("fail")]) == len(
        {(row.signature, row.node) for row in tables.findings(whole) if row.verdict == "fail"}
    )


STEPS = (
    "checkpoint/plans/{:08}.json", "checkpoint/spark/offsets/{}", "tables/facts/batch={}", "tables/facts/batch={}/_SUCCESS",
    "tables/facts_across/batch={}", "alerts/{:08}.jsonl", "checkpoint/commits/{:08}.json", "checkpoint/spark/commits/{}",
)  # fmt: skip
"""What a batch writes, in order: a job is killed when one of them is there."""
KILLS, PARTS = 10, 50
PATIENCE = 1800.0


@pytest.mark.soak
@pytest.mark.needs("java", "spark")
def test_killed_ten_times_while_files_arrive_each_message_is_counted_once(tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from test_judgement_stages import a_year
    from test_planted import fleet_with_thirty

    file, _ = fleet_with_thirty(tmp_path, frames=33_400)
    whole = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    assert sum(row.amount for row in whole if row.what == "messages") > 100_000
    arriving, out = tmp_path / "in", tmp_path / "out"
    arriving.mkdir()
    captures, nights = parts_of(file, tmp_path / "parts", PARTS), a_year(tmp_path / "year", 2)
    waits = [each for pair in zip_longest(captures, map(Path, nights)) for each in pair if each is not None]

    def arrive(count: int = 1) -> None:
        for part in waits[:count]:
            shutil.copy(part, tmp_path / "arriving")
            (tmp_path / "arriving").rename(arriving / "-".join(part.parts[-3:]))
        del waits[:count]

    for kill in range(KILLS):
        arrive(2)
        job, number = start(arriving, out, "on"), len(list(out.glob("checkpoint/commits/*.json")))
        arrive(2)
        try:
            await_file(out / STEPS[kill % len(STEPS)].format(number), job)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    arrive(len(waits))
    assert start(arriving, out, "once").wait() in (0, 1)

    assert counted(out) == by_kind(tables.statistics(whole))
    found = Counter((row["law"], row["sender"], row["node"], row["cause"]) for row in newest(out, "findings"))
    planted = Counter((row.law, row.sender, row.node, row.cause) for row in tables.findings(whole))
    assert found.keys() == planted.keys()
    many = "law/sn-within-resolution"  # so many that both keep some only: the one of each batch, the other of all
    assert [(key, found[key]) for key in planted if key[0] != many] == [
        (key, count) for key, count in planted.items() if key[0] != many
    ]
    judged = [row["id"] for row in pq.read_table(out / "tables" / "judgements").to_pylist()]
    assert len(set(judged)) == sum(text.count('"judgement"') for text in map(_text, nights))


def _text(path: str) -> str:
    return Path(path).read_text()


def await_file(file: Path, job: subprocess.Popen[bytes]) -> None:
    """Until a job has written a file."""
    until = time.monotonic() + PATIENCE
    while not file.exists():
        assert job.poll() is None and time.monotonic() < until, f"{file} never came"
        time.sleep(0.01)  # files tell nobody


def start(arriving: Path, out: Path, how: str) -> subprocess.Popen[bytes]:
    """The job in a process group of its own, so that it can be ended with its Java."""
    command = [sys.executable, str(Path(__file__).parent / "follow_job.py"), str(arriving), str(out), how]
    around = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    return subprocess.Popen(command, start_new_session=True, env=around)


def by_kind(rows) -> Counter:
    made: Counter = Counter()
    for row in rows:
        made[row.kind] += row.messages
    return made


def newest(out: Path, name: str) -> list[dict]:
    """The rows of a kept table."""
    import pyarrow.parquet as pq

    last = max((out / "tables" / name).glob("commit=*"), key=lambda folder: folder.stat().st_mtime_ns)
    return pq.read_table(last).to_pylist()


def counted(out: Path) -> Counter:
    """Messages by kind, from the kept table."""
    made: Counter = Counter()
    for row in newest(out, "statistics"):
        made[row["kind"]] += row["messages"]
    return made
