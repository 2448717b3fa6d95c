"""What results tell besides verdicts: when the run began, and how the target was found before and after what is red."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console
from run_fakes import World

from zenoh_conformance.judging.verdict import Verdict, exit_code
from zenoh_harness.files import results
from zenoh_harness.run.report.summary import as_json, shares_of, show, tell_exit


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_the_header_tells_when_the_run_began(world):
    world.case("a")
    before = results.now()
    world.run()
    assert before <= results.read(world.out).header.date <= results.now()


def test_what_is_red_tells_how_the_target_was_found_before_and_after(world):
    world.case("bad", lambda times, world: "no cookie")
    world.case("killer", world.kills(Verdict.ZOMBIE))
    told = {one.key.check: one.details.get("health") for one in world.run().judgements}
    assert told["fake/bad"] == {"before": "works", "after": "works"}
    assert told["fake/killer"] == {"before": "works", "after": "zombie: seen zombie"}
    assert told["target/stays-up"] is None


def test_the_summary_states_the_share_of_what_applies_and_what_would_help(world):
    world.case("a")
    world.case("b", lambda times, world: "no cookie")
    ran = world.run()
    out = Console(file=io.StringIO(), width=400)
    show(ran, out)
    shares = shares_of(ran.judgements, ran.header.role)
    text = out.file.getvalue()
    assert f"\nJudged: {shares.sentence}\nMore can be judged with {shares.more_sentence}\n" in text
    assert shares.behaviour.judged >= 1
    assert as_json(ran)["shares"] == shares.as_json()


@pytest.mark.parametrize(("count", "says"), [(0, ""), (1, "1 check needs it"), (2, "2 checks need it")])
def test_the_summary_suggests_a_role_where_checks_need_one(world, count, says):
    world.case("a")
    ran = world.run()
    cause = "not reached: the role: none where a role that the target string states (?role=) is required"
    silent = replace(ran.judgements[0], verdict=Verdict.NOT_OBSERVED, cause=cause)
    more = (replace(silent, key=replace(silent.key, check=f"fake/role-{number}")) for number in range(count))
    out = Console(file=io.StringIO(), width=400)
    show(replace(ran, judgements=(*ran.judgements, *more)), out)
    text = out.file.getvalue()
    assert ("Add ?role=router, peer or client to the target string" in text) is bool(count)
    assert says in text


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        (["pass"], "conforms in everything that was judged\n"),
        (["pass", "warn"], "judged, but for warnings\n"),
        (["known"], "judged, but for what is listed\n"),
        (["known", "warn"], "judged, but for what is listed and warnings\n"),
        (["fail", "warn"], "deviates from the specification\n"),
    ],
)
def test_the_last_line_names_what_is_not_as_required(verdicts, says):
    out = Console(file=io.StringIO(), width=200)
    judgements = [SimpleNamespace(verdict=Verdict(each)) for each in verdicts]
    tell_exit(SimpleNamespace(judgements=judgements, exit=exit_code(one.verdict for one in judgements)), out)
    assert out.file.getvalue().endswith(says)
