"""Captures through the stages: Spark's tables equal to the plain ones, however the files are cut and packed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fleets import captured, wrong_version

from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.auditing import judge_file
from zenoh_harness.files import capture_writer, conversations, pcap
from zenoh_reports.plain import audit, tables, traffic
from zenoh_reports.plain.packets import PacketRow, Span, captures, gathered, in_order, packets, rows, scattered, spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
RECORDINGS = sorted((HERE.parents[1] / "conformance" / "tests" / "recordings").glob("*.jsonl"))


def as_pcapng(path: Path, out: Path) -> Path:
    pcap.write(pcap.Capture(path), out)
    return out


def collected(table: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.collect())


def plainly(rows: Any) -> list[tuple[Any, ...]]:
    from dataclasses import astuple

    return sorted(tuple(row) if isinstance(row, tuple) else astuple(row) for row in rows)


def test_a_conforming_fleet_has_no_finding(tmp_path: Path) -> None:
    facts = audit.whole_audit(traffic.sorted_rows(packets([str(captured(tmp_path))])))

    assert tables.findings(facts) == []
    assert len(tables.nodes(facts)) == 10
    assert sum(row.messages for row in tables.statistics(facts) if row.kind == "push") == 300


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
@pytest.mark.parametrize("size", [200, 5000, 1 << 30])
def test_a_file_in_parts_is_the_whole_file(form: str, size: int, tmp_path: Path) -> None:
    file = captured(tmp_path)
    if form == "pcapng":
        file = as_pcapng(file, tmp_path / "x.pcapng")
    parts = spans(str(file), 3, size)
    found = [row for part in parts for row in rows(part)]

    assert len(parts) > 2 or size == 1 << 30
    assert found == list(rows(Span(str(file), 3)))
    assert [row.place & traffic.NUMBER for row in found] == list(range(1, len(found) + 1))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_is_read_as_it_is(pack: Any, tmp_path: Path) -> None:
    plain = captured(tmp_path)
    file = tmp_path / "packed"
    file.write_bytes(pack(plain.read_bytes()))

    assert [row[1:] for row in packets([str(file)])] == [row[1:] for row in packets([str(plain)])]
    assert captures([tmp_path]) == [str(plain), str(file)]


BAD = {
    "empty": lambda whole: b"",
    "cut-in-header": lambda whole: whole[:13],
    "cut-in-packet": lambda whole: whole[:5000],
    "foreign": lambda whole: b"\x7fELF" + bytes(100),
    "length": lambda whole: whole[:24] + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 1) + whole[24:],
    "packed-and-cut": lambda whole: gzip.compress(whole)[:-20],
    "packed-and-bent": lambda whole: gzip.compress(whole[:5000]) + gzip.compress(whole[5000:])[:10] + b"\x07",
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("size", [200, 1 << 30])
def test_a_file_that_is_broken_says_where_and_stops_nobody(fault: str, size: int, tmp_path: Path) -> None:
    whole = captured(tmp_path).read_bytes()
    file = tmp_path / "broken.pcap"
    file.write_bytes(BAD[fault](whole))
    found = [row for part in spans(str(file), 0, size) for row in rows(part)]

    kind = "cut" if "cut" in fault else "damaged"
    assert [row.why for row in found if row.kind == kind], found
    assert not [row for row in found if row.kind in {"cut", "damaged"} - {kind}]
    assert any(row.kind == "unit" for row in found) is (fault in ("cut-in-packet", "packed-and-cut", "packed-and-bent"))


@pytest.mark.parametrize("most", [1, 5000, 1 << 20])
def test_what_is_gathered_by_flow_is_the_same_packets(most: int, tmp_path: Path) -> None:
    found = list(packets([str(captured(tmp_path))]))
    packed = sorted(gathered(found, most))

    assert [row for each in packed for row in scattered(each.packed)] == traffic.sorted_rows(found)


def test_files_are_taken_in_the_order_of_their_packets(tmp_path: Path) -> None:
    file = captured(tmp_path)
    whole = list(pcap.Capture(file))
    half = len(whole) // 2
    late, early = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    pcap.write(whole[half:], late)
    pcap.write(whole[:half], early)

    assert in_order([str(late), str(early), str(tmp_path / "none")]) == [str(early), str(late), str(tmp_path / "none")]
    one, two = (
        audit.whole_audit(traffic.sorted_rows(packets(files))) for files in ([str(file)], [str(late), str(early)])
    )
    assert tables.statistics(one) == tables.statistics(two)
    assert tables.findings(one) == tables.findings(two)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_audit_of_a_fleet_says_what_the_small_audit_says(path: Path, tmp_path: Path) -> None:
    """The capture of a recorded conversation, judged flow by flow here and at once there."""
    file = tmp_path / "x.pcapng"
    capture_writer.write(conversations.read(path), file)
    there = judge_file(file, laws=[law for law in all_laws().values() if law not in audit.too_wide()]).audit
    here = audit.whole_audit(traffic.sorted_rows(packets([str(file)])))
    subjects: Counter[str] = Counter()
    for row in here:
        if row.what == "subjects":
            subjects[row.law] += row.amount

    assert Counter(
        (row.law, row.sender, row.packet, row.zid or row.node, row.cause) for row in tables.findings(here)
    ) == Counter((charge.law, charge.role, charge.packet, charge.node, charge.cause) for charge in there.charges)
    assert subjects == +there.subjects
    assert sum(row.amount for row in here if row.what == "messages") == there.messages


def test_a_law_that_looks_across_connections_at_data_is_named_as_left_out(tmp_path: Path) -> None:
    facts = audit.whole_audit(traffic.sorted_rows(packets([str(captured(tmp_path))])))
    left_out = {row.what for row in tables.left_out(facts)}

    assert left_out >= {f"law not judged across connections: {law.id}" for law in audit.too_wide()}
    assert {*audit.laws_of(wide=True), *audit.laws_of(wide=False), *audit.too_wide()} == set(all_laws().values())


@pytest.mark.needs("java", "spark")
def test_the_stages_of_spark_make_the_plain_tables(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import audit as stages
    from zenoh_reports.pipeline import traffic as spark_traffic
    from zenoh_reports.pipeline.judgements import requirement_rows
    from zenoh_reports.pipeline.types import schema

    recorded = tmp_path / "recorded.pcapng"
    capture_writer.write(conversations.read(RECORDINGS[0]), recorded)
    broken = tmp_path / "broken.pcap"
    first = captured(tmp_path, frames=60)
    broken.write_bytes(first.read_bytes()[:3001])
    whole = captured(tmp_path, "more/fleet.pcap", nodes=3, frames=60, seed=2, net=1, plant=wrong_version)
    files = [str(file) for file in (first, recorded, broken, whole)]
    in_plain = traffic.sorted_rows(packets(files))
    counted: Counter[str] = Counter()
    flows = list(traffic.heard_all(in_plain, counted=counted))
    needed = list(requirements().values())
    facts = audit.whole_audit(in_plain)

    table = spark_traffic.packets(spark, files, span=4000).cache()
    alone = stages.facts(spark_traffic.packets(spark, files, span=4000, packed=True)).cache()
    of_spark = stages.across(alone).cache()
    for made, expected, row in (
        (table, in_plain, PacketRow),
        (spark_traffic.flows(table), [row for said in flows for row in traffic.flow_rows(said)], traffic.FlowRow),
        (spark_traffic.batched(table), [row for said in flows for row in traffic.batch_rows(said)], traffic.BatchRow),
        (
            spark_traffic.messages(table),
            [row for said in flows for row in traffic.message_rows(said)],
            traffic.MessageRow,
        ),
        (stages.findings(of_spark), tables.findings(facts), tables.FindingRow),
        (stages.nodes(of_spark), tables.nodes(facts), tables.NodeRow),
        (stages.statistics(of_spark), tables.statistics(facts), tables.StatisticsRow),
        (stages.extensions(of_spark), tables.extensions(facts), tables.ExtensionRow),
        (
            stages.observed(of_spark, requirement_rows(spark, needed)),
            tables.observed(facts, needed),
            tables.ObservedRow,
        ),
        (spark_traffic.counts(table), traffic.count_rows(counted), traffic.CountRow),
    ):
        assert collected(made) == plainly(expected), row.__name__
        assert [(each.name, each.dataType) for each in made.schema] == [(c.name, c.dataType) for c in schema(row)]
    assert {row.requirement for row in tables.findings(facts)} >= {"session-establishment/init-version-current"}
    for each in (table, alone, of_spark):
        each.unpersist()
