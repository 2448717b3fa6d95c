"""INTEREST and what answers it: ids, snapshots and their ends (companion interests)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from zenoh_conformance.judging.law import Per, Record, law
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DQueryable,
    DSubscriber,
    DToken,
    Interest,
    InterestOptions,
)
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side

from .network import Session, SessionLaw

CURRENT = 1
"""Bit of the mode: what is there now is asked for."""


UNASKED = 0
"""The id under which a peer or router ends what it told unasked (erratum `peers-end-what-none-asked`)."""


class Interests(Record):
    """The interests of each side, and which snapshots are due."""

    per, name = Per.SESSION, "interests"
    reads = (Session,)
    session: Session

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
        if declare.interest_id is None or not self.session.knows(seen.sender.other):
            return None
        return self.modes.get((seen.sender.other, declare.interest_id), 0)

    def is_due(self, seen: Seen, declare: Declare) -> bool:
        """Whether the snapshot that a declaration names has not ended."""
        return self.due.get((seen.sender.other, declare.interest_id or 0), 0) > 0


class InterestLaw(SessionLaw):
    """A law that reads which interests there are."""

    reads = (Session, Interests)
    interests: Interests


@law("interests/snapshot-sets-interest-id", per="session")
class InterestIdIsKnown(InterestLaw):
    """A declaration that names an interest names one that was asked."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.interests.answers(seen, declare)
        unasked = (
            declare.interest_id == UNASKED
            and isinstance(declare.body, DFinal)
            and not self.session.is_client(seen.sender)
        )
        if mode is not None and not (mode == 0 and unasked):
            self.subject(seen)
            path = "declare.interest_id"
            self.require(mode > 0, at=seen, path=path, expected="the id of an INTEREST", got="one that none has")


@law("interests/later-declarations-without-interest-id", per="session")
class InterestIdOnlyInSnapshots(InterestLaw):
    """When the snapshot has ended no declaration names its interest."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.interests.answers(seen, declare)
        if mode and mode & CURRENT and not isinstance(declare.body, DFinal):
            self.subject(seen)
            due = self.interests.is_due(seen, declare)
            self.require(
                due, at=seen, path="declare.interest_id", expected="none after D_FINAL", got="an interest's id"
            )


@law("interests/future-alone-no-final", per="session")
class FutureHasNoFinal(InterestLaw):
    """Who asked for what is to come only, is told no end."""

    def on_interest(self, seen: Seen, interest: Interest) -> None:
        asked = self.interests.modes.get((seen.sender, interest.id), 0) | int(interest.mode)
        if asked and not asked & CURRENT:
            self.subject(seen, seen.sender.other)

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        mode = self.interests.answers(seen, declare)
        if mode and not mode & CURRENT and isinstance(declare.body, DFinal):
            self.require(
                False, at=seen, path="declare", expected="no D_FINAL for an interest in the future", got="D_FINAL"
            )


@law("interests/snapshot-ends-with-final", per="session")
class OneFinalForASnapshot(InterestLaw):
    """D_FINAL says which snapshot it ends, and ends it once."""

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        if isinstance(declare.body, DFinal) and self.session.knows(seen.sender.other):
            mode = self.interests.answers(seen, declare)
            once = mode is not None and (not mode & CURRENT or self.interests.is_due(seen, declare))
            self.subject(seen)
            got = "one without the id of an interest" if mode is None else "a second one"
            self.require(once, at=seen, path="declare", expected="one D_FINAL for a snapshot", got=got)


OPTIONS: Final[Mapping[type[Any], InterestOptions]] = {
    DSubscriber: InterestOptions.SUBSCRIBERS,
    DQueryable: InterestOptions.QUERYABLES,
    DToken: InterestOptions.TOKENS,
}
"""A declaration, and the option that selects it."""
ANY_KEY: Final = ""
"""What stands for the key of an interest that names none, or one that is not known."""


class Wanted(SessionLaw):
    """What the interests of each side select; the ends of snapshots and expression ids are no answer in this sense."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: dict[tuple[Side, int], set[tuple[int, str]]] = {}
        """(Who asked, id) to the options and the key of all that were asked under it."""

    def on_interest(self, seen: Seen, interest: Interest) -> None:
        if interest.mode:
            key = ANY_KEY if interest.key is None else self.session.names.whole(seen.sender, interest.key)
            known = key if key and keyexpr.is_canonical(key) else ANY_KEY
            self.wanted.setdefault((seen.sender, interest.id), set()).add((int(interest.options or 0), known))

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        if declare.interest_id is not None and type(declare.body) in OPTIONS and self.session.knows(seen.sender.other):
            every = self.wanted.get((seen.sender.other, declare.interest_id))
            if every is not None:  # an id that none has is judged elsewhere
                self.on_answer(seen, declare, every)

    def on_answer(self, seen: Seen, declare: Declare, every: set[tuple[int, str]]) -> None:
        """A declaration that answers an interest; `every`: the options and keys that were asked under its id."""
        raise NotImplementedError


@law("interests/options-select-kinds", per="session")
class SnapshotKeepsToItsKinds(Wanted):
    """What answers an interest is of a kind that the interest selects."""

    def on_answer(self, seen: Seen, declare: Declare, every: set[tuple[int, str]]) -> None:
        self.subject(seen)
        right = any(options & OPTIONS[type(declare.body)] for options, _ in every)
        self.require(right, at=seen, path="declare.body", expected="a kind that was asked for", got="another")


@law("interests/restricted-to-key", per="session")
class SnapshotKeepsToItsKey(Wanted):
    """What answers an interest intersects the key expression to which that is restricted."""

    def on_answer(self, seen: Seen, declare: Declare, every: set[tuple[int, str]]) -> None:
        body: Any = declare.body
        key = self.session.names.whole(seen.sender, body.key)
        if key is not None and keyexpr.is_canonical(key):
            self.subject(seen)
            right = any(not wanted or keyexpr.intersects(wanted, key) for _, wanted in every)
            self.require(right, at=seen, path="declare.body.key", expected="a key that was asked for", got="another")
