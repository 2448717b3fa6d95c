"""One live campaign: batches of inputs on a target until the budget is used up, with triage, a ledger and a state to resume from."""

from __future__ import annotations

import fcntl
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar, Final, Literal, TypeVar

from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.conversation import Side
from zenoh_fuzz.campaign.record import CampaignOrder, Outcome, announce_finding, counted_with, ledger_row, store_finding
from zenoh_harness.errors import CannotGoOn, TargetError, UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.run.store import embargo
from zenoh_harness.targets.lookup import open_checked

from . import small, walks
from .acts import Input
from .findings import inputs_of, recover_ledger, symptom_of, unfinished_findings
from .mutate import mutate
from .seeds import Corpus
from .triage import ORACLE, Minimiser, disclosure, id_of, row_of
from .trial import Symptom, Trial

Engine = Literal["guided", "plain"]
T = TypeVar("T")
BATCH: Final = 32
"""Inputs between two looks at the target's health."""
OFTEN: Final = 2
"""Symptoms after which inputs with the same odd segments are left out, in most cases."""
SPARED: Final = 0.95
HISTORY: Final = 4000
"""Inputs that are tried again if a symptom does not come from its batch alone."""
SHARE: Final = 4
"""How much longer a worker searches than it minimises."""
SEARCHING: Final = 0.75
"""Share of the budget after which findings are minimised without delay."""
LEAST: Final = 5.0
"""Seconds that a minimisation gets, and takes as a rule."""
FILE: Final = "state-{}.json"
PROMISE: Final = "a target goes on to serve everybody, whatever one session sends"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOrder(CampaignOrder):
    """The settings of a live campaign; its CPU seconds are those of a worker and its target."""

    kind: ClassVar[str] = "live"
    target: str
    inputs: int = 0
    """Inputs after which a worker ends; 0 for no limit."""
    role: str | None = None
    """What our sessions say they are; without it a client, and a router to a target that connects."""
    engine: Engine = "guided"
    fresh: bool = False
    resume: bool = False

    def words(self, *about: str) -> list[str]:
        """Return the words of the command line."""
        own = [
            self.target,
            *(["--as", self.role] if self.role else []),
            "--engine",
            self.engine,
            *(["--fresh"] if self.fresh else []),
        ]
        own += ["--inputs", str(self.inputs)] if self.inputs else []
        own += ["--until-found", str(self.until_found)] if self.until_found else []
        return CampaignOrder.words(self, *own, *about)


@dataclass(slots=True)
class Progress:
    """How far a worker is: what `--resume` begins with."""

    tried: int = 0
    """Inputs of the small spaces, those that are put off included."""
    put_off: list[int] = field(default_factory=list)
    """Which of them are put off."""
    walked: int = 0
    """Inputs of the walks."""
    drawn: int = 0
    """Random inputs."""
    inputs: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    starts: int = 0
    spaces: dict[str, int] = field(default_factory=dict)
    """Space to inputs tried."""
    used: dict[str, int] = field(default_factory=dict)
    brought: dict[str, int] = field(default_factory=dict)


