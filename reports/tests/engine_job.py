"""python engine_job.py MASTER [--lose-an-executor] FILE...: the tables of a job on an engine, as one line of JSON.

With the flag one executor is ended while its tasks run, once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
from conftest import SMALL
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.pipeline import audit, clusters, history, job, judgements, traffic
from zenoh_reports.pipeline.captures import said
from zenoh_reports.pipeline.store import Store
from zenoh_reports.spark import session


def die_once(mark: str, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Ends the executor that runs this, the first time that it is run anywhere."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        yield from parts
        return
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(executor, signal.SIGKILL)


def main() -> None:
    master, *files = sys.argv[1:]
    lose = "--lose-an-executor" in files
    captures = [file for file in files if file.endswith(".pcap")]
    results = [file for file in files if file.endswith(".jsonl")]
    needed = list(requirements().values())
    with session("engines", master, SMALL) as spark:
        packets = traffic.packets(spark, captures, span=4000)
        if lose:
            packets = packets.mapInArrow(partial(die_once, f"{captures[0]}.died"), packets.schema)
        facts = audit.across(audit.facts(packets).persist()).persist()
        judged = judgements.judgements(judgements.results(spark, results)).persist()
        found = audit.findings(facts)
        tables = {
            "messages": traffic.messages(packets), "findings": found, "statistics": audit.statistics(facts),
            "nodes": audit.nodes(facts), "clusters": clusters.clusters(said(found)),
            "matrix": judgements.matrix(judged, judgements.requirement_rows(spark, needed)), "history": history.history(judged),
        }  # fmt: skip
        store = Store(Path(captures[0]).parent / f"tables-{uuid4().hex}")
        job.report(spark, results[: len(results) // 2], store.folder)
        job.report(spark, results, store.folder)
        tables |= {f"kept {kept.name}": job.get(spark, store, kept) for kept in (*job.OF_RUNS, *job.DERIVED)}
        told: dict[str, Any] = {}
        for name, table in tables.items():
            rows = sorted(repr(tuple(row)) for row in table.collect())
            told[name] = [table.schema.simpleString(), rows]
    assert not lose or Path(f"{captures[0]}.died").exists()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
