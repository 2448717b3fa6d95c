"""What a run means to do: cases with their parameters, per profile, in an order that does not change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from random import Random
from typing import Final
from zlib import crc32

from zenoh_conformance.cases.case import Case, Parameters, shown_all
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError, nearest
from zenoh_harness.files.results import check_label
from zenoh_harness.profiles import DEFAULT, PROFILES

GROUP: Final = 32
"""Cases before the first look at the target's health, and after a death."""

GROWTH: Final = 4
"""By how much the next one is larger while nothing dies."""

GROUP_MOST: Final = 512
"""The most cases between two looks, however well it has been."""


QUICK: Final = 4
"""The most parameter sets of a case in a quick run."""


@dataclass(frozen=True, slots=True)
class Item:
    """One case with one set of parameters: one judgement."""

    case: Case
    parameters: Parameters

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The parameters as the judgement's key has them."""
        return shown_all(self.parameters)

    @property
    def label(self) -> str:
        """`case-id[name=value,...]`, as `--only` takes it."""
        return check_label(self.case.id, self.shown)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a run; what is in which does not depend on what else there is."""

    number: int
    """From 1."""
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """From `2/3`. Raises UsageError."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"no shard {text!r}", step="--shard", hint="as in 2/3: the second of three")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, label: str) -> bool:
        """Whether it is in this part."""
        return crc32(label.encode()) % self.of == self.number - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """Which checks are wanted: patterns over check ids, labels and requirement ids; everything when there is none."""

    patterns: tuple[str, ...] = ()
    shard: Shard | None = None
    """Which part of what is wanted; all of it when None."""

    @property
    def whole(self) -> bool:
        """Whether everything is wanted."""
        return not self.patterns and self.shard is None

    def here(self, label: str) -> bool:
        """Whether a check with its parameters is in this shard."""
        return self.shard is None or self.shard.has(label)

    def takes(self, *names: str) -> bool:
        """Whether any of the names is wanted."""
        return not self.patterns or any(matches(pattern, name) for pattern in self.patterns for name in names)

    def may_take(self, beginning: str) -> bool:
        """Whether any name that begins so may be wanted; False where no pattern can match one, whatever follows."""
        plain = (re.split(r"[*?[]", pattern, maxsplit=1)[0] for pattern in self.patterns)
        return not self.patterns or any(one.startswith(beginning) or beginning.startswith(one) for one in plain)

    def check(self, known: Iterable[str]) -> None:
        """Raise UsageError, with the nearest names, for a pattern that matches nothing.

        `known` is read only as far as it takes to find a name for each: the last ones cost imports and files.
        """
        names: set[str] = set()
        rest = iter(known)
        for pattern in self.patterns:
            if any(matches(pattern, name) for name in names) or _found(pattern, rest, names):
                continue
            if names:
                raise UsageError(
                    f"--only {pattern!r} matches no check and no requirement",
                    hint=_hint(pattern.partition("[")[0], names),
                )


def _hint(word: str, names: Iterable[str]) -> str:
    """Suggestions for a pattern that matches nothing: all checks of a module or page, or the nearest names."""
    if any(name.startswith(f"{word}/") for name in names):
        return f"write '{word}/*' for all of it"
    near = nearest(word, {name.partition("[")[0] for name in names})
    return near or "zconform cases list, zconform laws list and zconform requirements list show the names"


def _found(pattern: str, rest: Iterator[str], names: set[str]) -> bool:
    """Whether one of the names that were not looked at yet matches; they are as good as looked at then."""
    for name in rest:
        names.add(name)
        if matches(pattern, name):
            return True
    return False