class LiveWorker:
    """One worker with a target of its own; `number` deals the small spaces and the seeds out."""

    def __init__(
        self, order: LiveOrder, number: int = 0, show: Callable[[Outcome], None] = lambda _so_far: None
    ) -> None:
        self.order, self.number, self.show = order, number, show
        self.folder = order.folder / ORACLE
        target = open_checked(order.target)
        role = order.role or ("router" if target.side is Side.INITIATOR else "client")
        self.trial = Trial(target, WhatAmI[role.upper()], fresh=order.fresh)
        self.outcome = Outcome()
        self.progress = self._begin()
        self.corpus = Corpus(self.folder / "corpus", order.corpora)
        self.random = Random(f"{order.seed} {number} {self.progress.drawn}")
        self._spaces = self._share(small.in_turns(order.seed), 0)
        done, put_off = islice(self._spaces, self.progress.tried), set(self.progress.put_off)
        self._later = deque((place, make()) for place, (_, make) in enumerate(done) if place in put_off)
        """Inputs of the small spaces that are put off, with their places: others with the same odd segments are findings."""
        self._walks = self._share(walks.walks(order.seed), self.progress.walked)
        self._spared: Counter[frozenset[Oddity]] = Counter()
        self._by_keys = 0
        """Batches in which the target panicked only when the bystanders used keys of the inputs."""
        self._history: deque[Input] = deque(maxlen=HISTORY)
        """What the target got since it was started."""
        self._pending: deque[tuple[Symptom, tuple[Input, ...]]] = deque()
        """Confirmed findings that are not minimised yet."""
        self._minimising = 0.0
        """Seconds used up by minimising."""
        self._known: set[str] = set()
        self._cpu = 0.0
        self._began = time.monotonic()

    def _begin(self) -> Progress:
        path = self.folder / FILE.format(self.number)
        return Progress(**json.loads(path.read_text())) if self.order.resume and path.exists() else Progress()

    def _share(self, source: Iterator[T], done: int) -> Iterator[T]:
        """Return what this worker has to do of a source of which it has done a part."""
        return islice(source, self.number + done * self.order.jobs, None, self.order.jobs)

    # -- budget

    def seconds_spent(self) -> float:
        """Return the seconds used up so far, of the clock or of CPU."""
        return self.progress.cpu + self._cpu_now() - self._cpu if self.order.cpu else self._clock()

    def _clock(self) -> float:
        return self.progress.seconds + time.monotonic() - self._began

    def _cpu_now(self) -> float:
        return time.process_time() + self.trial.cpu_seconds()

    _batches = 0

    def is_over(self) -> bool:
        """Whether the budget is used up, or enough was found."""
        order = self.order
        return (
            self.seconds_spent() >= order.seconds
            or 0 < order.inputs <= self.progress.inputs
            or 0 < order.until_found <= len(self.outcome.findings)
        )

    # -- the work

    def run(self) -> Outcome:
        """Work until the budget is used up. Raises TargetError for a target that cannot be started at all."""
        self._cpu = self._cpu_now()
        if self.order.resume:
            self._take_up()
        try:
            while not self.is_over():
                self.batch()
                self._minimise_pending()
            self._minimise_pending(all_of_them=True)
        finally:
            self.trial.stop()
            self._keep()
        return self.outcome

    def _take_up(self) -> None:
        """Go on with the findings of a campaign that ended or was killed: one that no minimisation reached is minimised now."""
        with lock_ledger(self.folder / "ledger.lock"):
            ledger = recover_ledger(self.folder)
        self._known = set(ledger)
        for row in unfinished_findings(self.folder, ledger) if self.number == 0 else ():
            self.outcome.findings[row.id] = row
            self._pending.append((symptom_of(row), inputs_of(row)[0]))

    def batch(self) -> None:
        """Run one batch, and look into what it did."""
        drawn = list(self._draw())
        starts, history = self.trial.starts, tuple(self._history)
        result = self.trial.run([made for made, _ in drawn], self.is_over, try_keys=self._tries_keys())
        self._by_keys += result.by_keys
        self.progress.starts += self.trial.starts - starts
        self.progress.inputs += result.performed
        for (made, names), features in zip(drawn, result.features, strict=False):
            if self.order.engine == "guided" and self.corpus.learn(made, features):
                _count(self.progress.brought, names)
            _count(self.progress.used, names)
        performed = [made for made, _ in drawn[: result.performed]]
        self._history.extend(performed)
        if result.symptom is not None:
            self._symptom(result.symptom, performed, sure=result.sure, before=history)
            self._history.clear()
        self._sum()
        self._keep()

    def _draw(self) -> Iterator[tuple[Input, tuple[str, ...]]]:
        """Yield the inputs of a batch with the names of their edits: those of the complete spaces and random ones in turn.

        Every second batch holds correct messages only: what is lost there is the target's fault.
        """
        self._batches += 1
        sane = self._batches % 2 == 0
        for at in range(BATCH):
            row = self._of_spaces(sane) if self.order.engine == "guided" and at % 2 == 0 else None
            made, names = row or self._random(sane)
            if sane or not self._is_spared(made):
                yield made, names
            elif row is not None:
                self._later.append((self.progress.tried - 1, made))

    def _of_spaces(self, sane: bool) -> tuple[Input, tuple[str, ...]] | None:
        """Return the next input of the walks or of the small spaces; None once all were tried."""
        if sane:
            row = next(self._walks, None)
            self.progress.walked += row is not None
        else:
            drawn = next(self._spaces, None)
            self.progress.tried += drawn is not None
            if drawn is None and self._later:
                return self._later.popleft()[1], ()
            row = (drawn[0], drawn[1]()) if drawn else None
        if row is None:
            return None
        _count(self.progress.spaces, (row[0],))
        return row[1], ()

    def _random(self, sane: bool) -> tuple[Input, tuple[str, ...]]:
        """Return a changed input of the corpus; `sane`: correct messages in an order that nobody chose."""
        self.progress.drawn += 1
        if sane:
            pool = self.corpus.sane
            return mutate(self.random.choice(pool), self.random, pool, sane=True)
        return mutate(self.corpus.choose(self.random), self.random, self.corpus.inputs)

    def _is_spared(self, made: Input) -> bool:
        """Whether inputs with the same odd segments showed symptoms often enough."""
        odd = oddities(made)
        hit = any(count >= OFTEN and paths <= odd for paths, count in self._spared.items())
        return hit and self.random.random() < SPARED

    def _tries_keys(self) -> bool:
        """Whether the bystanders use the keys of a batch: seldom, once a target panics at keys that are right, and at each of many."""
        return self._by_keys < OFTEN or self.random.random() >= SPARED

    def _symptom(self, symptom: Symptom, made: Sequence[Input], *, sure: bool, before: Sequence[Input]) -> None:
        """Confirm, minimise and store a symptom that is new; count one that is known."""
        if sure and (odd := oddities(made[-1])):
            self._spared[odd] += 1
        name = id_of(symptom)
        if name in self._known:
            self.trial.known.add(symptom.key)
            self._again(name)
            return
        confirmed = self._minimiser(symptom).confirm(made, sure=sure, before=before)
        self._store(row_of(self.trial, symptom, confirmed or made, confirmed=bool(confirmed)))
        self.trial.known.add(symptom.key)
        if confirmed:
            self._pending.append((symptom, confirmed))

    def _minimiser(self, symptom: Symptom) -> Minimiser:
        left = max(self.order.seconds - self.seconds_spent(), LEAST)
        return Minimiser(self.trial, symptom, float("inf") if self.order.cpu else time.monotonic() + left)

    def _spare(self, made: Sequence[Input]) -> None:
        """Leave out inputs with the odd segments of inputs that cause a finding."""
        for act in (act for one in made for act in one):
            if odd := oddities((act,)):
                self._spared[odd] += 1

    def _minimise_pending(self, *, all_of_them: bool = False) -> None:
        """Make the inputs of confirmed findings smaller: where the search had its share of the time, and all at the end."""
        while self._pending:
            begin = self.seconds_spent()
            late = begin >= SEARCHING * self.order.seconds
            if not (all_of_them or late or begin - self._minimising >= SHARE * (self._minimising + LEAST)):
                return
            symptom, confirmed = self._pending.popleft()
            smallest = self._minimiser(symptom).smallest(confirmed)
            small_row = row_of(self.trial, symptom, smallest, confirmed=True, minimised=True)
            before = self.outcome.findings[small_row.id]
            self._store(replace(small_row, count=before.count, grave=before.grave, embargo=before.embargo))
            self._spare(smallest)
            self._minimising += self.seconds_spent() - begin

    def _again(self, name: str) -> None:
        if name in self.outcome.findings:
            row = self.outcome.findings[name]
            self.outcome.findings[name] = replace(row, count=row.count + 1)

    # -- what is kept

    def _store(self, row: FindingRow) -> None:
        """Keep a finding in its folder and in the ledger, at once."""
        new = row.id not in self._known
        self._known.add(row.id)
        self.outcome.findings[row.id] = row
        self.outcome.first_seen.setdefault(row.id, self.seconds_spent())
        store_finding(self.folder, row)
        if row.embargo:
            place = embargo.folder() / "fuzz" / campaigns.FINDINGS / row.id
            (place / "disclosure.md").write_text(disclosure(row), encoding="utf-8")
        with lock_ledger(self.folder / "ledger.lock"):
            ledger = campaigns.read_ledger(self.folder)
            before = ledger.get(row.id)
            ledger[row.id] = ledger_row(counted_with(row, before if new else None))
            campaigns.write_ledger(self.folder, ledger)
        if new:
            announce_finding(self.folder, row, self.seconds_spent(), {"worker": self.number})

    def _sum(self) -> None:
        outcome = self.outcome
        outcome.inputs, outcome.seconds = self.progress.inputs, self.seconds_spent()
        outcome.corpus, outcome.behaviours = len(self.corpus.inputs), len(self.corpus.features)
        outcome.restarts = self.progress.starts
        outcome.used, outcome.brought = Counter(self.progress.used), Counter(self.progress.brought)
        self.show(outcome)

    def _keep(self) -> None:
        """Write down how far the worker is, so that `--resume` goes on from here."""
        put_off = [place for place, _ in self._later]
        now = replace(
            self.progress, put_off=put_off, seconds=self._clock(), cpu=self.progress.cpu + self._cpu_now() - self._cpu
        )
        path = self.folder / FILE.format(self.number)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(now)))
        new.replace(path)


