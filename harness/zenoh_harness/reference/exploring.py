"""Run one model against a reference or faulty node in memory, and return the first deviation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType

from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.kept_waiting import as_seen_in_time
from zenoh_conformance.loading import import_all
from zenoh_conformance.models import STEPS
from zenoh_conformance.reading.conversation import Side

from . import Reference
from .configured import CHANGES
from .memory import MemoryScene, able


def models() -> Sequence[ModuleType]:
    """Return the modules of all models, sorted by name."""
    return [module for module in import_all("zenoh_conformance.models") if hasattr(module, "machine")]


def fits(model: ModuleType, node: type[Reference]) -> bool:
    """Return whether a node has the profile and the capabilities that a model needs."""
    profile = getattr(model, "PROFILE", "default")
    return profile in CHANGES and set(getattr(model, "NEEDS", ())) <= able(profile, node)


def explored(
    model: ModuleType,
    node: type[Reference],
    *,
    seed: int,
    examples: int,
    known: Mapping[str, Collection[str]] | None = None,
    depth: str = "quick",
) -> Finding | None:
    """Return the first deviation that a model finds on a node; None without one, or if it shows nothing, as in a run.

    It does not where a step before its point failed, or the node ended a handshake that the model held up beside other steps.

    `seed`: of the random choices; `examples`: the number of runs of the model; `known`: requirements to the patterns of known causes;
    `depth`: as of a run, beyond `quick` a model may take longer steps.
    """
    from hypothesis import HealthCheck, Phase, Verbosity, settings
    from hypothesis import seed as seeded
    from hypothesis.reporting import with_reporter
    from hypothesis.stateful import run_state_machine_as_test

    side, profile = getattr(model, "ROLE", Side.RESPONDER), getattr(model, "PROFILE", "default")

    scenes: list[MemoryScene] = []

    def stage() -> MemoryScene:
        scenes[:] = [MemoryScene(model.REQUIREMENT, node, role=side, profile=profile, variations=depth)]
        return scenes[0]

    machine = model.machine(stage, known or {})
    how = settings(
        max_examples=examples, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(machine), settings=how)
    except Deviation as deviation:
        seen = as_seen_in_time(scenes[0].conversation, deviation.finding)
        return seen if seen.reached else None
    return None
