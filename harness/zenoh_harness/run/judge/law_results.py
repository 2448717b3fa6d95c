"""What the laws say over a whole run: one answer a law, however many conversations it judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.run.attempt.attempt import AttemptOutcome
from zenoh_harness.run.store.journal import LawFinding, LawReport, Place, bare, conversation_of, no_note, text_of


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
    labels: dict[str, set[str]] = field(default_factory=dict)
    """Cause to the checks, with parameters, during which it was seen."""

    def show(self, one: Shown) -> bool:
        """Keep the first of each cause by its check's label: in whatever order they are heard, it is the same one.

        Returns whether it is this one.
        """
        before = self.shown.setdefault(one.finding.cause, one)
        if one.label < before.label:
            self.shown[one.finding.cause] = one
        return self.shown[one.finding.cause] is one


class LawResults:
    """Adds up what the laws say of conversation after conversation."""

    def __init__(
        self,
        place: Place = ("", ""),
        note: Callable[[LawReport], None] = no_note,
        earlier: Mapping[str, Sequence[LawReport]] | None = None,
    ) -> None:
        """`note` writes down what is added; `earlier` is what was written down, by check, before the run was resumed."""
        self._said: dict[str, LawCount] = {}
        self.asked = 0
        """Queries that the attempts asked to fence what they said."""
        self._place, self._note, self._earlier = place, note, dict(earlier or {})
        self._labels: set[str] = set()

    def __getstate__(self) -> dict[str, object]:
        """What goes to another process: all but the journal, into which each process writes for itself."""
        return {**self.__dict__, "_note": no_note}

    def add(self, outcome: AttemptOutcome) -> None:
        """Count one attempt; retries and repetitions count too: the target said it."""
        label, found = outcome.item.label, []
        self._labels.add(label)
        self.asked += outcome.asked
        for judged in outcome.laws:
            said = self._said.setdefault(judged.law.id, LawCount())
            said.subjects += judged.subjects
            for finding in judged.findings:
                said.causes[finding.cause] += 1
                said.labels.setdefault(finding.cause, set()).add(label)
                shown = said.show(Shown(finding, outcome.conversation, label))
                recorded = text_of(outcome.conversation) if shown else ""
                found.append(LawFinding(law=judged.law.id, finding=bare(finding), conversation=recorded))
        subjects = {judged.law.id: judged.subjects for judged in outcome.laws}
        for row, times in outcome.written.items():
            self._said.setdefault(row, LawCount()).subjects += times
        subjects.update(outcome.written)
        self._note(LawReport(where=(*self._place, label), subjects=subjects, found=tuple(found)))

    def join(self, other: LawResults) -> None:
        """Count what another one has heard, too."""
        self._labels |= other._labels
        self.asked += other.asked
        for law, heard in other._said.items():
            said = self._said.setdefault(law, LawCount())
            said.subjects += heard.subjects
            said.causes += heard.causes
            for cause, labels in heard.labels.items():
                said.labels.setdefault(cause, set()).update(labels)
            for shown in heard.shown.values():
                said.show(shown)

    def of(self, law: str) -> LawCount:
        """One law's count; zero of everything when it met nothing."""
        self._take_up()
        return self._said.get(law, LawCount())

    def _take_up(self) -> None:
        """Count what was heard before the run was resumed, of checks that did not run again."""
        again = sorted(self._earlier.keys() - self._labels)
        every = [heard for label in again for heard in self._earlier[label]]
        self._earlier.clear()
        for heard in every:
            for law, subjects in heard.subjects.items():
                self._said.setdefault(law, LawCount()).subjects += subjects
        found = [(one, heard.where[2]) for heard in every for one in heard.found]
        for one, label in sorted(found, key=lambda each: not each[0].conversation):
            said = self._said[one.law]
            said.causes[one.finding.cause] += 1
            said.labels.setdefault(one.finding.cause, set()).add(label)
            if one.conversation or one.finding.cause not in said.shown:
                said.show(Shown(one.finding, conversation_of(one.conversation), label))
