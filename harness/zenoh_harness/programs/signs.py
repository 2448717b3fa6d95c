"""Signs of a crash in the output of a program, recognized by the form of a line and never by a single word.

A node may log "panic", "error" or "assertion" at any time. The signs are the line that a runtime writes when it has panicked,
the report of a sanitizer, the C library's message on an abort, and the forms in the target's file (`panics = [..]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PANIC: Final = "panic"
SANITIZER: Final = "sanitizer"
GRAVE: Final = frozenset({PANIC, SANITIZER})
"""The kinds that are a fault even if the node goes on."""

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
"""The forms of a single line by kind. A line has the first kind with a matching form."""

GO_PANIC: Final = re.compile(r"^(?:panic: |fatal error: )")
GO_TRACE: Final = re.compile(r"^goroutine \d+ \[")
"""The line after the message of a Go panic; without it, the message may be an ordinary log line."""

WORDS: Final = (
    *("panicked at", "fatal runtime error: ", "panicexception: ", "terminate called", "poisonerror", "panic: "),
    *("memory allocation of ", "std::bad_alloc", "sanitizer", "runtime error: ", "fatal error: ", "goroutine "),
    *("assertion ", "free(", "malloc(", "realloc(", "munmap_chunk(", "corrupted ", "double free"),
    *("stack smashing", "overflowed its stack"),
)
"""Every line with a form contains one of these, in lower case: a quick search in long output."""

_NUMBER_OF_THREAD: Final = re.compile(r"(thread '[^']*?)(?:-\d+)?'(?: \(\d+\))?")
"""The number of a thread in its pool, and its id, which change from run to run."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of output that reports a crash."""

    kind: str
    """A key of `FORMS`."""
    stream: str
    """`stdout` or `stderr`."""
    line: str
    """At most 400 characters."""

    @property
    def cause(self) -> str:
        """The line without the parts that change from run to run."""
        return _NUMBER_OF_THREAD.sub(r"\1'", self.line.strip())


def words(own: Iterable[str] = ()) -> list[str]:
    """The words that a supervisor searches for, in lower case; `own`: the target's own forms."""
    return [*WORDS, *(longest.lower() for form in own if (longest := max(form.split("*"), key=len)))]


def classify(lines: Iterable[tuple[str, str]], own: Sequence[str] = ()) -> list[Sign]:
    """The signs among suspicious (stream, line) pairs, in order. `own`: texts of the target's panics, with `*` for any text."""
    signs: list[Sign] = []
    waiting: dict[str, str] = {}
    for stream, line in lines:
        kind = kind_of(line, own)
        if kind:
            signs.append(Sign(kind, stream, line))
        elif GO_TRACE.match(line) and stream in waiting:
            signs.append(Sign(PANIC, stream, waiting.pop(stream)))
        elif GO_PANIC.match(line):
            waiting.setdefault(stream, line)
    return signs


def kind_of(line: str, own: Sequence[str] = ()) -> str:
    """The kind of a single line; empty for a line without a form."""
    if any(re.search(".*".join(map(re.escape, form.split("*"))), line) for form in own):
        return PANIC
    return next((kind for kind, forms in FORMS.items() if any(form.search(line) for form in forms)), "")


def grave(signs: Iterable[Sign]) -> Sign | None:
    """The first sign that is a fault even if the node goes on."""
    return next((sign for sign in signs if sign.kind in GRAVE), None)
