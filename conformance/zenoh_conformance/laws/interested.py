"""INTEREST and what answers it: ids, snapshots and their ends (companion interests)."""

from __future__ import annotations

from zenoh_conformance.judging.law import law
from zenoh_conformance.messages import Declare, DFinal, Interest
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side

from .network import Network

CURRENT = 1
"""Bit of the mode: what is there now is asked for."""


UNASKED = 0
"""The id under which a peer or router ends what it told unasked (erratum `peers-end-what-none-asked`)."""


class Interests(Network):
    """The interests of each side, and which snapshots are due."""

    def __init__(self) -> None:
        super().__init__()
        self.modes: dict[tuple[Side, int], int] = {}
        """(Who asked, id) to the mode, of all that were asked in this session."""
        self.due: dict[tuple[Side, int], int] = {}
        """(Who asked, id) to how many snapshots of it are still to end."""

    def on_interest(self, seen: Seen, interest: Interest) -> None:
        """One more; Final takes back what is to come, and a snapshot that was asked for still ends."""
        key = (seen.sender, interest.id)
        if interest.mode:
            self.modes[key] = self.modes.get(key, 0) | int(interest.mode)
            self.due[key] = self.due.get(key, 0) + (interest.mode & CURRENT)

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        """D_FINAL ends a snapshot."""
        key = (seen.sender.other, declare.interest_id or 0)
        if declare.interest_id is not None and isinstance(declare.body, DFinal) and self.due.get(key):
            self.due[key] -= 1

    def answers(self, seen: Seen, declare: Declare) -> int | None:
        """The mode of the interest that a declaration names: 0 for none that there is; None where we cannot know."""
        if declare.interest_id is None or not self.knows(seen.sender.other):
            return None
        return self.modes.get((seen.sender.other, declare.interest_id), 0)

    def is_due(self, seen: Seen, declare: Declare) -> bool:
        """Whether the snapshot that a declaration names has not ended."""
        return self.due.get((seen.sender.other, declare.interest_id or 0), 0) > 0


@law("interests/snapshot-sets-interest-id", per="session")
class InterestIdIsKnown(Interests):
    """A declaration that names an interest names one that was asked."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.answers(seen, declare)
        unasked = (
            declare.interest_id == UNASKED and isinstance(declare.body, DFinal) and not self.is_client(seen.sender)
        )
        if mode is not None and not (mode == 0 and unasked):
            self.subject(seen)
            path = "declare.interest_id"
            self.require(mode > 0, at=seen, path=path, expected="the id of an INTEREST", got="one that none has")
        super().on_declare(seen, declare)


@law("interests/later-declarations-without-interest-id", per="session")
class InterestIdOnlyInSnapshots(Interests):
    """When the snapshot has ended no declaration names its interest."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.answers(seen, declare)
        if mode and mode & CURRENT and not isinstance(declare.body, DFinal):
            self.subject(seen)
            due = self.is_due(seen, declare)
            self.require(
                due, at=seen, path="declare.interest_id", expected="none after D_FINAL", got="an interest's id"
            )
        super().on_declare(seen, declare)


@law("interests/future-alone-no-final", per="session")
class FutureHasNoFinal(Interests):
    """Who asked for what is to come only, is told no end."""

    def on_interest(self, seen: Seen, interest: Interest) -> None:
        super().on_interest(seen, interest)
        if self.modes.get((seen.sender, interest.id), CURRENT) & CURRENT == 0:
            self.subject(seen, seen.sender.other)

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.answers(seen, declare)
        if mode and not mode & CURRENT and isinstance(declare.body, DFinal):
            self.require(
                False, at=seen, path="declare", expected="no D_FINAL for an interest in the future", got="D_FINAL"
            )
        super().on_declare(seen, declare)


@law("interests/snapshot-ends-with-final", per="session")
class OneFinalForASnapshot(Interests):
    """D_FINAL says which snapshot it ends, and ends it once."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        if isinstance(declare.body, DFinal) and self.knows(seen.sender.other):
            mode = self.answers(seen, declare)
            once = mode is not None and (not mode & CURRENT or self.is_due(seen, declare))
            self.subject(seen)
            got = "one without the id of an interest" if mode is None else "a second one"
            self.require(once, at=seen, path="declare", expected="one D_FINAL for a snapshot", got=got)
        super().on_declare(seen, declare)
