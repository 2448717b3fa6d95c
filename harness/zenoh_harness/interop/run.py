"""One pair: every step, each judged, the pair made anew when a node or an application does not come back to rest."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.engine import Judge
from zenoh_conformance.judging.finding import LOST_ON_THE_WAY, Finding
from zenoh_conformance.judging.verdict import Verdict, exit_code
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Side
from zenoh_harness.errors import AgentError, AgentRefuses, AgentUnimplemented, CannotGoOn
from zenoh_harness.files import run_ids
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.results import Header, ResultsWriter, now
from zenoh_harness.interop.judging import (
    RECORDING,
    PairedTarget,
    PairRecords,
    StepOutcome,
    pair_name,
    repeated,
    versions,
)
from zenoh_harness.interop.pair import Pair
from zenoh_harness.interop.scenario import ScenarioInstance
from zenoh_harness.interop.talk import Missed, Unfit
from zenoh_harness.links.datagrams import lost_datagrams
from zenoh_harness.links.tap import Recording
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.runner import Ran, known_for
from zenoh_harness.run.store import embargo
from zenoh_harness.run.store.embargo import guarded
from zenoh_harness.targets.agent import SILENT
from zenoh_harness.targets.endpoints import link_protocol
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeTarget
from zenoh_harness.version import harness_version

RESULTS: Final = "results.jsonl"
MOST_KEPT: Final = 1 << 26
"""Bytes that the events of one step may take in memory; a run whose step takes more does not go on."""
_OVERHEAD: Final = 200
"""Bytes of an event beside its data."""
_MOST_DEATHS: Final = 20
"""After so many pairs that had to be made anew a run does not go on."""


class Tape:
    """Takes the tap's events: all go into the recording, those of the current step are kept."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._kept = 0
        self.full = False
        """Whether a step took more than `MOST_KEPT` bytes: later events are neither kept nor recorded."""
        self.connections: dict[str, Connection] = {}
        """All that were seen, of every pair."""
        self.prefix = ""
        """Tells the links of this pair from those of one that had to be made anew."""

    def __call__(self, event: Event) -> None:
        """Called by the tap's thread."""
        event = replace(event, connection=self.prefix + event.connection)
        with self._lock:
            self._kept += len(event.data) + _OVERHEAD
            self.full = self.full or self._kept > MOST_KEPT
            if self.full:
                return
            self._events.append(event)
            self._recording(event)

    def cut(self, conversation: Conversation, cause: str) -> Conversation:
        """What came since the last cut, on the tap's connections."""
        with self._lock:
            events, self._events, self._kept = self._events, [], 0
        for name, connection in list(conversation.connections.items()):
            self.connections[self.prefix + name] = replace(connection, name=self.prefix + name)
        names = dict.fromkeys(event.connection for event in events)
        known = {name: self.connections[name] for name in names if name in self.connections}
        return Conversation(known, events, {"cause": cause} if cause else {})


