"""One case, once: what came of it, with all that was said."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from threading import Event as Flag
from threading import Lock
from typing import Final

from zenoh_conformance.judging.engine import Judged, judge
from zenoh_conformance.judging.finding import LOST_ON_THE_WAY, OVERSLEPT, Deviation, Finding
from zenoh_conformance.judging.kept_waiting import as_seen_in_time, kept_waiting
from zenoh_conformance.judging.own_side import own_faults
from zenoh_conformance.judging.shown_rows import RowCount
from zenoh_conformance.reading.conversation import Conversation, Framing, Side
from zenoh_conformance.talking.budget import KEPT, Budgets
from zenoh_conformance.talking.silences import Silences
from zenoh_harness.errors import AgentGone, CannotConnect, HarnessError
from zenoh_harness.links.datagrams import lost_datagrams
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs.processes import Program
from zenoh_harness.run.attempt.limiter import Limiter
from zenoh_harness.run.attempt.scenes import Facts, Overtime, Pause, Stage
from zenoh_harness.run.attempt.suspension import SUSPENDED, Watch
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.scripting.binder import Elsewhere
from zenoh_harness.targets.target import NodeInstance

AT_THE_END: Final = ("law/refusal-is-close",)
"""What we break when a case is over, and leaves a link in the middle of a handshake: it is shut without a word."""

JUDGING: Final = Lock()
"""One conversation is judged at a time: an answer that a target waits for has to wait for one judge at most."""


class Went(Enum):
    """How an attempt went."""

    HELD = "held"
    """The target did what is required."""
    DEVIATED = "deviated"
    LOST = "lost"
    """No link was to be had, or the program of the target ended meanwhile."""
    OVERTIME = "overtime"
    """The hard deadline passed."""
    BROKE = "broke"
    """We failed, not the target."""
    ELSEWHERE = "elsewhere"
    """What was to be observed was not reached."""
    SUSPENDED = "suspended"
    """The target was suspended meanwhile: that it did not answer says nothing of it."""
    STOPPED = "stopped"
    """The run was ended meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What came of one attempt."""

    item: Item
    went: Went
    conversation: Conversation = field(default_factory=Conversation)
    findings: tuple[Finding, ...] = ()
    cause: str = ""
    end: str = ""
    laws: tuple[Judged, ...] = ()
    """What the laws say of the target in this conversation."""
    written: Mapping[str, int] = field(default_factory=dict)
    """Requirement to how often the target wrote its row."""
    trace: str = ""
    """Where we broke."""
    reading: str | None = None
    """Which of two readings the target follows, where the case could tell."""
    left: tuple[int, int] = (0, 0)
    """How many circumstances of a varied case there was no time for, and of how many."""
    before: str = ""
    """How the target was found by the last look before it."""
    wrote: tuple[str, ...] = ()
    """The last lines that the target wrote during it, if it did not hold; others may have run beside it."""
    asked: int = 0
    """How many queries it asked to fence what it said."""
    watch: Watch | None = None
    """Tells whether the target was suspended since it began; None where that cannot matter."""

    @property
    def held(self) -> bool:
        """Whether nothing was wrong."""
        return self.went is Went.HELD


@dataclass(slots=True)
class Conditions:
    """What all attempts on one node share."""

    node: NodeInstance
    facts: Facts = field(default_factory=Facts)
    seed: int = 0
    stop: Flag = field(default_factory=Flag)
    agent: Lock = field(default_factory=Lock)
    """A node has one application: cases that use it take turns."""
    timeout: float | None = None
    """Seconds that a case may take; None for what cases take at most."""
    pause: Pause | None = None
    """Where one case is looked at by a person."""
    floor: Limiter | None = None
    """Where places are few: those who are busy at a time."""
    found: str = ""
    """How the target was found by the last look."""
    budgets: Budgets = field(default_factory=Budgets)
    """What attempts may read of the target."""
    silences: Silences = field(default_factory=Silences)
    """What the target never says."""
    rests_in_vain: Callable[[Item], bool] = lambda _item: False
    """Whether an item says nothing whatever it sees: what it sends counts, for deaths and laws, and no answer is waited for long."""


def attempt(item: Item, conditions: Conditions, number: int = 1) -> AttemptOutcome:
    """Run one case once; never raises."""
    turn: AbstractContextManager[object] = conditions.agent if uses_agent(item) else nullcontext()
    place: AbstractContextManager[object] = conditions.floor.taken() if conditions.floor else nullcontext()
    with turn, place:
        stage, watch = _stage(item, conditions, number), Watch.of(conditions.node)
        dropped = _lost_so_far(conditions.node)
        program = conditions.node.program if isinstance(conditions.node.program, Program) else None
        written = program.written() if program else ()
        with conditions.budgets.one() as stage.budget:
            outcome = _performed(item, stage)
        if number > 1:  # it recovered during the first one
            watch = replace(watch, recovers=False)
        wrote = program.lines_since(written) if program and not outcome.held else ()
        outcome = unless_suspended(replace(outcome, watch=watch, wrote=wrote))
    if outcome.went is not Went.BROKE and _lost_so_far(conditions.node) > dropped:
        outcome = _says_nothing(outcome, LOST_ON_THE_WAY)
    if conditions.stop.is_set() and not outcome.held:
        return AttemptOutcome(item=item, went=Went.STOPPED)
    return replace(outcome, before=conditions.found)


def _lost_so_far(node: NodeInstance) -> int:
    """Datagrams that this machine has dropped, where any may have been on their way to or from the node; else 0."""
    return lost_datagrams() if node.groups or node.locator.framing is Framing.DATAGRAM else 0


def unless_suspended(outcome: AttemptOutcome) -> AttemptOutcome:
    """The outcome; if the target was suspended since the attempt began, no silence and no law counts."""
    watch = outcome.watch
    if watch is None or not (watch.has_changed if outcome.held else watch.was_suspended or watch.recovers):
        return outcome
    return _says_nothing(outcome, SUSPENDED)


def in_calm(history: Sequence[AttemptOutcome]) -> list[AttemptOutcome]:
    """The attempts of one item; a red one right after a suspension counts as suspended unless the next one is red, too.

    A target that goes on again first does what it was kept from.
    """
    following = [*history[1:], None]
    calm = list(history[:1])
    for earlier, outcome, later in zip(history, history[1:], following[1:], strict=False):
        aftermath = earlier.went is Went.SUSPENDED and not outcome.held and (later is None or later.held)
        calm.append(_says_nothing(outcome, earlier.cause) if aftermath else outcome)
    return calm


def _says_nothing(outcome: AttemptOutcome, cause: str) -> AttemptOutcome:
    """The outcome of an attempt in which the target could not answer, or was not heard: no law counts, and no failure."""
    if outcome.held:
        return replace(outcome, laws=())
    return replace(outcome, went=Went.SUSPENDED, cause=cause, findings=(), laws=())


def _stage(item: Item, conditions: Conditions, number: int) -> Stage:
    return Stage(
        conditions.node,
        requirement=item.case.requirement,
        facts=conditions.facts,
        seed=conditions.seed,
        stop=conditions.stop,
        label=f"{conditions.node.side.value} {conditions.node.profile.name} {item.label} {number}",
        floor=conditions.floor,
        deadline=Deadline.after(conditions.timeout) if conditions.timeout is not None else None,
        pause=conditions.pause if conditions.pause and (item.label, number) == (conditions.pause.label, 1) else None,
        brief=conditions.rests_in_vain(item),
        silences=conditions.silences,
    )


def uses_agent(item: Item) -> bool:
    """Whether the case needs the application above the node, or one of its commands (`agent.put`)."""
    return any(need.partition(".")[0] == "agent" for need in item.case.needs)


def _performed(item: Item, stage: Stage) -> AttemptOutcome:
    went, cause, trace, findings, waits = Went.HELD, "", "", [], stage.habits.waits
    try:
        item.case.run(stage, item.parameters)
    except Deviation as deviation:
        findings.append(deviation.finding)
    except Overtime:
        went, cause = Went.OVERTIME, "the case did not come to its end before its deadline"
    except Elsewhere as otherwise:
        went, cause = Went.ELSEWHERE, str(otherwise)
    except (CannotConnect, AgentGone) as lost:
        went, cause = Went.LOST, lost.what
    except HarnessError as broken:
        went, cause = Went.BROKE, str(broken)
    except Exception as broken:  # noqa: BLE001 - a fault in a case is ours, is told as such, and the run goes on
        went, cause, trace = Went.BROKE, f"{type(broken).__name__}: {broken}", traceback.format_exc()
    finally:
        findings = [*stage.findings, *findings]
        if not item.case.timed:
            findings = [as_seen_in_time(stage.conversation, finding, waits) for finding in findings]
        if findings and stage.has_expired:
            findings = [replace(finding, path=OVERSLEPT) for finding in findings]
        late = kept_waiting(stage.conversation, stage.role, waits, silence_is_meant=item.case.timed)
        end = stage.ended(findings[0].end if findings else "")
        stage.close()
        asked = sum(map(len, {id(us.fences): us.fences for us in stage.dialogues}.values()))
        stage.forget_dialogues()
        if stage.budget.spent:
            stage.conversation.cut(stage.budget.sent + KEPT)
    if late is not None and went is not Went.BROKE:
        went, findings = Went.HELD, [late]
    if findings and went is Went.HELD:
        went, cause = Went.DEVIATED, findings[0].cause
    stage.conversation.about = {"case": item.label, "requirement": item.case.requirement}
    with JUDGING:
        every = judge(stage.conversation, watch=(count := RowCount(stage.role)))
    ours = own_faults(stage.conversation, every, stage.role.other, (*item.case.breaks, *AT_THE_END))
    if went is Went.HELD and (slip := next(ours, "")):
        went, cause = Went.BROKE, slip
    return AttemptOutcome(
        item=item,
        went=went,
        conversation=stage.conversation,
        findings=tuple(findings),
        cause=cause,
        end=end,
        laws=_of_target(every, stage.role, late is not None),
        written=count.rows,
        trace=trace,
        reading=stage.reading,
        left=stage.left,
        asked=asked,
    )


def _of_target(every: Sequence[Judged], side: Side, was_late: bool) -> tuple[Judged, ...]:
    """What the laws say of the target; where we were so late that it ended a link, nothing that they found counts."""
    of_target = (judged for judged in every if judged.sender is side and (judged.subjects or judged.findings))
    return tuple(judged for judged in of_target if not (was_late and judged.findings))
