"""What stands in the record of a judgement, in its evidence and in its script; and when a run has seen enough."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from run_registers import MUST, key, register

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_harness.errors import Enough
from zenoh_harness.files import conversations, results, scripts
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.run.write.register import BEYOND, repeat_command

CLOSE = b"\x02\x00\x23\x00"
FOUND = Finding(
    requirement=MUST, sender=Side.RESPONDER, connection="a", path="stage open", expected="a refusal", got="OpenAck"
)


def said(data: bytes = CLOSE) -> Conversation:
    """A conversation of one batch of ours."""
    made = Conversation(connections={"a": Connection("a")})
    made.events.append(Event(0.0, "a", Side.INITIATOR, Happened.OPEN))
    made.events.append(Event(0.5, "a", Side.INITIATOR, Happened.BYTES, data))
    return made


def test_a_deviation_is_written_with_all_that_is_known_of_it(tmp_path):
    made = register(tmp_path, seed=7, depth="quick")
    one = made.add(
        key(bit="3"), Verdict.FAIL, cause="stage open: OpenAck", end="fin", attempts=3, conversation=said(),
        finding=FOUND, details={"laws_beside": ["law/x"]},
    )  # fmt: skip

    [read] = results.read(tmp_path / "out/results.jsonl").judgements
    assert read == one and made.judgements == [one]
    assert (one.level, one.cause, one.end, one.attempts) == ("MUST", "stage open: OpenAck", "fin", 3)
    assert one.repeat == "zconform run wheel:1.0 --only 'close/one[bit=3]' --seed 7 --depth quick"
    assert one.details["laws_beside"] == ["law/x"] and one.details["found"]["got"] == "OpenAck"
    assert "causes" not in one.details and not one.embargo
    kept = tmp_path / "out" / one.evidence
    assert kept.name == "responder-default-close-one-bit=3.jsonl"
    assert [event.data for event in conversations.read(kept).events] == [b"", CLOSE]


def test_the_script_beside_the_evidence_is_held_to_the_check(tmp_path):
    one = register(tmp_path).add(key(bit="3"), Verdict.FAIL, conversation=said(), finding=FOUND)

    script = scripts.read((tmp_path / "out" / one.evidence).with_suffix(scripts.SUFFIX))
    assert script.header["requirement"] == MUST and script.header["profile"] == "default"
    assert script.header["check"] == "close/one[bit=3]"
    assert any(step.do == "send" for step in script.steps) and any(step.do == "deviates" for step in script.steps)


def test_the_script_of_an_end_is_held_to_whether_it_stays_up(tmp_path):
    one = register(tmp_path).add(key(), Verdict.CRASH, conversation=said())

    script = scripts.read((tmp_path / "out" / one.evidence).with_suffix(scripts.SUFFIX))
    assert script.header["check"] == "target/stays-up"


def test_what_shows_it_may_be_another_conversation_than_what_provoked_it(tmp_path):
    one = register(tmp_path).add(key(), Verdict.FAIL, conversation=said(), shows=said(b"\x01\x00\x04"))

    kept = tmp_path / "out" / one.evidence
    assert [event.data for event in conversations.read(kept).events] == [b"", b"\x01\x00\x04"]
    assert any("close" in str(step) for step in scripts.read(kept.with_suffix(scripts.SUFFIX)).steps)


def test_what_is_only_shown_has_no_script(tmp_path):
    one = register(tmp_path).add(key(), Verdict.FAIL, shows=said())

    kept = tmp_path / "out" / one.evidence
    assert kept.exists() and not kept.with_suffix(scripts.SUFFIX).exists()


@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.value)
def test_only_what_is_not_quiet_has_evidence_a_command_and_a_finding(tmp_path, verdict):
    one = register(tmp_path).add(key(), verdict, conversation=said(), finding=FOUND)

    loud = not verdict.is_quiet
    assert (bool(one.evidence), bool(one.repeat), "found" in one.details) == (loud, loud, loud)
    assert (tmp_path / "out/evidence").exists() is loud


def test_what_a_list_excuses_keeps_no_evidence_unless_it_is_red_for_another_cause(tmp_path):
    listed = ListedDeviation(
        verdict=Verdict.FAIL, cause="one", reason="so it is", check="close/one", owner="us", see="x.md",
        public="https://here.example/1",
    )  # fmt: skip
    made = register(tmp_path, listed)
    known, other = (made.add(key(), Verdict.FAIL, cause=cause, conversation=said()) for cause in ("one", "other"))

    assert known.details["known"] == {
        "expected": "fail", "reason": "so it is", "see": "x.md", "public": "https://here.example/1", "owner": "us",
    }  # fmt: skip
    assert known.verdict is Verdict.KNOWN and bool(known.evidence) is not Verdict.KNOWN.is_quiet
    assert other.verdict is Verdict.FAIL and other.evidence


@pytest.mark.parametrize(("required", "verdict"), [(frozenset(), "known"), ({MUST}, "fail"), (None, "fail")])
def test_what_nobody_asks_for_yet_is_excused(tmp_path, required, verdict):
    one = register(tmp_path, required=required).add(key(), Verdict.FAIL, cause="so")

    assert one.verdict.value == verdict
    assert one.details.get("known") == ({"expected": "fail", "reason": BEYOND} if verdict == "known" else None)


@pytest.mark.parametrize(("causes", "kept"), [(None, False), ({"one": 2}, False), ({"one": 2, "two": 1}, True)])
def test_several_causes_are_kept_with_their_counts(tmp_path, causes, kept):
    one = register(tmp_path).add(key(), Verdict.FAIL, cause="one", causes=causes)

    assert one.details == ({"causes": causes} if kept else {})


def test_a_command_that_is_given_stands(tmp_path):
    made = register(tmp_path)

    assert made.add(key(), Verdict.FAIL, repeat="").repeat == ""
    assert made.add(key(), Verdict.FAIL, repeat="zconform x").repeat == "zconform x"
    assert made.add(key(), Verdict.PASS, repeat="zconform x").repeat == ""


@pytest.mark.parametrize(
    ("given", "command"),
    [
        (("tcp:127.0.0.1:7447", "close/one"), "zconform run tcp:127.0.0.1:7447 --only close/one"),
        (("exec:./my node", "close/one[a=b c]"), "zconform run 'exec:./my node' --only 'close/one[a=b c]'"),
        (("x", "close/one", 0, "full"), "zconform run x --only close/one"),
        (("x", "close/one", 3), "zconform run x --only close/one --seed 3"),
        (("x", "close/one", 0, "quick"), "zconform run x --only close/one --depth quick"),
        (("x", "close/one", 1, "nightly"), "zconform run x --only close/one --seed 1 --depth nightly"),
    ],
)
def test_the_command_that_repeats_a_check(given, command):
    assert repeat_command(*given) == command


def test_a_part_of_a_run_has_its_own_target_and_the_same_judgements(tmp_path):
    made = register(tmp_path)
    part = made.of("python:1.2?x=y", guarded=True, changed=True)

    assert part.add(key(), Verdict.FAIL).repeat.startswith("zconform run 'python:1.2?x=y'")
    assert (part.guarded, part.changed, made.guarded, made.changed) == (True, True, False, False)
    assert made.judgements == part.judgements and made.reach == "wheel:1.0"
    assert part.add(key(), Verdict.ZOMBIE).embargo is False and part.add(key(), Verdict.CRASH).embargo is True


def test_how_a_run_ends_that_has_seen_enough(tmp_path):
    made = register(tmp_path, max_fail=1)

    with pytest.raises(Enough) as enough:
        made.add(key(), Verdict.FAIL)
    assert (enough.value.what, enough.value.step) == ("ended after 1 deviation", "--max-fail")


def test_several_deviations_are_counted_in_the_plural_and_rights_are_not(tmp_path):
    made = register(tmp_path, max_fail=2)
    for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.NOT_OBSERVED):
        made.add(key(), verdict)

    with pytest.raises(Enough, match="ended after 2 deviations"):
        made.add(key(), Verdict.FAIL)


def test_a_run_that_goes_on_is_ended_by_no_number(tmp_path):
    made = register(tmp_path, max_fail=1)
    made.go_on()

    assert made.add(key(), Verdict.FAIL).verdict is Verdict.FAIL


def test_what_is_held_back_is_counted(tmp_path):
    made = register(tmp_path)
    made.withhold(2)
    made.withhold(1)

    assert made._writer.footer(Exit.CONFORMING).embargoed == 3


def test_what_stands_of_an_earlier_run_counts(tmp_path):
    """Its deviations too, and a list that excused one of them has met it."""
    listed = ListedDeviation(verdict=Verdict.FAIL, cause="*", reason="so it is", check="close/two")
    first = register(tmp_path, listed)
    kept = [first.add(key("close/one"), Verdict.FAIL), first.add(key("close/two"), Verdict.FAIL, cause="one")]
    (tmp_path / "again").mkdir()
    options = first._options
    earlier = SimpleNamespace(kept=tuple(kept), secret=())
    made = type(first)(first._writer, options, reach="wheel:1.0", earlier=earlier)

    assert made.judgements == kept and made._red == kept[:1]
