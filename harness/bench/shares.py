"""Count which faulty nodes of an area the models alone find, with the runs and steps of a depth; in memory.

    python harness/bench/shares.py transport --sample 40 --seed 1      a seeded sample of the nodes of an area
    python harness/bench/shares.py query --depth nightly --model querying NAME...

An area's nodes are those whose first check is about its pages; those of other roles, and those that no model's profile reaches, count.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis.errors import HypothesisException
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.loading import import_all
from zenoh_conformance.models import STEPS
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.reference.exploring import models
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.model_cases import EXAMPLES

AREAS = {
    "handshake": (("establishment", "closing"), ("session-establishment", "close")),
    "query": (("querying",), ("query", "reply")),
    "transport": (("transporting",), ("batching", "fragmentation", "keep-alive")),
}
"""Area to its models and the pages of its requirements."""


@dataclass
class Found:
    """What the models found on a faulty node."""

    name: str
    by: str = ""
    """The model that was the first to find it."""
    runs: int = 0
    steps: int = 0
    cause: str = ""


def page_of(node: FaultyNode) -> str:
    """Return the page of the requirement of the first check that catches a faulty node."""
    check = node.caught_by[0]
    about: Any = all_cases()[check] if check in all_cases() else all_laws()[check]
    return about.requirement.partition("/")[0]


def is_of_role(node: FaultyNode, role: Side) -> bool:
    """Return whether a case in that role, or a law, catches a faulty node."""
    cases = [all_cases()[check] for check in node.caught_by if check in all_cases()]
    return not cases or any(case.role is role for case in cases)


def names_of(area: str) -> Iterator[str]:
    """Yield the names of the faulty nodes of an area that listen and need no application."""
    import_all("zenoh_conformance.laws")
    for name, node in all_faulty_nodes().items():
        listens = is_of_role(node, Side.RESPONDER) and not node.node.__module__.endswith(
            (".initiator", ".applications")
        )
        if page_of(node) in AREAS[area][1] and listens:
            yield name


def counterexample(model: ModuleType, name: str, seed: int, runs: int, depth: str) -> Found | None:
    """Run a model on a faulty node; None if no run deviates."""
    found = Found(name, by=model.__name__.rpartition(".")[2])

    def stage() -> MemoryScene:
        found.runs, found.steps = found.runs + 1, -1
        role, profile = getattr(model, "ROLE", Side.RESPONDER), getattr(model, "PROFILE", "default")
        node = all_faulty_nodes()[name].node
        return MemoryScene(model.REQUIREMENT, node, role=role, profile=profile, variations=depth)

    def check_invariants(self: Any, *arguments: Any, **more: Any) -> None:
        found.steps += 1
        super(machine, self).check_invariants(*arguments, **more)

    made = model.machine(stage)
    machine = type(made.__name__, (made,), {"check_invariants": check_invariants})
    how = settings(
        max_examples=runs, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(machine), settings=how)
    except Deviation as deviation:
        found.cause = f"{deviation.finding.requirement}: {deviation.finding.cause}"
        return found if deviation.finding.reached else None
    except HypothesisException:
        pass
    return None


def search(name: str, only: Collection[str], seed: int, depth: str) -> Found:
    """Run the models on a faulty node until one of them finds something."""
    for model in models():
        if model.__name__.rpartition(".")[2] in only:
            runs = max(1, int(EXAMPLES[depth] * getattr(model, "SHARE", 1)))
            found = counterexample(model, name, seed, runs, depth)
            if found is not None:
                return found
    return Found(name)


def report(results: Sequence[Found]) -> None:
    """Print the share that was found, and how many steps the counterexamples have."""
    hits = [each for each in results if each.by]
    steps = sorted(each.steps for each in hits)
    spread = f"; steps median {median(steps):g}, most {steps[-1]}" if steps else ""
    print(f"{len(hits)} of {len(results)} faulty nodes noticed ({len(hits) / len(results):.0%}){spread}")
    print("missed:", *(each.name for each in results if not each.by))


def main() -> None:
    """Measure an area, or the faulty nodes that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sample", type=int, help="so many of the nodes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--depth", choices=EXAMPLES, default="full")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    names = options.names or sorted(names_of(options.area))
    if options.sample and options.sample < len(names):
        names = sorted(random.Random(options.seed).sample(names, options.sample))
    only = tuple(options.model) or AREAS[options.area][0]
    search_one = partial(search, only=only, seed=options.seed, depth=options.depth)
    results = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for each in pool.map(search_one, names):
            results.append(each)
            print(f"{each.name:60} {each.by:14} run {each.runs:3} steps {each.steps:2} {each.cause[:70]}", flush=True)
    report(results)


if __name__ == "__main__":
    main()
