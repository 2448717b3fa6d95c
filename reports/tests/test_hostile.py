"""What targets and files say is text, whatever they say: on pages, for programs, in a terminal."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).parent))
import hostile
import jsonschema
import pytest
from sites import parsed, run_report, site_of

from zenoh_reports.plain.documents import schema


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory) -> dict[str, bytes]:
    """A site of files in which every text is hostile."""
    told = hostile.everything(tmp_path_factory.mktemp("hostile"))
    return site_of(*told.places, documents=told.documents, earlier=told.earlier)


def test_hostile_strings_are_text_everywhere(hostile_site):
    for name, data in hostile_site.items():
        assert re.fullmatch(r"[A-Za-z0-9=_./-]+", name), name
        assert ".." not in name or name.startswith("diff/"), name
        assert max(map(len, name.split("/"))) <= 255, name
        if name.endswith((".html", ".svg")):
            text = data.decode()
            assert "<script>document" not in text, name
            assert "<img" not in text, name
            assert "javascript:" not in re.sub(r">[^<]*<", "><", text), name
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), name
            assert "{{7*7}}" in text or ">49<" not in text, name
            assert parsed(data).styles == [], name
    assert max(len(data) for name, data in hostile_site.items() if name.endswith(".html")) < 3_000_000


def test_hostile_strings_reach_every_kind_of_page(hostile_site):
    """What is not shown at all would pass above."""
    reached = {name for name, data in hostile_site.items() if b"owned" in data}
    named = (
        "index",
        "matrix",
        "implementation/index",
        "diff/index",
        "interop",
        "automata",
        "campaigns",
        "audits",
        "about",
        "spec/index",
    )
    assert {f"{name}.html" for name in named} <= reached
    assert any("/index" not in name for name in reached if name.startswith("run/"))


def test_programs_can_read_what_hostile_files_make(hostile_site):
    ET.fromstring(hostile_site["junit.xml"])  # noqa: S314  our own file
    for log in json.loads(hostile_site["report.sarif"])["runs"]:
        assert all(one["ruleId"] for one in log["results"])
    jsonschema.validate(json.loads(hostile_site["report.json"]), schema("report"))
    rows = list(csv.DictReader(io.StringIO(hostile_site["judgements.csv"].decode())))
    assert len(rows) > 20
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_markdown_holds_no_markup_of_a_target(hostile_site):
    text = re.sub(r"(`+).*?\1", "", hostile_site["summary.md"].decode())
    assert "<script>" not in text
    assert "\x1b" not in text


def test_a_terminal_is_told_hostile_names_as_text(tmp_path, capsys):
    told = hostile.everything(tmp_path)
    assert run_report(*map(str, told.places), "--out", str(tmp_path / "site")) == 3
    assert run_report(*map(str, told.places), "--check") == 1
    said = capsys.readouterr()
    assert "owned" in said.err
    assert "owned" in said.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err)
