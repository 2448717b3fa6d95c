"""A forked copy of the process that judges a part of the run beside us, so that both cores work.

The copy never writes: whatever it says to a register or to a person goes through a pipe to us, and we do it. What it needs to
know of the target (its habits, to stop) goes through another pipe to it. A pipe ends with its process, so neither outlives the other.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import Queue
from types import TracebackType
from typing import IO, Any, Final, Self

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.programs import processes
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.group import Death
from zenoh_harness.run.judge.decide import Decision
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.facts import Ability
from zenoh_harness.run.node.lifecycle import Examine, Lifecycle, Measure, Unhealthy
from zenoh_harness.run.write.register import Register
from zenoh_harness.targets.habits import TargetHabits
from zenoh_harness.targets.target import NodeTarget

STOP: Final = "stop"
HABITS: Final = "habits"
ALONE: Final = "alone"
CUT: Final = "cut"
JUDGEMENTS: Final = "judgements"

Cut = Callable[[float, str], None]
"""What lets an allowance of time end earlier: at a time of `time.monotonic`, and why."""

Message = tuple[str, Any]
"""What to do, and with what."""


def can_fork() -> bool:
    """Whether this process may be copied: locks that another thread holds stay locked in the copy for ever."""
    return sys.platform == "linux" and threading.active_count() == 1


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What an instance of the first profile showed, as far as another one is held to it."""

    habits: TargetHabits
    measure: Measure

    def lifecycle(self, target: NodeTarget, profile: str, examine: Examine, told: Callable[[str], None]) -> Lifecycle:
        """That of another instance."""
        another = Lifecycle(target, profile, examine, told=told, habits=self.habits)
        another.hold_to(self.measure)
        return another


@dataclass(frozen=True, slots=True)
class AloneTask:
    """The cases of the first profile that must be alone, and what the target can do."""

    can: Ability
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class AloneResults:
    """What came of the cases that had an instance to themselves."""

    decisions: list[Decision]
    law_results: LawResults
    deaths: list[Death]
    slow: Unhealthy | None
    lost: list[Unhealthy]

    def with_those_of(self, *others: AloneResults) -> AloneResults:
        """These and those of other instances."""
        every = (self, *others)
        for other in others:
            self.law_results.join(other.law_results)
        return AloneResults(
            decisions=[decision for each in every for decision in each.decisions],
            law_results=self.law_results,
            deaths=[death for each in every for death in each.deaths],
            slow=next((each.slow for each in every if each.slow is not None), None),
            lost=[one for each in every for one in each.lost],
        )


class _Pickler(pickle.Pickler):
    """Writes a case as its id: both processes have it."""

    def persistent_id(self, value: object) -> str | None:
        return value.id if isinstance(value, Case) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, read: IO[bytes], cases: Mapping[str, Case]) -> None:
        super().__init__(read)
        self._cases = cases

    def persistent_load(self, name: str) -> Case:
        return self._cases[name]


