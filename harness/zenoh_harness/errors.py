"""Errors of the harness: one small tree, each with the step, what was seen and a hint.

A fault of a peer is a finding, a value, and never one of these.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final


class HarnessError(Exception):
    """The base class; printed as text, without a traceback."""

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
    """The request names something that does not exist or does not fit: exit 2."""

    exit_code = 2


class CannotGoOn(HarnessError):  # noqa: N818  reads as a sentence
    """The harness or its environment failed: exit 3."""


class TargetError(CannotGoOn):
    """The target is not usable: not there, not Zenoh, stalled, ended: exit 3."""

    silent = False
    """Whether the target answered nothing until our patience ended: another start would cost as much."""


class CannotStart(TargetError):  # noqa: N818  reads as a sentence
    """A program did not start, or ended before it was ready."""


class CannotConnect(TargetError):  # noqa: N818  reads as a sentence
    """Nothing answers at the address, or the target did not connect to ours."""


class NotZenoh(TargetError):  # noqa: N818  reads as a sentence
    """A program answers, but not in this protocol."""

    said_nothing = False
    """Whether the link ended before a byte of an answer came, as a proxy ends it behind which nobody listens yet."""


class OtherVersion(TargetError):  # noqa: N818  reads as a sentence
    """The target opens sessions only at another protocol version, so no check applies: exit 4."""

    exit_code = 4


class Enough(CannotGoOn):
    """The run has seen as many deviations as `--max-fail` allows; it ends, and its judgements count."""

    exit_code = 1


class AgentError(TargetError):
    """The agent of a node is missing, stalls, or breaks its protocol."""


class AgentGone(AgentError):  # noqa: N818  reads as a sentence
    """The program of the agent has ended: a node that ends by itself, or died, is started anew."""


class AgentRefuses(AgentError):  # noqa: N818  reads as a sentence
    """The agent knows the command and does not do it: its answer says why."""


class AgentUnimplemented(AgentError):  # noqa: N818  reads as a sentence
    """The agent's implementation lacks the command."""


FEW = 24
"""Most names that a hint lists in full."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known words, or with all of them if none is near and they are few."""
    names = sorted(set(known))
    close = [name for name in names if len(word) > 3 and word in name][:3]
    close = close or difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if 0 < len(names) <= FEW else ""


LISTED_BY: Final[Mapping[str, str]] = {
    "case": "zconform cases list",
    "faulty node": "zconform faulty",
    "law": "zconform laws list",
    "variant": "zconform variants",
    "vector": "zconform vectors list",
}
"""Kind of name to the command that lists all names of that kind."""


def unknown(kind: str, word: str, known: Iterable[str], *, step: str = "target string") -> UsageError:
    """Return the usage error for an unknown word, with the nearest known ones, however far they are."""
    names = sorted(set(known))
    hint = nearest(word, names)
    if not hint and names:
        hint = f"the nearest of {len(names)}: {', '.join(difflib.get_close_matches(word, names, n=3, cutoff=0.0))}"
    if kind in LISTED_BY:
        hint += f"\n         `{LISTED_BY[kind]}` prints all of them"
    return UsageError(f"unknown {kind} {word!r}", step=step, hint=hint)


class Renamed(UserWarning):
    """Warning about an old name, which is still read."""


def current_name(word: str, names: Mapping[str, str]) -> str:
    """Return the current name for a name; warn if the given one is old."""
    if word not in names:
        return word
    warnings.warn(f"{word!r} is now called {names[word]!r}", Renamed, stacklevel=3)
    return names[word]
