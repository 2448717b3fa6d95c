"""What verdicts add up to: the worst that counts, the exit code of a run, and what a level makes of a fault."""

from itertools import chain, combinations

import pytest

from zenoh_conformance.judging import verdict as module
from zenoh_conformance.judging.verdict import Exit, Verdict, exit_code, verdict_for, worst

TABLE = """
verdict        exit strict  properties, the worst verdict first
crash             1      1  judged wrong grave red
zombie            1      1  judged wrong grave stuck red
panic             1      1  judged wrong grave red
hang              1      1  judged wrong grave stuck red
fail              1      1  judged wrong control red
flaky             1      1  judged wrong unsteady red
slow              0      1  judged right unsteady minor
error             3      3  ours
known             0      0  judged wrong
warn              0      1  judged wrong control minor
pass              0      0  judged right control quiet
unimplemented     4      4  nothing quiet
not-applicable    4      4  nothing quiet
not-observed      4      4  nothing control quiet
"""
PROPERTIES = {
    "nothing": "says_nothing",
    "control": "needs_control",
    **{
        word: f"is_{word}"
        for word in ["ours", "judged", "right", "wrong", "grave", "stuck", "unsteady", "minor", "quiet"]
    },
}
ROWS = {row.split()[0]: row.split()[1:] for row in TABLE.strip().splitlines()[1:]}
WORST_FIRST = tuple(ROWS)
ALONE = {name: (int(code), int(strict)) for name, (code, strict, *_) in ROWS.items()}
"""The exit code of a run that came to one verdict, and with --strict."""

OF_SEVERAL = (3, 1, 0, 4)
"""Which of several exit codes a run has: the first of these that one of its verdicts has alone."""

EVERY_SET = list(chain.from_iterable(combinations(ALONE, size) for size in range(1, len(ALONE) + 1)))

LEVELS = {
    "MUST": "fail",
    "MUST NOT": "fail",
    "LAYOUT": "fail",
    "SHOULD": "warn",
    "SHOULD NOT": "warn",
    "MAY": "warn",
}


def code(*names, **how):
    return int(exit_code(map(Verdict, names), **how))


def test_the_table_names_every_verdict_in_its_order_and_every_property():
    assert tuple(verdict.value for verdict in module.WORST_FIRST) == WORST_FIRST
    assert {verdict.severity for verdict in Verdict} == set(range(1, len(WORST_FIRST) + 1))
    assert {name for name, member in vars(Verdict).items() if isinstance(member, property)} == {*PROPERTIES.values()}


@pytest.mark.parametrize("name", ROWS)
def test_the_properties_of_a_verdict(name):
    verdict, (_, strict, *words) = Verdict(name), ROWS[name]
    assert {word for word, asked in PROPERTIES.items() if getattr(verdict, asked)} == {*words} - {"red"}
    assert (verdict.is_red(), verdict.is_red(strict=True)) == ("red" in words, strict == "1")
    assert verdict.value == name and verdict.meaning.endswith(".")


@pytest.mark.parametrize("name", ALONE)
def test_one_verdict_alone(name):
    assert (code(name), code(name, strict=True)) == ALONE[name]


def test_every_combination_of_verdicts():
    for strict in (False, True):
        for names in EVERY_SET:
            due = min((ALONE[name][strict] for name in names), key=OF_SEVERAL.index)
            assert code(*names, strict=strict) == due, (names, strict)


@pytest.mark.parametrize(
    ("names", "strict", "due"),
    [
        (("fail", "error"), False, 3),
        (("crash", "error"), False, 3),
        (("fail", "not-observed"), False, 1),
        (("error", "not-observed"), False, 3),
        (("pass", "not-observed"), False, 0),
        (("warn", "unimplemented"), True, 1),
        (("slow", "error"), True, 3),
    ],
)
def test_some_combinations_spelled_out(names, strict, due):
    assert code(*names, strict=strict) == code(*reversed(names), strict=strict) == due


def test_an_interrupted_run_could_not_go_on_whatever_it_saw():
    for names in [(), *EVERY_SET]:
        assert code(*names, interrupted=True) == 3, names


def test_a_run_without_verdicts_judged_nothing():
    assert code() == code(strict=True) == 4


def test_the_numbers_of_the_exit_codes():
    assert [int(each) for each in Exit] == [0, 1, 2, 3, 4]
    assert (Exit.CONFORMING, Exit.USAGE, Exit.CANNOT_GO_ON, Exit.NOTHING_JUDGED) == (0, 2, 3, 4)


def test_of_each_two_the_worse_counts_in_either_order():
    for worse, better in combinations(map(Verdict, WORST_FIRST), 2):
        assert worst([worse, better]) is worst([better, worse]) is worse, (worse, better)
        assert worse.severity > better.severity


@pytest.mark.parametrize("name", WORST_FIRST)
def test_several_alike_stay_what_they_are(name):
    assert worst([Verdict(name)] * 3) is Verdict(name)


def test_the_worst_of_nothing_is_not_observed():
    assert worst([]) is Verdict.NOT_OBSERVED


@pytest.mark.parametrize("level", LEVELS)
def test_what_a_level_makes_of_a_fault(level):
    assert verdict_for(level) is Verdict(LEVELS[level])
