"""Shares: what applies to a target, what of it was judged, and what would make more judgeable."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import roles_by_requirement
from zenoh_conformance.judging.shares import LACKS, Share, Shares, Why, shares, why_unjudged
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements

ALL = requirements()
OPEN = [one for one in ALL.values() if not one.owed and not one.unobservable]
BEHAVIOUR = [one for one in OPEN if not one.by_codec]
LAYOUT = [one for one in OPEN if one.by_codec]
OF_INITIATOR = next(one.id for one in BEHAVIOUR if one.binds == "initiator")
OF_BOTH = next(one.id for one in BEHAVIOUR if one.binds == "both")


def judged(requirement: str, verdict: Verdict = Verdict.PASS, cause: str = "", role: str = "responder") -> Judgement:
    key = Key(
        target="t", version="1", role=role, profile="default", link="tcp", requirement=requirement, check=f"x/{role}"
    )
    return Judgement(key=key, level="MUST", verdict=verdict, cause=cause)


def test_a_node_of_which_all_is_judged_has_all_of_its_behaviour_and_no_layout_is_owed():
    found = shares([judged(one.id) for one in BEHAVIOUR], "responder+initiator")
    assert found.behaviour == Share(len(BEHAVIOUR), len(BEHAVIOUR))
    assert found.behaviour.percent == "100 %"
    assert found.layout == Share(0, 0)
    assert found.more == {"its codec as a target of its own": len(LAYOUT)}


def test_what_a_node_shows_of_layout_counts_as_layout():
    found = shares([judged(LAYOUT[0].id), judged(LAYOUT[1].id, Verdict.NOT_OBSERVED)], "responder")
    assert found.layout == Share(1, 2)


def test_no_behaviour_applies_to_a_codec():
    found = shares([judged(one.id, role="codec") for one in LAYOUT[1:]], "codec")
    assert (found.main, found.behaviour) == (Share(len(LAYOUT) - 1, len(LAYOUT)), Share())
    assert found.more["a node with this codec as a target"] == len(BEHAVIOUR)
    assert found.more["the checks that this run left out"] == 1
    assert "behaviour" not in found.sentence


def test_all_but_one_is_not_a_hundred_percent():
    assert Share(999, 1000).percent == "99 %"
    assert str(Share(1, 2)) == "1 of 2 (50 %)"
    assert str(Share()) == "0 of 0"


@pytest.mark.parametrize(
    ("capabilities", "more", "applies"),
    [
        ("routing, several-sessions", "routing between its sessions", False),
        ("agent.get", "an agent", True),
        ("several-links", "a second link", False),
        ("compression", "", False),
    ],
)
def test_what_is_missing_is_named_and_applies_only_if_the_target_is_not_what_lacks_it(capabilities, more, applies):
    without = shares([], "responder+initiator")
    found = shares([judged(OF_BOTH, Verdict.NOT_APPLICABLE, LACKS + capabilities)], "responder+initiator")
    assert found.behaviour.applies == without.behaviour.applies - (not applies)
    assert set(found.more) - set(without.more) == ({more} if more else set())


def test_a_role_that_was_not_played_does_not_apply_and_is_named():
    found = shares([judged(OF_BOTH)], "responder")
    assert found.more["the role initiator"] == sum(one.binds == "initiator" for one in BEHAVIOUR)
    roles = roles_by_requirement()
    only = next(one.id for one in BEHAVIOUR if roles.get(one.id) == {"initiator"} and one.binds != "initiator")
    assert why_unjudged(ALL[only], [], {"responder"}) is Why.NOT_RUN
    assert why_unjudged(ALL[only], [], {"responder"}, roles[only]) is Why.OTHER_ROLE
    assert shares([], "responder", roles).more["the role initiator"] > found.more["the role initiator"]


def test_an_error_of_the_harness_is_not_judged_and_applies():
    broken = judged(OF_BOTH, Verdict.ERROR)
    assert why_unjudged(ALL[OF_BOTH], [broken], {"responder"}) is Why.ERROR
    assert shares([broken], "responder").behaviour == Share(0, shares([], "responder").behaviour.applies)
    assert why_unjudged(ALL[OF_BOTH], [broken, judged(OF_BOTH)], {"responder"}) is None


def test_what_no_page_says_is_behaviour():
    before = shares([], "responder").behaviour.applies
    assert shares([judged("target/stays-up")], "responder").behaviour == Share(1, before + 1)


def test_sentences():
    found = Shares(Share(154, 156), Share(22, 22), {"an agent": 4, "a second link": 1})
    assert (
        found.sentence == "154 of 156 (98 %) of the behaviour that applies, 22 of 22 (100 %) of the layout that applies"
    )
    assert found.more_sentence == "an agent: 4 requirements, a second link: 1"
    assert (Shares().sentence, Shares().more_sentence) == ("nothing applies", "")
    assert Shares(more={"an agent": 1}).more_sentence == "an agent: 1 requirement"
    assert found.as_json()["behaviour"] == {"judged": 154, "applies": 156}