class Pipe:
    """One direction of messages between a process and its copy."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases
        read, write = os.pipe()
        self._read: IO[bytes] = open(read, "rb")  # noqa: SIM115, PTH123  lives as long as the copy
        self._write: IO[bytes] = open(write, "wb", buffering=0)  # noqa: SIM115, PTH123
        self._lock = threading.Lock()

    def send(self, kind: str, value: object = None) -> None:
        """Put a message in. One that nobody will read is lost."""
        data = io.BytesIO()
        _Pickler(data, pickle.HIGHEST_PROTOCOL).dump((kind, value))
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            rest = data.getbuffer()
            while rest:  # a signal may cut a write short
                rest = rest[self._write.write(rest) :]

    def next(self) -> Message | None:
        """The next message; None when the other process is gone."""
        try:
            kind, value = _Unpickler(self._read, self._cases).load()
        except (EOFError, pickle.UnpicklingError):
            return None
        return kind, value

    def only_read(self) -> None:
        """Close the end that the other process writes to."""
        self._write.close()

    def only_write(self) -> None:
        """Close the end that the other process reads from."""
        self._read.close()

    def close(self) -> None:
        """Close what is still open."""
        self.only_read()
        self.only_write()


class ForkedRegister(Register):
    """The register of one part in the copy: ours does what it is told."""

    def __init__(self, original: Register, number: int, up: Pipe, asked: Queue[list[Judgement]]) -> None:
        self.__dict__.update(vars(original))
        self._number, self._up, self._asked = number, up, asked

    def add(self, *given: Any, **named: Any) -> None:  # type: ignore[override]
        """Judge, excuse, keep the evidence, write: over there."""
        self._up.send("add", (self._number, given, named))

    def withhold(self, count: int) -> None:
        """Count what is kept back and not run."""
        self._up.send("withhold", (self._number, count))

    @property
    def judgements(self) -> list[Judgement]:  # type: ignore[override]
        """All so far, of every process."""
        self._up.send(JUDGEMENTS)
        return self._asked.get()


class InFork:
    """What the work in the copy has: registers that are ours, options that tell us, and what we said to it."""

    def __init__(self, down: Pipe, up: Pipe, registers: Sequence[Register], stop: Callable[[], None], cut: Cut) -> None:
        self._down, self._up, self._stop, self._cut = down, up, stop, cut
        self._habits: Queue[FirstLook | None] = Queue()
        self._first: Queue[FirstLook | None] = Queue()
        self._shared: Queue[AloneTask | None] = Queue()
        self._judgements: Queue[list[Judgement]] = Queue()
        self.registers = [ForkedRegister(one, at, up, self._judgements) for at, one in enumerate(registers)]

    def listen(self) -> None:
        """Do as told, until we are gone: then nothing of the copy stays."""
        while (message := self._down.next()) is not None:
            kind, value = message
            if kind == JUDGEMENTS:
                self._judgements.put(value)
            elif kind == ALONE:
                self._shared.put(value)
            elif kind == CUT:
                self._cut(*value)
            else:
                self._habits.put(value)
                self._first.put(value)
                if value is None:  # nothing more will come
                    self._shared.put(None)
            if kind == STOP:
                self._stop()
        os._exit(1)  # its supervisor ends its programs

    def habits(self) -> TargetHabits | None:
        """What was learnt of the target in its first profile; None where nothing is left to do."""
        learnt = self._habits.get()
        return None if learnt is None else learnt.habits

    def first_look(self) -> FirstLook | None:
        """What the first instance of the first profile showed; None where nothing is left to do with another one."""
        return self._first.get()

    def shared(self) -> AloneTask | None:
        """What is to be done with another instance of the first profile; None where nothing is."""
        return self._shared.get()

    def came_of_alone(self, results: AloneResults) -> None:
        """Say what came of it."""
        self._up.send(ALONE, results)

    def options(self, options: Options) -> Options:
        """The same, but that what it says to a person is said by us."""

        def said(name: str) -> Callable[..., None]:
            return lambda *given: self._up.send("say", (name, given))

        return replace(options, told=said("told"), found=said("found"), advance=said("advance"))


class Forked:
    """Work in a copy of this process, beside what the `with` block does; its error is raised at the block's end."""

    def __init__(
        self,
        work: Callable[[InFork], None],
        registers: Sequence[Register],
        options: Options,
        *,
        cases: Mapping[str, Case],
        stop: Callable[[], None],
        cut: Cut = lambda _until, _why: None,
    ) -> None:
        """`work` is done in the copy; `stop` makes it end there, `cut` by when the cases end that must be alone."""
        self._work, self._registers, self._options, self._stop_work = work, registers, options, stop
        self._cut_work = cut
        self._down, self._up = Pipe(cases), Pipe(cases)
        self._alone: Queue[AloneResults | None] = Queue()
        self._why: BaseException | None = None
        self._done = False
        self._thread = threading.Thread(target=self._listen, name="zconform-fork", daemon=True)
        self._pid = 0

    def learnt(self, first: FirstLook | None) -> None:
        """Tell the copy what the first profile showed of the target; None where it has nothing to do with the others."""
        self._down.send(HABITS, first)

    def do_alone(self, shared: AloneTask) -> None:
        """Have the cases that must be alone done with another instance of the first profile."""
        self._down.send(ALONE, shared)

    def of_alone(self) -> AloneResults | None:
        """Wait for what came of them; None where the copy ended before."""
        return self._alone.get()

    def cut(self, until: float, why: str) -> None:
        """Tell the copy by when those are to end."""
        self._down.send(CUT, (until, why))

    def stop(self) -> None:
        """Tell the copy to end."""
        self._down.send(STOP)

    def __enter__(self) -> Self:
        self._pid = os.fork()
        if self._pid == 0:
            self._copy()
        self._up.only_read()
        self._down.only_write()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.stop()
        try:
            self._thread.join()
        except BaseException:
            self.stop()
            self._thread.join()
            raise
        finally:
            self._down.close()
            self._up.close()
        _, status = os.waitpid(self._pid, 0)
        if kind is not None:
            return
        if self._why is not None:
            raise self._why
        if not self._done:
            raise CannotGoOn("a process of the run ended before its work", step="run", seen=f"wait status {status}")

    def _listen(self) -> None:
        """Do what the copy says, until it is gone."""
        while (message := self._up.next()) is not None:
            try:
                self._obey(*message)
            except BaseException as why:  # noqa: BLE001 - raised at the block's end
                self._why = self._why or why
                self.stop()
        self._alone.put(None)

    def _obey(self, kind: str, value: Any) -> None:
        if kind == "add":
            number, given, named = value
            self._registers[number].add(*given, **named)
        elif kind == "withhold":
            number, count = value
            self._registers[number].withhold(count)
        elif kind == "say":
            name, given = value
            getattr(self._options, name)(*given)
        elif kind == ALONE:
            self._alone.put(value)
        elif kind == JUDGEMENTS:
            self._down.send(JUDGEMENTS, list(self._registers[0].judgements))
        else:
            self._done, self._why = True, self._why or value

    def _copy(self) -> None:
        """In the copy: do the work; never returns."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts all; we are the one to say so
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._down.only_read()
            self._up.only_write()
            inside = InFork(self._down, self._up, self._registers, self._stop_work, self._cut_work)
            threading.Thread(target=inside.listen, name="zconform-fork", daemon=True).start()
            self._up.send("done", self._worked(inside))
        finally:
            processes.stop_all()
            os._exit(0)

    def _worked(self, inside: InFork) -> BaseException | None:
        """Do the work; what it raised, in a form that can be sent."""
        try:
            self._work(inside)
        except BaseException as why:  # noqa: BLE001 - raised in the parent
            try:
                pickle.loads(pickle.dumps(why))  # noqa: S301  our own
            except Exception:  # noqa: BLE001
                return RuntimeError(f"{type(why).__name__}: {why}")
            return why
        return None
