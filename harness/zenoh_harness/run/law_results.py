"""What the laws say over a whole run: one answer a law, however many conversations it judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.run.attempt import AttemptOutcome


@dataclass(slots=True)
class Shown:
    """One cause, and the first conversation that shows it."""

    finding: Finding
    conversation: Conversation
    label: str
    """The check during which it was seen."""


@dataclass(slots=True)
class LawCount:
    """One law's count."""

    subjects: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    shown: dict[str, Shown] = field(default_factory=dict)

    def show(self, one: Shown) -> None:
        """Keep the first of each cause by its check's label: in whatever order they are heard, it is the same one."""
        before = self.shown.setdefault(one.finding.cause, one)
        if one.label < before.label:
            self.shown[one.finding.cause] = one


class LawResults:
    """Adds up what the laws say of conversation after conversation."""

    def __init__(self) -> None:
        self._said: dict[str, LawCount] = {}

    def add(self, outcome: AttemptOutcome) -> None:
        """Count one attempt; retries and repetitions count too: the target said it."""
        for judged in outcome.laws:
            said = self._said.setdefault(judged.law.id, LawCount())
            said.subjects += judged.subjects
            for finding in judged.findings:
                said.causes[finding.cause] += 1
                said.show(Shown(finding, outcome.conversation, outcome.item.label))

    def join(self, other: LawResults) -> None:
        """Count what another one has heard, too."""
        for law, heard in other._said.items():
            said = self._said.setdefault(law, LawCount())
            said.subjects += heard.subjects
            said.causes += heard.causes
            for shown in heard.shown.values():
                said.show(shown)

    def of(self, law: str) -> LawCount:
        """One law's count; zero of everything when it met nothing."""
        return self._said.get(law, LawCount())
