"""A campaign on one executor, on two, and on two of which one is lost: executions a second, corpus, findings.

python fuzz/bench/bench_on_spark.py [ORACLE] [--seconds 60]
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import psutil

from zenoh_fuzz.campaign.campaign import Order, Outcome
from zenoh_fuzz.on_spark import engine, run

EXECUTOR = "CoarseGrainedExecutorBackend"
LOOK = 0.2
"""Seconds between two looks at what runs."""


def engines() -> ModuleType:
    """What starts a cluster on this machine."""
    file = Path(__file__).parents[2] / "reports" / "bench" / "engines.py"
    spec = importlib.util.spec_from_file_location("engines", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engines"] = module
    spec.loader.exec_module(module)
    return module


def at_work() -> list[psutil.Process]:
    """The executors below this process under which a fuzzing engine runs."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name() == "java" and EXECUTOR in " ".join(process.cmdline()) and _fuzzes(process):
                found.append(process)
        except psutil.Error:
            continue  # it ended while we looked
    return found


def _fuzzes(executor: psutil.Process) -> bool:
    return any("zfuzz-" in " ".join(each.cmdline()) for each in executor.children(recursive=True))


@contextmanager
def one_is_lost(of: int) -> Iterator[list[int]]:
    """Once `of` executors fuzz, one of them is killed; yields the ids of what was killed."""
    over, killed = threading.Event(), []

    def watch() -> None:
        while not over.wait(LOOK):
            working = at_work()
            if len(working) == of:
                working[0].kill()
                killed.append(working[0].pid)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def campaign(folder: Path, oracle: str, executors: int, seconds: float, *, lose: bool = False) -> Outcome:
    """One campaign on a cluster of its own."""
    order = Order(oracle=oracle, folder=folder, seconds=seconds, jobs=executors)
    with ExitStack() as stack:
        master = stack.enter_context(engines().cluster(folder / "spark", executors))
        spark = stack.enter_context(engine(master))
        killed = stack.enter_context(one_is_lost(executors)) if lose else None
        outcome = run(spark, order, {"ours": "1"}, rounds=2)
        assert killed is None or len(killed) == 1, "no executor was lost"
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle", nargs="?", default="decode")
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    rates = []
    for executors, lose in ((1, False), (2, False), (2, True)):
        with tempfile.TemporaryDirectory() as folder:
            found = campaign(Path(folder), given.oracle, executors, given.seconds, lose=lose)
        rates.append(found.inputs / given.seconds)
        print(
            f"{executors} executors{', one lost' if lose else ''}: {found.inputs} executions, {rates[-1]:,.0f} a second of the "
            f"{given.seconds:.0f} ordered, corpus {found.corpus}, {len(found.findings)} findings, {found.seconds:.0f} s in all",
            flush=True,
        )
    print(f"two do {rates[1] / rates[0]:.2f} times what one does")


if __name__ == "__main__":
    main()
