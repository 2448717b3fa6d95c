"""Thirty violations in a fleet of forty nodes: each found, at its packet and its node; nobody else is accused."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fleets import captured, wrong_version

from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.messages.init import Compression, Patch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.auditing import judge_file
from zenoh_reports.audit import exit_of, text
from zenoh_reports.plain import audit, tables, traffic
from zenoh_reports.plain.packets import packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Steps = list[tuple[bool, Any]]
NODES, PLANTED, OPENING, TCP = 40, 30, 7, 3
"""Packets that open a session; of these TCP's own."""


def change(at: int, **fields: Any) -> Callable[[Steps], int]:
    """One message of the handshake with other fields; which."""

    def edit(steps: Steps) -> int:
        to_server, message = steps[at]
        steps[at] = (to_server, replace(message, **fields))
        return at

    return edit


def another_version(steps: Steps) -> int:
    raw = bytearray(encode(steps[0][1]))
    raw[1] = 7
    steps[0] = (True, bytes(raw))
    return 0


def raised_resolution(steps: Steps) -> int:
    steps[0] = (True, replace(steps[0][1], resolution=0x05, batch_size=65535))
    return 1


VIOLATIONS: dict[str, Callable[[Steps], int]] = {
    "session-establishment/init-version-current": another_version,
    "session-establishment/cookie-echo": change(2, cookie=b"another"),
    "session-establishment/compression-needs-both": change(1, exts=Exts([Compression()])),
    "session-establishment/resolution-not-raised": raised_resolution,
    "session-establishment/initial-sn-in-range": change(3, initial_sn=1 << 40),
    "session-establishment/patch-at-most-offered": change(1, exts=Exts([Patch(value=1)])),
}


def fleet_with_thirty(folder: Path, frames: int) -> tuple[Path, set[tuple[str, int, str]]]:
    """A capture, and what is planted in it: requirement, packet, node."""
    planted: set[tuple[str, int, str]] = set()

    def plant(index: int, steps: Steps) -> None:
        if index < PLANTED:
            requirement, edit = list(VIOLATIONS.items())[index % len(VIOLATIONS)]
            step = edit(steps)
            node = f"10.0.1.{index}" if steps[step][0] else f"10.0.0.{1 + index % 4}"
            planted.add((requirement, OPENING * index + TCP + step + 1, node))

    return captured(folder, nodes=NODES, frames=frames, plant=plant), planted


def all_are_found(found: Sequence[tables.FindingRow], file: Path, planted: set[tuple[str, int, str]]) -> None:
    """Each at its packet and node, nobody else, and as the small audit finds them."""
    laws = [law for law in all_laws().values() if law not in audit.too_wide()]
    there = judge_file(file, laws=laws).audit.charges

    assert len(planted) == PLANTED
    assert not planted - {(row.requirement, row.packet, row.node) for row in found}
    assert {row.connection.partition(":")[0] for row in found} == {f"10.0.1.{index}" for index in range(PLANTED)}
    assert Counter((row.law, row.packet, row.cause) for row in found) == Counter(
        (charge.law, charge.packet, charge.cause) for charge in there
    )


def test_each_violation_is_found_where_it_is(tmp_path: Path) -> None:
    file, planted = fleet_with_thirty(tmp_path, frames=800)

    all_are_found(tables.findings(audit.whole_audit(traffic.sorted_rows(packets([str(file)])))), file, planted)


@pytest.mark.needs("java", "spark")
@pytest.mark.parametrize("frames", [80, pytest.param(40_000, marks=pytest.mark.soak)])
def test_spark_finds_each_where_it_is_in_another_file_system_and_nothing_in_a_fleet_that_conforms(
    frames: int, spark: SparkSession, tmp_path: Path
) -> None:
    from zenoh_harness.console import Uri
    from zenoh_reports import notebook
    from zenoh_reports.pipeline import remote
    from zenoh_reports.pipeline.captures import audit as on_spark
    from zenoh_reports.plain import captures as plain

    file, planted = fleet_with_thirty(tmp_path / "in", frames)
    clean = captured(tmp_path / "in", "clean.pcap", nodes=20, frames=frames, net=1)
    hadoop: Any = spark.sparkContext
    hadoop._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.taken.link./data", tmp_path.as_uri())
    found = remote.list_files(spark, [Uri("viewfs://taken/data/in")], remote.CAPTURES)
    there, here = on_spark(spark, found, "viewfs://taken/data/tables"), plain.audit([str(clean), str(file)])

    all_are_found(there.findings, file, planted)
    assert [Path(row.path).name for row in there.captures] == [Path(row.path).name for row in here.captures]
    assert (there.messages, there.subjects, there.packets) == (here.messages, here.subjects, here.packets)
    assert {row.id for row in there.findings} == {row.id for row in here.findings}
    kept = notebook.audit_findings(spark, tmp_path / "tables")
    assert kept.count() == len(there.findings) and kept.select("audit").distinct().count() == 1


@pytest.mark.needs("java", "spark")
def test_damaged_captures_are_named_on_spark_and_the_rest_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    from test_traffic_stages import BAD

    from zenoh_reports.pipeline.captures import audit as on_spark
    from zenoh_reports.plain import captures as plain

    whole = captured(tmp_path, "good/fleet.pcap", nodes=3, plant=wrong_version).read_bytes()
    files = [
        str(captured(tmp_path, "other/fleet.pcap", nodes=3, net=1)),
        str(tmp_path / "good" / "fleet.pcap"),
        str(tmp_path / "none"),
    ]
    for name, broken in BAD.items():
        file = tmp_path / "bad" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(broken(whole))
        files.append(str(file))
    made, expected = on_spark(spark, files, tmp_path / "tables"), plain.audit(files)

    for name in ("findings", "deviations", "nodes", "left_out"):
        assert sorted(getattr(made, name), key=repr) == sorted(getattr(expected, name), key=repr), name
    assert (made.messages, made.subjects, made.packets) == (expected.messages, expected.subjects, expected.packets)
    told = {Path(what[1]).name: what[0] for row in made.left_out if len(what := row.what.split(": ", 2)) == 3}
    assert told == {name: "cut off" if "cut" in name else "damaged" for name in (*BAD, "none")}
    assert all("packet" in row.what for row in made.left_out if "packe" in row.what.partition(": ")[2].split(": ")[0])
    assert {row.requirement for row in made.findings} >= {"session-establishment/init-version-current"}
    assert exit_of(made) is Exit.CANNOT_GO_ON
    assert all(name in text(made, tmp_path) for name in BAD)
