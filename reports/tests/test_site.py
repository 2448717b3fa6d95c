"""The site: the same bytes twice, whole, by its schemas, in its folder, and unmoved by what a target says."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.verdict import Judgement, Key, Verdict
from zenoh_harness.cli import main
from zenoh_harness.files import captures, conversations, pcap
from zenoh_reports.exports.captures import capture
from zenoh_reports.pages import folder
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import SIGNS, Report
from zenoh_reports.plain import documents, fold, runs
from zenoh_reports.plain.documents import Documents, schema

EVIL = "<script>alert(1)</script>\x1b[2J\u202e\"'&]]>{{7*7}}"
GOLDEN = Path(__file__).parent / "golden"


def site_of(*folders: Path, **more) -> dict[str, bytes]:
    read, unread = runs.load(runs.found(folders))
    return build(Report(read, unread, **more))


@pytest.fixture(scope="module")
def two(making_runs, tmp_path_factory):
    """Two versions, of which the newer one believes any cookie."""
    make_run = making_runs(tmp_path_factory.mktemp("two"))
    return make_run("old", version="1.9.0"), make_run("new", "believes-any-cookie", version="1.10.0")


@pytest.fixture(scope="module")
def files(two):
    """The files of their site."""
    return site_of(*two)


def test_two_builds_are_equal(two, files):
    assert files == site_of(*reversed(two))


def test_nothing_of_the_machine_is_in_it(two, files):
    for name, data in files.items():
        if not name.endswith(".pyz"):
            assert str(two[0].parent).encode() not in data, name


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids, self.styles = [], set(), []

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.links += [told[name] for name in ("href", "src") if told.get(name)]
        if told.get("id"):
            assert told["id"] not in self.ids, f"id {told['id']} twice"
            self.ids.add(told["id"])
        self.styles += [name for name in told if name == "style" or name.startswith("on")]


def parsed(data: bytes) -> Links:
    found = Links()
    found.feed(data.decode())
    return found


def test_every_link_leads_to_a_file_and_a_place_of_the_site(files):
    pages = {name: parsed(data) for name, data in files.items() if name.endswith(".html")}
    for name, page in pages.items():
        assert page.styles == [], name
        for link in page.links:
            if link.startswith(("https://", "http://")):
                continue
            path, _, place = link.partition("#")
            target = (Path("/") / Path(name).parent / path).resolve().relative_to("/").as_posix() if path else name
            assert target in files, f"{name} links to {link}"
            if place and target.endswith(".html"):
                assert place in pages[target].ids, f"{name} links to {link}"


def test_each_page_forbids_everything_but_its_own_files(files):
    for name, data in files.items():
        if name.endswith(".html"):
            policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', data)
            assert policy, name
            assert b"default-src 'none'" in policy[1]
            assert b"unsafe" not in policy[1]


def test_the_questions_are_answered_within_two_clicks(files):
    front = files["index.html"].decode()
    assert "deviates" in front
    links = parsed(files["index.html"]).links
    deviation = next(link for link in links if link.startswith("run/") and "/index.html" not in link)
    page = files[deviation].decode()
    assert "first difference" in page
    assert "zconform run exec:node --only" in page
    assert "diff/node-1.9.0-exec..node-1.10.0-exec.html" in front
    assert "told by vectors" in front


def test_the_judgement_page_shows_the_bytes_and_offers_them(files):
    name = next(name for name in files if "a-changed-cookie" in name and name.endswith(".html"))
    page = files[name].decode()
    assert "<svg" in page
    assert "open.cookie.bytes" in page
    assert "which is what the target is charged with" in page
    for suffix in (".jsonl", ".script", ".pcap", ".proof.json"):
        assert any(link.endswith(suffix) for link in parsed(files[name]).links)


def judged_page(make_run, check: str, **told) -> str:
    key = Key(
        target="node",
        version="1.0.0",
        role="codec",
        profile="default",
        link="none",
        requirement="close/reason-code",
        check=check,
    )
    files = site_of(make_run("run", more=[Judgement(key=key, level="MUST", verdict=Verdict.FAIL, cause="so", **told)]))
    return files[f"run/node-1.0.0-exec/{runs.address(f'codec-default-{check}')}.html"].decode()


@pytest.mark.parametrize(
    ("told", "left", "right"),
    [
        ({"how": "written", "seen": "2301"}, "the vector", "written instead"),
        ({"how": "read", "seen": "2301"}, "the vector", "what was read, as the bytes that mean it"),
        ({"how": "refused", "at": 1}, "the vector", "taken, before it was refused at byte 1"),
        ({"how": "taken", "at": 1}, "required: to be taken this far, and refused at byte 1", "taken whole"),
    ],
)
def test_a_vector_stands_beside_what_was_made_of_it(make_run, told, left, right):
    details = {"bytes": "2300", "beside": {"bytes": "2300", "layer": "transport", **told}}
    page = judged_page(make_run, "vectors/close/x", details=details)
    assert f'<th scope="col">{left}</th><th scope="col">{right}</th>' in page
    assert "close.reason <strong>← first difference, byte 1</strong>" in page


@pytest.mark.parametrize(
    "beside", [None, 7, {"bytes": "zz"}, {"bytes": "00", "layer": "transport", "how": "sings"}, {"layer": []}]
)
def test_what_stands_beside_a_vector_may_be_anything(make_run, beside):
    assert "The vector" in judged_page(make_run, "vectors/close/x", details={"bytes": "2300", "beside": beside})


def test_the_page_tells_how_the_target_was_found_before_and_after(make_run):
    page = judged_page(make_run, "x/y", details={"health": {"before": "works", "after": "zombie: no new session"}})
    before, after = (re.search(f"Health {when}</dt><dd>(.*?)</dd>", page)[1] for when in ("before", "after"))
    assert "pass" in before
    assert "zombie" in after
    assert "no new session" in after


def test_the_date_of_a_run_is_on_the_front_page_and_on_its_own(make_run):
    file = make_run("run") / "results.jsonl"
    file.write_text(file.read_text().replace('"seed":0,', '"seed":0,"date":"2026-01-31T12:34:56Z",', 1))
    files = site_of(file.parent)
    for name in ("index.html", "run/node-1.0.0-exec/index.html", "implementation/node.html"):
        assert b"2026-01-31 12:34 UTC" in files[name], name


def test_a_capture_holds_the_bytes_of_the_conversation(two, tmp_path):
    _, new = two
    file = next((new / "evidence").glob("*.jsonl"))
    talk = conversations.read(file)
    (tmp_path / "a.pcap").write_bytes(capture(talk))
    read = captures.read(tmp_path / "a.pcap", ()).conversation
    for side in Side:
        assert b"".join(one.data for one in read if one.sender is side) == b"".join(
            one.data for one in talk if one.sender is side
        )


def test_a_capture_of_datagrams_and_of_large_pieces_is_whole(tmp_path):
    wire = Connection("a", framing=Framing.DATAGRAM), Connection("b")
    large = bytes(range(256)) * 200
    events = [
        Event(0.5, "a", Side.INITIATOR, Happened.BYTES, b"\x04"), Event(1.25, "b", Side.RESPONDER, Happened.BYTES, large),
        Event(2.0, "b", Side.RESPONDER, Happened.RESET),
    ]  # fmt: skip
    (tmp_path / "a.pcap").write_bytes(capture(Conversation({one.name: one for one in wire}, events)))
    packets = list(pcap.Capture(tmp_path / "a.pcap"))
    assert packets[0].time == 500_000_000
    assert b"".join(packet.data[40:] for packet in packets[1:]) == large


def test_the_matrix_leads_from_each_cell_to_its_judgement(files):
    row = re.search(r"cookie-must-match</a>.*?</tr>", files["matrix.html"].decode(), re.DOTALL)
    assert row
    assert re.findall(r'class="v (\w+)"', row[0]) == ["pass", "fail"]
    assert "run/node-1.10.0-exec/responder-default-establishment-cookie-a-changed-cookie-is-refused.html" in row[0]


def test_report_json_is_what_its_schema_says(files):
    told = json.loads(files["report.json"])
    jsonschema.validate(told, json.loads(files["schema/report.schema.json"]))
    assert [one["verdict"] for one in told["targets"]] == ["conforms", "deviates"]
    assert len(told["verdicts"]) == 2 * len({one["id"] for one in told["requirements"]})


@pytest.mark.parametrize("name", ["report", "submission", "campaign", "audit", "learned"])
def test_the_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_no_verdict_is_forgotten():
    from zenoh_reports.pages.draw.charts import VERDICTS

    css = (Path(folder.__file__).parent / "static" / "site.css").read_text()
    for verdict in Verdict:
        assert verdict.value in SIGNS
        assert f".v.{verdict.value}" in css
        assert verdict in fold.SILENT or verdict.value in VERDICTS
        assert verdict.value in schema("report")["properties"]["verdicts"]["items"]["properties"]["verdict"]["enum"]
        assert verdict.value in schema("audit")["properties"]["rules"]["items"]["properties"]["verdict"]["enum"]


def test_any_version_stands_beside_any(make_run):
    files = site_of(*(make_run(f"v{n}", version=f"1.{n}.0") for n in range(4)))
    pairs = {name for name in files if name.startswith("diff/node-")}
    assert len(pairs) == 6
    assert "diff/node-1.0.0-exec..node-1.3.0-exec.html" in pairs
    assert {f"../{name}" for name in pairs} <= set(parsed(files["diff/index.html"]).links)


def test_of_many_versions_each_stands_beside_the_next_and_the_newest(make_run):
    files = site_of(*(make_run(f"v{n}", version=f"1.{n}.0") for n in range(10)))
    assert len([name for name in files if name.startswith("diff/node-")]) == 9 + 8


def test_since_tells_what_became_worse(two):
    old, new = two
    before = json.loads(site_of(old)["report.json"])
    before["targets"][0]["version"] = "1.10.0"
    front = site_of(new, earlier=before)["index.html"].decode()
    assert "For the worse since the report before: 1 requirement" in front
    same = site_of(new, earlier=json.loads(site_of(new)["report.json"]))["index.html"].decode()
    assert "Nothing, since the report before this one" in same


def test_badges_are_green_for_what_conforms_only(two, make_run):
    files = site_of(*two, make_run("cut", version="2", footer=False))
    badges = {name: data for name, data in files.items() if name.startswith("badge/") and name.endswith("json")}
    colours = {name: json.loads(data)["color"] for name, data in badges.items()}
    assert colours == {
        "badge/node-1.9.0-exec.json": "brightgreen", "badge/node-1.10.0-exec.json": "red", "badge/node-2-exec.json": "lightgrey",
    }  # fmt: skip
    for name, data in files.items():
        if name.endswith(".svg"):
            ET.fromstring(data)  # noqa: S314  our own file


def test_csv_computes_nothing(make_run):
    more = [evil("x/y", cause="=HYPERLINK(1)")]
    rows = list(csv.DictReader(io.StringIO(site_of(make_run("run", more=more))["judgements.csv"].decode())))
    assert rows[-1]["cause"] == "'=HYPERLINK(1)"


@pytest.mark.needs("java")
def test_parquet_holds_the_same_rows(two):
    from pyarrow import BufferReader, parquet

    read, _ = runs.load(runs.found(two))
    files = build(Report(read), parquet=True)
    table = parquet.read_table(BufferReader(files["judgements.parquet"]))
    rows = list(csv.DictReader(io.StringIO(files["judgements.csv"].decode())))
    assert [str(one["cause"]) for one in table.to_pylist()] == [one["cause"] for one in rows]


# --- hostile


def evil(check: str, **more) -> Judgement:
    key = Key(
        target=EVIL, version=EVIL, role="responder", profile=EVIL, link=EVIL, requirement=more.pop("requirement", EVIL), check=check,
        parameters=((EVIL, EVIL),),
    )  # fmt: skip
    return Judgement(
        **({"key": key, "level": "MUST", "verdict": Verdict.FAIL, "cause": EVIL, "end": EVIL, "repeat": EVIL} | more)
    )


@pytest.fixture
def hostile(make_run):
    known = {"known": {"reason": EVIL, "see": "javascript:alert(1)", "expected": EVIL}}
    more = [
        evil(EVIL, evidence="../../../etc/passwd", details={EVIL: EVIL, **known}),
        evil("x/../../../y", verdict=Verdict.KNOWN, details=known),
        evil("z" * 1_000_000, requirement="session-establishment/cookie-must-match", cause="c" * 1_000_000),
        evil("", verdict=Verdict.ERROR),
        evil("law/none", verdict=Verdict.NOT_OBSERVED),
    ]
    return make_run(
        "evil", name=EVIL, version=EVIL, kind=EVIL, reach=EVIL, more=more, planned=(EVIL,), command=EVIL, footer=False
    )


def test_hostile_strings_are_text_everywhere(hostile):
    files = site_of(hostile)
    for name, data in files.items():
        assert re.fullmatch(r"[A-Za-z0-9=_./-]+", name), name
        assert ".." not in name or name.startswith("diff/"), name
        if name.endswith((".html", ".svg")):
            text = data.decode()
            assert "<script>alert" not in text, name
            assert "javascript:" not in re.sub(r">[^<]*<", "><", text), name
            assert "\x1b" not in text and "\u202e" not in text, name
            assert "49" not in re.findall(r"\{\{7\*7\}\}|&(49)", text), name
    ET.fromstring(files["junit.xml"])  # noqa: S314  our own file
    json.loads(files["report.sarif"])
    jsonschema.validate(json.loads(files["report.json"]), schema("report"))
    assert max(len(data) for name, data in files.items() if name.endswith(".html")) < 3_000_000


def test_markdown_holds_no_markup_of_a_target(hostile):
    text = re.sub(r"(`+).*?\1", "", site_of(hostile)["summary.md"].decode())
    assert "<script>" not in text
    assert "\x1b" not in text


def test_hostile_documents_are_text_too(make_run):
    step = {"from": 0, "said": EVIL, "output": EVIL, "to": 0}
    learned = {"targets": [{"target": EVIL, "states": 1, "words": 1, "steps": [step]}]}
    campaign = {
        "campaign": 1, "name": EVIL, "target": EVIL, "progress": [{"seconds": 0, "coverage": 1}, {"seconds": 1, "coverage": 2}],
        "times": [{"name": f"$\\frac{{1}}$ {EVIL}", "seconds": [1, None], "within": 2}], "clusters": [{"id": EVIL, "cause": EVIL}],
    }  # fmt: skip
    findings = [{"time": 1, "requirement": EVIL}, {"time": 2, "requirement": EVIL}]
    audit = {"audit": 1, "name": EVIL, "findings": findings, "nodes": [{"id": EVIL}]}
    files = site_of(make_run("run"), documents=Documents(learned=[learned], campaign=[campaign], audit=[audit]))
    for name in ("automata.html", "campaigns.html", "audits.html"):
        text = files[name].decode()
        assert "<script>alert" not in text
        assert "\x1b" not in text
        assert parsed(files[name]).styles == []


# --- documents, folder, command


def test_a_document_that_is_none_is_refused_with_its_place(tmp_path):
    file = tmp_path / "campaign.json"
    file.write_text('{"campaign": 1, "name": "x", "target": "y", "clusters": [{"id": 3}]}')
    with pytest.raises(Exception, match="clusters/0/id"):
        documents.load([file])


def test_a_folder_with_foreign_files_is_refused_and_one_of_ours_is_made_anew(tmp_path):
    out = tmp_path / "site"
    folder.write(out, {"a.html": b"1", "old/b.html": b"2"})
    folder.write(out, {"a.html": b"3"})
    assert sorted(path.name for path in out.rglob("*")) == ["a.html", folder.LIST]
    (out / "mine.txt").write_text("keep")
    with pytest.raises(Exception, match=r"mine\.txt"):
        folder.write(out, {"a.html": b"4"})
    folder.write(out, {"a.html": b"4"}, force=True)
    assert (out / "mine.txt").read_text() == "keep"


def test_a_list_that_leads_out_of_the_folder_is_not_believed(tmp_path):
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / "precious").write_text("keep")
    (out / folder.LIST).write_text('["../precious"]')
    folder.write(out, {"a.html": b"1"})
    assert (tmp_path / "precious").read_text() == "keep"


def run_report(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["report", *arguments])
    return int(left.value.code or 0)


def test_the_command_says_what_became_of_it(make_run, tmp_path, capsys):
    good = str(make_run("good"))
    assert run_report(good, "--out", str(tmp_path / "site")) == 0
    assert (tmp_path / "site" / "index.html").is_file()
    bad = tmp_path / "bad" / "results.jsonl"
    bad.parent.mkdir()
    bad.write_text("no\n")
    assert run_report(good, str(bad.parent), "--out", str(tmp_path / "site")) == 3
    assert "bad/results.jsonl" in (tmp_path / "site" / "index.html").read_text()
    header_only = make_run("empty") / "results.jsonl"
    header_only.write_text(header_only.read_text().splitlines(keepends=True)[0])
    assert run_report(str(header_only), "--out", str(tmp_path / "site")) == 4
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    assert run_report(good, "--out", str(tmp_path / "other")) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_hundred_targets(make_run):
    found = [make_run(f"run{n}", version=f"1.{n}.0") for n in range(100)]
    files = site_of(*found)
    assert files["matrix.html"].count(b'scope="col"') == 101
    assert len(json.loads(files["report.json"])["targets"]) == 100


def test_one_run_is_quick(make_run, tmp_path):
    """Of a processor, three seconds are the alarm; the figure itself, under one, stands in the benchmark."""
    out = tmp_path / "site"
    command = [sys.executable, "-m", "zenoh_harness.cli", "report", str(make_run("run")), "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3


@pytest.mark.parametrize(
    "page",
    [
        "run/node-1.10.0-exec/responder-default-establishment-cookie-a-changed-cookie-is-refused.html",
        "diff/node-1.9.0-exec..node-1.10.0-exec.html",
        "badge/node-1.10.0-exec.svg",
    ],
)
def test_the_golden_pages(files, page):
    """Each change of a golden page is read: delete it, run this once, and read the diff."""
    made = re.sub(rb"[0-9a-f]{64}", b"(digest)", files[page])
    golden = GOLDEN / page.rpartition("/")[2]
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(made)
        pytest.fail(f"{golden.name} did not exist and was written: read it, and commit it")
    assert made.decode() == golden.read_text(encoding="utf-8")