Oddity = tuple[str, int, bool]
"""The path of a segment that an edit replaced, the size of what stands there in powers of two, and whether that is ASCII."""


def oddities(made: Input) -> frozenset[Oddity]:
    """Return what is odd in an input.

    The path alone would say too little: a key that is not ASCII and one that is too deep are two oddities of one field, and a
    fault that the first one shows on each try must not keep the second one from being tried.
    """
    replaced = (one for act in made for one in act.segments if one.note == "replaced")
    return frozenset((one.path, len(one.data).bit_length(), one.data.isascii()) for one in replaced)


def _count(counts: dict[str, int], names: Sequence[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0) + 1


@contextmanager
def lock_ledger(path: Path) -> Iterator[None]:
    """Hold a lock of the campaign's workers."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def begin(order: LiveOrder, versions: dict[str, str]) -> Path:
    """Make the campaign's folder and its manifest. Raises UsageError, CannotGoOn."""
    folder = order.folder / ORACLE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        order.write_manifest(
            folder,
            versions,
            id=f"{ORACLE}-{order.seed}-{int(time.time())}",
            oracle=ORACLE,
            promise=PROMISE,
            targets=[order.target],
            mutators="structure",
        )
        campaigns.add_event(folder, "begin", 0.0, {})
    except OSError as why:
        raise CannotGoOn(
            f"cannot write in {folder}", step="fuzz live", seen=str(why), hint="--out names another folder"
        ) from why
    return folder


def check(order: LiveOrder) -> None:
    """Check the target, and that what must be there for `--resume` is there. Raises UsageError."""
    open_checked(order.target)
    if order.resume and not (order.folder / ORACLE / campaigns.MANIFEST).exists():
        raise UsageError(
            f"there is no campaign in {order.folder / ORACLE}", step="--resume", hint="begin it without --resume"
        )


__all__ = ["LiveOrder", "LiveWorker", "Progress", "TargetError", "begin", "check"]
