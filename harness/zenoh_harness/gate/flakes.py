"""Find the checks that pass in one run and deviate in another of the same version: how often, since when, and who answers for them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness.files.results import Header, Results, check_label
from zenoh_harness.gate.comparison import without_list
from zenoh_harness.gate.entries import PlacedEntry


@dataclass(slots=True)
class CheckHistory:
    """What all runs say of one check with its parameters, for one version and one harness."""

    key: Key
    runs: int = 0
    """Number of results files that judged it."""
    verdicts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    first: str = ""
    """Date of the first run after which it had both passed and deviated."""
    quarantine: PlacedEntry | None = None

    @property
    def times(self) -> int:
        """Number of judgements."""
        return self.verdicts.total()

    @property
    def wrong(self) -> int:
        """Number of judgements that are neither PASS nor SLOW."""
        return sum(count for word, count in self.verdicts.items() if not Verdict(word).is_right)

    @property
    def flaky(self) -> bool:
        """Whether it both passed and deviated."""
        return 0 < self.wrong < self.times or Verdict.FLAKY.value in self.verdicts

    def has_valid_quarantine(self, today: dt.date) -> bool:
        """Whether a quarantine covers it that has not expired."""
        return self.quarantine is not None and not self.quarantine.entry.over(today)

    def as_json(self, today: dt.date) -> dict[str, Any]:
        """Return the history as JSON data."""
        entry = self.quarantine.entry if self.quarantine else None
        return {
            "check": check_label(self.key.check, self.key.parameters),
            "requirement": self.key.requirement,
            "version": self.key.version,
            "role": self.key.role,
            "profile": self.key.profile,
            "runs": self.runs,
            "times": self.times,
            "wrong": self.wrong,
            "rate": round(self.wrong / self.times, 4),
            "verdicts": dict(sorted(self.verdicts.items())),
            "causes": dict(self.causes.most_common()),
            "first": self.first,
            "quarantine": entry and {"owner": entry.owner, "expires": str(entry.expires), "over": entry.over(today)},
        }


def check_histories(runs: Iterable[Results], placed: Sequence[PlacedEntry] = ()) -> list[CheckHistory]:
    """Return the history of each check that passed or deviated, sorted by key; repetitions of a judgement count, too."""
    histories: dict[tuple[str, Key], CheckHistory] = {}
    for run in sorted(runs, key=lambda results: results.header.date):
        for judgement in map(without_list, run.judgements):
            counts = count_verdicts(judgement)
            if counts and not judgement.embargo:
                key = (run.header.harness, judgement.key)
                _add(histories.setdefault(key, CheckHistory(judgement.key)), judgement, counts, run.header)
    flaky = [entry for entry in placed if entry.entry.verdict is Verdict.FLAKY]
    for history in histories.values():
        history.quarantine = next((entry for entry in flaky if entry.entry.about(history.key)), None)
    return [histories[key] for key in sorted(histories, key=lambda key: (repr(key[1]), key[0]))]


def count_verdicts(judgement: Judgement) -> Counter[str]:
    """Count the verdicts of one judgement and its repetitions; verdicts that say nothing are left out."""
    repeated = dict(judgement.details.get("repeated", {})).get("verdicts") or {judgement.verdict.value: 1}
    return Counter({word: count for word, count in repeated.items() if Verdict(word).is_judged})


def _add(history: CheckHistory, judgement: Judgement, counts: Counter[str], header: Header) -> None:
    history.runs += 1
    history.verdicts += counts
    if not judgement.verdict.is_right:
        history.causes[judgement.cause] += 1
    if not history.first and history.flaky:
        history.first = header.date


def exit_code_of(histories: Iterable[CheckHistory], today: dt.date) -> Exit:
    """Return NOT_CONFORMING for a flaky check without a valid quarantine, NOTHING_JUDGED for no check at all."""
    every = list(histories)
    if not every:
        return Exit.NOTHING_JUDGED
    unexcused = any(one.flaky and not one.has_valid_quarantine(today) for one in every)
    return Exit.NOT_CONFORMING if unexcused else Exit.CONFORMING
