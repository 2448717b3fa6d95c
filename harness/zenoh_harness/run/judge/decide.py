"""From attempts to a verdict. A repetition never turns red into green."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.readings import verdict_of
from zenoh_conformance.judging.verdict import Verdict, worst
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.spec.errata import AS_WRITTEN
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.node.lifecycle import Unhealthy, in_words
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item

LEFT_OUT: Final = "left out"
"""How the cause of what was not looked at begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be said of one item."""

    item: Item
    verdict: Verdict
    cause: str = ""
    end: str = ""
    attempts: int = 1
    conversation: Conversation | None = None
    """The evidence: what provoked it, and is done again by the script."""
    shown: Conversation | None = None
    """What shows it, where that is another: a zombie's is the health check that failed."""
    finding: Finding | None = None
    """What the target deviated by, where that is the reason."""
    trace: str = ""
    """Where we broke, when we did."""
    reading: str | None = None
    """Which of two readings the target follows, where the case could tell."""
    left: tuple[int, int] = (0, 0)
    """How many circumstances of a varied case there was no time for, and of how many."""
    before: str = ""
    """How the target was found by the last look before the attempt that shows it."""
    after: str = ""
    """How it was found by the first look after it."""
    script: str = ""
    """What is wrong with the script of what ended the target: that it does not repeat it, or was not tried."""

    beside: tuple[str, ...] = ()
    """The laws that the target broke on the connection of the finding, in the same attempt."""
    wrote: tuple[str, ...] = ()
    """The last lines that the target wrote during the attempt that shows it."""
    left_out: bool = False
    """Whether nobody looked, because there was no time; the cause says so."""

    @property
    def requirement(self) -> str:
        """The requirement that is judged: a finding counts for its own, in whichever check it shows."""
        return (self.finding.requirement if self.finding else "") or self.item.case.requirement


def level_of(requirement: str) -> str:
    """The requirement's level; MUST where the registry does not know it."""
    known = requirements().get(requirement)
    return str(known.level) if known is not None else "MUST"


def is_beyond(requirement: str, verdict: Verdict, required: frozenset[str] | None) -> bool:
    """Whether that is a deviation from what is not asked for: `required`, all when None. A death is never beyond it."""
    asked = required is None or requirement in required or requirement not in requirements()
    return not asked and verdict.is_red(strict=True) and not verdict.is_grave


def decide(item: Item, outcomes: Sequence[AttemptOutcome], side: Side = Side.RESPONDER) -> Decision:
    """The verdict on a case from attempts on a target that lived: all alike decide, different ones are `flaky`.

    An attempt for which it only took too long says nothing of what it does; where the others held, the case is `slow`.
    """
    # What was stopped because the run was ended says nothing about the target.
    telling = [outcome for outcome in outcomes if outcome.went is not Went.STOPPED]
    verdicts = [_verdict(outcome, side) for outcome in telling]
    verdict = _of_all(verdicts)
    red = _reason(telling, verdicts, verdict)
    return Decision(
        item=item,
        verdict=verdict,
        cause=_told(verdict, red, telling),
        end=red.end,
        attempts=len(telling),
        conversation=red.conversation,
        finding=red.findings[0] if red.findings else None,
        trace=red.trace,
        reading=AS_WRITTEN if red.findings and red.findings[0].follows else red.reading,
        left=red.left,
        before=red.before,
        beside=_beside(red),
        wrote=red.wrote,
    )


def _beside(red: AttemptOutcome) -> tuple[str, ...]:
    where = red.findings[0].connection if red.findings else None
    broken = {one.law.id for one in red.laws if any(finding.connection == where for finding in one.findings)}
    return tuple(sorted(broken))


def _of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """What several attempts are together. What came once in an attempt of many runs, and not again, is `flaky`."""
    if Verdict.ERROR in verdicts:
        return Verdict.ERROR
    seen = set(verdicts) - {Verdict.SLOW}
    if len(seen) > 1:
        seen -= {Verdict.NOT_OBSERVED}  # what did not come to its point says nothing of what did
    if len(seen) > 1 and all(verdict.is_wrong for verdict in seen):
        return worst(seen)  # wrong each time, if not each time in the same way
    if len(seen) > 1:
        return Verdict.FLAKY
    if Verdict.SLOW in verdicts and seen <= {Verdict.PASS}:
        return Verdict.SLOW
    return seen.pop()


