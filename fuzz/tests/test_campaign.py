"""Campaigns: they go on after a finding and after a death, keep files that have schemas, and repeat, shrink and merge."""

from __future__ import annotations

import fcntl
import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_fuzz.campaign import campaign, corpus_merge, workers
from zenoh_fuzz.campaign.campaign import Campaign, Order
from zenoh_fuzz.campaign.corpus_merge import merge_corpus
from zenoh_fuzz.campaign.record import CampaignOrder
from zenoh_fuzz.campaign.rows import under_embargo
from zenoh_fuzz.cli import command as fuzz_command
from zenoh_fuzz.cli import seconds_of
from zenoh_fuzz.live.campaign import LiveOrder
from zenoh_fuzz.triage.judge_process import JudgeProcess
from zenoh_fuzz.triage.minimise import minimise_finding
from zenoh_fuzz.worker.feedback import Behaviour, atheris_counters
from zenoh_fuzz.worker.plan import WorkerPlan
from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.files.faults import FileFault

pytestmark = pytest.mark.long(60)

engine = pytest.mark.needs("atheris")


def order(folder, oracle="decode", seconds=0.3, **more):
    """By CPU seconds: a busy machine tries as many inputs, and an idle one no more than the test needs."""
    return Order(oracle=oracle, folder=folder, seconds=seconds, cpu=True, **more)


@engine
def test_a_right_codec_stays_green_and_its_corpus_is_kept(tmp_path):
    first = Campaign(order(tmp_path, seconds=3.0), {"ours": "x"}).run()  # a slow machine reads the seeds for one
    assert (first.findings, first.restarts) == ({}, 0)
    assert first.inputs > 1000
    assert first.edges > 100
    assert first.corpus > 5
    assert sum(first.used.values()) > 0

    folder = tmp_path / "decode"
    events = [one["event"] for one in campaigns.read_events(folder)]
    assert (events[0], events[-1]) == ("begin", "end")
    assert campaigns.read_manifest(folder)["seed"] == 1
    second = Campaign(order(tmp_path, merge=False), {"ours": "x"}).run()
    assert second.corpus >= first.corpus


@engine
def test_a_full_disk_ends_it_and_is_told(tmp_path):
    folder = tmp_path / "decode" / "workers" / "0"
    folder.mkdir(parents=True)
    for name in ("log.txt", "state.new"):
        (folder / name).symlink_to("/dev/full")
    with pytest.raises(CannotGoOn, match=r"state\.json: .*No space left on device") as told:
        Campaign(order(tmp_path, merge=False), {"ours": "x"}).run()
    assert told.value.hint == "is the disk full?"


@engine
def test_it_goes_on_after_findings_and_knows_them_again(tmp_path, tiny):
    asked = order(tmp_path, "differential", targets=(f"lib:{tiny(8)}",), merge=False)
    first = Campaign(asked, {"ours": "x", "tiny 1": "1"}).run()
    rules = {row.rule for row in first.findings.values()}
    assert {"survives-every-input", "accept-alike"} <= rules
    assert first.inputs > 1000
    assert first.fresh == tuple(sorted(first.findings))
    again = Campaign(asked, {"ours": "x", "tiny 1": "1"}).run()
    assert set(again.fresh).isdisjoint(first.fresh)
    ledger = campaigns.read_ledger(tmp_path / "differential")
    assert {row.signature for row in first.findings.values()} <= {row.signature for row in ledger.values()}


@engine
@pytest.mark.parametrize(
    ("fault", "said"), [(6, "ends its process"), pytest.param(7, "takes too long", marks=pytest.mark.soak)]
)
def test_a_death_costs_the_input_at_hand(tmp_path, tiny, fault, said, monkeypatch):
    """The third finding is a death, and the fourth comes after it."""
    monkeypatch.setattr(workers, "HANG", 1)
    asked = order(tmp_path, "differential", targets=(f"lib:{tiny(fault)}",), merge=False, until_found=4)
    outcome = Campaign(asked, {"ours": "x", "tiny 1": "1"}).run()
    deadly = [row for row in outcome.findings.values() if row.rule == "survives-every-input"]
    assert outcome.restarts >= 1
    assert deadly
    assert max(outcome.first_seen, key=outcome.first_seen.get) not in {row.id for row in deadly}
    assert all(bytes.fromhex(row.input)[1] == 0x03 and said in row.why for row in deadly)


