"""Controls: the sane form of what a check provokes. A check whose control failed is not judged.

A target that refuses everything passes no refusal; one that never finishes a query deviates once, where that is judged, and not in
every check that ends with a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.reading.conversation import Side

from .case import Case, Parameters

FAILED: Final = "did not pass"
"""What is said of a check that was judged, and that others rest on in vain."""

UNREAD: Final = "undecodable bytes"
"""How the text of what cannot be read begins."""

WORKS: Final[Mapping[Side, str]] = {
    Side.RESPONDER: "establishment-sane/a-session-does-work",
    Side.INITIATOR: "initiator-open-ack/a-sane-handshake-makes-a-session",
}
"""The case that judges, by the target's role, whether a session works at all."""

BASIC: Final[Mapping[Side, tuple[str, ...]]] = {
    Side.RESPONDER: (
        "establishment-sane/a-sane-proposal-is-answered",
        "establishment-sane/a-sane-handshake-is-accepted",
        WORKS[Side.RESPONDER],
    ),
    Side.INITIATOR: ("initiator-init-ack/a-sane-answer-is-followed", WORKS[Side.INITIATOR]),
}
"""The cases that judge the steps of a plain session, in order, by the target's role: what deviates as one of them did shows no more."""


def steps_before(case: Case) -> tuple[str, ...]:
    """The basic cases that come before a case; of a basic one those before it."""
    basic = BASIC[case.role]
    return basic[: basic.index(case.id)] if case.id in basic else basic


@dataclass(slots=True)
class Ground:
    """How the checks of one target came out so far, as far as others rest on them."""

    cases: Mapping[str, Case]
    _came: dict[str, list[tuple[Parameters, str]]] = field(default_factory=dict)
    """By check: its values, and why it does not stand; empty where it passed."""
    _found: dict[str, Finding] = field(default_factory=dict)
    """What the basic cases found."""

    def note(
        self, case: str, parameters: Parameters, passed: bool, finding: Finding | None = None, why: str = FAILED
    ) -> None:
        """A check passed, or did anything else: `why` as a clause behind "which"; perhaps with a finding."""
        self._came.setdefault(case, []).append((parameters, "" if passed else why))
        if finding is not None:
            self._found.setdefault(case, finding)

    def missing(self, case: Case, parameters: Parameters, finding: Finding | None) -> str:
        """Why the check says nothing about its requirement, naming what does; empty where it does say something."""
        if finding is not None and not finding.reached:
            judge = next(self._judges(case, finding), "")
            return f"{finding.cause}{f' ({judge} judges that)' if judge else ''}"
        if finding is not None:
            alike = [name for name in steps_before(case) if name in self._found and same(self._found[name], finding)]
            if alike:
                return f"deviates as {alike[0]} does, which judges that"
        broken = [(check, why) for check in self._judges(case, finding) if (why := self._broken(check, parameters))]
        return "rests on {}, which {}".format(*broken[0]) if broken else ""

    def rests_in_vain(self, case: Case, parameters: Parameters, finding: Finding | None) -> bool:
        """Whether a check on which this one rests did not pass, or was not observed: this one says nothing, whatever it sees."""
        return any(self._broken(check, parameters) for check in self._judges(case, finding))

    def _judges(self, case: Case, finding: Finding | None) -> Iterator[str]:
        """The checks that judge what this one needs, the nearest first."""
        works = WORKS[case.role]
        if case.control:
            yield case.control
        if finding is not None and finding.is_work and case.id != works:
            yield works

    def stands(self, check: str, parameters: Parameters) -> bool | None:
        """Whether a check passed, with the same values where it has them; None where it was not judged."""
        return None if check not in self._came else not self._broken(check, parameters)

    def _broken(self, check: str, parameters: Parameters) -> str:
        """Why a check does not stand; empty where it does, or was not judged. What did not pass is told before what was not tried."""
        whys = [why for _, why in alike(self._came.get(check, []), parameters)]
        return "" if "" in whys or not whys else FAILED if FAILED in whys else whys[0]


def alike(came: list[tuple[Parameters, str]], parameters: Parameters) -> list[tuple[Parameters, str]]:
    """Those whose values agree with these wherever both have them; all of them where none does."""
    same = [one for one in came if all(one[0][name] == value for name, value in parameters.items() if name in one[0])]
    return same or came


def same(one: Finding, other: Finding) -> bool:
    """Whether two findings are of one thing at one step; bytes that cannot be read come in answer to whatever was asked."""
    if one.got.startswith(UNREAD):
        return words_of(one.got) == words_of(other.got)
    return (one.path, one.expected, one.got) == (other.path, other.expected, other.got)


def words_of(text: str) -> str:
    """What came, without its numbers: the same fault stands at another byte after another message."""
    return re.sub(r"\d+", "n", text)