def matches(pattern: str, name: str) -> bool:
    """Equality first: a label's own brackets are no pattern."""
    return pattern == name or fnmatchcase(name, pattern) or (name.endswith("]") and pattern == name.partition("[")[0])


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is run and what cannot be, for one target in one role."""

    profiles: Mapping[str, tuple[Item, ...]]
    """Profile to its items, profiles in their own order, items by label."""
    left_out: tuple[tuple[Item, str], ...] = ()
    """Items for which the target has no profile, with the reason."""

    def items(self) -> Iterable[Item]:
        """All of both kinds."""
        yield from (item for items in self.profiles.values() for item in items)
        yield from (item for item, _ in self.left_out)


def drawn(case: Case, depth: str) -> Sequence[Parameters]:
    """All parameter sets, or with `quick` a few of them, the first and the last among them; with `nightly` the costly ones, too."""
    parameters = case.every_parameters if depth == "nightly" else case.parameters
    if depth != "quick" or len(parameters) <= QUICK:
        return parameters
    return [parameters[at * (len(parameters) - 1) // (QUICK - 1)] for at in range(QUICK)]


def asks_for_password(profile: str) -> bool:
    """Whether a responder in that profile rightly refuses an initiator without credentials."""
    return profile in PROFILES and PROFILES[profile].credentials is not None


def plan_for(
    cases: Iterable[Case],
    side: Side,
    profiles: Iterable[str],
    selection: Selection,
    *,
    pinned: str | None = None,
    depth: str = "full",
) -> RunPlan:
    """The plan for a target of that side with those profiles; `pinned` is the profile that the target string names."""
    able = set(profiles)
    wanted: dict[str, list[Item]] = {}
    left_out: list[tuple[Item, str]] = []
    for case in cases:
        if case.role is not side:
            continue
        for item in (Item(case, parameters) for parameters in drawn(case, depth)):
            if not (
                selection.here(item.label) and selection.takes(case.id, *case.aliases, item.label, case.requirement)
            ):
                continue
            profile = pinned if pinned and case.profile == DEFAULT else case.profile
            if pinned and profile != pinned:
                continue
            if side is Side.RESPONDER and profile != case.profile and asks_for_password(profile):
                left_out.append((item, f"everybody shows a password in profile {profile}, and this check shows none"))
            elif profile in able:
                wanted.setdefault(profile, []).append(item)
            else:
                left_out.append((item, f"the target cannot be started in profile {profile}"))
    order = [name for name in (*PROFILES, *sorted(wanted.keys() - PROFILES.keys())) if name in wanted]
    return RunPlan({name: tuple(wanted[name]) for name in order}, tuple(left_out))


def without(plan: RunPlan, labels: frozenset[str]) -> tuple[RunPlan, int]:
    """The plan without some items, and how many went."""
    kept = {name: tuple(item for item in items if item.label not in labels) for name, items in plan.profiles.items()}
    gone = sum(map(len, plan.profiles.values())) - sum(map(len, kept.values()))
    return RunPlan({name: items for name, items in kept.items() if items}, plan.left_out), gone


def shuffled(plan: RunPlan, seed: int) -> RunPlan:
    """The plan with the items of each profile in an order drawn from the seed: what they say must not depend on it."""
    drawn_from = Random(seed)
    return RunPlan(
        {name: tuple(drawn_from.sample(items, len(items))) for name, items in plan.profiles.items()}, plan.left_out
    )


def groups(
    items: Sequence[Item],
    deaths: Callable[[], int] = lambda: 0,
    *,
    each: bool = False,
    wave: Callable[[Item], int] = lambda _item: 0,
) -> Iterator[Sequence[Item]]:
    """The items in groups, each four times as long as the one before while nothing dies: what waits, waits in one go.

    `each`: every item for itself, since the next one has another target. All items of a group are of one `wave`.
    """
    if each:
        yield from ([item] for item in items)
        return
    at, size, died = 0, GROUP, deaths()
    while at < len(items):
        first = wave(items[at])
        alike = takewhile(lambda item: wave(item) == first, items[at : at + size])  # noqa: B023  ends here
        group = list(alike)
        yield group
        at += len(group)
        size, died = (min(GROWTH * size, GROUP_MOST), died) if deaths() == died else (GROUP, deaths())
