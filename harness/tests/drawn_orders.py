"""Cases in a drawn order on one node in memory that is never started anew: what is red there and not alone depends on the order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from zenoh_conformance.cases.case import Case, Parameters, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.files.results import check_label
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene, MemoryWire, MemoryWorld, able
from zenoh_harness.variants.table import in_memory

Item = tuple[Case, Parameters]

LETS_GO = 1.0
"""Seconds between the cases of a node that comes to us: the harness too gives it the moment to let go of its last session."""


@dataclass(frozen=True, slots=True)
class Red:
    """What was red on the node."""

    label: str
    """The case, or the law and the case in which it judged."""
    cause: str


class _Numbered(MemoryScene):
    """A scene in the middle of a node's life: its links and its ZenohIDs are nobody else's."""

    def __init__(self, item: Item, node: type[Reference], number: int) -> None:
        case, _ = item
        super().__init__(case.requirement, node, role=case.role, profile=case.profile, seed=number)
        self._number = number

    def wire(self, name: str = "us", *, group: str = "") -> MemoryWire:
        return super().wire(f"{name}-{self._number}", group=group)


def drawn(order: random.Random, node: type[Reference], most: int | None = None, *, crowds: bool = True) -> list[Item]:
    """Every case that the node can be judged by, with all its values or `most` drawn ones, in a drawn order; or without crowds."""
    cases = [case for case in in_memory() if set(case.needs) <= able(case.profile, node) and (crowds or not case.alone)]
    every = [(case, parameters) for case in cases for parameters in _some(order, case, most)]
    order.shuffle(every)
    return every


def _some(order: random.Random, case: Case, most: int | None) -> list[Parameters]:
    values = list(case.parameters)
    return values if most is None or len(values) <= most else order.sample(values, most)


def alone(item: Item, node: type[Reference]) -> list[Red]:
    """What is red in a case on a node of its own."""
    return _said(item, _Numbered(item, node, 0))


@dataclass(frozen=True, slots=True)
class Ran:
    """One case in the middle of a node's life."""

    item: Item
    red: list[Red]
    world: MemoryWorld


def together(items: list[Item], node: type[Reference]) -> Iterator[Ran]:
    """The cases in this order, on one node for each profile and role."""
    by = sorted(enumerate(items), key=lambda one: (one[1][0].profile, one[1][0].role.value))
    for _, some in groupby(by, key=lambda one: (one[1][0].profile, one[1][0].role)):
        before: MemoryWorld | None = None
        for number, item in some:
            scene = _Numbered(item, node, number)
            if before is not None:
                scene.world.go_on_from(before)
            before = scene.world
            yield Ran(item, _said(item, scene), scene.world)


def depends(seed: int, node: type[Reference], most: int | None = None, *, crowds: bool = True) -> list[Red]:
    """What is red in the order that the seed draws, and is not where each case has a node of its own."""
    found: list[Red] = []
    for ran in together(drawn(random.Random(seed), node, most, crowds=crowds), node):
        if ran.red:
            usual = {one.label for one in alone(ran.item, node)}
            found += [one for one in ran.red if one.label not in usual]
    return found


def _said(item: Item, scene: MemoryScene) -> list[Red]:
    """What a case and the laws find in it; its links are ended."""
    case, parameters = item
    label = check_label(case.id, shown_all(parameters))
    try:
        case.run(scene, parameters)
        causes = [one.cause for one in scene.deviations]
    except Deviation as deviation:
        causes = [deviation.finding.cause]
    except CannotConnect:
        causes = []
    _hang_up(scene.world, case.role.other)
    until = scene.world.now + (LETS_GO if case.role is Side.INITIATOR else 0.0)
    while scene.world.now < until:
        scene.world.advance(until)
    red = [Red(label, cause) for cause in causes]
    for said in judge(scene.conversation):
        if said.sender is case.role:
            red += [Red(f"{said.law.id} in {label}", finding.cause) for finding in said.findings]
    return red


def _hang_up(world: MemoryWorld, side: Side) -> None:
    """Whatever the case has left open ends, as the harness does after a case."""
    for wire in list(world.conversation.connections):
        world.hang_up(wire, side, Happened.EOF)
