"""The site: the same bytes twice, whole, by its schemas, in its folder, and unmoved by what a target says."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).parent))
import jsonschema
import pytest
from markupsafe import escape
from sites import parsed, run_report, site_of

from zenoh_conformance.judging.shares import Why
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.files import captures, conversations, pcap
from zenoh_reports.exports.captures import capture
from zenoh_reports.pages import changes, folder
from zenoh_reports.pages import site as pages_site
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import SIGNS, Report
from zenoh_reports.plain import documents, runs
from zenoh_reports.plain.documents import Documents, schema

GOLDEN = Path(__file__).parent / "golden"


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
    assert ": the deviation" in page
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
        assert verdict.says_nothing or verdict.value in VERDICTS
        assert verdict.value in schema("report")["properties"]["verdicts"]["items"]["properties"]["verdict"]["enum"]
        assert verdict.value in schema("audit")["properties"]["rules"]["items"]["properties"]["verdict"]["enum"]


def test_what_is_no_requirement_of_a_page_is_named_and_not_linked(make_run):
    key = Key(
        target="a", version="1", role="responder", profile="default", link="tcp", requirement="interop/of-old", check="interop/old"
    )  # fmt: skip
    more = [Judgement(key=key, level="MUST", verdict=Verdict.NOT_APPLICABLE)]
    files = site_of(
        make_run("pair", name="a 1 <- b 2", version="1 <- 2", kind="interop", reach="exec:a <- exec:b", more=more)
    )
    (page,) = (name for name in files if name.startswith("run/") and name.endswith("interop/index.html"))
    assert b"<li><code>interop/of-old</code></li>" in files[page]
    assert not [link for link in parsed(files[page]).links if "spec/interop" in link]


def test_any_version_stands_beside_any(make_run):
    files = site_of(*(make_run(f"v{n}", version=f"1.{n}.0") for n in range(4)))
    pairs = {name for name in files if name.startswith("diff/node-")}
    assert len(pairs) == 6
    assert "diff/node-1.0.0-exec..node-1.3.0-exec.html" in pairs
    assert {f"../{name}" for name in pairs} <= set(parsed(files["diff/index.html"]).links)


def test_of_many_versions_each_stands_beside_the_next_and_the_newest(make_run, monkeypatch):
    monkeypatch.setattr(changes, "MOST_ALIKE", 4)
    files = site_of(*(make_run(f"v{n}", version=f"1.{n}.0") for n in range(6)))
    assert len([name for name in files if name.startswith("diff/node-")]) == 5 + 4


def test_of_many_targets_cells_are_signs_that_are_explained(make_run, monkeypatch):
    runs_ = [make_run("old", version="1.0.0"), make_run("new", "believes-any-cookie", version="2.0.0")]
    wordy = site_of(*runs_)["matrix.html"].decode()
    monkeypatch.setattr(pages_site, "MANY", 1)
    page = site_of(*runs_)["matrix.html"].decode()
    assert re.findall(r'class="v (\w+)" aria-label="(\w+)"', page)
    assert set(pages_site.WHY_SIGNS) == {why.value for why in Why}
    legend = page.partition("Symbols of cells")[2].partition("</p>")[0]
    assert all(f"<strong>{sign}</strong> {why}" in legend for why, sign in pages_site.WHY_SIGNS.items())
    assert len(page) < len(wordy)


def test_versions_that_share_a_deviation_are_told_as_a_range(make_run):
    faulty = [
        "believes-any-cookie",
        "believes-any-cookie",
        "",
        "believes-any-cookie",
        "believes-any-cookie",
        "believes-any-cookie",
    ]
    files = site_of(*(make_run(f"v{n}", fault, version=f"1.{n}.0") for n, fault in enumerate(faulty)))
    page = files["implementation/node.html"].decode()
    assert ">node 1.0.0 and 1.1.0 (2)</a>, <a" in page
    assert ">node 1.3.0 to 1.5.0 (3)</a>" in page


def test_what_does_not_always_come_out_alike_is_told(make_run):
    alike = site_of(make_run("a"), make_run("other", version="2"))["implementation/node.html"].decode()
    assert "None in these runs." in alike
    check = "establishment-cookie/a-changed-cookie-is-refused"
    apart = [make_run("b", command="one"), make_run("c", command="two"), make_run("d", "believes-any-cookie")]
    row = site_of(*apart)["implementation/node.html"].decode().partition('id="wavering"')[2].partition("</tr>\n")[0]
    assert check in row
    assert re.findall(r'data-label="(Runs|Other verdicts)">(\d)', row) == [("Runs", "3"), ("Other verdicts", "1")]


def test_the_command_of_a_run_says_how_deep_it_went(make_run):
    key = Key(
        target="node", version="1.0.0", role="responder", profile="default", link="tcp", requirement="a/b", check="x/y"
    )
    more = [
        Judgement(key=key, level="MUST", verdict=Verdict.FAIL, repeat="zconform run exec:node --only x/y --depth quick")
    ]
    page = site_of(make_run("run", more=more))["index.html"].decode()
    assert ">zconform run exec:node --depth quick</pre>" in page


def test_each_verdict_is_explained(make_run):
    page = site_of(make_run("run"))["about.html"].decode()
    assert all(str(escape(verdict.meaning)) in page for verdict in Verdict)


def test_capabilities_stand_side_by_side(make_run):
    def probe(version, *capabilities):
        target = {"reach": "exec:node", "name": "node", "version": version, "role": "router", "side": "responder"}
        return {
            "probe": 1,
            "target": target,
            "capabilities": [*capabilities],
            "claimed": [],
            "missing": ["auth"],
            "profiles": {},
        }

    told = Documents(probe=[probe("1", "qos"), probe("2", "qos", "auth")])
    page = site_of(make_run("run"), documents=told)["implementation/index.html"].decode()
    assert "<td>✓ yes</td><td>✓ yes</td>" in page
    assert "claimed, not seen" in page


def test_who_listed_a_known_deviation_and_until_when_is_told(make_run):
    listed = {"known": {"reason": "so", "expected": "fail", "owner": "the node's people", "expires": "2027-01-31"}}
    page = judged_page(make_run, "x/y", details=listed)
    assert "Listed by the node&#39;s people, until 2027-01-31." in page


def test_since_tells_what_became_worse(two):
    old, new = two
    before = json.loads(site_of(old)["report.json"])
    before["targets"][0]["version"] = "1.10.0"
    front = site_of(new, earlier=before)["index.html"].decode()
    assert "Worse than in the earlier report: 1 requirement" in front
    same = site_of(new, earlier=json.loads(site_of(new)["report.json"]))["index.html"].decode()
    assert "Nothing changed since the earlier report" in same


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
    key = Key(target="=1", version="1", role="responder", profile="default", link="tcp", requirement="a/b", check="x/y")
    more = [Judgement(key=key, level="MUST", verdict=Verdict.FAIL, cause="=HYPERLINK(1)")]
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


@pytest.mark.parametrize("count", [15, pytest.param(100, marks=pytest.mark.soak)])
def test_a_hundred_targets(make_run, count):
    found = [make_run(f"run{n}", version=f"1.{n}.0") for n in range(count)]
    files = site_of(*found)
    assert files["matrix.html"].count(b'scope="col"') == count + 1
    assert len(json.loads(files["report.json"])["targets"]) == count


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
