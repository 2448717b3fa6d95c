"""A campaign in shards on Spark: rounds of tasks, each a small campaign with its own targets; results are shared between rounds.

    round 1    shard 1 .. shard N    each begins with the corpus so far, and returns new inputs and findings
    merge      one corpus, findings by id, one ledger
    round 2    ...

Spark repeats a task that is lost with its executor. Its findings may differ then, but nothing is counted twice, since a shard
counts when its rows arrive. Workers need zenoh-conformance[fuzz] installed: the engine is
a program of its own.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha1
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zenoh_fuzz.campaign.campaign import Campaign, Order
from zenoh_fuzz.campaign.record import Outcome, announce_finding, ledger_row, lock_folder, store_finding
from zenoh_fuzz.campaign.workers import corpus_files
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import campaigns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ENGINES: Final = "zenoh_conformance.engines"
"""The entry-point group whose `spark` opens a session: `session(name, master, settings, ship=)`; workers have us installed."""
STEP: Final = "fuzz codec --on"
SCHEMA: Final = "shard int, what string, name string, data binary"
SETTINGS: Final = {"spark.speculation": "false", "spark.task.maxFailures": "8"}
"""A slow shard is not started twice; a lost executor costs an attempt of each of its tasks."""


@dataclass(frozen=True, slots=True)
class FuzzShard:
    """The task of every shard in a round."""

    order: Order
    versions: Mapping[str, str]
    corpus: bytes
    """A zip of the corpus."""
    round: int

    def __call__(self, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the shards with the given numbers."""
        import pyarrow as pa

        for part in parts:
            for number in part.column(0).to_pylist():
                rows = list(self.run(int(number)))
                names = ("shard", "what", "name", "data")
                kinds = (pa.int32(), pa.string(), pa.string(), pa.binary())
                columns = zip(*rows, strict=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(each, kind) for each, kind in zip(columns, kinds, strict=True)], list(names)
                )

    def run(self, number: int) -> Iterator[tuple[int, str, str, bytes]]:
        """Yield the new inputs, findings and counts of one shard."""
        with tempfile.TemporaryDirectory(prefix="zfuzz-") as scratch:
            given = Path(scratch) / "given"
            unzip_inputs(self.corpus, given)
            order = replace(
                self.order,
                folder=Path(scratch),
                jobs=1,
                merge=False,
                corpora=(given,),
                seed=self.order.seed + 1000 * self.round + number,
                with_seeds=self.order.with_seeds and not self.round,
            )
            campaign = Campaign(order, self.versions)
            outcome = campaign.run()
            known = {path.name for path in corpus_files(given)}
            for path in corpus_files(campaign.corpus):
                data = path.read_bytes()
                if sha1(data, usedforsecurity=False).hexdigest() not in known:
                    yield number, "input", path.name, data
            for name, row in outcome.findings.items():
                said = {"row": row.to_json(), "first_seen": outcome.first_seen.get(name, 0.0)}
                yield number, "finding", name, json.dumps(said).encode()
            numbers = {
                "inputs": outcome.inputs,
                "edges": outcome.edges,
                "seconds": outcome.seconds,
                "restarts": outcome.restarts,
            }
            yield number, "outcome", "", json.dumps(numbers).encode()


def engine(master: str) -> AbstractContextManager[SparkSession]:
    """Open a Spark session through an entry point. Raises CannotGoOn if there is none."""
    found = list(entry_points(group=ENGINES, name="spark"))
    if not found:
        raise CannotGoOn("Spark support is not installed", step=STEP, hint="install zenoh-conformance[spark]")
    opened: AbstractContextManager[SparkSession] = found[0].load()("zenoh-fuzz", master, SETTINGS, ship=False)
    return opened


def run(
    spark: SparkSession,
    order: Order,
    versions: Mapping[str, str],
    *,
    rounds: int = 2,
    show: Callable[[Outcome], None] = lambda so_far: None,
) -> Outcome:
    """Run a campaign, `order.jobs` shards at a time, in `rounds`. Raises UsageError, CannotGoOn."""
    folder = order.folder / order.oracle
    with lock_folder(folder):
        return Rounds(spark, order, versions, folder, show).run(rounds)


