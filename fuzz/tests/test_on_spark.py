"""A campaign in shards: what they find is one corpus and one ledger, also when an executor is lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from zenoh_fuzz.campaign.campaign import Order
from zenoh_fuzz.campaign.workers import corpus_files
from zenoh_fuzz.on_spark import FuzzShard, Rounds, run, unzip_inputs, zip_inputs
from zenoh_harness.files import campaigns
from zenoh_harness.run.store import embargo

pytestmark = pytest.mark.needs("atheris")


def order(folder: Path, **changes) -> Order:
    return Order(**{"oracle": "decode", "folder": folder, "seconds": 4, "jobs": 2, **changes})


def test_a_corpus_goes_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"one")
    (tmp_path / "a" / "y").write_bytes(b"one")
    (tmp_path / "a" / "z").write_bytes(b"two")
    data = zip_inputs([tmp_path / "a"])
    unzip_inputs(data, tmp_path / "b")

    assert sorted(path.read_bytes() for path in (tmp_path / "b").iterdir()) == [b"one", b"two"]
    assert zip_inputs([tmp_path / "b"]) == data


def test_a_shard_hands_back_what_is_new(tmp_path: Path) -> None:
    given = zip_inputs([])
    rows = list(FuzzShard(order(tmp_path / "x", seconds=3), {"ours": "1"}, given, 0).run(0))
    (numbers,) = [json.loads(data) for _, what, _, data in rows if what == "outcome"]
    inputs = {data for _, what, _, data in rows if what == "input"}

    assert numbers["inputs"] > 100 and numbers["edges"] > 10
    assert inputs
    assert not (tmp_path / "x").exists()


class Collected:
    """Stands for a session: runs each shard here."""

    def __init__(self, rows):
        self._rows = rows

    def range(self, *_given):
        return self

    def mapInArrow(self, *_given):  # noqa: N802 - Spark's name
        return self

    def collect(self):
        return self._rows


class Row:
    def __init__(self, what: str, data: bytes) -> None:
        self.what, self.data = what, data


def found(number: int, count: int = 1, **more) -> Row:
    told = {"oracle": "decode", "rule": "r", "signature": f"s{number}", "why": "why", "input": "00", **more}
    row = campaigns.FindingRow(id=f"{number:012x}", count=count, **told)
    return Row("finding", json.dumps({"row": row.to_json(), "first_seen": 1.0}).encode())


def test_the_same_finding_of_two_shards_is_one(tmp_path: Path) -> None:
    numbers = Row("outcome", json.dumps({"inputs": 10, "edges": 5, "seconds": 1, "restarts": 0}).encode())
    rows = [found(1, 2), found(1, 3), found(2), Row("input", b"a"), Row("input", b"a"), numbers, numbers]
    asked = order(tmp_path, with_seeds=False)
    outcome = run(Collected(rows), asked, {"ours": "1"}, rounds=1)
    ledger = campaigns.read_ledger(tmp_path / "decode")

    assert {row.signature: row.count for row in ledger.values()} == {"s1": 5, "s2": 1}
    assert (outcome.inputs, outcome.edges, outcome.corpus, len(outcome.fresh)) == (20, 5, 1, 2)
    assert [event["event"] for event in campaigns.read_events(tmp_path / "decode")].count("finding") == 2
    again = Rounds(Collected(rows), asked, {"ours": "1"}, tmp_path / "decode", lambda so_far: None).run(1)
    assert again.fresh == ()


def test_what_is_under_embargo_is_kept_in_the_data_folder_alone(tmp_path: Path, monkeypatch) -> None:
    """A campaign's folder may be published: there it is counted."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    numbers = Row("outcome", json.dumps({"inputs": 10, "edges": 5, "seconds": 1, "restarts": 0}).encode())
    secret = {"why": "a secret", "input": "005ec2e7", "embargo": True, "grave": True}
    rows = [found(1, 2, **secret), found(1, 3, **secret), numbers]
    outcome = run(Collected(rows), order(tmp_path / "out", with_seeds=False), {"ours": "1"}, rounds=1)

    assert list(outcome.findings) == [f"{1:012x}"]
    [listed] = campaigns.read_ledger(tmp_path / "out" / "decode").values()
    assert (listed.embargo, listed.count, listed.input, listed.why) == (True, 5, "", "")
    text = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"secret" not in text and b"5ec2e7" not in text and b"\x5e\xc2\xe7" not in text
    kept = campaigns.read_finding(embargo.folder() / "fuzz" / campaigns.FINDINGS / listed.id)
    assert (kept.input, kept.why, kept.count) == ("005ec2e7", "a secret", 5)


@pytest.mark.soak
@pytest.mark.needs("java", "spark")
def test_two_shards_on_spark_share_a_corpus(tmp_path: Path) -> None:
    from zenoh_reports.spark import session

    with session("fuzz", "local[2]") as spark:
        outcome = run(spark, order(tmp_path, seconds=20), {"ours": "1"}, rounds=2)

    folder = tmp_path / "decode"
    assert outcome.inputs > 1000
    assert outcome.corpus == len(corpus_files(folder / "corpus")) > 10
    events = list(campaigns.read_events(folder))
    assert [event["event"] for event in events if event["event"] in ("begin", "merge", "end")] == [
        "begin",
        "merge",
        "merge",
        "end",
    ]


@pytest.mark.soak
@pytest.mark.needs("java", "spark")
def test_two_executors_do_more_than_one_also_when_one_of_them_is_lost(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
    from bench_on_spark import campaign

    one = campaign(tmp_path / "one", "decode", 1, 30)
    two = campaign(tmp_path / "two", "decode", 2, 30)
    lost = campaign(tmp_path / "lost", "decode", 2, 30, lose=True)

    assert two.inputs > 1.2 * one.inputs
    for name, outcome in (("one", one), ("two", two), ("lost", lost)):
        folder = tmp_path / name / "decode"
        assert outcome.corpus == len(corpus_files(folder / "corpus")) > 10
        assert [event["event"] for event in campaigns.read_events(folder)].count("merge") == 2
    assert lost.inputs > 1000
