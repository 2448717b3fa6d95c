"""Learning the automaton of a query: of the reference it is the table, of a faulty router it shows where it deviates."""

from __future__ import annotations

import pytest
from faulty_nodes import find_faulty_node
from joined_routers import Joined

from zenoh_conformance.tables.query import QUERY, START, QueryInput
from zenoh_harness.probing.learning import queries
from zenoh_harness.probing.learning.automaton import Mealy, first_divergence
from zenoh_harness.probing.learning.learner import learn_system
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene


def table_machine() -> Mealy:
    """Return the query table as an automaton."""
    number = {phase: at for at, phase in enumerate(sorted(QUERY, key=lambda phase: phase is not START))}
    steps = {
        (number[phase], says.value): (output, number[there])
        for phase, row in QUERY.items()
        for says, (output, there) in row.items()
    }
    return Mealy(queries.SYMBOLS, steps)


def learned(node: type[Reference]) -> Mealy:
    """Its automaton."""
    return learn_system(
        queries.query_system(lambda: MemoryScene("query/query-complete-on-finals", node)), queries.SYMBOLS
    )[0]


def test_the_table_is_total() -> None:
    assert all(set(row) == set(QueryInput) for row in QUERY.values())
    assert {there for row in QUERY.values() for _, there in row.values()} == set(QUERY)


@pytest.mark.parametrize("node", [Reference, pytest.param(Joined, marks=pytest.mark.soak)])
def test_the_reference_is_the_table(node: type[Reference]) -> None:
    machine = learned(node)

    assert queries.deviations(machine) == []
    assert first_divergence(machine, table_machine()) is None
    assert sorted(queries.names(machine).values()) == sorted(phase.value for phase in QUERY)


@pytest.mark.parametrize(
    ("name", "word", "one"),
    [
        ("asks-who-has-left-off", ("Declare", "Undeclare", "Request"), "Request"),
        pytest.param(
            "ends-twice", ("Declare", "Request", "Final"), "ResponseFinal ResponseFinal", marks=pytest.mark.soak
        ),
        ("loses-errors", ("Declare", "Request", "Error"), "nothing"),
        pytest.param("answers-errors-with-values", ("Declare", "Request", "Error"), "Response", marks=pytest.mark.soak),
        pytest.param(
            "takes-answers-after-the-final",
            ("Declare", "Request", "Final", "Response"),
            "Response",
            marks=pytest.mark.soak,
        ),
        ("asks-nobody-where-none-is-complete", ("Declare", "Request"), "ResponseFinal"),
    ],
)
def test_a_faulty_router_is_told_by_the_shortest_conversation(name: str, word: tuple[str, ...], one: str) -> None:
    found = queries.deviations(learned(find_faulty_node(name).node))

    assert (found[0].word, found[0].one) == (word, one)
