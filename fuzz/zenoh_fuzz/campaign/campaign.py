"""One campaign: run an oracle over targets for a time, and keep the corpus, the findings and the files."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zenoh_fuzz import inputs, oracle
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.worker.plan import CANNOT_BEGIN, CANNOT_WRITE, WorkerPlan
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow

from .corpus_merge import merge_corpus
from .record import (
    CampaignOrder,
    Outcome,
    announce_finding,
    counted_with,
    ledger_row,
    lock_folder,
    public_json,
    store_finding,
)
from .rows import row_of_death, row_of_found
from .workers import LATE, WorkerDeath, WorkerProcess, corpus_files, prepare_worker, time_left

TICK: Final = 0.2
PROGRESS_EVERY: Final = 5.0
"""Seconds between two progress events."""
BUSIEST: Final = 60
"""Seconds of the clock that one CPU second of a worker may take."""
MOST_DEATHS: Final = 500
"""Restarts of workers in one campaign, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(CampaignOrder):
    """The settings of a campaign of codecs."""

    oracle: str
    targets: tuple[str, ...] = ()
    structure: bool = True
    behaviour: bool = True
    layers: tuple[str, ...] = ()
    with_seeds: bool = True
    merge: bool = True

    def words(self, *about: str) -> list[str]:
        """Return the words of the command line."""
        own = [word for target in self.targets for word in ("--target", target)]
        own += [word for layer in self.layers for word in ("--layer", layer)]
        own += [] if self.structure else ["--mutators", "bytes"]
        return CampaignOrder.words(self, self.oracle, *own, *about)


