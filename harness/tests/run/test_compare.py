"""What changed between two results: in which direction, what is red, what is evidence, and what must not be told."""

import json

import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.cli import invoke
from zenoh_harness.files import evidence, results
from zenoh_harness.files.results import Header, ResultsWriter
from zenoh_harness.run.report.compare import Change, ChangeKind, changes, counted, gathered


def judged(verdict, cause="", *, check="close/one", number="", evidence=None, expected=None, embargo=False):
    key = Key(
        target="node", version="1", role="responder", profile="default", link="tcp", requirement="close/x", check=check,
        parameters=(("n", number),) if number else (),
    )  # fmt: skip
    details = {"known": {"expected": expected}} if expected else {}
    return Judgement(
        key=key,
        level="MUST",
        verdict=Verdict(verdict),
        cause=cause,
        evidence=evidence,
        details=details,
        embargo=embargo,
    )


def written(folder, *judgements):
    header = Header(reach="exec:x", name="node", version="1", role="responder", kind="exec")
    with ResultsWriter(folder / "results.jsonl", header, []) as writer:
        for one in judgements:
            writer.judgement(one)
        writer.footer(Exit.CONFORMING)
    return folder


@pytest.mark.parametrize(
    ("before", "after", "way", "red"),
    [
        (judged("pass"), judged("fail"), ChangeKind.WORSE, True),
        (judged("pass"), judged("known", expected="fail"), ChangeKind.WORSE, False),
        (judged("known", expected="fail"), judged("pass"), ChangeKind.BETTER, False),
        (judged("fail"), judged("known", expected="crash"), ChangeKind.WORSE, False),
        (judged("crash"), judged("fail"), ChangeKind.BETTER, False),
        (judged("fail", "this"), judged("fail", "that"), ChangeKind.OTHER, False),
        (judged("pass"), judged("slow"), ChangeKind.OTHER, True),
        (judged("pass"), judged("not-observed"), ChangeKind.LOST, False),
        (judged("pass"), None, ChangeKind.LOST, True),
        (None, judged("pass"), ChangeKind.FRESH, False),
        (None, judged("fail"), ChangeKind.WORSE, True),
        (judged("not-observed"), judged("pass"), ChangeKind.FRESH, False),
        (judged("error"), judged("pass"), ChangeKind.FRESH, False),
    ],
)
def test_a_change_has_one_direction(before, after, way, red):
    change = Change(before, after)
    assert (change.way, change.red) == (way, red)


def compared(tmp_path, before, after):
    return changes(results.read(written(tmp_path / "a", *before)), results.read(written(tmp_path / "b", *after)))


def test_that_there_is_no_answer_for_another_reason_is_no_change(tmp_path):
    before = (judged("not-observed"), judged("not-applicable", "no profile", check="close/two"))
    assert compared(tmp_path, before, (judged("not-applicable", "no qos"),)) == []


def test_those_that_are_alike_are_told_once(tmp_path):
    before = [judged("pass", number=str(n)) for n in range(4)]
    after = [judged("fail", "so" if n < 3 else "otherwise", number=str(n)) for n in range(4)]
    found = compared(tmp_path, before, after)
    assert [one.labels for one in gathered(found)] == [("[n=3]",), ("[n=0]", "[n=1]", "[n=2]")]
    assert counted(found) == "4 judgements of 1 requirement changed: 4 for the worse"
    assert counted([]) == "nothing changed"


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_under_embargo_is_not_found_out_by_comparing(turned, tmp_path):
    """A check that only one side has may be the one that the other side keeps back."""
    open_side, secret_side = (judged("pass"), judged("pass", check="close/two")), (judged("crash", embargo=True),)
    pair = (secret_side, open_side) if turned else (open_side, secret_side)
    assert compared(tmp_path, *pair) == []


def test_a_file_that_holds_what_is_under_embargo_all_the_same(tmp_path):
    """Nothing of ours writes one; somebody may have put it together."""
    before, after = (results.read(written(tmp_path / name, judged("pass"))) for name in "ab")
    after.judgements.append(judged("crash", "secret", check="close/two", embargo=True))
    assert changes(before, after) == []


@pytest.mark.parametrize("turned", [False, True])
def test_the_evidence_of_the_side_that_deviates_is_named(turned, tmp_path, capsys):
    shown = evidence.save(Conversation(), tmp_path / "a", "what happened")
    written(tmp_path / "a", judged("fail", "a Close is due", evidence=shown))
    written(tmp_path / "b", judged("pass"))
    first, second = ("b", "a") if turned else ("a", "b")

    assert invoke(["diff", str(tmp_path / first), str(tmp_path / second / "results.jsonl")]) == int(turned)
    text = capsys.readouterr().out

    assert ("For the worse" if turned else "For the better") in text
    assert "close/x  (MUST)" in text
    assert "fail: a Close is due" in text
    assert str(tmp_path / "a" / shown) in text
    assert (tmp_path / "a" / shown).exists()


def test_programs_are_told_the_same(tmp_path, capsys):
    written(tmp_path / "a", judged("pass"))
    written(tmp_path / "b", judged("fail", "so", evidence="evidence/x.jsonl"))
    assert invoke(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json"]) == 1
    [text] = json.loads(capsys.readouterr().out)
    assert (text["way"], text["requirement"], text["before"], text["after"]) == (
        "for the worse", "close/x", "pass", "fail: so",
    )  # fmt: skip
    assert text["evidence"] == str(tmp_path / "b" / "evidence/x.jsonl")


def test_an_incomplete_side_is_told(tmp_path, capsys):
    written(tmp_path / "a", judged("pass"))
    lines = (tmp_path / "a" / "results.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "results.jsonl").write_text("".join(lines[:-1]).replace('"checks":[]', '"checks":["x"]'))
    assert invoke(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "incomplete: exec:x, 1 checks pending" in capsys.readouterr().out
