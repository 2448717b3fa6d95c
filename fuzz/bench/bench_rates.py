"""Inputs a CPU second: each oracle, under both kinds of mutators, beside the bare loop of the engine; and a codec asked in batches.

python fuzz/bench/bench_rates.py [ORACLE...]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from zenoh_fuzz import oracle
from zenoh_fuzz.campaign.workers import prepare_worker
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.worker.launcher import environment
from zenoh_fuzz.worker.plan import STATE, WorkerPlan
from zenoh_harness.codecs import build
from zenoh_harness.targets.adapters.stdio import StdioCodec

TARGET = "lib:zenoh-codec@1.10.2"
SECONDS = 10


def cpu() -> float:
    """CPU seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def campaign(name: str, *, structure: bool, runs: int = 0) -> tuple[int, float]:
    """Inputs and CPU seconds of one worker."""
    made = oracle.oracle_without_targets(name)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "corpus").mkdir()
        seeds.write_corpus(folder / "seeds", made.seeds(), largest=made.largest)
        targets = (TARGET,) if name in ("differential", "keyexpr") else ()
        one = prepare_worker(
            0,
            WorkerPlan(
                oracle=name,
                targets=targets,
                folder=folder / "w",
                corpus=folder / "corpus",
                structure=structure,
                first=False,
            ),
        )
        limit = f"-runs={runs}" if runs else f"-max_total_time={SECONDS}"
        began = cpu()
        command = [str(one.launcher.program), "-seed=1", f"-max_len={made.largest}", limit, "-print_final_stats=1"]
        folders = [str(folder / "corpus"), str(folder / "seeds")]
        done = subprocess.run([*command, *folders], env=environment(), capture_output=True, text=True, check=False)
        used = cpu() - began
        one.launcher.close()
        count = next(
            (
                int(line.split()[1])
                for line in done.stderr.splitlines()
                if line.startswith("stat::number_of_executed_units")
            ),
            0,
        )
        if not count and (folder / "w" / STATE).exists():
            count = json.loads((folder / "w" / STATE).read_text())["inputs"]
    return count, used


def batches() -> float:
    """Inputs a second of wall time that zenoh-codec answers over stdio, 4096 at once."""
    program = build.make("1.10.2", "release", lambda line: None).what
    data = [vector.data for vector in seeds.vectors() if vector.layer == "network" and len(vector.data) < 40]
    with StdioCodec([program]) as codec:
        many = data * (200_000 // len(data))
        codec.decode_many("network", many[:5000])
        began = time.perf_counter()
        codec.decode_many("network", many)
        return len(many) / (time.perf_counter() - began)


def bare(name: str) -> float:
    """Inputs a CPU second of the oracle alone, without an engine: the seeds, over and over."""
    from zenoh_fuzz.compare.targets import open_codecs

    made = oracle.make_oracle(name, open_codecs([TARGET] if name in ("differential", "keyexpr") else []))
    data = list(made.seeds())
    count, began = 0, time.process_time()
    while (used := time.process_time() - began) < 2:
        for each in data[:500]:
            oracle.judge_input(made, each)
        count += len(data[:500])
    return count / used


def main() -> None:
    """Print a row an oracle."""
    names = [word for word in sys.argv[1:] if word in oracle.names()] or oracle.names()
    for name in names:
        idle = {structure: campaign(name, structure=structure, runs=1) for structure in (True, False)}
        row = []
        for structure in (False, True):
            count, used = campaign(name, structure=structure)
            row.append((count - idle[structure][0]) / max(used - idle[structure][1], 0.01))
        print(
            f"{name:<13} bytes {row[0]:>8.0f}/s  structure {row[1]:>8.0f}/s  without engine {bare(name):>8.0f}/s",
            flush=True,
        )
    if len(names) > 1:
        print(f"stdio, in batches {batches():>8.0f}/s of wall time", flush=True)


if __name__ == "__main__":
    main()
