"""Verdicts: what one judgement says, how several make one, and what a run of them says to a shell.

Nothing that was not exercised is a pass, and nothing outranks a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, Final


class Verdict(Enum):
    """One judgement's outcome."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    """A MUST or a layout was deviated from."""
    WARN = "warn"
    """A SHOULD, or what a MAY says, was deviated from."""
    KNOWN = "known"
    """A deviation that the known-deviations file lists, with this verdict and this cause."""
    FLAKY = "flaky"
    """Repeated with the same input, the outcome changed."""
    SLOW = "slow"
    """Right, but past the latency budget."""
    NOT_OBSERVED = "not-observed"
    """The check ran and met nothing to judge."""
    NOT_APPLICABLE = "not-applicable"
    """The target says, and a probe agrees, that it does not do this."""
    UNIMPLEMENTED = "unimplemented"
    """The target said so itself when asked."""
    CRASH = "crash"
    HANG = "hang"
    ZOMBIE = "zombie"
    """Alive, answers handshakes, does no work."""
    PANIC = "panic"
    """Its output holds a panic or a sanitizer's report, whatever the link did."""
    ERROR = "error"
    """Ours: the harness could not judge."""


MEANS: Final[Mapping[Verdict, str]] = {
    Verdict.PASS: "What was seen is as required.",
    Verdict.WARN: "A SHOULD, or what a MAY says, was deviated from; the run still exits 0.",
    Verdict.SLOW: "It came as required, and later than it may.",
    Verdict.KNOWN: "A deviation that a list of known deviations names, with this verdict and this cause; anything else there is red.",
    Verdict.FAIL: "A MUST or the layout of a message was deviated from.",
    Verdict.FLAKY: "The same input had different outcomes; it counts as a deviation.",
    Verdict.PANIC: "Its output holds a panic or a sanitizer's report, whatever the link did.",
    Verdict.CRASH: "The process ended by itself.",
    Verdict.HANG: "It does not answer any more.",
    Verdict.ZOMBIE: "It lives and answers handshakes, and does no work.",
    Verdict.ERROR: "The harness could not judge; this says nothing about the target.",
    Verdict.NOT_OBSERVED: "The check ran and met nothing to judge, or did not run; the page of the run says which.",
    Verdict.NOT_APPLICABLE: "The target says that it does not do this, and a probe agrees.",
    Verdict.UNIMPLEMENTED: "The target said so itself when it was asked.",
}
"""What each verdict means, for readers who never saw the harness."""

WORST_FIRST = (
    Verdict.CRASH, Verdict.ZOMBIE, Verdict.PANIC, Verdict.HANG, Verdict.FAIL, Verdict.FLAKY, Verdict.SLOW,
    Verdict.ERROR, Verdict.KNOWN, Verdict.WARN, Verdict.PASS, Verdict.UNIMPLEMENTED, Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED,
)  # fmt: skip
"""The order in which several judgements of one requirement count; those after `pass` never outrank it nor become it."""

GRAVE = frozenset({Verdict.CRASH, Verdict.ZOMBIE, Verdict.PANIC, Verdict.HANG})
"""What is wrong with the target as a program, whatever it was asked."""

SEVERITY: Mapping[Verdict, int] = {verdict: len(WORST_FIRST) - rank for rank, verdict in enumerate(WORST_FIRST)}
"""A number for tables: the larger, the worse."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The one that counts; `not-observed` when there is none."""
    return max(verdicts, key=SEVERITY.__getitem__, default=Verdict.NOT_OBSERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What makes a judgement itself and no other: same key, same question."""

    target: str
    version: str
    role: str
    profile: str
    link: str
    requirement: str
    check: str
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One answer about one requirement, with what it stands on."""

    key: Key
    level: str
    """MUST, MUST NOT, SHOULD, MAY or LAYOUT."""
    verdict: Verdict
    reading: str | None = None
    """`as written`, or `as erratum:<id>` where page and baseline differ; None where they agree."""
    cause: str = ""
    """Why, in one line: what was expected and what came."""
    end: str = ""
    """How the link ended: `close:<reason>`, `fin`, `rst`, `open`."""
    attempts: int = 1
    embargo: bool = False
    evidence: str | None = None
    """Path of the recorded conversation, relative to the results."""
    repeat: str = ""
    """The one command that repeats it."""
    details: Mapping[str, Any] = field(default_factory=dict)


def verdict_for(level: str) -> Verdict:
    """The verdict of a deviation from a requirement of that level."""
    return Verdict.WARN if level in ("SHOULD", "SHOULD NOT", "MAY") else Verdict.FAIL


class Exit(IntEnum):
    """What a command says to the shell."""

    CONFORMING = 0
    NOT_CONFORMING = 1
    USAGE = 2
    CANNOT_GO_ON = 3
    NOTHING_JUDGED = 4


_DEPARTED = GRAVE | {Verdict.FAIL, Verdict.FLAKY}
_STRICT = {Verdict.WARN, Verdict.SLOW}
_JUDGED = _DEPARTED | _STRICT | {Verdict.PASS, Verdict.KNOWN}


def exit_code(verdicts: Iterable[Verdict], *, strict: bool = False, interrupted: bool = False) -> Exit:
    """The exit code of a run: of several reasons, 3 before 1 before 4 (usage, 2, never gets here)."""
    seen = set(verdicts)
    if interrupted or Verdict.ERROR in seen:
        return Exit.CANNOT_GO_ON
    if seen & _DEPARTED or (strict and seen & _STRICT):
        return Exit.NOT_CONFORMING
    return Exit.CONFORMING if seen & _JUDGED else Exit.NOTHING_JUDGED
