"""The whole set of cases in drawn orders, all on one reference in memory for each role and profile: nothing may be red.

python harness/bench/orders.py [--runs 100] [--first 0]
"""

from __future__ import annotations

import argparse
import random
import time
from itertools import groupby

from zenoh_conformance.case import all_cases
from zenoh_conformance.conversation import Happened
from zenoh_conformance.finding import Deviation
from zenoh_conformance.law import judge
from zenoh_harness.faulty.table import runs_in_memory
from zenoh_harness.reference import Reference
from zenoh_harness.reference.configured import config_of
from zenoh_harness.reference.memory import MemoryScene, MemoryWorld


def items(order: random.Random):
    every = [
        (case, parameters) for case in all_cases().values() if runs_in_memory(case) for parameters in case.parameters
    ]
    order.shuffle(every)
    return sorted(every, key=lambda item: (item[0].profile, item[0].role.value))


def once(seed: int) -> tuple[int, list[str]]:
    """How many were run, and what was red."""
    red: list[str] = []
    count = 0
    for (profile, _), some in groupby(items(random.Random(seed)), key=lambda item: (item[0].profile, item[0].role)):
        node, now = Reference(config_of(profile)), 0.0
        for case, parameters in some:
            count += 1
            scene = MemoryScene(case.requirement, role=case.role, profile=profile, seed=count)
            scene.world = world = MemoryWorld(node)
            world.now = now
            scene.wire = lambda name="us", scene=scene, number=count: MemoryScene.wire(scene, f"{name}-{number}")
            try:
                case.run(scene, parameters)
                found = scene.deviations
            except Deviation as deviation:
                found = [deviation.finding]
            for wire in list(world.conversation.connections):
                side = next(side for side in type(case.role) if side is not case.role)
                world.hang_up(wire, side, Happened.EOF)
            now = world.now
            said = [(case.id, dict(parameters), each.cause) for each in found]
            for judged in judge(world.conversation):
                said += [(case.id, judged.law.id, each.cause) for each in judged.findings if judged.sender is case.role]
            red += map(str, said)
    return count, red


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    began, bad = time.monotonic(), 0
    for seed in range(options.first, options.first + options.runs):
        count, red = once(seed)
        bad += bool(red)
        if red:
            print(f"order {seed}: {len(red)} red: {red[:3]}", flush=True)
    print(f"{options.runs} orders of {count} cases, {bad} with something red, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
