"""The front page and what belongs to it: the picture, what is red, notices, trends, badge texts, local paths, audits."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pytest
from sites import dated, run_report, site_of

from zenoh_conformance.judging.shares import LACKS
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.auditing import judge_file, write_evidence
from zenoh_harness.files.faults import FileFault
from zenoh_reports.pages import front, trends
from zenoh_reports.pages.overview import Bar, bar_of, overview
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import documents, fold, runs
from zenoh_reports.plain.local_paths import shorten

KEPT = Path(__file__).resolve().parents[2] / "harness/tests/files/kept"


def judgement(requirement, verdict, cause="", repeat="", check="x/y"):
    key = Key(target="node", version="1.0.0", role="responder", profile="default", link="tcp",
              requirement=requirement, check=check)  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, cause=cause, repeat=repeat)


def report_of(*folders, **more):
    read, unread = runs.load(runs.found(folders))
    return Report(read, unread, **more)


# --- the picture


def test_a_bar_holds_what_applies_by_what_became_of_it():
    bar = Bar({"right": 2, "none": 1, "red": 1})
    assert (bar.applies, bar.judged, bar.worst, bar.sign) == (4, 3, "red", "✗")
    assert bar.sentence == "1 red, 2 as required, 1 not judged"
    assert [(part.kind, part.x, part.width) for part in bar.parts] == [("red", 0, 25), ("right", 25, 50)]
    assert (Bar({}).sentence, Bar({}).worst, Bar({}).parts) == ("nothing applies", "", ())


def test_the_picture_adds_up_to_the_shares(make_run):
    report = report_of(make_run("old"), make_run("new", "believes-any-cookie", version="2.0.0"))
    picture = overview(report)
    for at, run in enumerate(report.single):
        shares = front.line(report, run).shares
        bars = [row.bars[at] for row in picture.rows]
        assert sum(bar.applies for bar in bars) == shares.behaviour.applies + shares.layout.applies
        assert sum(bar.judged for bar in bars) == shares.behaviour.judged + shares.layout.judged
    assert [bar.worst for row in picture.rows for bar in row.bars if bar.worst == "red"] == ["red"]
    every = {each.id.partition("/")[0] for each in requirements().values()}
    assert {*picture.empty} == every - {row.page for row in picture.rows} >= {"qos"}


def test_a_listed_deviation_and_an_error_have_colours_of_their_own(make_run):
    more = [judgement("query/request-id", Verdict.ERROR)]
    report = report_of(make_run("run", "believes-any-cookie", known="so it is", more=more))
    table = report.tables[report.runs[0].slug]
    counts = bar_of(table.values()).counts
    assert counts["listed"] == 1
    assert bar_of([table["query/request-id"]]).counts == {"none": 1}


def test_the_front_page_shows_picture_red_changes_commands_in_this_order(make_run):
    page = site_of(make_run("old"), make_run("new", "believes-any-cookie", version="2.0.0"))["index.html"].decode()
    order = ["overview", "red", "changed", "made", "targets", "idle"]
    assert re.findall(r'<h2 id="(\w+)"', page) == order


def test_what_would_make_more_judgeable_stands_at_the_picture(make_run):
    more = [judgement("query/request-id", Verdict.NOT_APPLICABLE, f"{LACKS}routing, several-sessions")]
    page = site_of(make_run("run", more=more))["index.html"].decode()
    assert "routing between its sessions: 1" in page.partition('id="red"')[0]


# --- what is red, and notices


def test_equal_red_deviations_of_several_targets_are_one_line(make_run):
    folders = [make_run(f"v{n}", "believes-any-cookie", version=f"1.{n}.0") for n in range(3)]
    lines = front.red_lines(report_of(*folders, make_run("right", version="2.0.0")))
    assert [len(line.shown) for line in lines] == [3]
    assert lines[0].shown[0][0].identity.version == "1.2.0"


def test_equal_notices_are_one(make_run):
    folders = [make_run(f"v{n}", version=f"1.{n}.0", footer=False) for n in range(3)]
    report = report_of(*folders)
    assert len(report.anomalies) == 3
    (notice,) = front.notices(report.anomalies)
    assert len(notice.runs) == 3
    page = site_of(*folders)["index.html"].decode()
    assert page.count("The run is incomplete") == 1
    assert "3 runs: The run is incomplete" in page


# --- trends


def test_runs_of_two_dates_are_a_trend_and_of_one_are_none(make_run):
    one = dated(make_run("one"), "2026-01-01T00:00:00Z")
    assert "trends.html" not in site_of(one)
    two = dated(make_run("two", "believes-any-cookie", version="1.0.1"), "2026-01-02T00:00:00Z")
    other = dated(make_run("other", name="another"), "2026-01-03T00:00:00Z")
    (trend,) = trends.trends(report_of(one, two, other))
    assert [line.summary.run.date[:10] for line in trend.lines] == ["2026-01-02", "2026-01-01"]
    assert [(line.red, line.change) for line in trend.lines] == [(1, 1), (0, 0)]
    files = site_of(one, two, other)
    assert b'href="trends.html"' in files["index.html"]
    assert files["trends.html"].decode().count("<svg") == 2


# --- badges


def test_a_badge_states_the_share_and_has_a_text_to_copy(make_run):
    folder = make_run("run")
    files = site_of(folder)
    applies = front.line(report := report_of(folder), report.runs[0]).total
    badge = json.loads(files["badge/node-1.0.0-exec.json"])
    assert badge["message"] == f"1.0.0 conforms, 3 of {applies} judged"
    page = site_of(folder, url="https://example.org/zenoh")["run/node-1.0.0-exec/index.html"].decode()
    wanted = "https://example.org/zenoh/badge/node-1.0.0-exec.svg)](https://example.org/zenoh/run/node-1.0.0-exec/index.html)"
    assert wanted in page
    assert "https://ADDRESS-OF-THIS-SITE/badge/" in files["run/node-1.0.0-exec/index.html"].decode()


# --- local paths


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("exec:/home/me/my build/node", "exec:.../my build/node"),
        ("zconform run 'exec:/home/me/node --conf=/etc/x/y.json5' --out /tmp/r/",
         "zconform run 'exec:.../node --conf=.../y.json5' --out .../r"),
        ("exec:~/bin/node", "exec:.../node"),
        ("tcp/127.0.0.1:7447", "tcp/127.0.0.1:7447"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("docker:eclipse/zenoh:1.0", "docker:eclipse/zenoh:1.0"),
        ("zconform run wheel --only 'establishment-cookie/*' --known ci/x.toml",
         "zconform run wheel --only 'establishment-cookie/*' --known ci/x.toml"),
        ("exec:./node", "exec:./node"),
        ("exec:../build/node", "exec:../build/node"),
    ],
)  # fmt: skip
def test_an_absolute_path_is_cut_to_its_last_part_and_nothing_else_is(text, left):
    assert shorten(text) == left


def test_local_paths_are_published_only_if_asked_for(make_run, tmp_path):
    more = [
        judgement(
            "query/request-id", Verdict.FAIL, "cannot open /home/me/build/conf", "zconform run exec:/home/me/build/node"
        )
    ]
    folder = make_run(
        "run", reach="exec:/home/me/build/node", command="zconform run exec:/home/me/build/node", more=more
    )

    def holds_path(*options: str) -> set[str]:
        out = tmp_path / "site"
        assert run_report(str(folder), "--out", str(out), *options) == 0
        return {
            file.relative_to(out).as_posix()
            for file in out.rglob("*")
            if file.is_file() and b"/home/me" in file.read_bytes()
        }

    assert holds_path() == set()
    assert {"index.html", "report.json", "junit.xml"} <= holds_path("--local-paths")


# --- documents beside results


def test_a_report_of_results_a_campaign_and_an_audit_keeps_all_three(make_run, tmp_path):
    audited = tmp_path / "audited"
    source = judge_file(next(file for file in sorted(make_run("run", "believes-any-cookie").rglob("evidence/*.jsonl"))))
    write_evidence([source], audited)
    found = documents.load(documents.found([KEPT / "campaign", audited]))
    assert (len(found.campaign), len(found.audit)) == (1, 1)
    out = tmp_path / "site"
    assert run_report(str(tmp_path / "run"), str(KEPT / "campaign"), str(audited), "--out", str(out)) == 0
    assert {"audits.html", "campaigns.html"} <= {file.name for file in out.iterdir()}


def test_the_audit_of_an_earlier_version_has_its_findings_alone(tmp_path):
    (audit,) = documents.load(documents.found([KEPT / "audit"])).audit
    lines = (KEPT / "audit/findings.jsonl").read_text().splitlines()
    assert len(audit["findings"]) == len(lines)
    broken = tmp_path / "findings.jsonl"
    broken.write_text(lines[0] + "\nno\n")
    with pytest.raises(FileFault, match=r"findings.jsonl:2: is not what `zconform audit` writes"):
        documents.load([broken])


def test_a_folder_with_neither_results_nor_documents_is_named(make_run, tmp_path, capsys):
    (tmp_path / "nothing").mkdir()
    folder = str(make_run("run"))
    assert run_report(folder, str(KEPT / "campaign"), str(tmp_path / "nothing"), "--out", str(tmp_path / "site")) == 2
    assert "nothing" in capsys.readouterr().err


def test_a_table_of_a_run_without_judgements_has_shares(make_run):
    report = report_of(make_run("run"))
    shares = fold.shares_of(report.tables[report.runs[0].slug])
    assert shares.behaviour.applies > 100
    assert shares == front.line(report, report.runs[0]).shares
