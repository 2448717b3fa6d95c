"""The models of the handshake in memory: green on the reference, red on wrong nodes, and the same again for the same seed."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from zenoh_conformance.case import all_cases
from zenoh_conformance.conversation import Side
from zenoh_conformance.finding import Deviation
from zenoh_conformance.law import all_laws
from zenoh_conformance.models import closing, establishment, initiation
from zenoh_harness.faulty import find_faulty_node
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene

STEPS = 8


def explored(model: ModuleType, node: type[Reference], *, seed: int, examples: int) -> str | None:
    """What the model finds on a node, the cause of the first run that deviates; None when it finds nothing."""
    side = getattr(model, "ROLE", Side.RESPONDER)
    profile = getattr(model, "PROFILE", "default")
    machine = model.machine(lambda: MemoryScene(model.REQUIREMENT, node, role=side, profile=profile))
    how = settings(
        max_examples=examples, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(machine), settings=how)
    except Deviation as deviation:
        return deviation.finding.cause
    return None


@pytest.mark.parametrize("model", [establishment, initiation, closing])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_on_the_reference(model: ModuleType, seed: int) -> None:
    assert explored(model, Reference, seed=seed, examples=15) is None


PLANTED = {
    establishment: (
        "answers-nothing", "believes-any-cookie", "takes-cookies-of-other-links",
        "stays-open-after-close", "raises-the-resolution", "takes-no-sixteen-byte-zid",
        "insists-on-a-size", "fails-at-the-edge-of-its-numbers", "hangs-on-long-leases", "reads-one-segment-at-a-time",
         "calls-malformed-unsupported", "calls-a-version-invalid", "talks-to-itself",
        "is-another-on-every-link", "shakes-hands-in-a-session", "counts-keep-alives-as-frames", "never-forgets-a-node",
        "refuses-both-of-two", "never-lets-a-session-expire", "is-kept-alive-by-frames-only", "is-in-a-hurry", "routes-before-open",
        "answers-half-a-proposal", "takes-an-early-open-for-granted", "answers-empty-batches",
    ),
    initiation: (
        "initiator-waits-for-the-right-answer", "initiator-trims-the-cookie", "initiator-takes-a-raised-resolution",
        "initiator-does-not-hear-close", "believes-its-own-answer", "uses-what-it-did-not-offer", "goes-deaf-on-an-odd-open-ack",
        "initiator-refuses-what-it-does-not-know", "initiator-takes-short-leases-only", "follows-routers-only",
        "follows-long-zids-only",
    ),
    closing: ("takes-no-second-link", "closes-one-link-of-a-session", "closes-every-link-for-one"),
}  # fmt: skip
"""Faults that each model was shown."""


@pytest.mark.parametrize(("model", "wrong"), [(model, wrong) for model, names in PLANTED.items() for wrong in names])
def test_a_planted_fault_is_found(model: ModuleType, wrong: str) -> None:
    assert explored(model, find_faulty_node(wrong).node, seed=0, examples=1000) is not None


@pytest.mark.parametrize("model", PLANTED)
def test_what_a_model_says_that_it_judges_it_was_shown(model: ModuleType) -> None:
    judges = {name: case.requirement for name, case in all_cases().items()}
    judges |= {name: law.requirement for name, law in all_laws().items()}
    shown = {judges[check] for wrong in PLANTED[model] for check in find_faulty_node(wrong).caught_by}

    assert set(model.ALSO) <= shown


def test_the_same_seed_finds_the_same() -> None:
    node = find_faulty_node("compares-half-a-cookie").node

    first, second = (explored(establishment, node, seed=7, examples=1000) for _ in range(2))

    assert first is not None
    assert first == second
