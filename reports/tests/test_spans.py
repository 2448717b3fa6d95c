"""A large results file in parts is the whole file, line for line."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_judgement_stages import BAD, FOOTER, OTHER, REQUIREMENT, header, judgement, night

from zenoh_conformance.judging.verdict import Verdict
from zenoh_reports.plain import lines
from zenoh_reports.plain.results import line_spans, rows, span_rows

SIZES = (1, 700, 5000, 1 << 30)


def in_parts(file: str, size: int) -> list[object]:
    return [row for part in line_spans(file, size) for row in span_rows(part)]


def long_night(folder: Path) -> str:
    said = [judgement(REQUIREMENT, Verdict.PASS, bit=str(bit)) for bit in range(40)]
    return night(folder, "2026-01-01", header(), *said[:20], "no json\n", "\n", *said[20:], FOOTER)


@pytest.mark.parametrize("size", SIZES)
def test_a_file_in_parts_is_the_whole_file(size: int, tmp_path: Path) -> None:
    file = long_night(tmp_path)

    assert in_parts(file, size) == list(rows(file))
    assert (len(line_spans(file, size)) > 2) is (size < 6000)


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("size", SIZES[:2])
def test_a_bad_file_in_parts_says_what_the_whole_file_says(name: str, size: int, tmp_path: Path) -> None:
    file = night(tmp_path, f"2026-02-01/{name}", *BAD[name])

    assert in_parts(file, size) == list(rows(file))


def test_what_cannot_be_cut_is_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgements under embargo are counted at the footer, compressed lines have no place, and a line without end stops its reader."""
    secret = line_ = json.loads(judgement(OTHER, Verdict.CRASH, "secret", embargo=True))
    said = [judgement(REQUIREMENT, Verdict.PASS)] * 9
    embargoed = night(tmp_path, "2026-01-01", header(), json.dumps(secret, separators=(",", ":")) + "\n", *said, FOOTER)
    spaced = night(tmp_path, "2026-01-02", header(), json.dumps(line_) + "\n", *said, FOOTER)
    packed = tmp_path / "results.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(long_night(tmp_path / "x")).read_bytes()))
    monkeypatch.setattr("zenoh_reports.plain.results.LONGEST", 4000)
    monkeypatch.setattr(lines, "LONGEST", 4000)
    endless = night(tmp_path, "2026-01-03", header(), *said, "x" * 9000 + "\n", *said, FOOTER)
    for file in (embargoed, spaced, str(packed), endless, str(tmp_path / "none.jsonl")):
        assert len(line_spans(file, 300)) == 1, file
        assert in_parts(file, 300) == list(rows(file))
    assert [row.embargoed for row in rows(embargoed) if row.type == "footer"] == [1]


@pytest.mark.needs("spark")
def test_a_large_file_is_the_work_of_many_tasks_and_small_ones_of_one(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.sources.results import ResultsSource

    large = long_night(tmp_path)
    small = [night(tmp_path, f"2026-03-0{day}", header(), FOOTER) for day in (1, 2, 3)]
    source = ResultsSource({"paths": json.dumps([large, *small]), "span": "3000"})
    reader = source.reader(source.schema())
    parts = reader.partitions()
    read = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]

    assert len(parts) > 4 and len(parts[0].parts) == 3
    expected = [row for file in (*small, large) for row in rows(file)]
    assert [(row["file"], row["line"], row["type"]) for row in read] == [
        (row.file, row.line, row.type) for row in expected
    ]
