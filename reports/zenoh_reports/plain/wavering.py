"""What did not always come out alike: checks that said so themselves, and those on which runs of one version differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class Wavering:
    """One judgement of one version that wavers."""

    key: Key
    run: Run
    """The newest that judged it."""
    runs: int
    """Runs that judged it."""
    apart: int
    """Runs that called it flaky, or said something else than most."""
    attempts: int
    """The most that one run needed."""
    shown: Judgement
    """The gravest."""


def wavering(runs: Sequence[Run]) -> list[Wavering]:
    """Of runs of one implementation, what wavers in any version; in the order of the runs. A retry never made it green."""
    said: dict[tuple[str, str, Key], list[tuple[Run, Judgement]]] = defaultdict(list)
    for run in runs:
        for key, one in worst_of(run).items():
            said[run.identity.version, run.identity.kind, key].append((run, one))
    found = []
    for (_, _, key), each in said.items():
        verdicts = Counter(one.verdict for _, one in each)
        if len(verdicts) == 1 and Verdict.FLAKY not in verdicts:
            continue
        usual = max(
            (verdict for verdict in verdicts if verdict is not Verdict.FLAKY), key=verdicts.__getitem__, default=None
        )
        found.append(
            Wavering(
                key, each[-1][0], len(each), sum(one.verdict is not usual for _, one in each), max(one.attempts for _, one in each),
                max((one for _, one in each), key=lambda one: one.verdict.severity),
            )
        )  # fmt: skip
    return found


def worst_of(run: Run) -> dict[Key, Judgement]:
    """What a run says of each key; what says nothing is left out."""
    found: dict[Key, Judgement] = {}
    for one in run.judgements:
        if not one.verdict.says_nothing and (
            one.key not in found or one.verdict.severity > found[one.key].verdict.severity
        ):
            found[one.key] = one
    return found
