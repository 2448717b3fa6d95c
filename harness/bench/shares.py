"""Which faulty nodes the models alone find, the laws alone, the cases alone, and all of them together; in memory.

    python harness/bench/shares.py [--seconds 5] [--seeds 3] [--jobs 2] [NAME...]      all faulty nodes unless named
    python harness/bench/shares.py --of 'routing_*' --model querying --model declaring  of some files, by some models

A faulty node counts as found by the models when any of the seeds finds it, each model within so many seconds of the processor.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis.errors import HypothesisException
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.loading import import_all
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import reds
from zenoh_harness.reference.memory import MemoryScene

STEPS = 8


class TimeIsUp(Exception):  # noqa: N818 - no fault of anybody
    """Ends a search."""


@dataclass
class Found:
    name: str
    models: int = 0
    """Seeds that found it."""
    laws: bool = False
    cases: bool = False
    by: str = ""
    """What the first seed that found it was told."""


def search(name: str, seed: int, seconds: float, only: tuple[str, ...] = ()) -> str | None:
    """What the models of the faulty node's role (or those of `only`) find within the time; None when they find nothing."""
    faulty_node, cases = all_faulty_nodes()[name], all_cases()
    roles = {cases[check].role for check in faulty_node.caught_by if check in cases} or set(Side)
    models = [
        module for module in import_all("zenoh_conformance.models")
        if hasattr(module, "machine") and getattr(module, "ROLE", Side.RESPONDER) in roles
        and (not only or module.__name__.rpartition(".")[2] in only)
    ]  # fmt: skip
    profiles = {cases[check].profile for check in faulty_node.caught_by if check in cases}
    models.sort(key=lambda module: getattr(module, "PROFILE", "default") not in profiles)
    for module in models:
        cause = explored(module, faulty_node.node, seed, seconds)
        if cause is not None:
            return cause
    return None


def explored(module, node, seed: int, seconds: float) -> str | None:
    until = time.process_time() + seconds
    profile = getattr(module, "PROFILE", "default")

    def stage():
        if time.process_time() > until:
            raise TimeIsUp
        return MemoryScene(module.REQUIREMENT, node, role=getattr(module, "ROLE", Side.RESPONDER), profile=profile)

    how = settings(
        max_examples=1_000_000, stateful_step_count=STEPS, phases=(Phase.generate,), deadline=None, database=None,
        print_blob=False, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    try:
        with with_reporter(lambda _text: None):
            run_state_machine_as_test(seeded(seed)(module.machine(stage)), settings=how)
    except Deviation as deviation:
        return deviation.finding.cause
    except (TimeIsUp, HypothesisException):
        return None
    return None


def one(name: str, seeds: int, seconds: float, only: tuple[str, ...] = ()) -> Found:
    found, faulty_node = Found(name), all_faulty_nodes()[name]
    for seed in range(seeds):
        cause = search(name, seed, seconds, only)
        if cause is not None:
            found.models += 1
            found.by = found.by or cause
    if only:
        return found
    red = reds(faulty_node.node, whole=faulty_node.caught_by, more=faulty_node.values)
    found.laws = any(check.startswith("law/") for check in red)
    found.cases = any(not check.startswith("law/") for check in red)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--of", default="*", metavar="GLOB", help="the files of faulty nodes")
    parser.add_argument("--model", action="append", default=[], help="this model; cases and laws are left out")
    options = parser.parse_args()
    names = options.names or [
        name for name, node in all_faulty_nodes().items()
        if fnmatchcase(node.node.__module__.rpartition(".")[2], options.of)
    ]  # fmt: skip
    search_one = partial(one, seeds=options.seeds, seconds=options.seconds, only=tuple(options.model))
    every = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for each in pool.map(search_one, names):
            every.append(each)
            marks = ("laws" if each.laws else "", "cases" if each.cases else "")
            print(
                f"{each.name:44} models {each.models}/{options.seeds} {marks[0]:5} {marks[1]:6} {each.by[:70]}",
                flush=True,
            )
    all_of_them = sum(bool(each.models or each.laws or each.cases) for each in every)
    print(
        f"{len(every)} faulty nodes: models {sum(bool(each.models) for each in every)}, laws {sum(e.laws for e in every)}, "
        f"cases {sum(e.cases for e in every)}, all {all_of_them}; "
        f"model runs that found {sum(e.models for e in every)} of {options.seeds * len(every)}"
    )


if __name__ == "__main__":
    main()