def _reason(telling: Sequence[AttemptOutcome], verdicts: Sequence[Verdict], verdict: Verdict) -> AttemptOutcome:
    """The attempt that shows it: our own first fault, of what is flaky the first that did not hold, else the last of its verdict."""
    if verdict is Verdict.ERROR:
        return telling[verdicts.index(verdict)]
    alike = [outcome for outcome, one in zip(telling, verdicts, strict=True) if one is verdict]
    red = [outcome for outcome, one in zip(telling, verdicts, strict=True) if not one.is_right]
    if verdict is Verdict.FLAKY and red:
        return red[0]  # what comes now and then may never come again
    return (alike or red or telling)[-1]


def _told(verdict: Verdict, red: AttemptOutcome, telling: Sequence[AttemptOutcome]) -> str:
    if verdict is not Verdict.FLAKY:
        return red.cause
    bad = sum(not outcome.held for outcome in telling)
    return f"{bad} of {len(telling)} attempts: {red.cause}"


def _verdict(outcome: AttemptOutcome, side: Side) -> Verdict:
    match outcome.went:
        case Went.HELD:
            return Verdict.PASS
        case Went.DEVIATED if not outcome.findings[0].reached:
            return Verdict.NOT_OBSERVED
        case Went.DEVIATED:
            finding = outcome.findings[0]
            verdict = verdict_of(finding, level_of(finding.requirement or outcome.item.case.requirement))
            return Verdict.FLAKY if finding.once and verdict is Verdict.FAIL else verdict
        case Went.LOST:
            # A responder must accept; an initiator that did not connect, and was found well afterwards, took longer than usual.
            return Verdict.FAIL if side is Side.RESPONDER else Verdict.SLOW
        case Went.ELSEWHERE | Went.SUSPENDED:
            return Verdict.NOT_OBSERVED
        case Went.OVERTIME:
            return Verdict.SLOW  # it was found well afterwards, and what a step may take is bounded by itself
        case _:
            return Verdict.ERROR


def left_out(items: Sequence[Item], allowance: Allowance) -> Iterator[Decision]:
    """The verdict on cases for which there was no time."""
    for item in items:
        cause = f"{LEFT_OUT}: {allowance.is_over_because}"
        yield Decision(item=item, verdict=Verdict.NOT_OBSERVED, attempts=0, cause=cause, left_out=True)


def charged(item: Item, unhealthy: Unhealthy, outcome: AttemptOutcome, attempts: int, *, script: str = "") -> Decision:
    """The verdict on a case that was alone with a fresh target when the target died, again."""
    return Decision(
        item=item,
        verdict=unhealthy.verdict,
        cause=unhealthy.cause,
        end=outcome.end,
        attempts=attempts,
        conversation=outcome.conversation,
        shown=_shows(outcome, unhealthy),
        before=outcome.before,
        after=in_words(unhealthy.verdict, unhealthy.cause),
        script=script,
    )


def _shows(outcome: AttemptOutcome, unhealthy: Unhealthy) -> Conversation:
    """Of a zombie the health check that failed; else what was said before the end. With how it ended, and what it wrote last."""
    shows = outcome.conversation
    if unhealthy.verdict is Verdict.ZOMBIE and unhealthy.conversation is not None:
        shows = unhealthy.conversation
    about = {**outcome.conversation.about, **ended(unhealthy)}
    return Conversation(shows.connections, shows.events, about)


def ended(unhealthy: Unhealthy) -> dict[str, str]:
    """What evidence says of a target's end: how it ended, and the last lines that it wrote."""
    return {"ended": unhealthy.cause, **({"wrote": "\n".join(unhealthy.wrote)} if unhealthy.wrote else {})}
