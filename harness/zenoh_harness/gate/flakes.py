"""What was right in one run and wrong in another, of one version: how often, since when, and under whose quarantine. Pure."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.files.results import Header, Results, check_label
from zenoh_harness.gate.entries import PlacedEntry
from zenoh_harness.gate.judging import raw

_RIGHT: Final = frozenset({Verdict.PASS, Verdict.SLOW})
_SILENT: Final = frozenset({Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.UNIMPLEMENTED, Verdict.ERROR})


@dataclass(slots=True)
class Seen:
    """One check with its parameters, of one version judged by one harness, over all runs."""

    key: Key
    runs: int = 0
    """Results files in which it was judged."""
    verdicts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    first: str = ""
    """When it was first seen to be both right and wrong."""
    quarantine: PlacedEntry | None = None

    @property
    def times(self) -> int:
        """How often it was judged."""
        return self.verdicts.total()

    @property
    def wrong(self) -> int:
        """How often it was not as required."""
        return sum(count for word, count in self.verdicts.items() if Verdict(word) not in _RIGHT)

    @property
    def flaky(self) -> bool:
        """Whether it was right and wrong."""
        return 0 < self.wrong < self.times or Verdict.FLAKY.value in self.verdicts

    def covered(self, today: dt.date) -> bool:
        """Whether somebody answers for it, for a while yet."""
        return self.quarantine is not None and not self.quarantine.entry.over(today)

    def as_json(self, today: dt.date) -> dict[str, Any]:
        """The same as data."""
        entry = self.quarantine.entry if self.quarantine else None
        return {
            "check": check_label(self.key.check, self.key.parameters), "requirement": self.key.requirement,
            "version": self.key.version, "role": self.key.role, "profile": self.key.profile, "runs": self.runs,
            "times": self.times, "wrong": self.wrong, "rate": round(self.wrong / self.times, 4),
            "verdicts": dict(sorted(self.verdicts.items())), "causes": dict(self.causes.most_common()), "first": self.first,
            "quarantine": entry and {"owner": entry.owner, "expires": str(entry.expires), "over": entry.over(today)},
        }  # fmt: skip


def seen(runs: Iterable[Results], placed: Sequence[PlacedEntry] = ()) -> list[Seen]:
    """Every check that told something, in order of its key; runs by date. A repetition counts as often as it was repeated."""
    found: dict[tuple[str, Key], Seen] = {}
    for run in sorted(runs, key=lambda one: one.header.date):
        for judgement in map(raw, run.judgements):
            counts = verdicts_of(judgement)
            if counts and not judgement.embargo:
                _add(
                    found.setdefault((run.header.harness, judgement.key), Seen(judgement.key)),
                    judgement,
                    counts,
                    run.header,
                )
    for one in found.values():
        quarantines = (each for each in placed if each.entry.verdict is Verdict.FLAKY and each.entry.about(one.key))
        one.quarantine = next(quarantines, None)
    return [found[key] for key in sorted(found, key=lambda key: (repr(key[1]), key[0]))]


def verdicts_of(judgement: Judgement) -> Counter[str]:
    """How often it was what: once, unless it was repeated; nothing where it says neither right nor wrong."""
    repeated = dict(judgement.details.get("repeated", {})).get("verdicts") or {judgement.verdict.value: 1}
    return Counter({word: count for word, count in repeated.items() if Verdict(word) not in _SILENT})


def _add(one: Seen, judgement: Judgement, counts: Counter[str], header: Header) -> None:
    one.runs += 1
    one.verdicts += counts
    if judgement.verdict not in _RIGHT:
        one.causes[judgement.cause] += 1
    if not one.first and one.flaky:
        one.first = header.date


def code(found: Iterable[Seen], today: dt.date) -> Exit:
    """Red for what is unsteady and nobody answers for; nothing was judged where nothing was."""
    every = list(found)
    if not every:
        return Exit.NOTHING_JUDGED
    loose = any(one.flaky and not one.covered(today) for one in every)
    return Exit.NOT_CONFORMING if loose else Exit.CONFORMING
