"""Where time is short: what comes first, what is left out by name, and how a time is written."""

from math import inf

import pytest
from run_fakes import World

from zenoh_conformance.cases.case import grid
from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.run.plan.allowance import Allowance, in_rounds, seconds_of
from zenoh_harness.run.plan.plan import Item


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5m", 90), ("1h", 3600), ("none", inf)]
)
def test_a_time_as_it_is_written(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "ten", "10d", "m"])
def test_what_is_no_time(text):
    with pytest.raises(UsageError, match="is no time"):
        seconds_of(text)


def test_every_beginning_has_some_of_each_case(tmp_path):
    world = World(tmp_path)
    for name, count in (("a", 9), ("b", 1), ("c", 3)):
        world.case(name, parameters=grid(n=range(count)))
    items = [Item(case, parameters) for case in world.cases for parameters in case.parameters]
    rounds = [f"{item.case.id[-1]}{item.parameters['n']}" for item in in_rounds(items)]
    assert rounds == ["a0", "b0", "c0", "a8", "c2", "a4", "c1", "a2", "a6", "a1", "a3", "a5", "a7"]


@pytest.mark.parametrize("side", list(Side))
def test_what_there_is_no_time_for_is_left_out_by_name(tmp_path, side):
    world = World(tmp_path, side=side)
    world.case("some", parameters=grid(n=range(5)))
    world.case("alone", alone=True)
    ran = world.run(allowance=Allowance.of(0))
    told = {one.key.check: (one.verdict.value, one.cause) for one in ran.judgements}
    assert told["fake/some"] == told["fake/alone"] == ("not-observed", "left out: the budget of 0 s was over")
    assert told["target/stays-up"][0] == "pass"
    assert not world.ran
    assert not ran.footer.pending
    assert ran.exit is Exit.CONFORMING


def test_a_share_is_of_what_is_left():
    half = Allowance.of(600).share(0.5)
    assert 250 < half.left <= 300
    assert str(half) == "10 min"
    assert Allowance().share(0.1).left == inf
