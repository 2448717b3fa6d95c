"""Starts a node for the player of vectors, and starts it again where it died."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.talking import Scene
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.habits.study import study
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.run.attempt.options import DEPTH
from zenoh_harness.run.attempt.scenes import Overtime, Stage
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.carriers import FEW, carriers_at
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.targets.target import NodeTarget
from zenoh_vectors.loader import Vector

PATIENCE: Final = 900.0
"""Seconds for all vectors of one node, before scaling."""

RESTARTS: Final = 16
"""How often a node that died is started again."""


@dataclass(frozen=True, slots=True)
class PlayedTo:
    """What a node did."""

    answers: Sequence[tuple[Vector, VectorAnswer]]
    routes: bool
    """Whether it forwards publications."""
    carried: Mapping[str, int] = field(default_factory=dict)
    """Carriers, in words, to how many vectors were read there."""


def play(
    target: NodeTarget,
    vectors: Sequence[Vector],
    controls: Iterable[Vector],
    *,
    seed: int,
    advance: Callable[[Vector], object],
) -> PlayedTo:
    """Start a node and play the vectors.

    Raises CannotGoOn where it opens no session.
    """
    profile = target.reach.options.get("profile", DEFAULT)
    deadline, node, left = Deadline.after(PATIENCE), target.start(profile), RESTARTS

    @contextmanager
    def scene(number: int) -> Iterator[Scene]:
        stage = Stage(node, requirement="", label=f"vectors play {number}", seed=seed, deadline=deadline)
        try:
            yield stage
        finally:
            stage.close()

    def works() -> bool:
        with scene(-1) as alone, suppress(Deviation):
            alone.session("control").fence()
            return True
        return False

    def revive(silent: bool) -> Verdict | None:
        nonlocal node, left
        if node.program is not None and not node.vitals().running:
            verdict = Verdict.CRASH
        elif silent and not works():
            verdict = Verdict.ZOMBIE
        else:
            return None
        if not (left and target.restartable):
            raise Overtime
        habits, left = node.habits, left - 1
        node.stop()
        node = target.start(profile)
        node.habits = habits
        return verdict

    try:
        node.habits = study(node, rooms=False)
        routes = node.habits.forwards is True
        player = Player(
            scene,
            routes=routes,
            side=node.side,
            profile=node.profile,
            revive=revive,
            advance=advance,
            rows=carriers_at(DEPTH),
            few=FEW[DEPTH],
        )
        return PlayedTo(player.play(vectors, controls), player.routes, player.carried)
    finally:
        node.stop()
