"""What results tell besides verdicts: when the run began, and how the target was found before and after what is red."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from run_fakes import World

from zenoh_conformance.verdict import Verdict
from zenoh_harness.files import results


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
