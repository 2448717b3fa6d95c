"""Looks at what a node does with a vector: a first one, and a second one where something is wrong or missing.

What is wrong is wrong in both. Silence costs the whole patience twice, and a node that is silent once may be so at every vector of
a kind: after one that was confirmed a first look is brief, and what it misses the second decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from zenoh_conformance.reading.conversation import Conversation
from zenoh_conformance.talking import Dialogue
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.effects import SILENCE, comes_late, second_answer

Play = Callable[[], list[VectorAnswer]]
"""Plays some vectors and returns their answers."""


@dataclass(slots=True)
class Looks:
    """How a player looks, and which fences it lost on the way."""

    lost: list[tuple[str, Conversation]] = field(default_factory=list)
    """What did not come of a fence that came when the same was said again, each with its session."""
    record: Conversation = field(default_factory=Conversation)
    """The session of the last look."""
    awaited: str = ""
    """What the last fence awaited, where nothing came and the session went on."""
    brief: bool = False
    """Whether nobody waits long for a fence or an effect, since its absence costs no more than another look."""
    settles: bool = False
    """Whether a session has answered, or lost, a fence before a vector is said: some nodes lose what comes right behind OPEN."""
    silent: bool = False
    """Whether silence followed a vector in both looks."""

    def at_first(self, play: Play, *, brief: bool = False) -> list[VectorAnswer]:
        """The answers of a first look."""
        self.brief = brief or self.silent
        try:
            return play()
        finally:
            self.brief = False

    def confirm(self, first: VectorAnswer, play: Play) -> VectorAnswer:
        """The answer for a vector that was wrong at first, when it is played alone with the whole patience."""
        again, was_brief = self.again(play)[0], self.silent
        self.silent = was_brief or (again.verdict.is_wrong and again.cause.endswith(SILENCE))
        return self.with_record(again if was_brief else second_answer(first, again))

    def again(self, play: Play) -> list[VectorAnswer]:
        """The answers when the same is played again; a fence that comes only now was lost before."""
        awaited, record, self.settles = self.awaited, self.record, True
        try:
            answers = play()
        finally:
            self.settles = False
        if awaited and not self.awaited and not any(answer.verdict.is_wrong for answer in answers):
            self.lost.append((awaited, record))
        return answers

    def note_missing(self, us: Dialogue, expected: str) -> None:
        """Note that a fence was not answered, unless it is late; a second look need not know that, and a brief one cannot."""
        late = self.brief or (not self.settles and comes_late(us, expected))
        self.awaited = "" if late else expected

    def with_record(self, answer: VectorAnswer) -> VectorAnswer:
        """The answer, with the session of the last look where it is wrong."""
        return replace(answer, record=self.record) if answer.verdict.is_wrong else answer