class Rounds:
    """Runs a campaign round by round; its folder is like any other campaign's."""

    def __init__(
        self,
        spark: SparkSession,
        order: Order,
        versions: Mapping[str, str],
        folder: Path,
        show: Callable[[Outcome], None],
    ) -> None:
        self.spark, self.order, self.versions, self.folder, self.show = spark, order, dict(versions), folder, show
        self.corpus = folder / "corpus"
        self.ledger = campaigns.read_ledger(folder)
        self.before = frozenset(self.ledger)
        self.outcome = Outcome()
        self._began = time.monotonic()

    def run(self, rounds: int) -> Outcome:
        """Run all rounds, with equal shares of the time."""
        self.corpus.mkdir(parents=True, exist_ok=True)
        Campaign(replace(self.order), self.versions).prepare()
        campaigns.add_event(self.folder, "begin", 0.0, {"corpus": len(corpus_files(self.corpus))})
        for number in range(rounds):
            self._round(number, self.order.seconds / rounds)
        self.outcome.fresh = tuple(sorted(self.outcome.findings.keys() - self.before))
        campaigns.write_ledger(self.folder, self.ledger)
        self._event("end")
        return self.outcome

    def _round(self, number: int, seconds: float) -> None:
        shards = self.order.jobs
        corpora = [self.corpus, *self.order.corpora]
        shard = FuzzShard(replace(self.order, seconds=seconds), self.versions, zip_inputs(corpora), number)
        numbers = self.spark.range(0, shards, 1, shards)
        before = len(corpus_files(self.corpus))
        for row in rows_of(numbers.mapInArrow(shard, SCHEMA)):
            self._take(row.what, bytes(row.data))
        self.outcome.seconds = time.monotonic() - self._began
        self.outcome.corpus = len(corpus_files(self.corpus))
        campaigns.add_event(
            self.folder, "merge", self.outcome.seconds, {"before": before, "after": self.outcome.corpus}
        )
        campaigns.write_ledger(self.folder, self.ledger)
        self._event("progress")
        self.show(self.outcome)

    def _event(self, kind: str) -> None:
        outcome = self.outcome
        campaigns.add_event(
            self.folder,
            kind,
            outcome.seconds,
            {
                "inputs": outcome.inputs,
                "edges": outcome.edges,
                "findings": len(outcome.findings),
                "corpus": outcome.corpus,
                "rate": round(outcome.rate, 1),
            },
        )

    def _take(self, what: str, data: bytes) -> None:
        if what == "input":
            name = sha1(data, usedforsecurity=False).hexdigest()
            (self.corpus / name).write_bytes(data)
        elif what == "finding":
            self._add_finding(json.loads(data))
        else:
            told = json.loads(data)
            self.outcome.inputs += told["inputs"]
            self.outcome.edges = max(self.outcome.edges, told["edges"])
            self.outcome.restarts += told["restarts"]

    def _add_finding(self, said: Mapping[str, Any]) -> None:
        """Add a finding of a shard; findings of several shards are counted together."""
        row = campaigns.finding_of(said["row"])
        known = self.ledger.get(row.id)
        if known is not None:
            # The ledger has no input of a finding under embargo, and the data folder must keep it.
            row = replace(row if row.embargo else known, count=known.count + row.count)
        self.ledger[row.id] = ledger_row(row)
        store_finding(self.folder, row)
        if row.id not in self.outcome.findings:
            now = time.monotonic() - self._began
            self.outcome.first_seen[row.id] = now
            announce_finding(self.folder, row, now)
        self.outcome.findings[row.id] = row


def rows_of(shards: Any) -> list[Any]:
    """Return the rows of all shards. Raises CannotGoOn with the worker's last words if one failed repeatedly."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        rows: list[Any] = shards.collect()
    except (PySparkException, Py4JError) as why:
        said = [line.strip() for line in str(why).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
        hint = "workers need zenoh-conformance[fuzz], installed as here"
        raise CannotGoOn(
            "a shard failed on every executor that tried it", step=STEP, seen=said[-2:], hint=hint
        ) from why
    return rows


def zip_inputs(folders: list[Path]) -> bytes:
    """Return the inputs of folders as a zip, each named by its content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        inputs = {
            sha1(data, usedforsecurity=False).hexdigest(): data
            for folder in folders
            for path in corpus_files(folder)
            for data in [path.read_bytes()]
        }
        for name, data in sorted(inputs.items()):
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def unzip_inputs(data: bytes, folder: Path) -> None:
    """Extract the inputs of a zip into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