@engine
def test_a_merge_makes_the_corpus_small_even_where_paths_have_blanks(tmp_path):
    folder = tmp_path / "a folder"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "foreign.txt").write_bytes(b"\0\x03\0")
    (corpus / "same").write_bytes(b"\0\x03\0")
    (corpus / "folder in it").mkdir()
    plan = WorkerPlan(oracle="decode", folder=folder / "w", corpus=corpus, structure=False)
    assert merge_corpus(plan, corpus, folder) == 1


@engine
def test_a_merge_that_fails_leaves_the_corpus(tmp_path, monkeypatch):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a").write_bytes(b"\0\x03\0")
    plan = WorkerPlan(oracle="no-such-oracle", folder=tmp_path / "w", corpus=corpus, structure=False)
    with pytest.raises(CannotGoOn, match="could not merge"):
        merge_corpus(plan, corpus, tmp_path)
    assert [path.name for path in corpus.iterdir()] == ["a"]


@engine
@pytest.mark.parametrize(("code", "made"), [(0, False), (1, True), (1, False)])
def test_an_engine_that_hands_back_less_than_it_got_leaves_the_corpus(tmp_path, monkeypatch, code, made):
    """It may exit with 0 and have written nothing."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a").write_bytes(b"\0\x03\0")

    def merges(command, **_options):
        if made:
            (tmp_path / "corpus.merged" / "b").write_bytes(b"\0")
        return subprocess.CompletedProcess(command, code, b"", b"it says why")

    monkeypatch.setattr(corpus_merge.subprocess, "run", merges)
    with pytest.raises(CannotGoOn, match="could not merge"):
        merge_corpus(WorkerPlan(oracle="decode", folder=tmp_path / "w", corpus=corpus), corpus, tmp_path)
    assert [path.name for path in corpus.iterdir()] == ["a"]
    assert not (tmp_path / "corpus.merged").exists()


@engine
def test_two_campaigns_do_not_share_a_folder(tmp_path):
    (tmp_path / "decode").mkdir()
    with (tmp_path / "decode" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another campaign is running"):
            Campaign(order(tmp_path), {}).run()


@pytest.mark.needs("atheris", "full-device")
def test_a_full_disk_is_said(tmp_path, monkeypatch):
    def full(*_):
        with Path("/dev/full").open("w") as out:
            out.write("x")

    monkeypatch.setattr(campaigns, "write_manifest", full)
    with pytest.raises(CannotGoOn, match="cannot write"):
        Campaign(order(tmp_path), {}).run()


@engine
def test_behaviours_are_counted_by_the_engine_that_is_installed():
    behaves = atheris_counters()
    behaves(("a", 1))
    behaves(("a", 1))
    behaves(None)
    assert behaves.seen == 2


def test_counters_that_do_not_follow_each_other_are_refused():
    numbers = iter([1, 2, 4, 5])
    with pytest.raises(CannotGoOn, match="do not follow"):
        Behaviour(lambda: next(numbers), print, counters=4)


# --- one input --------------------------------------------------------------------------------------------------------


def kept(folder, tiny, fault, data, rule):
    with JudgeProcess("differential", [f"lib:{tiny(fault)}"], {"tiny 1": "1"}) as judge:
        row = next(one for one in judge(data) if one.rule == rule)
    campaigns.keep_finding(folder, row)
    campaigns.write_ledger(folder, {row.id: row})
    return folder / campaigns.FINDINGS / row.id


def test_a_finding_is_minimised_to_the_same_finding(tmp_path, tiny):
    data = b"\3" + b"\x03\x00" + b"\x04" * 30
    place = kept(tmp_path, tiny, 8, b"\0" + data[1:], "survives-every-input")
    row = minimise_finding(place)
    assert row.input == "0003"
    assert row.standing == "minimised"
    assert row.segments
    assert campaigns.read_ledger(tmp_path)[row.id].input == "0003"


def test_a_death_is_minimised_too(tmp_path, tiny):
    place = kept(tmp_path, tiny, 6, b"\0\x03\x00" + bytes(2), "survives-every-input")
    assert minimise_finding(place).input == "00030000"


@pytest.mark.parametrize(
    ("kind", "part"),
    [("vector", '"layer": "transport"'), ("test", "def test_differential_"), ("deviation", "[[deviation]]")],
)
def test_a_finding_is_promoted(tmp_path, tiny, kind, part):
    place = kept(tmp_path, tiny, 0, b"\0\x03\x00", "accept-alike")
    into = tmp_path / "out"
    assert invoke(["fuzz", "promote", str(place), "--as", kind, "--into", str(into)]) == 0
    assert part in into.read_text()
    if kind == "vector":
        assert json.loads(into.read_text())["means"] == {"Close": {"session": False, "reason": 0}}


def test_what_is_under_embargo_is_not_promoted(tmp_path):
    row = FindingRow(id="0123456789ab", oracle="decode", rule="r", signature="s", why="w", input="0003", embargo=True)
    campaigns.keep_finding(tmp_path, row)
    place = tmp_path / campaigns.FINDINGS / row.id
    assert invoke(["fuzz", "promote", str(place), "--as", "test"]) == Exit.USAGE
    assert campaign.public_json(row) == {"id": row.id, "embargo": True}
    assert campaign.ledger_row(row).input == ""


@pytest.mark.parametrize(
    ("codec", "due"),
    [
        ("zenoh-codec 1.9.9", False), ("zenoh-codec 1.10.0", True), ("zenoh-codec 1.10", True), ("zenoh-codec 1.10.2", True),
        ("zenoh-codec 2.0.0", True), ("zenoh-codec main", True), ("zenoh-codec", True), ("ours", False), ("tiny 1.10.0", False),
    ],
)  # fmt: skip
def test_what_makes_a_current_release_crash_is_kept_back(codec, due):
    """A version that names no release may be any."""
    assert under_embargo(codec) is due


ROW = FindingRow(id="0123456789ab", oracle="decode", rule="r", signature="s", why="secret", input="00")


@pytest.mark.parametrize("standing", ["new", "minimised", "promoted", "explained", "fixed"])
def test_a_finding_that_comes_again_keeps_what_was_made_of_it(tmp_path, standing):
    made = Campaign(order(tmp_path), {"ours": "x"})
    made.folder.mkdir(parents=True)
    before = replace(ROW, standing=standing, segments=(("a", "00", "n"),), explanation=("so",))
    made._add_finding(ROW, {ROW.id: before})
    kept = campaigns.read_finding(made.folder / campaigns.FINDINGS / ROW.id)
    assert (kept.standing, kept.segments, kept.explanation) == (standing, (("a", "00", "n"),), ("so",))


@engine
@pytest.mark.parametrize(
    ("inputs", "rows", "code"),
    [
        (9, [], Exit.CONFORMING),
        (0, [], Exit.NOTHING_JUDGED),
        (9, [ROW], Exit.NOT_CONFORMING),
        (0, [ROW], Exit.NOT_CONFORMING),
    ],
)
def test_a_campaign_that_ran_no_input_says_so(tmp_path, monkeypatch, capsys, inputs, rows, code):
    outcome = campaign.Outcome(inputs=inputs, findings={row.id: row for row in rows})
    monkeypatch.setattr(Campaign, "run", lambda _self: outcome)
    assert invoke(["fuzz", "codec", "decode", "--out", str(tmp_path)]) == code


@pytest.mark.parametrize("secret", [False, True])
def test_a_campaign_tells_of_what_is_under_embargo_its_id_alone(tmp_path, monkeypatch, secret):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = Campaign(order(tmp_path / "out"), {"ours": "x"})
    made.corpus.mkdir(parents=True)
    made._add_finding(replace(ROW, embargo=secret), {})
    (made.folder / "workers").mkdir()
    made._close({}, merge=False)
    said = {
        place: [ROW.why in file.read_text() for file in (tmp_path / place).rglob("*.json*")]
        for place in ("out", "data")
    }
    assert (any(said["out"]), any(said["data"])) == (not secret, secret)
    assert [event["id"] for event in campaigns.read_events(made.folder) if event["event"] == "finding"] == [ROW.id]


def test_a_ledger_adds_up_the_inputs_of_all_its_campaigns(tmp_path):
    row = FindingRow(id="0123456789ab", oracle="decode", rule="r", signature="s", why="w", input="00", count=2)
    made = Campaign(order(tmp_path), {"ours": "x"})
    made.corpus.mkdir(parents=True)
    made.outcome.findings[row.id] = row
    made._close({row.id: replace(row, count=3)}, merge=False)
    assert campaigns.read_ledger(made.folder)[row.id].count == 5
    assert made.outcome.fresh == ()


def test_replay_says_whether_a_promise_is_broken(tiny, capsys):
    words = ["fuzz", "replay", "differential", "000300", "--target", f"lib:{tiny(0)}"]
    assert invoke(words) == Exit.NOT_CONFORMING
    assert "accept-alike" in capsys.readouterr().out
    assert invoke(["fuzz", "replay", "decode", "000300"]) == Exit.CONFORMING
    assert invoke(["fuzz", "replay", "decode", "00844d8001" + "00" * 128]) == Exit.CONFORMING


@engine
def test_an_interrupted_campaign_lists_its_findings(tmp_path, monkeypatch, capsys):
    def run(made):
        made.outcome.findings[ROW.id] = ROW
        raise KeyboardInterrupt

    monkeypatch.setattr(Campaign, "run", run)
    assert invoke(["fuzz", "codec", "decode", "--out", str(tmp_path)]) not in (Exit.CONFORMING, Exit.NOTHING_JUDGED)
    out = capsys.readouterr().out
    assert "1 findings" in out
    assert ROW.why in out


def test_a_finding_knows_the_oracle_and_the_targets_with_which_it_is_replayed(tiny, tmp_path, capsys):
    row = FindingRow(
        id="0123456789ab",
        oracle="differential",
        rule="r",
        signature="s",
        why="w",
        input="000300",
        targets=(f"lib:{tiny(0)}",),
    )
    campaigns.keep_finding(tmp_path, row)
    assert invoke(["fuzz", "replay", str(tmp_path / campaigns.FINDINGS / row.id)]) == Exit.NOT_CONFORMING
    assert "accept-alike" in capsys.readouterr().out


def test_the_folder_of_an_oracle_stands_for_all_its_findings(tiny, tmp_path, capsys):
    place = tmp_path / "differential"
    assert invoke(["fuzz", "minimise", str(tmp_path / "no")]) == Exit.USAGE
    place.mkdir()
    (place / campaigns.MANIFEST).write_text("{}")
    for verb in ("replay", "minimise"):
        assert invoke(["fuzz", verb, str(place)]) == Exit.USAGE
        assert "has no findings" in capsys.readouterr().err
    for name in ("000300", "000400"):
        row = FindingRow(
            id=f"{name:0>12}",
            oracle="differential",
            rule="r",
            signature="s",
            why="w",
            input=name,
            targets=(f"lib:{tiny(0)}",),
        )
        campaigns.keep_finding(place, row)
    assert invoke(["fuzz", "replay", str(place)]) == Exit.NOT_CONFORMING
    assert "2 inputs" in capsys.readouterr().out


@engine
def test_a_campaign_by_cpu_time_ends_by_its_own_count_even_after_deaths(tmp_path, tiny):
    """The clock would allow it half a minute."""
    asked = order(tmp_path, "differential", targets=(f"lib:{tiny(6)}",), merge=False, with_seeds=False, seconds=0.25)
    Campaign(asked, {"ours": "x", "tiny 1": "1"}).run()
    spent = float((tmp_path / "differential" / "workers" / "0" / "spent").read_text())
    assert 0.25 <= spent < 1.25
    assert "--cpu" in asked.command()


@engine
def test_a_merge_takes_the_folder_of_an_oracle(tmp_path, monkeypatch):
    made = Campaign(order(tmp_path), {"ours": "x"})
    made.prepare()
    monkeypatch.setattr(corpus_merge, "merge_corpus", lambda plan, corpus, folder, others: int(folder == made.folder))
    assert invoke(["fuzz", "merge", str(made.folder)]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["replay", "decode"], "no input after 'decode'"),
        (["codec", "decoed"], "did you mean decode"),
        (["codec", "decode", "--time", "soon"], "is not a duration"),
        (["codec", "decode", "--layer", "nope"], "unknown layer"),
        (["codec", "differential"], "only the reference codec is named"),
        (["codec", "differential", "--target", "lib:/no/such.so"], "there is no library"),
        (["replay", "decode", "xyz"], "neither a finding"),
    ],
)
@engine
def test_what_is_asked_for_wrongly_is_said(words, said, capsys):
    assert invoke(["fuzz", *words]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_durations_are_read_or_refused():
    assert [seconds_of(text) for text in ("20s", "5m", "1h", "7")] == [20, 300, 3600, 7]
    for text in ("", "0s", "soon", "1d"):
        with pytest.raises(UsageError, match="is not a duration"):
            seconds_of(text)


# --- files ------------------------------------------------------------------------------------------------------------


def test_files_are_read_back_and_faults_named(tmp_path):
    row = FindingRow(
        id="0123456789ab", oracle="decode", rule="r", signature="s", why="w", input="00", segments=(("a", "00", ""),)
    )
    campaigns.write_ledger(tmp_path, {row.id: row})
    assert campaigns.read_ledger(tmp_path) == {row.id: row}
    campaigns.add_event(tmp_path, "begin", 0.0, {})
    with (tmp_path / campaigns.EVENTS).open("a") as out:
        out.write('{"event": "prog')
    assert [one["event"] for one in campaigns.read_events(tmp_path)] == ["begin"]
    for name, text in ((campaigns.LEDGER, '{"ledger": 2, "findings": []}'), (campaigns.MANIFEST, "[]")):
        (tmp_path / name).write_text(text)
    with pytest.raises(FileFault, match=campaigns.LEDGER):
        campaigns.read_ledger(tmp_path)
    with pytest.raises(FileFault, match=campaigns.MANIFEST):
        campaigns.read_manifest(tmp_path)
    (tmp_path / campaigns.EVENTS).write_text("nonsense\n{}\n")
    with pytest.raises(FileFault, match=r"events\.jsonl:1"):
        list(campaigns.read_events(tmp_path))


def test_coverage_names_what_was_never_reached(tmp_path, capsys):
    (tmp_path / "a").write_bytes(bytes.fromhex("00 03 00"))
    assert invoke(["fuzz", "coverage", str(tmp_path), "--format", "json"]) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)["messages"]}
    assert told["CLOSE"]["headers"] == {"0x00": 1}
    assert "header 0x20" in told["CLOSE"]["missing"]
    assert "extension qos" in told["PUSH"]["missing"]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", [Order, LiveOrder])
def test_the_command_of_a_campaign_has_its_settings(kind: type[CampaignOrder], tmp_path: Path) -> None:
    """The command in the manifest is understood by `zconform fuzz`, and gives the same settings again."""
    about = {Order: {"oracle": "decode"}, LiveOrder: {"target": "reference", "inputs": 7, "until_found": 2}}[kind]
    order = kind(folder=tmp_path, seconds=90, cpu=True, seed=3, jobs=2, corpora=(tmp_path,), **about)
    _, _, name, *words = shlex.split(order.command())

    given = fuzz_command.commands[name].make_context(name, words).params

    wanted = {"cpu": True, "seed": 3, "jobs": 2, "corpora": (tmp_path,), "out": tmp_path, "duration": "90s", **about}
    assert {field: given.get(field) for field in wanted} == wanted
