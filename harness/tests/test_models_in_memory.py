"""The models of the handshake in memory: green on the reference, red on wrong nodes, and the same again for the same seed."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from zenoh_conformance.conversation import Side
from zenoh_conformance.finding import Departed
from zenoh_conformance.models import establishment, initiation
from zenoh_harness.memory import MemoryScene
from zenoh_harness.reference import Reference
from zenoh_harness.wrong import find_miniature

STEPS = 8


def explored(model: ModuleType, node: type[Reference], *, seed: int, examples: int) -> str | None:
    """What the model finds on a node, the cause of the first run that departs; None when it finds nothing."""
    side = getattr(model, "ROLE", Side.RESPONDER)
    machine = model.machine(lambda: MemoryScene(model.REQUIREMENT, node, role=side))
    how = settings(
        max_examples=examples, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(machine), settings=how)
    except Departed as departed:
        return departed.finding.cause
    return None


@pytest.mark.parametrize("model", [establishment, initiation])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_on_the_reference(model: ModuleType, seed: int) -> None:
    assert explored(model, Reference, seed=seed, examples=15) is None


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (establishment, "answers-nothing"),
        (establishment, "believes-any-cookie"),
        (establishment, "takes-cookies-of-other-links"),
        (establishment, "opens-without-init"),
        (establishment, "answers-a-second-init"),
        (establishment, "stays-open-after-close"),
        (establishment, "skips-mandatory-extensions"),
        (establishment, "raises-the-resolution"),
        (initiation, "initiator-waits-for-the-right-answer"),
        (initiation, "initiator-trims-the-cookie"),
        (initiation, "initiator-takes-a-raised-resolution"),
        (initiation, "initiator-does-not-hear-close"),
    ],
)
def test_a_planted_fault_is_found(model: ModuleType, wrong: str) -> None:
    assert explored(model, find_miniature(wrong).node, seed=0, examples=400) is not None


def test_the_same_seed_finds_the_same() -> None:
    node = find_miniature("compares-half-a-cookie").node

    first, second = (explored(establishment, node, seed=7, examples=200) for _ in range(2))

    assert first is not None
    assert first == second
