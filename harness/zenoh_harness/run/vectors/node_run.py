"""The vectors as a part of a node's run: one judgement for each requirement that they cover, and for each vector of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from threading import Event as Flag
from typing import Final

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Scene
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.habits.study import forwards_value
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.attempt.scenes import Overtime, Stage
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.records import Records
from zenoh_harness.run.vectors.answers import Answers, VectorAnswer
from zenoh_harness.run.vectors.carriers import FEW, carriers_at
from zenoh_harness.run.vectors.effects import not_played
from zenoh_harness.run.vectors.own_rows import OwnRow, own_rows
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.rows import (
    Played,
    RowVerdict,
    check_of,
    choose_vectors,
    judge_fences,
    judge_row,
    kinds_of,
    noticing_vectors,
    rows,
)
from zenoh_harness.targets.target import NodeTarget
from zenoh_vectors.loader import Vector

PATIENCE: Final = 120.0
"""Seconds for the vectors of a run, before scaling."""


class NodeVectors:
    """Plays vectors to the instance of a run, and records a judgement for each requirement."""

    def __init__(
        self, target: NodeTarget, options: Options, vectors: Sequence[Vector], stop: Flag, profile: str = DEFAULT
    ) -> None:
        """`stop` is set when the run is to end: then nothing is played or recorded any more."""
        self.target, self.vectors, self._stop, self.profile = target, vectors, stop, profile
        self.rows = rows(options.selection, target.side, profile) if vectors else ()
        self.own: tuple[OwnRow, ...] = ()
        """What is judged by the user's own vectors."""
        if vectors and profile == DEFAULT:
            self.own = own_rows(options.own_vectors.usable, options.selection)
        self._lost: tuple[tuple[str, RowVerdict], ...] = ()
        """What it lost of the fences among them, by requirement."""
        self._all_rows = self.rows
        """Also those that were judged before the run was resumed: what is played for one row shows what other rows rest on."""

    @property
    def size(self) -> int:
        """How many judgements are due."""
        return len(self.rows) + len(self.own)

    def planned(self) -> Iterator[str]:
        """The labels of the checks."""
        yield from map(check_of, self.rows)
        yield from dict.fromkeys(one.check for one in self.own)

    def leave_out(self, judged: Callable[[str], bool]) -> None:
        """Leave out what was judged before the run was resumed."""
        self.rows = tuple(one for one in self.rows if not judged(check_of(one)))
        self.own = tuple(one for one in self.own if not judged(one.check))

    def run(self, lifecycle: Lifecycle, records: Records, options: Options, *, well: bool = True) -> None:
        """Play, and record; of a node that was not well from the start nothing is judged."""
        played, why = Played(), "" if well else "the node did not work from the start"
        answers: Answers = ()
        if self.size and well:
            try:
                forwards = lifecycle.habits.forwards
                if forwards is None and self.target.side is Side.RESPONDER:
                    forwards = forwards_value(lifecycle.node, lifecycle.habits)
                answers, routes = self._play(lifecycle, options, routes=bool(forwards))
                own = {one.vector.id for one in self.own}
                played = Played.of(
                    [pair for pair in answers if pair[0].id not in own],
                    routes=routes,
                    side=self.target.side,
                    profile=self.profile,
                )
            except CannotGoOn as stopped:
                why = stopped.what
        if self._stop.is_set():
            return
        for requirement in self.rows:
            row = judge_row(requirement, played)
            if why and row.verdict is Verdict.NOT_OBSERVED:
                row = replace(row, cause=why)
            records.vectors(check_of(requirement), requirement, row)
            options.advance(1, check_of(requirement))
        for requirement, row in self._lost:
            records.vectors(check_of(requirement), requirement, row)
        self._record_own({vector.id: answer for vector, answer in answers}, played.kind, why, records, options)

    def _record_own(
        self, answers: Mapping[str, VectorAnswer], kind: str, why: str, records: Records, options: Options
    ) -> None:
        for one in self.own:
            row = one.judge(answers.get(one.vector.id, not_played(why)), kind)
            records.vectors(one.check, one.requirement, row, options.own_vectors.words)
            options.advance(1, one.check)

    def _play(self, lifecycle: Lifecycle, options: Options, *, routes: bool) -> tuple[Answers, bool]:
        """Return what the node did, and whether a second session could look at it."""
        deadline = Deadline.after(PATIENCE)
        if options.allowance.left < inf:
            deadline = deadline.or_sooner(options.allowance.left)

        @contextmanager
        def scene(number: int) -> Iterator[Scene]:
            node = lifecycle.node
            label = f"vectors {number}"
            stage = Stage(node, requirement="", label=label, seed=options.seed, deadline=deadline, stop=self._stop)
            try:
                yield stage
            finally:
                stage.close()

        def revive(silent: bool) -> Verdict | None:
            if not silent and lifecycle.node.vitals().running:
                return None
            ill = lifecycle.unhealthy()
            if ill is None:
                return None
            try:
                lifecycle.renew()
            except CannotGoOn:
                raise Overtime from None
            return ill.verdict if ill.verdict.is_grave else None

        own = {one.vector.id: one.vector for one in self.own}
        noticing = noticing_vectors(set(self._all_rows), None, kinds_of(self.target.side, self.profile))
        player = Player(
            scene,
            routes=routes,
            side=self.target.side,
            profile=lifecycle.node.profile,
            revive=revive,
            exchanged=frozenset(noticing | own.keys()),
            rows=carriers_at(options.depth),
            few=FEW[options.depth],
        )
        chosen = choose_vectors(self.vectors, self._all_rows, options.depth, self.target.side, self.profile)
        answers: Answers = ()
        with suppress(Overtime):
            answers = player.play([*chosen, *own.values()], self.vectors)
        self._lost = tuple(judge_fences(player.lost, player.fences))
        return answers, player.routes
