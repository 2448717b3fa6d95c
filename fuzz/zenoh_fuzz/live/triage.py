"""From a symptom to a finding: confirmed on a fresh target, minimised while the symptom stays, written as a script."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final, TypeVar

from zenoh_conformance.reading.codec import Segments
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.files import scripts
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.files.known import covers, matches
from zenoh_harness.files.scripts import STAYS_UP, Script
from zenoh_harness.run.runner import known_for
from zenoh_harness.run.store import embargo
from zenoh_harness.targets.target import NodeTarget

from .acts import Act, Input
from .bystander_script import bystander_steps
from .input_scripts import script_of
from .trial import Symptom, Trial, keys_of

ORACLE: Final = "live"
MOST: Final = 120
"""Trials of one minimisation, at most."""
LONGEST: Final = 120.0
"""Seconds of one minimisation, at most."""

PANIC: Final = "panic at "
PANICKED: Final = "panicked at "
BYSTANDERS: Final = "bystanders-are-served"
BY_STEPS: Final = (BYSTANDERS, "nothing-is-lost")
"""Rules whose breach a step of the script shows: a fence, or an expectation of the bystanders."""

SEEN_ONCE: Final = "; seen once, and not again on a fresh target"
"""How the description of a finding ends that was not confirmed."""
T = TypeVar("T")


class Minimiser:
    """Makes the inputs that cause a symptom as few and as small as possible."""

    def __init__(self, trial: Trial, symptom: Symptom, until: float = float("inf")) -> None:
        """`until`: the time, by `time.monotonic`, after which nothing more is tried."""
        self.trial, self.symptom = trial, symptom
        self.until = min(until, time.monotonic() + LONGEST)
        self.tried = 0
        self.seen: Symptom | None = None
        """The symptom as it showed last on a fresh target."""

    def same(self, made: Sequence[Input]) -> bool:
        """Run inputs on a target that is well; return whether the symptom shows.

        What shows on a used target must show on a fresh one, too: an earlier try may have caused it with nobody there to miss anything.
        """
        if self.tried >= MOST or time.monotonic() >= self.until:
            return False
        self.tried += 1
        used = self.trial.used
        found = self.trial.run(made, brief=True).symptom
        if found is not None and used:
            found = self.trial.run(made, brief=True).symptom
        if found is None or found.key != self.symptom.key:
            return False
        self.seen = found
        return True

    def confirm(self, made: Sequence[Input], *, sure: bool, before: Sequence[Input] = ()) -> tuple[Input, ...]:
        """Return the inputs that cause the symptom again on a fresh target; none if it does not come again.

        The last one alone is tried if that is `sure`, then all, then all with those that the target got `before`, since some
        faults need many messages.
        """
        self.trial.stop()
        tries = [tuple(made), tuple(made)]
        tries = [tuple(made[-1:]), *tries] if sure or len(made) == 1 else tries
        tries += [(*before, *made)] if before else []
        return next((tried for tried in tries if self.same(tried)), ())

    def smallest(self, made: tuple[Input, ...]) -> tuple[Input, ...]:
        """Return fewer inputs, with fewer acts, repetitions and segments, for which the symptom still shows.

        It is looked for in a hurry; what is left must show it with all patience, or nothing is left out.
        """
        self.trial.hurried = True
        try:
            smallest = self._smallest(made)
        finally:
            self.trial.hurried = False
        self.tried, self.until = 0, time.monotonic() + LONGEST
        return smallest if self.same(smallest) else made

    def _smallest(self, made: tuple[Input, ...]) -> tuple[Input, ...]:
        made = _fewer(made, self.same)
        acts = tuple(act for one in made for act in one)
        if len(made) > 1 and self.same([acts]):
            made = (acts,)
        for at, one in enumerate(made):
            made = (*made[:at], _fewer(one, self._holds(made, at)), *made[at + 1 :])
            for place in range(len(made[at])):
                made = self._smaller_act(made, at, place)
        return made

    def _holds(self, made: tuple[Input, ...], at: int) -> Callable[[Input], bool]:
        return lambda one: bool(one) and self.same((*made[:at], one, *made[at + 1 :]))

    def _smaller_act(self, made: tuple[Input, ...], at: int, place: int) -> tuple[Input, ...]:
        """Make one act smaller: once instead of several times, then without each part."""
        holds = self._holds(made, at)
        one = made[at]
        for smaller in _smaller(one[place]):
            changed = (*one[:place], smaller(one[place]), *one[place + 1 :])
            if changed != one and holds(changed):
                one = changed
        return (*made[:at], one, *made[at + 1 :])


def _fewer(items: tuple[T, ...], same: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a part of `items` that still does the same: halves go first, then single ones."""
    size = len(items) // 2
    while size:
        begin = 0
        while begin < len(items) and len(items) > 1:
            rest = items[:begin] + items[begin + size :]
            if rest and same(rest):
                items = rest
            else:
                begin += size
        size //= 2
    return items


