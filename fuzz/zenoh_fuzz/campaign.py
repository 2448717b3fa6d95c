"""One campaign: an oracle, targets, a corpus, a time; what it did, what it found, and its files."""

from __future__ import annotations

import fcntl
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.run import embargo

from . import crew, inputs, oracle, seeds
from .merging import merged
from .plan import CANNOT_BEGIN, CANNOT_WRITE, Plan
from .rows import row_of_death, row_of_found

TICK: Final = 0.2
PROGRESS_EVERY: Final = 5.0
"""Seconds between two progress events."""
MOST_DEATHS: Final = 500
"""Workers that may be started anew, all in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a campaign is asked for."""

    oracle: str
    folder: Path
    seconds: float
    targets: tuple[str, ...] = ()
    seed: int = 1
    jobs: int = 1
    structure: bool = True
    behaviour: bool = True
    layers: tuple[str, ...] = ()
    with_seeds: bool = True
    merge: bool = True
    corpora: tuple[Path, ...] = ()
    """Folders of further inputs to begin with."""
    until_found: int = 0
    """End once so many findings are there; 0 for never."""

    def command(self) -> str:
        """The command that asks for the same."""
        words = ["zconform", "fuzz", "codec", self.oracle, "--time", f"{self.seconds:g}s", "--seed", str(self.seed)]
        words += [word for target in self.targets for word in ("--target", target)]
        words += [word for layer in self.layers for word in ("--layer", layer)]
        words += ["--jobs", str(self.jobs)] if self.jobs > 1 else []
        words += [] if self.structure else ["--mutators", "bytes"]
        return shlex.join([*words, "--out", str(self.folder)])


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a campaign did."""

    inputs: int = 0
    edges: int = 0
    seconds: float = 0.0
    corpus: int = 0
    restarts: int = 0
    behaviours: int = 0
    findings: dict[str, FindingRow] = field(default_factory=dict)
    """Those of this run, by id."""
    fresh: tuple[str, ...] = ()
    """The ids of those that no earlier run of the folder had."""
    first_seen: dict[str, float] = field(default_factory=dict)
    """Seconds into the run, by id."""
    tolerated: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    brought: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Inputs a second."""
        return self.inputs / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """For `--format json`."""
        return {
            "inputs": self.inputs, "edges": self.edges, "seconds": round(self.seconds, 1), "corpus": self.corpus,
            "rate": round(self.rate), "restarts": self.restarts, "behaviours": self.behaviours,
            "findings": [told(row) | {"first_seen": round(self.first_seen.get(name, 0.0), 2)}
                         for name, row in sorted(self.findings.items())],
            "tolerated": dict(sorted(self.tolerated.items())),
            "mutators": {name: {"used": self.used[name], "brought": self.brought[name]} for name in sorted(self.used)},
        }  # fmt: skip


def told(row: FindingRow) -> dict[str, Any]:
    """A finding for whoever reads output: what is under embargo is counted and not told."""
    if row.embargo:
        return {"id": row.id, "embargo": True}
    return row.to_json()


