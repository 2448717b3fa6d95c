"""What one look at a node misses is looked for again, before it is a verdict."""

import pytest
import run_fakes
from run_fakes import World

from zenoh_harness.probing.probe import ProbeFacts


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def seen_from(world, monkeypatch, *, first):
    """A probe that sees what the target shows from that look on; the looks that it took."""
    looks = []

    def look(node):
        looks.append(node)
        return ProbeFacts(node.profile.name, capabilities=set(node.target.shows) if len(looks) >= first else set())

    monkeypatch.setattr(run_fakes, "look", look)
    return looks


@pytest.mark.parametrize("need", ["qos", "patch"])
def test_one_missed_look_is_no_verdict(world, monkeypatch, need):
    """Neither a fail, for what it claims, nor not applicable, for what it does not."""
    world.target.claims, world.target.shows = frozenset({"qos"}), {"qos", "patch"}
    looks = seen_from(world, monkeypatch, first=2)
    world.case("with", needs=(need,))
    assert world.verdicts()[("fake/with",)] == "pass"
    assert len(looks) == 2


def test_what_no_case_needs_is_looked_for_once(world, monkeypatch):
    looks = seen_from(world, monkeypatch, first=1)
    world.target.shows = {"qos"}
    world.case("with", needs=("qos",))
    assert world.verdicts()[("fake/with",)] == "pass"
    assert len(looks) == 1