def _smaller(act: Act) -> Iterator[Callable[[Act], Act]]:
    """Yield changes that make an act smaller; one that does not fit any more changes nothing."""
    if act.times > 1:
        yield lambda now: replace(now, times=1)
        yield lambda now: replace(now, times=max(1, now.times // 2))
    paths = act.segments.paths()
    owners = {path[: found.start()] for path in paths for found in re.finditer(r"[.\[]", path)} | set(paths)
    for path in sorted(owners, key=lambda one: (one.count("."), one)):
        for recompute in (True, False):
            yield lambda now, path=path, recompute=recompute: replace(now, segments=_cut(now.segments, path, recompute))  # type: ignore[misc]


def _cut(segments: Segments, path: str, recompute: bool) -> Segments:
    try:
        return segments.cut(path, recompute=recompute)
    except (LookupError, ValueError):
        return segments


# --- findings


def header_of(symptom: Symptom, side: Side = Side.RESPONDER) -> dict[str, str]:
    """Return the header of the script of a finding; of what the whole node does no more, the check is that it survives.

    Where a step of the script misses what was missing, the steps judge.
    """
    by_steps = symptom.rule in BY_STEPS
    return {
        "about": f"{symptom.rule}: {symptom.about}",
        "requirement": STAYS_UP,
        **({} if by_steps else {"check": STAYS_UP}),
        "target": side.value,
        "profile": "default",
    }


def script_of_finding(trial: Trial, symptom: Symptom, made: Sequence[Input]) -> Script:
    """Return the script of a finding, with bystanders where they missed something."""
    beside = bystander_steps(keys_of(made)) if symptom.rule == BYSTANDERS else None
    return script_of(made, header_of(symptom, trial.target.side), trial.role, beside=beside)


def signature_of(symptom: Symptom) -> str:
    """Return the identity of the finding."""
    return f"{ORACLE}/{symptom.key[0]}: {symptom.about}"


def id_of(symptom: Symptom) -> str:
    """Return a short id, derived from the signature."""
    return sha256(signature_of(symptom).encode()).hexdigest()[:12]


def row_of(
    trial: Trial, symptom: Symptom, made: Sequence[Input], *, confirmed: bool, minimised: bool = False
) -> FindingRow:
    """Return the finding of a symptom and the inputs that cause it."""
    target = trial.target
    content = scripts.text(script_of_finding(trial, symptom, made))
    grave = symptom.verdict.is_grave
    seen = "" if confirmed else SEEN_ONCE
    return FindingRow(
        id=id_of(symptom),
        oracle=ORACLE,
        rule=symptom.rule,
        signature=signature_of(symptom),
        why=f"{symptom.why}{seen}",
        input=content.encode().hex(),
        versions={target.identity.name: target.identity.version},
        targets=(str(target.reach),),
        grave=grave,
        embargo=grave and embargo.guarded(target) and not is_public(target, symptom),
        standing="minimised" if minimised else "new",
        explanation=(symptom.why, *symptom.wrote[-6:], *content.splitlines()[:60]),
    )


def is_public(target: NodeTarget, symptom: Symptom) -> bool:
    """Return whether a known deviation of this version gives an address for this very panic or abort.

    A panic is known by its site, in whatever kind of target it showed: a container aborts where a Python process lives on.
    """
    listed = known_for(target.identity.name, kind=None, nodes=[target.role])
    here = (one for one in listed.deviations if one.public and covers(one.versions, target.identity.version))
    _, panicked, site = symptom.about.rpartition(PANIC)
    cause = _plain(symptom.why.partition(": ")[2] or symptom.why)
    for one in here:
        _, panics, known_site = one.cause.rpartition(PANICKED)
        if panicked and panics and matches(f"*{known_site.rstrip('*')}*", f"{site}:"):
            return True
        if not panicked and "signal " in one.cause and fnmatchcase(cause, f"*{_plain(one.cause)}"):
            return True
    return False


def _plain(cause: str) -> str:
    return re.sub(r"\d+", "N", cause)


def disclosure(row: FindingRow) -> str:
    """Return the draft of a private report to the maintainers."""
    named = ", ".join(f"{name} {version}".strip() for name, version in sorted(row.versions.items()))
    script = bytes.fromhex(row.input).decode()
    severity = "high: no authentication is needed" if row.grave else "medium"
    return f"""# Private report: {row.rule}

**What.** {row.why}

**Impact.** A peer that completes a handshake makes the node stop serving others. Severity: {severity}.

**Versions.** Seen on {named}; earlier and later ones are not yet tried.

**To reproduce.** Save the script below, then run `zconform replay FILE {" ".join(row.targets)}`.

```
{script}```
"""
