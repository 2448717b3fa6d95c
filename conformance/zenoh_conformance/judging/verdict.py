"""Verdicts: the outcome of one judgement, the worst of several, and the exit code of a run.

What was not exercised never passes, and nothing outranks a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from operator import attrgetter
from typing import Any, Final, Self


class Verdict(Enum):
    """The outcome of one judgement.

    A row: name, severity (the larger, the worse), traits (what the properties below ask), meaning for readers of a report.
    """

    PASS = "pass", 4, "right conditional", "What was seen is as required."
    FAIL = "fail", 10, "red conditional", "The target deviated from a MUST or from the layout of a message."
    WARN = "warn", 5, "minor conditional", "The target deviated from a SHOULD or a MAY; the run still exits 0."
    KNOWN = "known", 6, "listed", "A deviation in a list of known deviations, with this verdict and this cause."
    FLAKY = "flaky", 9, "red unsteady", "The same input had different outcomes; it counts as a deviation."
    SLOW = "slow", 8, "right minor unsteady", "What was seen is as required, and came too late."
    NOT_OBSERVED = "not-observed", 1, "nothing conditional", "The check met nothing to judge, or did not run."
    NOT_APPLICABLE = "not-applicable", 2, "nothing", "The target says that it does not do this, and a probe agrees."
    UNIMPLEMENTED = "unimplemented", 3, "nothing", "The target said so itself when it was asked."
    CRASH = "crash", 14, "red grave", "The process ended by itself."
    HANG = "hang", 11, "red grave stuck", "The process does not answer any more."
    ZOMBIE = "zombie", 13, "red grave stuck", "The process answers handshakes and does no work."
    PANIC = "panic", 12, "red grave", "The process printed a panic or a sanitizer's report."
    ERROR = "error", 7, "ours", "The harness could not judge; this says nothing about the target."

    _value_: str
    severity: int
    meaning: str
    _traits: frozenset[str]

    # The defaults are for the type checker, which holds the look-up `Verdict("pass")` to this signature.
    def __new__(cls, name: str, severity: int = 0, traits: str = "", meaning: str = "") -> Self:
        """Make one row a member, whose value is its name."""
        member = object.__new__(cls)
        member._value_, member.severity, member.meaning = name, severity, meaning
        member._traits = frozenset(traits.split())
        return member

    @property
    def says_nothing(self) -> bool:
        """Whether the target was not judged. Such a verdict never outranks a pass and never becomes one."""
        return "nothing" in self._traits

    @property
    def is_ours(self) -> bool:
        """Whether the harness failed, not the target."""
        return "ours" in self._traits

    @property
    def is_judged(self) -> bool:
        """Whether it says something about the target."""
        return not (self.says_nothing or self.is_ours)

    @property
    def is_right(self) -> bool:
        """Whether the target did what is required, even if late."""
        return "right" in self._traits

    @property
    def is_wrong(self) -> bool:
        """Whether the target deviated, listed or not."""
        return self.is_judged and not self.is_right

    @property
    def is_grave(self) -> bool:
        """Whether the target is broken as a program."""
        return "grave" in self._traits

    @property
    def is_stuck(self) -> bool:
        """Whether the target runs as a program and does no work."""
        return "stuck" in self._traits

    @property
    def is_unsteady(self) -> bool:
        """Whether the same target may give another verdict at another moment."""
        return "unsteady" in self._traits

    @property
    def needs_control(self) -> bool:
        """Whether it stands only if the control of the case holds."""
        return "conditional" in self._traits

    @property
    def is_minor(self) -> bool:
        """Whether it is red with `--strict` only."""
        return "minor" in self._traits

    @property
    def is_quiet(self) -> bool:
        """Whether a report need not show it: a pass, or nothing."""
        return self is Verdict.PASS or self.says_nothing

    def is_red(self, *, strict: bool = False) -> bool:
        """Whether a run with it does not conform."""
        return "red" in self._traits or (strict and self.is_minor)


WORST_FIRST: Final = tuple(sorted(Verdict, key=attrgetter("severity"), reverse=True))
"""The order in which several judgements of one requirement count."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that counts; `not-observed` when there is none."""
    return max(verdicts, key=attrgetter("severity"), default=Verdict.NOT_OBSERVED)


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


def exit_code(verdicts: Iterable[Verdict], *, strict: bool = False, interrupted: bool = False) -> Exit:
    """The exit code of a run: of several reasons, 3 before 1 before 4. Usage (2) ends a command before it judges."""
    seen = set(verdicts)
    if interrupted or any(verdict.is_ours for verdict in seen):
        return Exit.CANNOT_GO_ON
    if any(verdict.is_red(strict=strict) for verdict in seen):
        return Exit.NOT_CONFORMING
    return Exit.CONFORMING if any(verdict.is_judged for verdict in seen) else Exit.NOTHING_JUDGED
