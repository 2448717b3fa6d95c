"""Vectors of JOIN and SCOUT, said to the groups of nodes in memory."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.in_groups import group_of
from zenoh_harness.run.vectors.play import Player


def answers_of(node, profile):
    """The answers of a router for the vectors that are said to groups, by their ids."""
    player = Player(
        lambda number: nullcontext(MemoryScene("", node, profile=profile, seed=number)),
        routes=True,
        profile=PROFILES[profile],
    )
    return {vector.id: answer for vector, answer in player.play([one for one in golden() if group_of(one)])}


def reds(answers):
    """The ids of what is red."""
    return {ident for ident, answer in answers.items() if answer.verdict.is_wrong}


@pytest.fixture(scope="module")
def answers():
    return {profile: answers_of(Reference, profile) for profile in ("multicast", "multicast-qos")}


def test_the_reference_is_red_on_none_and_judged_on_most(answers):
    assert [reds(each) for each in answers.values()] == [set(), set()]
    passed = [sum(one.verdict is Verdict.PASS for one in each.values()) for each in answers.values()]
    assert passed[0] > 150
    assert passed[1] > 60


def test_a_join_with_qos_is_judged_only_where_the_node_has_qos(answers):
    plain, with_qos = (answers[profile]["join/ext-qos-alone"] for profile in answers)
    assert (plain.verdict, with_qos.verdict) == (Verdict.NOT_OBSERVED, Verdict.PASS)


def test_a_node_in_no_group_is_told_nothing():
    assert {answer.verdict for answer in answers_of(Reference, DEFAULT).values()} == {Verdict.NOT_OBSERVED}


def test_a_node_that_answers_what_is_no_scout_is_found():
    class AnswersEverything(Reference):
        def on_scouting(self, origin, datagram):
            return [Action(origin, self.encoded(self.hello()))]

    found = reds(answers_of(AnswersEverything, "multicast"))
    assert {"scout/zid-zero", "scout/full-cut-inside-zid", "scouting-ids/unassigned-id-03"} <= found
    assert "scout/version-8" not in found, "a case judges that"


def test_a_node_that_answers_some_scouts_only_is_found():
    class AnswersTheNameless(Reference):
        def answers_scout(self, scout):
            return scout.zid is None and super().answers_scout(scout)

    found = reds(answers_of(AnswersTheNameless, "multicast"))
    assert "scout/what-7-with-zid" in found
    assert "scout/what-7" not in found


def test_a_node_that_takes_frames_without_a_join_is_found():
    class TakesEverybody(Reference):
        def on_datagram(self, origin, datagram, now):
            self.members.setdefault(origin, self.stranger(origin))
            return super().on_datagram(origin, datagram, now)

        def is_offline(self, member):
            return False

        def accepts_sn(self, link, message):
            return link.name in self.members or super().accepts_sn(link, message)

    assert "join/zid-zero" in reds(answers_of(TakesEverybody, "multicast"))


def test_a_node_whose_group_does_not_work_is_judged_on_none():
    class Deaf(Reference):
        def on_datagram(self, origin, datagram, now):
            return []

    answers = {ident: one for ident, one in answers_of(Deaf, "multicast").items() if ident.startswith("join/")}
    assert {one.verdict for one in answers.values()} == {Verdict.NOT_OBSERVED}


def test_a_node_that_passes_nothing_on_at_first_is_asked_again(answers):
    class StartsSlowly(Reference):
        deaf_for = 5

        def on_datagram(self, origin, datagram, now):
            StartsSlowly.deaf_for -= 1
            return super().on_datagram(origin, datagram, now) if StartsSlowly.deaf_for < 0 else []

    found = {ident: one.verdict for ident, one in answers_of(StartsSlowly, "multicast").items()}
    assert found == {ident: one.verdict for ident, one in answers["multicast"].items()}


@pytest.mark.needs("multicast")
def test_cases_in_a_group_meet_a_node_that_did_not_leave_it_for_a_vector(tmp_path):
    """A container left the group for a JOIN that cannot be decoded, and each case after it was red."""
    node = Path(__file__).parents[1] / "leaving_node.py"
    groups = "--multicast {multicast} --scouting {scouting}"
    command = f"{sys.executable} {node} --listen {{locator}} --profile {{profile}} {groups}"
    only = ["--only", "multicast/a-late-joiner-*", "--only", "vectors/join/*", "--depth", "quick"]
    assert invoke(["run", f"exec:{command}", *only, "--out", str(tmp_path)]) == 0
