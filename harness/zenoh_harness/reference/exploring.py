"""One model on one node in memory: what its first run finds that deviates."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.loading import import_all
from zenoh_conformance.reading.conversation import Side

from . import Reference
from .configured import CHANGES
from .memory import MemoryScene, able

STEPS: Final = 8
"""The most steps of one run."""


def models() -> Sequence[ModuleType]:
    """Every model, by name."""
    return [module for module in import_all("zenoh_conformance.models") if hasattr(module, "machine")]


def fits(model: ModuleType, node: type[Reference]) -> bool:
    """Whether a node does what a model needs."""
    profile = getattr(model, "PROFILE", "default")
    return profile in CHANGES and set(getattr(model, "NEEDS", ())) <= able(profile, node)


def explored(model: ModuleType, node: type[Reference], *, seed: int, examples: int) -> Finding | None:
    """What a model finds on a node in its first run that deviates; None when it finds nothing, or did not come to its point."""
    from hypothesis import HealthCheck, Phase, Verbosity, settings
    from hypothesis import seed as seeded
    from hypothesis.reporting import with_reporter
    from hypothesis.stateful import run_state_machine_as_test

    side, profile = getattr(model, "ROLE", Side.RESPONDER), getattr(model, "PROFILE", "default")
    machine = model.machine(lambda: MemoryScene(model.REQUIREMENT, node, role=side, profile=profile))
    how = settings(
        max_examples=examples, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(machine), settings=how)
    except Deviation as deviation:
        return deviation.finding if deviation.finding.reached else None
    return None
