"""Proofs: what is red is derived again from its bytes, by the same cause; what was tampered with is not; nothing else is needed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import lz4.block
import pytest
from faulty_nodes import BY_RULE, SEVERAL
from hypothesis import given, settings
from hypothesis import strategies as st

from zenoh_conformance.cases.case import all_cases, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke, runs_in_memory
from zenoh_harness.files import conversations
from zenoh_harness.run.judge.finding_places import details_of
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import runs
from zenoh_reports.proofs import derive, lz4_stand_in, make, pack
from zenoh_reports.proofs import verify as verifier
from zenoh_reports.proofs.replay import ReplayMismatch
from zenoh_reports.proofs.verify import compare

ASKS_FOR_FACTS = ("shows-another-role",)
"""Faulty nodes that a case catches by what is known of the target, which runs in memory do not write down."""
FEW = 3
"""Parameter sets of a case that are tried on a faulty node."""


@pytest.fixture
def zids_in_memory(monkeypatch):
    """What dialogues are called in memory."""
    drawn = [lambda count: sha256(f"0/{count}".encode()).digest()[:7] + b"\x5a"]
    monkeypatch.setattr(derive, "candidate_zids", lambda _proof: drawn)


def asks_the_application(case):
    """What an application said is not in the conversation, so that no verdict follows from that alone."""
    return any(need.partition(".")[0] == "agent" for need in case.needs)


def proof_of(check, requirement, role, profile, parameters, cause, conversation, details=None):
    judgement = {
        "check": check, "parameters": dict(shown_all(parameters)), "profile": profile,
        "role": role.value, "level": "MUST", "verdict": "fail", "cause": cause, "details": details or {},
    }  # fmt: skip
    lines = [line.rstrip("\n") for line in conversations.lines(conversation)]
    return {"proof": 1, "judgement": judgement, "requirement": {"id": requirement}, "conversation": lines, "script": ""}


@pytest.mark.usefixtures("zids_in_memory")
@pytest.mark.parametrize("name", SEVERAL)
def test_every_red_of_a_faulty_node_is_derived_again(name):
    derived_again(all_faulty_nodes()[name])


@pytest.mark.soak
@pytest.mark.usefixtures("zids_in_memory")
@pytest.mark.parametrize("name", BY_RULE)
def test_every_red_of_a_faulty_node_by_rule_is_derived_again(name):
    """Each field, in each way and circumstance; the short twin takes one for each law."""
    derived_again(BY_RULE[name])


def derived_again(faulty):
    """What the cases that must catch it find, from the proof."""
    for check in faulty.caught_by:
        case = all_cases().get(check)
        if case is None or not runs_in_memory(case) or asks_the_application(case):
            continue
        for parameters in case.parameters[:FEW]:
            findings, scene = provoke(case, parameters, faulty.node)
            if findings:
                cause, links = findings[0].cause, findings[0].links
                said = scene.conversation.only(links) if links else scene.conversation
                details = {"found": details_of(findings[0], said)}
                proof = proof_of(check, case.requirement, case.role, case.profile, parameters, cause, said, details)
                if faulty.name in ASKS_FOR_FACTS:
                    with pytest.raises(ReplayMismatch, match="facts that were not recorded"):
                        derive.derive(proof)
                    continue
                derived = derive.derive(proof)
                assert (derived.cause, derived.how) == (cause, "the case on the recorded conversation")
                assert derived.verdict in ("fail", "warn")


@pytest.mark.usefixtures("zids_in_memory")
def test_what_was_red_at_night_is_derived_again(monkeypatch):
    """By values that a case has at night alone; here a night that says little."""
    faulty = all_faulty_nodes()["turns-round-what-finds-no-room"]
    [check], [values] = faulty.caught_by, faulty.values
    case = replace(all_cases()[check], nightly=faulty.values)
    monkeypatch.setattr(derive.cases, "find_case", {check: case}.__getitem__)
    [found], scene = provoke(case, values, faulty.node)
    proof = proof_of(check, case.requirement, case.role, case.profile, values, found.cause, scene.conversation)
    assert derive.derive(proof).cause == found.cause


def test_a_law_is_judged_again():
    case = all_cases()["establishment-sane/a-sane-proposal-is-answered"]
    _, scene = provoke(case, {}, all_faulty_nodes()["answers-with-version-8"].node)
    red = next(one for one in judge(scene.conversation) if one.findings and one.sender is case.role)
    cause = red.findings[0].cause
    derived = derive.derive(
        proof_of(red.law.id, red.law.requirement, case.role, "default", {}, cause, scene.conversation)
    )
    assert (derived.verdict, derived.cause) == ("fail", cause)
    assert derived.byte is not None


def test_what_a_law_found_in_a_models_conversation_is_judged_again():
    case = all_cases()["establishment-sane/a-sane-proposal-is-answered"]
    _, scene = provoke(case, {}, all_faulty_nodes()["answers-with-version-8"].node)
    red = next(one for one in judge(scene.conversation) if one.findings and one.sender is case.role)
    cause = red.findings[0].cause
    told = ("models/establishment", red.law.requirement, case.role, "default", {})
    derived = derive.derive(proof_of(*told, cause, scene.conversation))
    assert (derived.verdict, derived.cause) == ("fail", cause)
    with pytest.raises(ReplayMismatch, match="no law of its requirement finds that"):
        derive.derive(proof_of(*told, "another cause", scene.conversation))


@pytest.fixture(scope="module")
def files(making_runs, tmp_path_factory):
    """The verifier and the proofs of a site with a red, by name."""
    place = making_runs(tmp_path_factory.mktemp("red"))("run", "believes-any-cookie")
    read, _ = runs.load(runs.found([place]))
    made = build(Report(read)).items()
    return {name.rpartition("/")[2]: data for name, data in made if name.endswith((".pyz", ".proof.json"))}


@pytest.fixture
def site(files, tmp_path):
    """The same, as they lie on a disk; a test may change them."""
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def verify(site, *files):
    """The verifier, in an isolated Python without anything installed."""
    python = [sys.executable, "-I", "-S", str(site / "verify.pyz")]
    return subprocess.run([*python, *map(str, files)], capture_output=True, text=True, cwd="/", check=False)


def test_a_proof_is_verified_by_python_alone(site):
    (file, *_) = sorted(site.glob("*.proof.json"))
    done = verify(site, file)
    assert done.stderr == ""
    assert done.returncode == 0
    assert "verified" in done.stdout
    assert "session-establishment/cookie-must-match MUST" in done.stdout
    assert "stage open: OpenAck where a refusal is required" in done.stdout
    assert "open.header" in done.stdout


def tampered(site, change):
    (file, *_) = sorted(site.glob("*.proof.json"))
    proof = json.loads(file.read_text())
    change(proof)
    file.write_text(json.dumps(proof))
    return verify(site, file)


def test_a_verdict_that_does_not_follow_is_not_verified(site):
    def change(proof):
        proof["judgement"]["cause"] = "stage init: silence where InitAck is required"

    done = tampered(site, change)
    assert done.returncode == 1
    assert "NOT verified" in done.stdout


def test_an_answer_that_was_made_right_is_no_proof_any_more(site):
    def change(proof):
        rows = [json.loads(line) for line in proof["conversation"]]
        last = next(row for row in reversed(rows) if row.get("from") == "responder" and "bytes" in row)
        last["bytes"] = "02000302"  # Close(INVALID), as is required
        proof["conversation"] = [json.dumps(row) for row in rows]
        proof["script"] = ""

    done = tampered(site, change)
    assert done.returncode == 1
    assert "nothing is wrong" in done.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"proof": 1}', '{"proof": 1, "judgement": {}}', "\x00\xff"])
def test_what_is_no_proof_is_told(site, text):
    file = site / "x.json"
    file.write_text(text)
    done = verify(site, file)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_what_a_process_did_does_not_follow_from_bytes():
    case = all_cases()["establishment-sane/a-sane-proposal-is-answered"]
    _, scene = provoke(case, {}, all_faulty_nodes()["answers-with-version-8"].node)
    with pytest.raises(ReplayMismatch, match="there is no case of this name"):
        derive.derive(
            proof_of("scripts/x", "target/stays-up", case.role, "default", {}, "signal 6", scene.conversation)
        )


@pytest.mark.parametrize(("check", "follows"), [("law/cookie-echo", True), ("vectors/push/put-payload", False)])
def test_what_a_vector_should_have_done_is_not_in_the_bytes(check, follows):
    key = Key(
        target="t", version="1", role="responder", profile="default", link="tcp", requirement="push/put-payload", check=check
    )  # fmt: skip
    judgement = Judgement(
        key=key, level="LAYOUT", verdict=Verdict.FAIL, cause="another payload", evidence="evidence/x.jsonl"
    )
    assert make.follows(judgement) is follows


def test_two_archives_are_equal():
    assert pack.archive() == pack.archive()


@settings(deadline=None)
@given(st.binary(max_size=400), st.integers(1, 20))
def test_the_stand_in_reads_what_lz4_writes(data, times):
    whole = data * times
    block = lz4.block.compress(whole, store_size=False)
    assert lz4_stand_in.decompress(block, uncompressed_size=len(whole)) == whole
    ours = lz4_stand_in.compress(whole, store_size=False)
    assert lz4.block.decompress(ours, uncompressed_size=max(len(whole), 1)) == whole


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=60))
def test_the_stand_in_refuses_and_never_breaks(block):
    with contextlib.suppress(lz4_stand_in.LZ4BlockError):
        assert len(lz4_stand_in.decompress(block, uncompressed_size=1000)) <= 1000


@pytest.mark.parametrize(("time", "due"), [(0.0, 2.0), (5.0, 5.0)])
def test_silence_is_placed_after_the_last_event_at_the_time_of_the_finding(time, due):
    conversation = Conversation(
        {"us": Connection("us")},
        [
            Event(1.0, "us", Side.RESPONDER, Happened.BYTES, b"abc"),
            Event(2.0, "us", Side.INITIATOR, Happened.BYTES, b"de"),
        ],
    )
    missing = Finding(requirement="a/b", sender=Side.RESPONDER, connection="us", time=time, got="silence")
    assert derive.byte_of(conversation, Side.RESPONDER, missing) == derive.Byte(2, "us", due, 3, b"", "silence")


@pytest.mark.parametrize(
    ("verdict", "expected", "derived", "same"),
    [
        ("fail", "", "fail", True),
        ("fail", "", "warn", False),
        ("known", "fail", "fail", True),
        ("known", "fail", "warn", False),
        ("fail", "warn", "fail", True),
        ("fail", "warn", "warn", False),
    ],
)
def test_a_listed_deviation_is_held_to_what_it_was_before_it_was_listed(verdict, expected, derived, same):
    """`expected` counts only beside the verdict `known`."""
    details = {"known": {"expected": expected, "reason": "so it is"}} if expected else {}
    judgement = {"verdict": verdict, "cause": "silence", "details": details}
    found = compare({"judgement": judgement, "requirement": {}}, derive.Derived(derived, "silence", "the law", None))
    assert found[0] is same


@pytest.mark.parametrize(
    ("codes", "expected"),
    [((0, 0), 0), ((0, 3), 3), ((3, 1, 0), 1), ((1, 3, 2), 2), ((3, 2), 2)],
)
def test_the_gravest_of_several_proofs_decides_the_exit_code(monkeypatch, codes, expected):
    """A file that cannot be read before a verdict that is wrong, before one that does not follow from the bytes alone."""
    left = iter(codes)
    monkeypatch.setattr(verifier, "verify_file", lambda _file: next(left))
    assert verifier.main([f"{number}.json" for number, _ in enumerate(codes)]) == expected