class InteropRun:
    """The run of one pair, made for one call of `run`."""

    def __init__(
        self,
        responder: Reach,
        initiator: Reach,
        steps: Sequence[ScenarioInstance],
        options: Options,
        known: Sequence[Path] = (),
    ) -> None:
        """`known`: further files of known deviations; the targets' own are always read."""
        self.responder, self.initiator, self.steps, self.options = responder, initiator, steps, options
        self._known = known
        self._judged = Conversation()
        """The connections that the laws have met; their framing is that of their link."""
        self._judge = Judge(self._judged)
        self._ends: list[tuple[str, float, str]] = []
        """Of each step: the pair's prefix, the time of its last event, its label."""
        self._lossy: set[str] = set()
        """The labels of the steps during which this machine dropped datagrams."""
        self._made = 0
        self._stack = contextlib.ExitStack()

    def run(self, command: str = "") -> Ran:
        """Every step, then the laws. What stops it midway is told in the footer and never raised.

        Raises UsageError for a target that cannot stand in its place, TargetError when one cannot be had at all.
        """
        (self.options.out / RESULTS).unlink(missing_ok=True)  # nobody shall take an earlier run's for this one's
        recording = Recording(self.options.out / RECORDING)
        self._tape = Tape(recording)
        try:
            self._pair = self._fresh()
            ran = self._run_pair(command)
        finally:
            self._stack.close()
            recording.close(Conversation(self._tape.connections))
        if ran.footer.embargoed:  # the bytes that did it are in there
            kept = embargo.folder(self.options.data_folder) / f"{slug(ran.header.name)}.jsonl"
            shutil.move(self.options.out / RECORDING, kept)
        return ran

    def _run_pair(self, command: str) -> Ran:
        parties = {side: self._party(target) for side, target in self._pair.targets.items()}
        header = self._header(parties, command)
        profile = header.profiles[0]
        planned = [f"{step.here.value} {profile} {step.label}" for step in self.steps]
        with ResultsWriter(self.options.out / RESULTS, header, planned) as writer:
            records = PairRecords(parties, profile, writer, self.options, link_protocol(self.initiator))
            stopped = self._all(records)
            self._laws(records)
            self._report_gone(records)
            code = exit_code(
                (one.verdict for one in records.judgements),
                strict=self.options.strict,
                interrupted=stopped is not None,
            )
            footer = writer.footer(code, why=stopped.what if stopped else "")
        return Ran(
            header=header, judgements=tuple(records.judgements), footer=footer, out=self.options.out, stopped=stopped
        )

    def _all(self, records: PairRecords) -> CannotGoOn | None:
        """Every step; why it ended early."""
        try:
            if self._pair.lacking:
                self.options.told(f"{pair_name(records.parties)}: {self._pair.lacking}")
            self._pair.stir()
            for step in self.steps:
                self._step(step, records)
                if self._tape.full:
                    return CannotGoOn(
                        f"more than {MOST_KEPT >> 20} MiB went over the link in one step", step=step.label
                    )
                self.options.advance(1, step.label)
        except KeyboardInterrupt:
            return CannotGoOn("interrupted")
        except CannotGoOn as why:
            return why
        return None

    # -- the pair

    def _fresh(self) -> Pair:
        """A pair, started; the one before it is ended. Raises TargetError, CannotGoOn after too many."""
        self._stack.close()
        if self._made > _MOST_DEATHS:
            raise CannotGoOn(f"the pair had to be made anew {self._made} times", step="interop")
        self._made += 1
        self._tape.prefix = f"{self._made}-" if self._made > 1 else ""
        self._pair = self._stack.enter_context(Pair(self.responder, self.initiator, self._tape))
        return self._pair

    def _party(self, target: NodeTarget) -> PairedTarget:
        identity = target.identity
        return PairedTarget(
            reach=str(self.responder if target.side is Side.RESPONDER else self.initiator),
            name=target.reach.reported_name(identity.name),
            version=identity.version,
            known=known_for(identity.name, self._known, kind=identity.kind, nodes=[target.role]),
            guarded=guarded(target),
        )

    def _header(self, parties: Mapping[Side, PairedTarget], command: str) -> Header:
        profiles = dict.fromkeys(node.profile.name for node in self._pair.nodes.values())
        reach, date = f"{self.responder} <- {self.initiator}", now()
        return Header(
            reach=reach,
            name=pair_name(parties),
            version=versions(parties),
            role="responder+initiator",
            kind="interop",
            harness=harness_version(),
            date=date,
            run=run_ids.of_new(date, reach, command),
            command=command,
            profiles=("+".join(profiles),),
        )

    # -- steps

    def _step(self, step: ScenarioInstance, records: PairRecords) -> None:
        """Once; a red one again, on a pair at rest."""
        if self._pair.lacking:
            records.step(step, self._not_possible())
            return
        first = self._attempt(step)
        records.step(step, repeated(first, self._attempt(step)) if first.verdict.is_red() else first)

    def _not_possible(self) -> StepOutcome:
        """What a step is where an application is lacking: `unimplemented`, but for a node that has died."""
        dead = self._pair.dead()
        if dead:
            cause = "; ".join(f"{side.value}: {how}" for side, how in dead.items())
            return StepOutcome(
                verdict=Verdict.CRASH, cause=cause, conversation=self._judge_events("", cause), blamed=tuple(dead)
            )
        return StepOutcome(verdict=Verdict.UNIMPLEMENTED, cause=self._pair.lacking)

    def _attempt(self, step: ScenarioInstance) -> StepOutcome:
        dropped = self._lost_so_far()
        verdict, cause = self._went(step)
        dead = self._pair.dead()
        unrest = cause if dead or verdict is Verdict.HANG else self._rest()
        dead = dead or self._pair.dead()
        lost = self._lost_so_far() > dropped
        if lost:
            self._lossy.add(step.label)
        if dead:
            verdict, cause = Verdict.CRASH, "; ".join(f"{side.value}: {how}" for side, how in dead.items())
        elif lost and (verdict is Verdict.FAIL or (unrest and verdict is Verdict.PASS)):
            verdict, cause = Verdict.NOT_OBSERVED, LOST_ON_THE_WAY
        elif unrest and verdict is Verdict.PASS:
            verdict, cause = Verdict.HANG, f"afterwards: {unrest}"
        conversation = self._judge_events(step.label, cause)
        blamed = tuple(dead) or tuple(side for side, voice in self._pair.voices.items() if voice.stalled)
        if unrest or dead:
            self.options.told(f"{step.label}: {cause}; the pair is made anew")
            self._fresh()
        return StepOutcome(verdict=verdict, cause=cause, conversation=conversation, blamed=blamed or tuple(Side))

    def _lost_so_far(self) -> int:
        """Datagrams that this machine has dropped, where any may have been on their way between the two; else 0."""
        return lost_datagrams() if link_protocol(self.initiator) == "udp" else 0

    def _went(self, step: ScenarioInstance) -> tuple[Verdict, str]:
        talk = self._pair.talk(step.here)
        try:
            step.scenario.function(talk, **dict(step.values))
        except Missed as why:
            return Verdict.FAIL, str(why)
        except Unfit as why:
            return Verdict.NOT_APPLICABLE, str(why)
        except AgentUnimplemented as why:
            return Verdict.UNIMPLEMENTED, "; ".join(why.seen)
        except AgentError as why:
            if isinstance(why, AgentRefuses) and talk.is_cut:
                return Verdict.NOT_APPLICABLE, f"{why.what} without a session: {'; '.join(why.seen)}"
            stalls = SILENT in why.seen
            return Verdict.HANG if stalls else Verdict.FAIL, f"{why.what}: {'; '.join(why.seen)}"
        return Verdict.PASS, ""

    def _rest(self) -> str:
        """Why the pair does not come to rest; empty when it does."""
        try:
            self._pair.rest()
        except (Missed, AgentError) as why:
            return str(why).partition("\n")[0]
        return ""

    # -- the wire

    def _judge_events(self, label: str, cause: str = "") -> Conversation:
        """Pass the events of a step to the laws; return them, as its evidence."""
        part = self._tape.cut(self._pair.conversation, cause)
        self._judged.connections.update(part.connections)
        for event in part:
            self._judge.feed(event)
        if part.events:
            self._ends.append((self._tape.prefix, part.events[-1].time, label))
        return part

    def _laws(self, records: PairRecords) -> None:
        self._judge_events("the end")
        for said in self._judge.finish():
            kept = tuple(found for found in said.findings if self._during(found) not in self._lossy)
            during = self._during(kept[0]) if kept else ""
            records.law(replace(said, findings=kept), during, lost=len(kept) < len(said.findings))

    def _during(self, finding: Finding) -> str:
        """The step during which it was seen."""
        prefix = f"{found}-" if (found := finding.connection.partition("-")[0]).isdigit() else ""
        ends = (label for mine, end, label in self._ends if mine == prefix and finding.time <= end)
        return next(ends, "")

    def _report_gone(self, records: PairRecords) -> None:
        """Record a failure for each scenario's listed deviation that no longer occurs. Laws need cases to provoke them."""
        for side, party in records.parties.items():
            for deviation, shown in party.known.gone():
                if deviation.name.startswith("interop/"):
                    cause = f"listed as {deviation.verdict.value} ({deviation.cause}), and it passes"
                    records.add_gone(side, deviation.name, shown, cause)
