"""A link that ends because we were silent for our lease has not ended because of our CLOSE."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import Parameters, all_cases
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke
from zenoh_harness.reference import Habits, Reference

SLOW = Habits(answers_after=1.5)
"""Of a node for whose answers we wait longer than a lease."""


def slow(name: str = "") -> type[Reference]:
    """A faulty node, or the reference, whose every answer is late."""
    of = all_faulty_nodes()[name].node if name else Reference
    return type(of.__name__, (of,), {"habits": SLOW})


ENDS_ALL = "close-scope/close-of-a-session-ends-all-its-links"
AFTER_CLOSE = "establishment-states/close-ends-the-link-in-every-state"
IN_A_SESSION: Parameters = {"state": "live", "reason": 0, "session": True}


@pytest.mark.parametrize("on", [0, 1])
def test_the_other_link_of_a_session_is_kept_alive_while_its_end_is_awaited(on: int) -> None:
    [found] = provoke(all_cases()[ENDS_ALL], {"on": on}, slow("closes-one-link-of-a-session"))[0]

    assert found.reached
    assert found.got == "a link that stays open"


def test_an_idle_session_that_ends_early_is_not_waited_for() -> None:
    """KEEP_ALIVE was said without a pause on a link that was gone, for as long as the wait lasted."""
    node = all_faulty_nodes()["lets-a-session-expire-with-a-lease-of-3600-s"].node
    [found], scene = provoke(all_cases()["settled-terms/an-idle-session-gets-keep-alives"], {}, node)

    assert not found.reached
    assert len(scene.conversation.events) < 100


def test_an_end_by_our_silence_is_not_the_one_after_close() -> None:
    [found] = provoke(all_cases()[AFTER_CLOSE], IN_A_SESSION, slow("stays-open-after-close"))[0]

    assert not found.reached


@pytest.mark.parametrize(
    ("case", "values"), [(ENDS_ALL, {"on": 0}), (ENDS_ALL, {"on": 1}), (AFTER_CLOSE, IN_A_SESSION)]
)
def test_nothing_deviates_on_a_slow_node_that_closes(case: str, values: Parameters) -> None:
    assert provoke(all_cases()[case], values, slow())[0] == []
