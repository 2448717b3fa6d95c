"""A change is told when both sides stood by it; what was seen once is told with its rate; one row a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.files.results import Header, Results
from zenoh_harness.versions.matrix import Done
from zenoh_harness.versions.steady import Column, asked_again, behaviour, doubtful, standing, telling, wants
from zenoh_harness.versions.table import alike, by_cause, changes_told, document, rows, table, told_unsteady

STAYS = "target/stays-up"
ONE, OTHER = "scripts/one-death", "scripts/another-death"


def judged(
    verdict: str, cause: str = "", *, check: str = "close/one", requirement: str = "close/x", **about: str
) -> Judgement:
    key = Key(
        target="node", version="1", role="responder", profile="default", link="tcp", requirement=requirement, check=check,
    )  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=Verdict(verdict), cause=cause, **about)


def results(*judgements: Judgement) -> Results:
    header = Header(reach="exec:x", name="node", version="1", role="responder", kind="exec")
    return Results(header, judgements=list(judgements))


class Faked(Done):
    """A run that was never done."""

    results = None


def done(version: str, *judgements: Judgement) -> Done:
    found = Faked(f"wheel:{version}", 0, Path("nowhere"), "", 1.0)
    object.__setattr__(found, "results", results(*judgements))
    return found


def asking(answers: dict[str, list[list[Judgement]]]):
    """Answers of targets in turn; and who was asked for what."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    def ask(reach: str, labels: list[str]) -> Results | None:
        asked.append((reach, tuple(labels)))
        return results(*answers[reach].pop(0)) if answers.get(reach) else None

    return ask, asked


RIGHT, WRONG = judged("pass"), judged("fail", "this where that is required")
A, B = "wheel:1.0.0", "wheel:1.1.0"


def columns(before: list[list[Judgement]], after: list[list[Judgement]]) -> list[Column]:
    """Two targets, with what each said at first and later."""
    ask, _ = asking({A: before[1:], B: after[1:]})
    return asked_again([done("1.0.0", *before[0]), done("1.1.0", *after[0])], ask, 2)


def test_what_both_stood_by_is_a_change() -> None:
    found = columns([[RIGHT]] * 3, [[WRONG]] * 3)

    assert any("pass  ->  fail: this" in text for text in changes_told(found))
    assert by_cause(found) == {"close/x": ["pass", "fail"]}
    assert doubtful(found) == []


@pytest.mark.parametrize("after", [[[WRONG], [RIGHT], [RIGHT]], [[WRONG], [WRONG], [RIGHT]]])
def test_what_was_seen_now_and_then_is_told_with_its_rate(after: list[list[Judgement]]) -> None:
    found = columns([[RIGHT]] * 3, after)
    text = "\n".join(told_unsteady(doubtful(found)))

    assert list(changes_told(found)) == []
    assert by_cause(found) == {}
    assert rows(found) == {"close/x": ["pass", "flaky"]}
    assert f"{after.count([WRONG])} of 3: fail: this where that is required" in text
    assert f"{after.count([RIGHT])} of 3: pass" in text
    assert A not in text


def test_who_could_not_be_asked_again_stands_by_nothing() -> None:
    found = columns([[RIGHT]], [[WRONG]])

    assert list(changes_told(found)) == []
    assert [one.said for one in doubtful(found)] == [(("pass", 1),), (("fail: this where that is required", 1),)]


def test_where_nobody_is_asked_again_what_was_seen_counts() -> None:
    ask, asked = asking({})
    found = asked_again([done("1.0.0", RIGHT), done("1.1.0", WRONG)], ask, 0)

    assert asked == []
    assert len(standing(*found)) == 1


def test_only_what_differs_is_asked_again_of_both() -> None:
    other = judged("pass", check="close/two")
    found = [done("1.0.0", RIGHT, other), done("1.1.0", WRONG, other), done("1.2.0", WRONG, other)]
    ask, asked = asking({})

    asked_again(found, ask, 1)

    assert asked == [(A, ("close/one",)), (B, ("close/one",))]


@pytest.mark.parametrize("check", ["law/some", STAYS])
def test_what_only_a_whole_run_tells_is_asked_by_a_whole_run(check: str) -> None:
    pair = [Column(done("1.0.0", judged("pass", check=check))), Column(done("1.1.0", judged("fail", "x", check=check)))]

    assert wants(pair) == {A: [], B: []}


