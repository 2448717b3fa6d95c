"""The results file: there and back, incomplete ones readable, by its schema, each refusal with its line."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.files import results, run_ids
from zenoh_harness.files.faults import FileFault

HEADER = results.Header(
    reach="wheel:1.10.2", name="zenoh-rust", version="1.10.2", role="responder", kind="wheel", profiles=("default",),
    date="2026-01-31T12:00:00Z", run=run_ids.of("2026-01-31T12:00:00Z", "wheel:1.10.2"),
)  # fmt: skip


def judgement(verdict: Verdict = Verdict.PASS, check: str = "a/b", **more) -> Judgement:
    key = Key(
        target="zenoh-rust", version="1.10.2", role="responder", profile="default", link="tcp", requirement="push/put",
        check=check, parameters=(("bit", "3"),),
    )  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, **more)


def written(path, *, footer: bool = True) -> list[str]:
    planned = [results.label(judgement().key), results.label(judgement(check="c/d").key)]
    with results.ResultsWriter(path, HEADER, planned) as writer:
        writer.judgement(judgement(cause="ümlaut"))
        if footer:
            writer.footer(Exit.CONFORMING)
    return path.read_text().splitlines(keepends=True)


def test_what_is_written_is_read_again(tmp_path):
    written(tmp_path / "r.jsonl")
    read = results.read(tmp_path / "r.jsonl")
    assert read.header == HEADER
    assert read.judgements == [judgement(cause="ümlaut")]
    assert read.footer is not None
    assert read.footer.verdicts == {"pass": 1}


def test_each_line_is_on_the_disk_when_it_fell(tmp_path):
    with results.ResultsWriter(tmp_path / "r.jsonl", HEADER) as writer:
        writer.judgement(judgement())
        assert results.read(tmp_path / "r.jsonl").judgements == [judgement()]


def test_without_a_footer_it_is_incomplete_and_names_what_was_pending(tmp_path):
    written(tmp_path / "r.jsonl", footer=False)
    read = results.read(tmp_path / "r.jsonl")
    assert not read.complete
    assert read.pending == ("responder default c/d[bit=3]",)


def test_a_footer_names_what_was_pending_too(tmp_path):
    written(tmp_path / "r.jsonl")
    read = results.read(tmp_path / "r.jsonl")
    assert not read.complete
    assert read.pending == ("responder default c/d[bit=3]",)


def test_killed_at_any_byte_it_is_readable(tmp_path):
    path = tmp_path / "r.jsonl"
    text = "".join(written(path)).encode()
    header_ends = text.index(b"\n") + 1
    for cut in range(header_ends, len(text)):
        path.write_bytes(text[:cut])
        assert len(results.read(path).judgements) <= 1


def test_an_embargoed_judgement_is_counted_and_not_written(tmp_path):
    path, named = tmp_path / "r.jsonl", results.label(judgement().key)
    with results.ResultsWriter(path, replace(HEADER, command=f"--only {named}"), [named, "a default b/c"]) as writer:
        writer.judgement(judgement(Verdict.CRASH, embargo=True, cause="secret"))
        killed = path.read_text()
        footer = writer.footer(Exit.NOT_CONFORMING)
    assert (footer.embargoed, footer.judged, footer.pending) == (1, 0, ("a default b/c",))
    assert results.read(path).planned == ("a default b/c",)
    for text in (killed, path.read_text()):
        assert "secret" not in text
        assert named not in text


def test_what_each_part_of_a_run_keeps_back_adds_up(tmp_path):
    """Each role counts what it left out, and finds more."""
    with results.ResultsWriter(tmp_path / "r.jsonl", HEADER) as writer:
        writer.withhold(2)
        writer.judgement(judgement(Verdict.CRASH, embargo=True))
        writer.withhold(0)
        writer.withhold(1)
        assert writer.footer(Exit.NOT_CONFORMING).embargoed == 4


def test_every_line_fits_the_schema_and_a_changed_one_does_not(tmp_path):
    schema = json.loads((files("zenoh_harness.files") / "schemas" / "results.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for line in written(tmp_path / "r.jsonl"):
        row = json.loads(line)
        validator.validate(row)
        assert not validator.is_valid(row | {"extra": 1})
        assert not validator.is_valid(row | {"type": "other"})


def test_results_from_before_runs_had_names_are_read(tmp_path):
    header, *lines = written(tmp_path / "r.jsonl")
    row = json.loads(header)
    del row["run"], row["date"]
    (tmp_path / "old.jsonl").write_text("".join([results.line(row), *lines]))
    read = results.read(tmp_path / "old.jsonl")
    assert read.header == replace(HEADER, date="", run="")
    assert read.complete is results.read(tmp_path / "r.jsonl").complete


def test_two_runs_of_one_second_have_two_names_that_sort_by_time(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    one, two = (run_ids.of_new("2026-01-31T12:00:00Z", "wheel", 7) for _ in range(2))
    assert one != two
    assert max(one, two) < run_ids.of_new("2026-01-31T12:00:01Z", "wheel", 7)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert run_ids.of_new("1970-01-02T00:00:00Z", "wheel", 7) == run_ids.of_new("1970-01-02T00:00:00Z", "wheel", 7)
    assert run_ids.of_new("1970-01-02T00:00:00Z", "wheel", 7) != run_ids.of_new("1970-01-02T00:00:00Z", "wheel", 8)


def test_refusals_name_the_line(tmp_path):
    path = tmp_path / "r.jsonl"
    header, plan, row, footer = written(path)
    wrong = {
        "expected the header": (1, [row]),
        "is no JSON": (2, [header, "nonsense\n", row]),
        "format": (1, [header.replace('"format":1', '"format":9')]),
        "unknown verdict": (3, [header, plan, row.replace('"pass"', '"fine"')]),
        "follows the footer": (4, [header, row, footer, row]),
        "'level' is missing": (2, [header, row.replace('"level":"MUST",', "")]),
        "unknown type": (2, [header, '{"type":"note"}\n']),
    }
    for why, (line, lines) in wrong.items():
        path.write_text("".join(lines))
        with pytest.raises(FileFault, match=why) as refused:
            results.read(path)
        assert refused.value.line == line


def test_an_empty_file_is_told_as_such(tmp_path):
    (tmp_path / "results.jsonl").write_text("")
    with pytest.raises(FileFault, match="is empty"):
        results.read(tmp_path)
