"""From attempts to a verdict. A repetition never turns red into green."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zenoh_conformance.conversation import Conversation, Side
from zenoh_conformance.finding import Finding
from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Verdict, verdict_for
from zenoh_harness.run.attempt import AttemptOutcome, Went
from zenoh_harness.run.lifecycle import Unhealthy
from zenoh_harness.run.plan import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be said of one item."""

    item: Item
    verdict: Verdict
    cause: str = ""
    end: str = ""
    attempts: int = 1
    conversation: Conversation | None = None
    """The evidence."""
    finding: Finding | None = None
    """What the target deviated by, where that is the reason."""
    trace: str = ""
    """Where we broke, when we did."""
    reading: str | None = None
    """Which of two readings the target follows, where the case could tell."""


def level_of(requirement: str) -> str:
    """The requirement's level; MUST where the registry does not know it."""
    known = requirements().get(requirement)
    return str(known.level) if known is not None else "MUST"


def decide(item: Item, outcomes: Sequence[AttemptOutcome], side: Side = Side.RESPONDER) -> Decision:
    """The verdict on a case from attempts on a target that lived: all alike decide, different ones are `flaky`."""
    telling = [outcome for outcome in outcomes if outcome.went is not Went.STOPPED]
    last = telling[-1]
    verdicts = [_verdict(outcome, side) for outcome in telling]
    red = next((outcome for outcome in reversed(telling) if not outcome.held), last)
    if Verdict.ERROR in verdicts:
        verdict = Verdict.ERROR
        red = telling[verdicts.index(Verdict.ERROR)]
    elif len(set(verdicts)) > 1:
        verdict = Verdict.FLAKY
    else:
        verdict = verdicts[0]
    return Decision(
        item=item,
        verdict=verdict,
        cause=_told(verdict, red, telling),
        end=red.end,
        attempts=len(telling),
        conversation=red.conversation,
        finding=red.findings[0] if red.findings else None,
        trace=red.trace,
        reading=red.reading,
    )


def _told(verdict: Verdict, red: AttemptOutcome, telling: Sequence[AttemptOutcome]) -> str:
    if verdict is not Verdict.FLAKY:
        return red.cause
    bad = sum(not outcome.held for outcome in telling)
    return f"{bad} of {len(telling)} attempts: {red.cause}"


def _verdict(outcome: AttemptOutcome, side: Side) -> Verdict:
    match outcome.went:
        case Went.HELD:
            return Verdict.PASS
        case Went.DEVIATED:
            return verdict_for(level_of(outcome.item.case.requirement))
        case Went.LOST:
            # Whoever listens must accept; whoever should come to us may be anywhere.
            return Verdict.FAIL if side is Side.RESPONDER else Verdict.ERROR
        case Went.ELSEWHERE:
            return Verdict.NOT_OBSERVED
        case Went.OVERTIME:
            return Verdict.HANG
        case _:
            return Verdict.ERROR


def charged(item: Item, unhealthy: Unhealthy, outcome: AttemptOutcome, attempts: int) -> Decision:
    """The verdict on a case that was alone with a fresh target when the target died, again."""
    return Decision(
        item=item,
        verdict=unhealthy.verdict,
        cause=unhealthy.cause,
        end=outcome.end,
        attempts=attempts,
        conversation=outcome.conversation,
    )