class Campaign:
    """Runs a campaign; `show` gets the results so far a few times per second."""

    def __init__(
        self, order: Order, versions: Mapping[str, str], show: Callable[[Outcome], None] = lambda so_far: None
    ) -> None:
        self.order, self.versions, self.show = order, dict(versions), show
        self.folder = order.folder / order.oracle
        self.corpus = self.folder / "corpus"
        self.outcome = Outcome()
        self._began = 0.0

    def run(self) -> Outcome:
        """Fuzz until the time is up. Raises UsageError, CannotGoOn; findings are no error."""
        with lock_folder(self.folder):
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
                raise CannotGoOn(
                    f"cannot write in {self.folder}", step="fuzz codec", seen=str(why), hint="is the disk full?"
                ) from why
        return self.outcome

    def prepare(self) -> None:
        """Write seeds, dictionary and manifest."""
        made = oracle.oracle_without_targets(self.order.oracle)
        self.corpus.mkdir(parents=True, exist_ok=True)
        count = seeds.write_corpus(self.folder / "seeds", self._seeds(made), largest=made.largest)
        (self.folder / "dictionary").write_text(seeds.dictionary(made.words()), encoding="ascii")
        self.order.write_manifest(
            self.folder,
            self.versions,
            id=f"{self.order.oracle}-{self.order.seed}",
            oracle=self.order.oracle,
            promise=made.promise,
            targets=list(self.order.targets),
            layers=list(self.order.layers),
            seeds=count,
            mutators="structure" if self.order.structure else "bytes",
        )

    def _seeds(self, made: oracle.Oracle) -> Iterator[bytes]:
        numbers = self._layers()
        for seed in made.seeds() if self.order.with_seeds else ():
            if not numbers or not made.structured or seed[0] in numbers:
                yield seed
        for row in campaigns.read_ledger(self.folder).values():  # inputs of earlier findings are tried again
            if not row.grave and row.input:
                yield bytes.fromhex(row.input)

    def _layers(self) -> tuple[int, ...]:
        return tuple(inputs.LAYERS.index(layer) for layer in self.order.layers)

    # --- the work -----------------------------------------------------------------------------------------------------

    def _work(self, ledger: dict[str, FindingRow]) -> None:
        self._began = time.monotonic()
        campaigns.add_event(self.folder, "begin", 0.0, {"corpus": len(corpus_files(self.corpus))})
        workers = [prepare_worker(number, self._plan(number)) for number in range(self.order.jobs)]
        try:
            for one in workers:
                one.start(self._longest, self.order.seed + one.number, self._folders())
            self._watch(workers, ledger)
        finally:
            for one in workers:
                one.kill()
                one.launcher.close()

    def _plan(self, number: int) -> WorkerPlan:
        made = oracle.oracle_without_targets(self.order.oracle)
        return WorkerPlan(
            oracle=self.order.oracle,
            targets=self.order.targets,
            folder=self.folder / "workers" / str(number),
            corpus=self.corpus,
            structure=self.order.structure and made.structured,
            behaviour=self.order.behaviour,
            layers=self._layers(),
            largest=made.largest,
            first=self.order.with_seeds and not number,
            first_seconds=self.order.seconds / 2,
            cpu_seconds=self.order.seconds if self.order.cpu else 0,
        )

    @property
    def _longest(self) -> float:
        """The seconds of the clock after which the campaign ends at the latest."""
        return self.order.seconds * (BUSIEST if self.order.cpu else 1)

    def _folders(self) -> list[str]:
        words = self.folder / "dictionary"
        return [f"-dict={words}", str(self.corpus), str(self.folder / "seeds"), *map(str, self.order.corpora)]

    def _watch(self, workers: Sequence[WorkerProcess], ledger: dict[str, FindingRow]) -> None:
        until, last_progress = self._began + self._longest, 0.0
        running = list(workers)
        while running:
            time.sleep(TICK)  # polling is enough: nothing depends on a faster reaction
            for one in list(running):
                one.kill_if_stuck()
                ended = one.end_state()
                self._read_findings(one, ledger)
                if ended == 0:
                    running.remove(one)
                elif isinstance(ended, WorkerDeath):
                    self._restart_after(one, ended, ledger)
                    if time_left(until) < 1:
                        running.remove(one)
                    else:
                        one.start(
                            time_left(until),
                            self.order.seed + one.number + 1000 * self.outcome.restarts,
                            self._folders(),
                        )
            self._sum(workers)
            if time_left(until) < -LATE:
                break
            if self.outcome.seconds - last_progress >= PROGRESS_EVERY:
                last_progress = self.outcome.seconds
                self._progress()
            if 0 < self.order.until_found <= len(self.outcome.findings):
                break

    def _sum(self, workers: Sequence[WorkerProcess]) -> None:
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
        campaigns.add_event(
            self.folder,
            "progress",
            outcome.seconds,
            {
                "inputs": outcome.inputs,
                "edges": outcome.edges,
                "findings": len(outcome.findings),
                "rate": round(outcome.rate, 1),
                "corpus": len(corpus_files(self.corpus)),
            },
        )

    def _read_findings(self, one: WorkerProcess, ledger: Mapping[str, FindingRow]) -> None:
        for told in one.new_findings():
            self._add_finding(row_of_found(told, self.order.targets, self.versions), ledger)

    def _add_finding(self, row: FindingRow, ledger: Mapping[str, FindingRow]) -> None:
        if row.id in self.outcome.findings:
            return
        now = time.monotonic() - self._began
        if row.id in ledger:
            row = replace(
                row,
                standing=ledger[row.id].standing,
                segments=ledger[row.id].segments,
                explanation=ledger[row.id].explanation,
            )
        self.outcome.findings[row.id] = row
        self.outcome.first_seen[row.id] = now
        store_finding(self.folder, row)
        announce_finding(self.folder, row, now)

    def _restart_after(self, one: WorkerProcess, death: WorkerDeath, ledger: Mapping[str, FindingRow]) -> None:
        last = [line for line in death.lines if line.strip()][-3:]
        if death.code in (CANNOT_WRITE, CANNOT_BEGIN):
            raise CannotGoOn(
                last[-1].removeprefix("worker: ") if last else "a worker cannot begin",
                step="fuzz codec",
                seen=last[:-1],
                hint="is the disk full?" if death.code == CANNOT_WRITE else "",
            )
        if death.data is None:
            raise CannotGoOn(
                f"a worker ended with {death.why} before its first input",
                step="fuzz codec",
                seen=last,
                hint=f"read {one.plan.folder / 'log.txt'}",
            )
        self.outcome.restarts += 1
        if self.outcome.restarts > MOST_DEATHS:
            raise CannotGoOn(
                f"workers died {MOST_DEATHS} times",
                step="fuzz codec",
                seen=last,
                hint="fix the target's crashes first",
            )
        one.skip_input(death.data)
        row = row_of_death(death, self.order.oracle, self.order.targets, self.versions)
        self._add_finding(row, ledger)
        campaigns.add_event(
            self.folder, "restart", time.monotonic() - self._began, {"worker": one.number, "seen": death.why}
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    def _close(self, ledger: dict[str, FindingRow], *, merge: bool) -> None:
        outcome = self.outcome
        outcome.fresh = tuple(sorted(outcome.findings.keys() - ledger.keys()))
        for name, row in outcome.findings.items():
            counted = counted_with(row, ledger.get(name))
            ledger[name] = ledger_row(counted)
            store_finding(self.folder, counted)
        campaigns.write_ledger(self.folder, ledger)
        if merge:
            before_merge = len(corpus_files(self.corpus))
            after = merge_corpus(self._plan(0), self.corpus, self.folder)
            campaigns.add_event(self.folder, "merge", outcome.seconds, {"before": before_merge, "after": after})
        if any(row.embargo for row in outcome.findings.values()):
            shutil.rmtree(self.folder / "workers")  # the workers' files contain the inputs
        outcome.corpus = len(corpus_files(self.corpus))
        campaigns.add_event(
            self.folder,
            "end",
            outcome.seconds,
            {
                "inputs": outcome.inputs,
                "edges": outcome.edges,
                "findings": len(outcome.findings),
                "corpus": outcome.corpus,
            },
        )


__all__ = ["Campaign", "FindingRow", "Order", "Outcome", "ledger_row", "lock_folder", "public_json", "store_finding"]
