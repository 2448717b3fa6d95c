"""Case by faulty node: the reference passes everything, every faulty node is caught by what it names, every other red is explained."""

from __future__ import annotations

import faulty_nodes
import pytest
from faulty_nodes import BY_RULE, SEVERAL, uncaught
from on_the_reference import OnReference

from zenoh_conformance.cases.case import CONNECTS, TOLD, Case, Parameters, all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.reading.connection import Nature
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import provoke, reds, row, runs_in_memory
from zenoh_harness.reference import Reference

pytestmark = pytest.mark.spread

DERIVED = (TOLD, CONNECTS)
"""How the ids of the cases end that are forms of others."""


def test_nothing_is_red_on_the_reference(on_the_reference: OnReference) -> None:
    assert on_the_reference.red == {}


COSTLY = [(case, values) for case in all_cases().values() if runs_in_memory(case) for values in case.nightly]


@pytest.mark.soak
@pytest.mark.parametrize(("case", "values"), COSTLY, ids=lambda one: getattr(one, "id", str(one)))
def test_nothing_that_only_a_night_has_is_red_on_the_reference(case: Case, values: Parameters) -> None:
    findings, _ = provoke(case, values, Reference)

    assert findings == []


@pytest.mark.parametrize("name", SEVERAL)
def test_a_faulty_node_is_caught(name: str) -> None:
    assert uncaught(all_faulty_nodes()[name]) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", BY_RULE)
def test_a_faulty_node_by_rule_is_caught(name: str) -> None:
    """Each field, in each way and circumstance; the short twin takes one for each law."""
    assert uncaught(BY_RULE[name]) == []


def test_what_shows_at_night_alone_is_caught_by_values_of_its_own() -> None:
    """By day nothing is red on it."""
    one = all_faulty_nodes()["turns-round-what-finds-no-room"]

    assert reds(one.node, [all_cases()[check] for check in one.caught_by], whole=one.caught_by) == {}
    assert uncaught(one) == []


def test_the_flood_itself_catches_who_turns_it_round_and_nobody_else() -> None:
    """32 MiB, which take a second or two in memory."""
    [check] = all_faulty_nodes()["turns-round-what-finds-no-room"].caught_by
    case, [night] = all_cases()[check], all_cases()[check].nightly

    assert provoke(case, night, all_faulty_nodes()["turns-round-what-finds-no-room"].node)[0] != []
    assert provoke(case, night, Reference)[0] == []


def test_values_of_its_own_are_such_as_a_night_has() -> None:
    cases = all_cases()

    for one in all_faulty_nodes().values():
        for values in one.values:
            nights = [night for check in one.caught_by for night in cases[check].nightly]
            assert values.keys() in [night.keys() for night in nights], one.name


def test_one_that_nothing_catches_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it names or by anything else: a few families stand for all."""
    few = {ident: case for ident, case in all_cases().items() if ident.startswith(("close-", "establishment-cookie/"))}
    monkeypatch.setattr(faulty_nodes, "all_cases", lambda: few)
    right = FaultyNode(
        "right", Reference, ("close-scope/close-of-a-session-ends-all-its-links", "law/cookie-echo"), "", {}
    )

    assert uncaught(right) == ["close-scope/close-of-a-session-ends-all-its-links", "law/cookie-echo"]


@pytest.mark.soak
@pytest.mark.parametrize("name", SEVERAL)
def test_a_faulty_node_is_caught_and_every_other_red_explained(name: str) -> None:
    """Each of its reds; the short twin looks only for those that should catch it."""
    found = row(all_faulty_nodes()[name])

    assert found.missed == []
    assert found.unexplained == []
    assert found.stale == []


def test_every_case_and_every_law_has_a_faulty_node() -> None:
    caught = {check for faulty_node in all_faulty_nodes().values() for check in faulty_node.caught_by}

    own = {case: found for case, found in all_cases().items() if not case.endswith(DERIVED)}
    assert [case for case, found in own.items() if runs_in_memory(found) and case not in caught] == []
    # Beyond unicast no node of ours speaks: changed recordings violate those laws (test_datagram_audit.py).
    assert [name for name, law in all_laws().items() if Nature.UNICAST in law.natures and name not in caught] == []


@pytest.mark.parametrize("case", [case for case in all_cases() if case.endswith(DERIVED)])
def test_a_form_of_a_case_is_red_on_a_faulty_node_of_it(case: str) -> None:
    own = case.removesuffix(TOLD).removesuffix(CONNECTS)
    nodes = [one.node for one in all_faulty_nodes().values() if own in one.caught_by]

    assert any(case in reds(node, [all_cases()[case]], whole={case}) for node in nodes)


def test_every_faulty_node_names_checks_that_exist() -> None:
    known = {*all_cases(), *all_laws()}

    assert [
        (name, check) for name, found in all_faulty_nodes().items() for check in found.caught_by if check not in known
    ] == []


def test_every_twin_is_a_case_of_the_same_role() -> None:
    cases = all_cases()

    for case in cases.values():
        if case.control is not None:
            assert cases[case.control].role is case.role, case.id


def test_the_same_conversation_comes_again() -> None:
    for case in list(all_cases().values())[:10]:
        if runs_in_memory(case):
            first, second = (provoke(case, case.parameters[0], Reference)[1].conversation for _ in range(2))
            assert first.events == second.events
