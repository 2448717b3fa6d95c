"""When *we* cannot go on: one small tree, each with the step, what was seen and a hint.

What a peer does wrong is a finding, a value; it never arrives here.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping
from typing import ClassVar


class HarnessError(Exception):
    """Something stops us; printed as it is, without a traceback."""

    exit_code: ClassVar[int] = 3

    def __init__(self, what: str, *, step: str = "", seen: str | Iterable[str] = (), hint: str = "") -> None:
        self.what = what
        self.step = step
        self.seen: tuple[str, ...] = (seen,) if isinstance(seen, str) else tuple(seen)
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        head = f"{self.what} (step: {self.step})" if self.step else self.what
        lines = [head, *(f"  got    {line}" for line in self.seen if line)]
        if self.hint:
            lines.append(f"  hint   {self.hint}")
        return "\n".join(lines)


class UsageError(HarnessError):
    """What was asked for does not exist or does not fit: exit 2."""

    exit_code = 2


class CannotGoOn(HarnessError):  # noqa: N818  reads as a sentence
    """The harness or its surroundings fail us: exit 3."""


class TargetError(CannotGoOn):
    """The target cannot be had: not there, not Zenoh, stalled, ended: exit 3."""


class CannotStart(TargetError):  # noqa: N818  reads as a sentence
    """A program could not be started, or ended before it was ready."""


class CannotConnect(TargetError):  # noqa: N818  reads as a sentence
    """Nobody answers at the address, or nobody came to ours."""


class NotZenoh(TargetError):  # noqa: N818  reads as a sentence
    """Something answers, but not in this protocol."""


class OtherVersion(TargetError):  # noqa: N818  reads as a sentence
    """It opens sessions at another protocol version only: nothing of what is judged here is about it."""

    exit_code = 4


class Enough(CannotGoOn):
    """As many deviations were seen as the run was to see: it ends, and what it judged counts."""

    exit_code = 1


class AgentError(TargetError):
    """The agent beside a node is missing, stalls, or answers against its protocol."""


class AgentUnimplemented(AgentError):  # noqa: N818  reads as a sentence
    """The agent says that what was asked does not exist in its implementation."""


FEW = 24
"""The most names that a hint lists in full."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that offers the nearest of the known words, or all of them when none is near and they are few."""
    names = sorted(set(known))
    close = [name for name in names if len(word) > 3 and word in name][:3]
    close = close or difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if 0 < len(names) <= FEW else ""


def unknown(kind: str, word: str, known: Iterable[str], *, step: str = "target string") -> UsageError:
    """The usage error for a word that is in no list: names the word, offers the nearest."""
    return UsageError(f"unknown {kind} {word!r}", step=step, hint=nearest(word, known))


class Renamed(UserWarning):
    """Somebody used a word that has a new one; the old one is still read, and the new one is named once."""


def renamed(word: str, names: Mapping[str, str]) -> str:
    """The word of today for a word; where that is another one, a `Renamed` warning names both."""
    if word not in names:
        return word
    warnings.warn(f"{word!r} is now called {names[word]!r}", Renamed, stacklevel=3)
    return names[word]
