"""What was red is red again as a script, on the node that it was recorded of, and never on the healthy one."""

from __future__ import annotations

import pytest
from faulty_nodes import SEVERAL

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.reading.connection import Nature
from zenoh_harness.cli import invoke
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.scripting.convicting import Convicts, Says, convictions, counts_of

SHARE = 0.95
"""Of all scripts, those that tell the faulty node from the healthy one."""


NODES, CASES, ALL_LAWS = all_faulty_nodes(), all_cases(), all_laws()


def is_on_links(name: str) -> bool:
    """Whether something that shows the fault is said on a link: what is said to a group is no script."""
    checks, laws = NODES[name].caught_by, ALL_LAWS
    natures = (laws[one].natures for one in checks if one in laws)
    return any(Nature.UNICAST in each for each in natures) or any(
        not CASES[one].profile.startswith("multicast") for one in checks if one not in laws
    )


SPOKEN_TO = list(filter(is_on_links, SEVERAL))
SOME = sorted({
    *SPOKEN_TO[::144], "cuts-its-open", "issues-no-cookie", "accepts-any-cookie-with-s-0-in-initsyn",
    "takes-answers-after-the-final",
})  # fmt: skip
"""Those that stand for all among the short tests."""


def not_as_they_should(found: list[Convicts]) -> list[Convicts]:
    return [one for one in found if not one.holds]


def accused(found: list[Convicts]) -> list[Convicts]:
    return [one for one in found if one.healthy is Says.RED]


def test_of_some_scripts_nineteen_in_twenty_convict_and_none_accuses_the_healthy_one() -> None:
    found = [one for name in SOME for one in convictions(all_faulty_nodes()[name])]
    assert {one.node for one in found} == set(SOME)
    assert accused(found) == []
    assert len(not_as_they_should(found)) <= len(found) * (1 - SHARE), counts_of(found)


@pytest.mark.soak
def test_of_all_scripts_nineteen_in_twenty_convict_and_none_accuses_the_healthy_one() -> None:
    found = [one for name in SPOKEN_TO for one in convictions(all_faulty_nodes()[name])]
    assert {one.node for one in found} == set(SPOKEN_TO)
    assert accused(found) == []
    assert len(not_as_they_should(found)) <= len(found) * (1 - SHARE), counts_of(found)


def test_the_verb_tells_how_many_convict(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["faulty", "believes-any-cookie", "--scripts"]) == 0
    assert "red on the faulty node, green on the reference" in capsys.readouterr().out
