"""What a check rests on: its control, the sane form of what it provokes. Nothing is judged on ground that is not there.

A target that refuses everything passes no refusal; one that never finishes a query deviates once, where that is judged, and not in
every check that ends with a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .case import Case, Parameters
from .conversation import Side
from .finding import Finding

UNREAD: Final = "undecodable bytes"
"""How the text of what cannot be read begins."""

WORKS: Final[Mapping[Side, str]] = {
    Side.RESPONDER: "establishment-sane/a-session-does-work",
    Side.INITIATOR: "initiator-open-ack/a-sane-handshake-makes-a-session",
}
"""The case that judges, by the target's role, whether a session works at all."""


@dataclass(slots=True)
class Ground:
    """How the checks of one target came out so far, as far as others rest on them."""

    cases: Mapping[str, Case]
    _came: dict[str, list[tuple[Parameters, bool]]] = field(default_factory=dict)
    _ill: dict[str, str] = field(default_factory=dict)
    """What the target said that cannot be read, but for numbers, to the check that was charged with it."""

    def note(self, case: str, parameters: Parameters, passed: bool, finding: Finding | None = None) -> None:
        """A check passed, or did anything else."""
        self._came.setdefault(case, []).append((parameters, passed))
        if finding is not None and finding.got.startswith(UNREAD):
            self._ill.setdefault(words_of(finding), case)

    def missing(self, case: Case, parameters: Parameters, finding: Finding | None) -> str:
        """Why the check says nothing about its requirement, naming what does; empty where it does say something."""
        if finding is not None and not finding.reached:
            judge = next(self._judges(case, finding), "")
            return f"{finding.cause}{f' ({judge} judges that)' if judge else ''}"
        charged = self._ill.get(words_of(finding), case.id) if finding is not None else case.id
        if charged != case.id:
            return f"rests on {charged}, which tells of the same bytes"
        broken = [check for check in self._judges(case, finding) if self.stands(check, parameters) is False]
        return f"rests on {broken[0]}, which did not pass" if broken else ""

    def _judges(self, case: Case, finding: Finding | None) -> Iterator[str]:
        """The checks that judge what this one needs, the nearest first."""
        works = WORKS[case.role]
        if case.control:
            yield case.control
        if finding is not None and finding.is_work and case.id != works:
            yield works

    def stands(self, check: str, parameters: Parameters) -> bool | None:
        """Whether a check passed, with the same values where it has them; None where it was not judged."""
        came = self._came.get(check)
        if came is None:
            return None
        return any(passed for _, passed in alike(came, parameters))


def words_of(finding: Finding) -> str:
    """What came, without its numbers: the same fault stands at another byte after another message."""
    return re.sub(r"\d+", "n", finding.got)


def alike(came: list[tuple[Parameters, bool]], parameters: Parameters) -> list[tuple[Parameters, bool]]:
    """Those whose values agree with these wherever both have them; all of them where none does."""
    same = [one for one in came if all(one[0][name] == value for name, value in parameters.items() if name in one[0])]
    return same or came
