"""CPU seconds to the public faults of old releases, from the seeds alone: both engines, several seeds, and how they differ.

python fuzz/bench/bench_live.py [--seeds N] [--budget CPU_SECONDS] [FAULT...]
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zenoh_fuzz.campaign.effect import compare
from zenoh_fuzz.live.campaign import Engine, LiveOrder, LiveWorker, begin

FAULTS: Final = {
    "abort": ("wheel:1.9.0", r"allocation"),  # zenoh#2601
    "zombie": ("wheel:1.0.4", r"hat/router/mod\.rs:636"),  # zenoh#1743
    "lost": ("wheel:1.5.1", r"what follows in a batch"),  # zenoh#2152
    "deep": ("wheel:1.3.0", r"overflow|SIGSEGV|SIGABRT\)$"),  # zenoh#1826
}
"""Target, and what the signature of the finding has."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One campaign up to a fault: CPU seconds until it was confirmed, infinite if it was not, and what came until then."""

    cpu: float
    clock: float
    inputs: int
    starts: int
    others: int
    """Other findings."""


class UntilFound(LiveWorker):
    """A worker that ends once it has a finding with a certain signature."""

    wanted = ""

    def found(self) -> list[str]:
        """Return the ids of the findings that are wanted."""
        return [name for name, row in self.outcome.findings.items() if re.search(self.wanted, row.signature)]

    def is_over(self) -> bool:
        """Whether the budget is used up, or the finding is there."""
        return bool(self.found()) or super().is_over()


def trial(fault: str, engine: Engine, seed: int, budget: float) -> Trial:
    """Run one campaign."""
    target, signature = FAULTS[fault]
    with tempfile.TemporaryDirectory() as place:
        order = LiveOrder(target=target, folder=Path(place), seconds=budget, cpu=True, seed=seed, engine=engine)
        begin(order, {})
        worker = UntilFound(order)
        worker.wanted = signature
        began = time.monotonic()
        outcome = worker.run()
    cpu = min((outcome.first_seen[name] for name in worker.found()), default=math.inf)
    others = len(outcome.findings) - len(worker.found())
    return Trial(cpu, time.monotonic() - began, outcome.inputs, outcome.restarts, others)


def main() -> None:
    """Print a line a trial, and one a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="*", choices=[*FAULTS, []])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=60.0)
    given = parser.parse_args()
    engines: tuple[Engine, ...] = ("guided", "plain")
    for fault in given.faults or FAULTS:
        cpu: dict[str, list[float]] = {engine: [] for engine in engines}
        for engine in engines:
            for seed in range(1, given.seeds + 1):
                done = trial(fault, engine, seed, given.budget)
                cpu[engine].append(done.cpu)
                print(fault, engine, seed, done, flush=True)
        print(f"{fault}: {engines[0]} before {engines[1]}: {compare(cpu['guided'], cpu['plain'])}", flush=True)


if __name__ == "__main__":
    main()