def hidden(row: FindingRow) -> FindingRow:
    """A finding as it may lie about: of one under embargo that there is one, and how often."""
    if not row.embargo:
        return row
    return FindingRow(
        id=row.id,
        oracle=row.oracle,
        rule="under embargo",
        signature="",
        why="",
        input="",
        embargo=True,
        count=row.count,
    )


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else fuzzes in this folder meanwhile.  UsageError when somebody does; CannotGoOn when it cannot be written."""
    lock: IO[str] | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as why:
        raise UsageError(
            f"another campaign works in {folder}", step="fuzz codec", hint="--out names another folder"
        ) from why
    except OSError as why:
        raise CannotGoOn(
            f"cannot work in {folder}", step="fuzz codec", seen=str(why), hint="--out names another folder"
        ) from why
    try:
        yield
    finally:
        lock.close()


class Campaign:
    """Runs an order; `show` gets the outcome so far, a few times a second."""

    def __init__(
        self, order: Order, versions: Mapping[str, str], show: Callable[[Outcome], None] = lambda so_far: None
    ) -> None:
        self.order, self.versions, self.show = order, dict(versions), show
        self.folder = order.folder / order.oracle
        self.corpus = self.folder / "corpus"
        self.outcome = Outcome()
        self._began = 0.0

    def run(self) -> Outcome:
        """Fuzz until the time is up.  UsageError, CannotGoOn; findings are no error."""
        with alone(self.folder):
            try:
                self.prepare()
                ledger = campaigns.read_ledger(self.folder)
                try:
                    self._work(ledger)
                except KeyboardInterrupt:
                    self._close(ledger, merge=False)
                    raise
                self._close(ledger, merge=self.order.merge)
            except OSError as why:
                raise CannotGoOn(f"cannot write in {self.folder}", step="fuzz codec", seen=str(why),
                                 hint="is the disk full?") from why  # fmt: skip
        return self.outcome

    def prepare(self) -> None:
        """Seeds, dictionary and manifest, before anything is run."""
        made = oracle.made_for_seeds(self.order.oracle)
        self.corpus.mkdir(parents=True, exist_ok=True)
        count = seeds.write_corpus(self.folder / "seeds", self._seeds(made), largest=made.largest)
        (self.folder / "dictionary").write_text(seeds.dictionary(made.words()), encoding="ascii")
        campaigns.write_manifest(self.folder, {
            "id": f"{self.order.oracle}-{self.order.seed}", "kind": "codec", "oracle": self.order.oracle,
            "promise": made.promise, "targets": list(self.order.targets), "layers": list(self.order.layers),
            "seed": self.order.seed, "seconds": self.order.seconds, "jobs": self.order.jobs, "seeds": count,
            "mutators": "structure" if self.order.structure else "bytes", "versions": self.versions,
            "command": self.order.command(), "began": datetime.now(UTC).isoformat(timespec="seconds"),
        })  # fmt: skip

    def _seeds(self, made: oracle.Oracle) -> Iterator[bytes]:
        numbers = self._layers()
        for seed in made.seeds() if self.order.with_seeds else ():
            if not numbers or not made.structured or seed[0] in numbers:
                yield seed
        for row in campaigns.read_ledger(self.folder).values():  # what was found once is looked at again
            if not row.grave and row.input:
                yield bytes.fromhex(row.input)

    def _layers(self) -> tuple[int, ...]:
        return tuple(inputs.LAYERS.index(layer) for layer in self.order.layers)

    # --- the work -----------------------------------------------------------------------------------------------------

    def _work(self, ledger: dict[str, FindingRow]) -> None:
        self._began = time.monotonic()
        campaigns.add_event(self.folder, "begin", 0.0, {"corpus": len(crew.corpus_files(self.corpus))})
        workers = [crew.worker(number, self._plan(number)) for number in range(self.order.jobs)]
        try:
            for one in workers:
                one.start(self.order.seconds, self.order.seed + one.number, self._folders())
            self._watch(workers, ledger)
        finally:
            for one in workers:
                one.kill()
                one.launcher.close()

    def _plan(self, number: int) -> Plan:
        made = oracle.made_for_seeds(self.order.oracle)
        return Plan(
            oracle=self.order.oracle, targets=self.order.targets, folder=self.folder / "workers" / str(number),
            corpus=self.corpus, structure=self.order.structure and made.structured, behaviour=self.order.behaviour,
            layers=self._layers(), largest=made.largest, first=self.order.with_seeds and not number,
            first_seconds=self.order.seconds / 2,
        )  # fmt: skip

    def _folders(self) -> list[str]:
        words = self.folder / "dictionary"
        return [f"-dict={words}", str(self.corpus), str(self.folder / "seeds"), *map(str, self.order.corpora)]

    def _watch(self, workers: Sequence[crew.Worker], ledger: dict[str, FindingRow]) -> None:
        until, told_at = self._began + self.order.seconds, 0.0
        running = list(workers)
        while running:
            time.sleep(TICK)  # the workers are watched, not waited for: nothing here is to be observed sooner
            for one in list(running):
                one.stuck()
                ended = one.ended()
                self._look(one, ledger)
                if ended == 0:
                    running.remove(one)
                elif isinstance(ended, crew.Death):
                    self._died(one, ended, ledger)
                    if crew.time_left(until) < 1:
                        running.remove(one)
                    else:
                        one.start(
                            crew.time_left(until),
                            self.order.seed + one.number + 1000 * self.outcome.restarts,
                            self._folders(),
                        )
            self._sum(workers)
            if crew.time_left(until) < -crew.LATE:
                break
            if self.outcome.seconds - told_at >= PROGRESS_EVERY:
                told_at = self.outcome.seconds
                self._progress()
            if 0 < self.order.until_found <= len(self.outcome.findings):
                break

    def _sum(self, workers: Sequence[crew.Worker]) -> None:
        outcome = self.outcome
        outcome.seconds = time.monotonic() - self._began
        outcome.inputs = sum(one.inputs for one in workers)
        outcome.edges = max(one.edges for one in workers)
        outcome.behaviours = max(int(one.state.get("behaviours", 0)) for one in workers)
        for name in ("tolerated", "used", "brought"):
            setattr(outcome, name, sum((one.counts(name) for one in workers), Counter()))
        for name, count in sum((one.counts("counts") for one in workers), Counter[str]()).items():
            if name in outcome.findings:
                outcome.findings[name] = replace(outcome.findings[name], count=max(count, 1))
        self.show(outcome)

    def _progress(self) -> None:
        outcome = self.outcome
        campaigns.add_event(self.folder, "progress", outcome.seconds, {
            "inputs": outcome.inputs, "edges": outcome.edges, "findings": len(outcome.findings),
            "rate": round(outcome.rate, 1), "corpus": len(crew.corpus_files(self.corpus)),
        })  # fmt: skip

    def _look(self, one: crew.Worker, ledger: Mapping[str, FindingRow]) -> None:
        for told in one.look():
            self._found(row_of_found(told, self.order.targets, self.versions), ledger)

    def _found(self, row: FindingRow, ledger: Mapping[str, FindingRow]) -> None:
        if row.id in self.outcome.findings:
            return
        now = time.monotonic() - self._began
        if row.id in ledger:
            row = replace(row, standing=ledger[row.id].standing, segments=ledger[row.id].segments,
                          explanation=ledger[row.id].explanation)  # fmt: skip
        self.outcome.findings[row.id] = row
        self.outcome.first_seen[row.id] = now
        self._keep(row)
        campaigns.add_event(self.folder, "finding", now, {"id": row.id} if row.embargo else
                            {"id": row.id, "signature": row.signature, "why": row.why})  # fmt: skip

    def _died(self, one: crew.Worker, death: crew.Death, ledger: Mapping[str, FindingRow]) -> None:
        last = [line for line in death.lines if line.strip()][-3:]
        if death.code in (CANNOT_WRITE, CANNOT_BEGIN):
            raise CannotGoOn(
                last[-1].removeprefix("worker: ") if last else "a worker cannot begin",
                step="fuzz codec",
                seen=last[:-1],
                hint="is the disk full?" if death.code == CANNOT_WRITE else "",
            )
        if death.data is None:
            raise CannotGoOn(f"a worker ended with {death.why}, and no input was run", step="fuzz codec", seen=last,
                             hint=f"read {one.plan.folder / 'log.txt'}")  # fmt: skip
        self.outcome.restarts += 1
        if self.outcome.restarts > MOST_DEATHS:
            raise CannotGoOn(f"workers died {MOST_DEATHS} times", step="fuzz codec", seen=last,
                             hint="a target that ends its process so often is best mended first")  # fmt: skip
        one.condemn(death.data)
        row = row_of_death(death, self.order.oracle, self.order.targets, self.versions)
        self._found(row, ledger)
        campaigns.add_event(
            self.folder, "restart", time.monotonic() - self._began, {"worker": one.number, "seen": death.why}
        )

    def _keep(self, row: FindingRow) -> None:
        """In the campaign's folder; what is under embargo in the user's own, and nowhere else."""
        campaigns.keep_finding(embargo.folder() / "fuzz" if row.embargo else self.folder, row)

    # --- the end ------------------------------------------------------------------------------------------------------

    def _close(self, ledger: dict[str, FindingRow], *, merge: bool) -> None:
        outcome = self.outcome
        outcome.fresh = tuple(sorted(outcome.findings.keys() - ledger.keys()))
        for name, row in outcome.findings.items():
            before = ledger.get(name)
            count = row.count + (before.count if before else 0)
            ledger[name] = replace(hidden(row), count=count)
            self._keep(replace(row, count=count))
        campaigns.write_ledger(self.folder, ledger)
        if merge:
            before_merge = len(crew.corpus_files(self.corpus))
            after = merged(self._plan(0), self.corpus, self.folder)
            campaigns.add_event(self.folder, "merge", outcome.seconds, {"before": before_merge, "after": after})
        if any(row.embargo for row in outcome.findings.values()):
            shutil.rmtree(self.folder / "workers")  # their notes hold the inputs
        outcome.corpus = len(crew.corpus_files(self.corpus))
        campaigns.add_event(self.folder, "end", outcome.seconds, {
            "inputs": outcome.inputs, "edges": outcome.edges, "findings": len(outcome.findings), "corpus": outcome.corpus,
        })  # fmt: skip


__all__ = ["Campaign", "FindingRow", "Order", "Outcome", "alone", "hidden", "told"]
