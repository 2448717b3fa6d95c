"""Signs of death in what a program writes: known by their form, never by a word.

A node may log "panic", "error" or "assertion" as often as it likes. What counts is the line that a runtime writes when it
has panicked, a sanitizer's report, the C library's last words, and what the target's own file names (`panics = [..]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PANIC: Final = "panic"
SANITIZER: Final = "sanitizer"
GRAVE: Final = frozenset({PANIC, SANITIZER})
"""Kinds that are a fault whatever the node does afterwards."""

FORMS: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = {
    PANIC: (
        re.compile(r"\bthread '[^']*'(?: \(\d+\))? panicked at "),
        re.compile(r"^fatal runtime error: "),
        re.compile(r"^(?:\w+\.)*PanicException: "),
        re.compile(r"^terminate called (?:after throwing|without an active exception)"),
    ),
    "poison": (re.compile(r"\bPoisonError\b"),),
    "allocation": (
        re.compile(r"^memory allocation of \d+ bytes failed"),
        re.compile(r"^\s*what\(\):\s+std::bad_alloc"),
    ),
    SANITIZER: (
        re.compile(r"^==\d+==\s*ERROR: \w+Sanitizer\b"),
        re.compile(r"^WARNING: (?:Thread|Memory)Sanitizer: "),
        re.compile(r"^\S+:\d+:\d+: runtime error: "),
    ),
    "abort": (
        re.compile(r"\bAssertion [`'].*' failed\."),
        re.compile(r"^(?:free|malloc|realloc|munmap_chunk|corrupted)\b.*(?:: |\bsize\b)"),
        re.compile(r"^double free or corruption"),
        re.compile(r"^\*\*\* stack smashing detected \*\*\*"),
        re.compile(r"^thread '[^']*' has overflowed its stack"),
    ),
}
"""Kind -> the forms of a line by itself. A line has the first kind that fits."""

GO_PANIC: Final = re.compile(r"^(?:panic: |fatal error: )")
GO_TRACE: Final = re.compile(r"^goroutine \d+ \[")
"""What makes a Go panic of the line before it: its message alone may be anybody's log line."""

WORDS: Final = (
    "panicked at", "fatal runtime error: ", "panicexception: ", "terminate called", "poisonerror", "memory allocation of ",
    "std::bad_alloc", "sanitizer", "runtime error: ", "assertion ", "free(", "malloc(", "realloc(", "munmap_chunk(",
    "corrupted ", "double free", "stack smashing", "overflowed its stack", "panic: ", "fatal error: ", "goroutine ",
)  # fmt: skip
"""One of these, in lower case, is in every line that has a form: what a flood of output is searched for."""

_NUMBER_OF_THREAD: Final = re.compile(r"(thread '[^']*?)(?:-\d+)?'(?: \(\d+\))?")
"""Which of a pool it was, and its id: both change from run to run."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of output that speaks of death."""

    kind: str
    """A key of `FORMS`."""
    stream: str
    """`stdout` or `stderr`."""
    line: str
    """At most 400 characters."""

    @property
    def cause(self) -> str:
        """The line without what changes from run to run: a cause."""
        return _NUMBER_OF_THREAD.sub(r"\1'", self.line.strip())


def words(own: Iterable[str] = ()) -> list[str]:
    """What a supervisor searches for, in lower case; `own`: the target's own forms."""
    return [*WORDS, *(longest.lower() for form in own if (longest := max(form.split("*"), key=len)))]


def classify(lines: Iterable[tuple[str, str]], own: Sequence[str] = ()) -> list[Sign]:
    """The signs among suspicious (stream, line) pairs, in order. `own`: text that a panic's line holds, `*` for any stretch."""
    found: list[Sign] = []
    waiting: dict[str, str] = {}
    for stream, line in lines:
        kind = kind_of(line, own)
        if kind:
            found.append(Sign(kind, stream, line))
        elif GO_TRACE.match(line) and stream in waiting:
            found.append(Sign(PANIC, stream, waiting.pop(stream)))
        elif GO_PANIC.match(line):
            waiting.setdefault(stream, line)
    return found


def kind_of(line: str, own: Sequence[str] = ()) -> str:
    """The kind of one line by itself; empty for a line of no form."""
    if any(re.search(".*".join(map(re.escape, form.split("*"))), line) for form in own):
        return PANIC
    return next((kind for kind, forms in FORMS.items() if any(form.search(line) for form in forms)), "")


def grave(signs: Iterable[Sign]) -> Sign | None:
    """The first sign that is a fault whatever the node does afterwards."""
    return next((sign for sign in signs if sign.kind in GRAVE), None)
