"""The state machine models as cases: many scenes on one node, the smallest one that deviates as evidence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Final

from zenoh_conformance.cases.case import Case
from zenoh_conformance.cases.controls import WORKS
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.loading import import_all
from zenoh_conformance.models import STEPS
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Scene
from zenoh_harness.run.attempt.scenes import Overtime, Stage

Known = Mapping[str, Collection[str]] | Collection[str]
"""Requirements from which the target is known to deviate, as `models.modelled` has them."""

PACKAGE: Final = "zenoh_conformance.models"
EXAMPLES: Final = {"quick": 6, "full": 31, "nightly": 1000}
"""Runs of a machine by depth."""

SHRINKS: Final = 100
"""Runs from which on a failing one is made smaller: on a node that is slow to refuse, that takes minutes."""

MANY: Final = ("many-links", "many-sessions")
"""What a node that listens must have room for: a model opens as it draws."""

ENOUGH: Final = 5
"""Runs after which the end of the time that a case may take is no fault."""


FEWER: Final = 2
"""How much a second of reconnecting divides the runs by, beside 1."""


def model_cases(depth: str, seed: int) -> tuple[Case, ...]:
    """Each model as a case, `models/<name>`; what is drawn, is drawn from the seed."""
    return tuple(_case(module, depth, seed) for module in import_all(PACKAGE) if hasattr(module, "machine"))


def _case(module: ModuleType, depth: str, seed: int) -> Case:
    role, name = getattr(module, "ROLE", Side.RESPONDER), module.__name__.rpartition(".")[2].replace("_", "-")
    name = f"models/{name}"
    return Case(
        id=name,
        requirement=module.REQUIREMENT,
        control=getattr(module, "CONTROL", WORKS[role]),
        function=partial(explore, module.machine, int(EXAMPLES[depth] * getattr(module, "SHARE", 1)), seed, model=name),
        about=module.__doc__ or module.__name__,
        role=role,
        profile=getattr(module, "PROFILE", "default"),
        needs=(*getattr(module, "NEEDS", ()), *(MANY if role is Side.RESPONDER else ())),
        alone=True,
        breaks=getattr(module, "BREAKS", ()),
    )


def explore(
    machine: Callable[[Callable[[], Scene], Known], type], examples: int, seed: int, stage: Stage, *, model: str = ""
) -> None:
    """Run a machine on scenes like `stage`. Raises what its smallest failing run raises; `stage` gets what was said then.

    Of what deviated once, and not again, it gets what was said that once. An initiator that reconnects slowly gets fewer runs, because
    each run opens up to ten links.
    """
    from hypothesis import HealthCheck, Phase, Verbosity, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Flaky
    from hypothesis.reporting import with_reporter
    from hypothesis.stateful import run_state_machine_as_test

    examples = max(min(ENOUGH, examples), examples // (1 + FEWER * round(stage.habits.longest)))
    scenes: list[Stage] = []
    shown: dict[str, Stage] = {}  # by its cause, where each deviation was seen last
    evidence: Stage | None = None
    runs = 0

    def fresh() -> Scene:
        nonlocal runs
        if scenes:
            scenes.pop().close()
        runs += 1
        scenes.append(stage.another(runs))
        return scenes[-1]

    def note(deviation: Deviation) -> None:
        shown[deviation.finding.cause] = scenes[-1]

    phases = (Phase.generate, Phase.shrink) if examples >= SHRINKS else (Phase.generate,)
    how = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        phases=phases,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    try:
        with with_reporter(lambda _text: None):
            made = noting(machine(fresh, stage.fact("known_deviations", nothing_known)(model=model)), note)
            run_state_machine_as_test(seeded(seed)(made), settings=how)
    except Overtime:
        if runs < ENOUGH or stage.stopped:
            raise
    except Flaky as once:
        seen = deviations(once)
        if seen and not ran_out(once):
            first = next((one for one in seen if one.reached), seen[0])
            evidence = shown.get(first.cause)
            raise Deviation(not_again(first)) from once
        if runs < ENOUGH or stage.stopped:
            raise Overtime from once
    finally:
        for scene in scenes:
            scene.close()
            stage.adopt(evidence or scene)


def nothing_known(*, model: str) -> Known:
    """The deviations that a model passes over, where no list is given."""
    return frozenset()


def noting(machine: type, note: Callable[[Deviation], None]) -> type:
    """The machine; `note` is told of each run that deviates, before its scene is let go."""

    def teardown(self: object) -> None:
        raised = sys.exception()
        try:
            machine.teardown(self)  # type: ignore[attr-defined]
        except Deviation as found:
            note(found)
            raise
        if isinstance(raised, Deviation):
            note(raised)

    return type(machine.__name__, (machine,), {"teardown": teardown})


def deviations(once: BaseException) -> list[Finding]:
    """What deviated, of what Hypothesis could not repeat: nothing, where only other things were drawn the second time."""
    return [one.finding for one in getattr(once, "exceptions", ()) if isinstance(one, Deviation)]


def ran_out(once: BaseException | None) -> bool:
    """Whether the time was up when Hypothesis tried something again: it takes the early end for an unsteady test."""
    if once is None or isinstance(once, Overtime):
        return once is not None
    return any(map(ran_out, (once.__cause__, once.__context__, *getattr(once, "exceptions", ()))))


def not_again(finding: Finding) -> Finding:
    """What was seen once, and not again by the same steps; what did not come to its point says nothing the first time either."""
    if not finding.reached:
        return finding
    why = f"what deviated once did not deviate again: {finding.cause}"
    return replace(finding, path="", why=why, once=True)