def test_another_reading_another_end_and_another_cause_are_changes() -> None:
    sides = [
        (judged("pass", reading="as written"), judged("pass", reading="as erratum:x")),
        (judged("pass", end="close:2"), judged("pass", end="fin")),
        (judged("fail", "this"), judged("fail", "that")),
    ]
    for before, after in sides:
        found = columns([[before]] * 3, [[after]] * 3)
        assert any(text.startswith("  other  close/x") for text in changes_told(found))


@pytest.mark.parametrize("check", ["known/has-gone", "judged/no-longer"])
def test_a_fault_of_a_list_is_no_change_of_the_target(check: str) -> None:
    both = Column(done("1.0.0", RIGHT)), Column(done("1.1.0", RIGHT, judged("fail", "x", check=check)))
    also = Column(done("1.2.0", WRONG, judged("pass", check=check)))

    assert telling(*both) == []
    assert [change.key.check for change in telling(both[1], also)] == ["close/one"]


def test_whether_by_fin_or_rst_is_no_change() -> None:
    assert behaviour(judged("pass", end="fin")) == behaviour(judged("pass", end="rst")) == "pass (link shut)"
    assert list(changes_told(columns([[judged("pass", end="fin")]] * 3, [[judged("pass", end="rst")]] * 3))) == []


def test_a_changing_end_takes_no_verdict_back() -> None:
    ends = [judged("fail", "this", end=end) for end in ("fin", "close:2", "open")]
    found = columns([[RIGHT]] * 3, [[one] for one in ends])

    assert any("pass  ->  fail: this" in text for text in changes_told(found))


def test_each_cause_has_its_row() -> None:
    def deaths(one: str, other: str) -> tuple[Judgement, Judgement]:
        return tuple(
            judged(verdict, "dies" if verdict == "crash" else "", check=check, requirement=STAYS)
            for check, verdict in ((ONE, one), (OTHER, other))
        )  # type: ignore[return-value]

    found = [
        Column(done(f"1.{at}.0", *deaths(*each)))
        for at, each in enumerate((("crash", "pass"), ("crash", "crash"), ("pass", "crash"), ("pass", "pass")))
    ]

    assert by_cause(found) == {
        f"{STAYS}  {ONE}: dies": ["crash", "crash", "pass", "pass"],
        f"{STAYS}  {OTHER}: dies": ["pass", "crash", "crash", "pass"],
    }


def test_causes_that_come_and_go_together_are_one_row() -> None:
    both = [judged("fail", cause, check=f"close/{cause}") for cause in ("a", "b")]
    found = [Column(done("1.0.0", *both)), Column(done("1.1.0", RIGHT))]

    assert by_cause(found) == {"close/x": ["fail", "pass"]}


def test_versions_that_behave_alike_are_one_column() -> None:
    found = [Column(done(f"1.{at}.0", one)) for at, one in enumerate((RIGHT, RIGHT, WRONG, WRONG, RIGHT))]
    shown = by_cause(found)
    groups = alike(found, shown)
    text = list(table([one.reach for one in found], shown, groups))

    assert groups == [[0, 1], [2, 3], [4]]
    assert text[1:4] == [
        "1  wheel:1.0.0 .. 1.1.0, 2 that behave alike", "2  wheel:1.2.0 .. 1.3.0, 2 that behave alike", "3  wheel:1.4.0",
    ]  # fmt: skip
    assert text[-1] == ".F.  close/x"


def test_another_end_parts_two_columns() -> None:
    ends = [judged("pass", check="close/two", end=end) for end in ("open", "close:1")]
    found = [Column(done(f"1.{at}.0", RIGHT, one)) for at, one in enumerate(ends)]

    assert alike(found, by_cause(found)) == [[0], [1]]


def test_all_of_it_is_in_the_document() -> None:
    text = document(columns([[RIGHT]] * 3, [[WRONG], [RIGHT], [WRONG]]))

    assert text["changes"] == [{"before": A, "after": B, "changes": []}]
    assert text["causes"] == {}
    assert text["unsteady"][0]["said"] == [
        {"text": "fail: this where that is required", "times": 2}, {"text": "pass", "times": 1},
    ]  # fmt: skip
