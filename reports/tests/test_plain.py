"""Reading results in plain Python: what is one target and what are two, what a cell says, what does not fit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from zenoh_conformance.judging.shares import Why, why_unjudged
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import Level, Requirement, requirements
from zenoh_harness.errors import UsageError
from zenoh_reports.pages.matrix import worse_in
from zenoh_reports.plain import fold, runs
from zenoh_reports.plain.anomalies import anomalies
from zenoh_reports.plain.judgements import UNOBSERVED
from zenoh_reports.plain.versions import version_key, version_order
from zenoh_reports.plain.wavering import wavering, worst_of

COOKIE = "session-establishment/cookie-must-match"


def judgement(requirement: str, verdict: Verdict, check: str = "a/b", **more) -> Judgement:
    key = Key(
        target="node", version="1.0.0", role="responder", profile=more.pop("profile", "default"), link="tcp", requirement=requirement,
        check=check, parameters=more.pop("parameters", ()),
    )  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, **more)


def load(*folders: Path):
    return runs.load(runs.found(folders))[0]


def test_versions_sort_as_versions():
    assert sorted(["1.10.2", "1.9.0", "2", "1.0.0-rc1", "main", "1.0.0"], key=version_key) == [
        "1.0.0-rc1", "1.0.0", "1.9.0", "1.10.2", "2", "main",
    ]  # fmt: skip


VERSIONS = [
    "1.10.2", "1.9.0", "1.9", "2", "1.0.0-rc1", "main", "1.0.0", "1.0.0.dev3", "1.0.0a2.dev1", "1.0.0a2", "1.0.0b1", "1.0.0rc10",
    "1.0.0.post1", "1.0.0.post1.dev2", "1.0.0+local", "1.0.0+local.10", "1.0.0+local.9", "1!0.1", "0.11.0", "1.10.2 / 1.9.0",
    "1.9.0 / 1.10.2", "main-10", "main-9", "1.9.0+1.10.2", "", "1.0.0.1", "99999999999999999999.1", "1.1",
]  # fmt: skip


def test_as_text_versions_sort_as_versions_too():
    for one in VERSIONS:
        for other in VERSIONS:
            by_key, by_text = version_key(one) < version_key(other), version_order(one) < version_order(other)
            assert by_key is by_text, (one, other)


def test_a_wheel_a_container_and_two_nights_stay_apart(make_run):
    wheel = make_run("wheel", version="1.10.2", kind="wheel", reach="wheel:1.10.2")
    container = make_run("container", version="1.10.2", kind="docker", reach="docker:node:1.10.2")
    night = make_run("night", "believes-any-cookie", version="1.10.2", kind="wheel", reach="wheel:1.10.2")
    found = load(wheel, container, night)
    assert len({run.label for run in found}) == len({run.slug for run in found}) == 3
    assert [run.identity.kind for run in found] == ["docker", "wheel", "wheel"]


def test_a_copy_of_a_file_counts_once(make_run, tmp_path):
    first = make_run("first")
    shutil.copytree(first, tmp_path / "again")
    assert len(load(first, tmp_path / "again")) == 1


def test_the_worst_verdict_counts_and_what_says_nothing_is_not_counted(make_run):
    more = [judgement(COOKIE, Verdict.NOT_OBSERVED, "law/x"), judgement(COOKIE, Verdict.WARN, "law/y")]
    (run,) = load(make_run("run", more=more))
    cell = fold.table(run)[COOKIE]
    assert cell.verdict is Verdict.WARN
    assert cell.counted == len(cell.judgements) - 1


def test_a_requirement_that_only_ended_in_an_error_is_not_judged(make_run):
    """Neither the page, nor the exit code, nor the tables call it judged; one that was judged beside stays so."""
    more = [judgement("query/request-id", Verdict.ERROR), judgement(COOKIE, Verdict.ERROR, "law/y")]
    (run,) = load(make_run("run", more=more))
    cells = fold.table(run)
    assert (cells["query/request-id"].counted, cells["query/request-id"].why) == (0, Why.ERROR)
    assert (cells[COOKIE].counted > 0, cells[COOKIE].why) == (True, None)
    assert runs.judged(run) == len(run.judgements) - 2
    assert Verdict.ERROR.value in UNOBSERVED


def test_every_requirement_without_a_verdict_says_why(make_run):
    (run,) = load(make_run("run", more=[judgement("query/request-id", Verdict.NOT_APPLICABLE)]))
    cells = fold.table(run)
    assert set(requirements()) <= set(cells)
    assert all((cell.why is None) == (not cell.verdict.says_nothing) for cell in cells.values())
    assert cells["query/request-id"].why is Why.NOT_OFFERED
    found = fold.silence(cells)
    assert {Why.VECTORS, Why.EXCUSED} <= set(found)
    excused = {ident for ident, each in requirements().items() if each.unobservable}
    assert set(found[Why.EXCUSED]) == excused


@pytest.mark.parametrize(
    ("binds", "roles", "due"),
    [
        ("initiator", {"responder"}, Why.OTHER_ROLE),
        ("responder", {"initiator"}, Why.OTHER_ROLE),
        ("responder", {"codec"}, Why.OTHER_ROLE),
        ("both", {"codec"}, Why.OTHER_ROLE),
        ("initiator", {"responder", "initiator"}, Why.NOT_RUN),
        ("responder", {"responder", "codec"}, Why.NOT_RUN),
        ("both", {"responder"}, Why.NOT_RUN),
        ("querier", {"responder"}, Why.NOT_RUN),
    ],
)
def test_a_requirement_of_another_role_is_not_called_not_run(binds, roles, due):
    one = Requirement(id="page/phrase", level=Level.MUST, binds=binds, ref=("page#section",), says="It does.")
    assert why_unjudged(one, [], roles) is due


def test_a_requirement_that_owes_a_check_is_uncovered():
    one = Requirement(
        id="page/phrase", level=Level.MUST, binds="both", ref=("page#section",), says="It does.", owed="case"
    )
    assert why_unjudged(one, [], {"responder"}) is Why.UNCOVERED


@pytest.mark.parametrize(
    ("fault", "known", "footer", "word", "green"),
    [
        ("", "", True, "conforms", True),
        ("believes-any-cookie", "", True, "deviates", False),
        ("believes-any-cookie", "it is so", True, "known deviations", True),
        ("", "", False, "incomplete", False),
    ],
)
def test_a_run_in_one_word(make_run, fault, known, footer, word, green):
    (run,) = load(make_run("run", fault, known=known, footer=footer))
    assert (run.word, run.green) == (word, green)


def test_a_footer_that_flatters_is_not_believed(make_run):
    folder = make_run("run", "believes-any-cookie")
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"exit": 0})]) + "\n")
    (run,) = load(folder)
    assert run.word == "deviates"
    assert any("exit 0" in one.what for one in anomalies([run], []))


@pytest.mark.parametrize(
    ("stated", "word"), [(0, "conforms"), (1, "deviates"), (3, "could not go on"), (9, "could not go on")]
)
def test_a_footer_that_states_worse_than_the_file_holds_is_believed(make_run, stated, word):
    """Findings under embargo are red and stand in no file."""
    folder = make_run("run")
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"exit": stated})]) + "\n")
    (run,) = load(folder)
    assert (run.word, run.green) == (word, stated == 0)


def test_a_run_that_deviates_beside_what_is_listed_deviates(make_run):
    more = [judgement("close/x", Verdict.FAIL)]
    (run,) = load(make_run("run", "believes-any-cookie", known="it is so", more=more))
    assert (run.word, run.green) == ("deviates", False)


@pytest.mark.parametrize(
    ("verdicts", "due"),
    [
        ({"default": "pass", "qos-off": "fail"}, "qos-off"),
        ({"default": "fail", "qos-off": "fail"}, ""),
        ({"default": "fail", "qos-off": "warn"}, ""),
        ({"default": "warn", "qos-off": "fail", "short-lease": "crash"}, "qos-off, short-lease"),
        ({"default": "not-observed", "qos-off": "pass"}, ""),
        ({"qos-off": "fail"}, ""),
    ],
)
def test_a_cell_names_the_profiles_in_which_it_is_worse_than_in_the_default_one(verdicts, due):
    cell = fold.Cell([judgement(COOKIE, Verdict(verdict), profile=name) for name, verdict in verdicts.items()])
    assert worse_in(cell) == due


def test_header_only_is_incomplete_and_holds_nothing(make_run):
    folder = make_run("run")
    file = folder / "results.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    (run,) = load(folder)
    assert run.word == "incomplete"
    assert {"The file holds no judgement."} <= {one.what for one in anomalies([run], [])}


def test_contradictions_within_and_between_runs_are_told(make_run):
    both = [judgement(COOKIE, Verdict.PASS, "x/y"), judgement(COOKIE, Verdict.FAIL, "x/y")]
    found = load(make_run("one", more=both), make_run("other", "believes-any-cookie"))
    said = [one.what for one in anomalies(found, [])]
    assert any("1 judgement stands twice with different verdicts" in one for one in said)
    assert any("are runs of the same target and disagree on 3 judgements" in one for one in said)


@pytest.mark.parametrize(("of_codec", "differs"), [(Verdict.FAIL, True), (Verdict.PASS, False)])
def test_a_node_and_its_codec_that_differ_are_told(make_run, of_codec, differs):
    node, codec = (judgement("push/put-payload", verdict, "vectors/x") for verdict in (Verdict.PASS, of_codec))
    codec = replace(codec, key=replace(codec.key, role="codec"))
    said = [one.what for one in anomalies(load(make_run("node", more=[node]), make_run("codec", more=[codec])), [])]
    told = (
        "differ (requirements judged by vectors: 1); the first is push/put-payload: pass of the node, fail of the codec"
    )
    assert any(told in one for one in said) == differs


def test_a_file_that_cannot_be_read_is_told_and_the_others_stand(make_run, tmp_path):
    bad = tmp_path / "bad" / "results.jsonl"
    bad.parent.mkdir()
    bad.write_text('{"type":"header","format":99}\n')
    read, unread = runs.load([make_run("good") / "results.jsonl", bad])
    assert [run.word for run in read] == ["conforms"]
    assert [one.file for one in unread] == ["bad/results.jsonl"]
    assert "format 99" in unread[0].why


def test_what_is_under_embargo_is_in_no_row_even_if_a_file_holds_it(make_run):
    folder = make_run("run")
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    secret = json.loads(lines[2]) | {"embargo": True, "cause": "secret", "verdict": "crash"}
    file.write_text("\n".join([*lines[:-1], json.dumps(secret), lines[-1]]) + "\n")
    (run,) = load(folder)
    assert all(one.cause != "secret" for one in run.judgements)
    assert run.embargoed == 1


@pytest.mark.parametrize("evidence", ["../secret.txt", "/etc/passwd", "evidence/../../secret.txt", "a\0b", "x" * 5000])
def test_evidence_is_looked_for_within_the_run_only(make_run, tmp_path, evidence):
    (tmp_path / "secret.txt").write_text("{}")
    (run,) = load(make_run("run"))
    assert run.inside(evidence) is None


def test_evidence_behind_a_link_that_leads_out_is_not_there(make_run, tmp_path):
    (tmp_path / "secret.txt").write_text("{}")
    folder = make_run("run")
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    (run,) = load(folder)
    assert run.inside("link") is None


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"holds no results\.jsonl"):
        runs.found([tmp_path])


def test_what_is_shown_holds_no_controls_and_is_short():
    told = runs.shown("a\x1b[2J\u202eb\n" + "x" * 1_000_000)
    assert told.isprintable()
    assert "\\x1b[2J\\u202eb\\x0a" in told
    assert len(told) < 200


def test_parameters_share_a_page_and_causes_do_not(make_run):
    more = [
        judgement(COOKIE, Verdict.FAIL, "x/y", cause=cause, parameters=(("at", str(n)),))
        for n, cause in enumerate("aab")
    ]
    (run,) = load(make_run("run", more=more))
    found = fold.deviations(run)
    assert sorted(len(one.members) for one in found) == [1, 2]
    assert len({one.address for one in found}) == 2


@pytest.mark.parametrize(
    ("differs", "pages"),
    [
        ({"parameters": (("at", "1"),)}, 1),
        ({"profile": "no-qos"}, 2),
        ({"check": "x/z"}, 2),
        ({"cause": "b"}, 2),
        ({"verdict": Verdict.WARN}, 2),
    ],
    ids=str,
)
def test_judgements_that_differ_otherwise_than_in_parameters_have_pages_of_their_own(make_run, differs, pages):
    """The same cause in another profile is drawn from another conversation."""
    alike = {"requirement": COOKIE, "verdict": Verdict.FAIL, "check": "x/y", "cause": "a"}
    (run,) = load(make_run("run", more=[judgement(**alike), judgement(**{**alike, **differs})]))
    found = fold.deviations(run)
    assert len(found) == len({one.address for one in found}) == pages


def test_the_plain_way_imports_no_spark():
    heavy = ("pyspark", "pandas", "pyarrow", "matplotlib")
    code = f"import sys, zenoh_reports.pages.build as _; print([m for m in {heavy} if m in sys.modules])"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert text.strip() == "[]"


@pytest.mark.parametrize("order", [1, -1])
def test_the_worst_judgement_of_a_key_counts(make_run, order):
    more = [judgement("close/x", verdict) for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.WARN)][::order]
    (run,) = load(make_run("run", more=more))
    assert worst_of(run)[more[0].key].verdict is Verdict.FAIL
    (found,) = (one for one in wavering([run, load(make_run("next", more=more[:1]))[0]]) if one.key == more[0].key)
    assert (found.runs, found.apart, found.shown.verdict) == (2, 1, Verdict.FAIL)


@pytest.mark.parametrize(
    ("ident", "says"),
    [
        (COOKIE, requirements()[COOKIE].says),
        (fold.ONCE, fold.EXTRA[fold.ONCE]),
        ("interop/a-delete-arrives-as-one", "A delete arrives as one."),
        ("known/has-gone", "Has gone."),
        ("interop/<script>", fold.UNKNOWN),
        ("nobody/knows-this", fold.UNKNOWN),
    ],
)
def test_a_requirement_in_one_sentence(ident, says):
    assert fold.says(ident) == says


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\x1b\u202e", "\\x1b\\u202e"),
    ],
)
def test_text_of_several_lines_holds_no_controls(text, due):
    assert runs.clean(text) == due
