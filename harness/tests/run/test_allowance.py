"""Where time is short: what comes first, what is left out by name, and how a time is written."""

from math import inf

import pytest
from run_fakes import World

from zenoh_conformance.cases.case import grid
from zenoh_conformance.judging.finding import KEPT_WAITING
from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.run import profile
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


def test_an_allowance_that_is_cut_ends_then_and_says_why():
    allowance = Allowance.of(60)
    allowance.cut(allowance.until + 1, "later")
    assert allowance.is_over_because == "the budget of 1 min was over"
    allowance.cut(0.0, "nothing works")
    assert allowance.over()
    assert allowance.is_over_because == "nothing works"
    assert not allowance.share(1.0).left


@pytest.mark.parametrize(
    ("depth", "why", "late"),
    [
        ("quick", "odd", "not-observed"),
        ("quick", f"not reached: {KEPT_WAITING}", "pass"),
        ("full", "odd", "pass"),
        ("quick", None, "pass"),
    ],
)
def test_a_quick_run_ends_soon_after_a_plain_session_failed(depth, why, late, tmp_path, monkeypatch):
    """Unless the machine was busy."""
    monkeypatch.setattr(profile, "IN_VAIN", 0.0)
    monkeypatch.setattr(profile, "BASIC", dict.fromkeys(Side, ("fake/basic",)))
    world = World(tmp_path)
    world.case("basic", lambda _times, _world: why)
    world.case("late", alone=True)
    told = {one.key.check: one for one in world.run(depth=depth).judgements}
    assert told["fake/late"].verdict.value == late
    assert late == "pass" or told["fake/late"].cause.startswith("left out: fake/basic did not pass")
