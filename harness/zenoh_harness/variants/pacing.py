"""Nodes that work in another time than the reference: they pass on later, or deal with one session later than with another."""

from __future__ import annotations

from typing import Any, ClassVar

from zenoh_conformance.messages import Open, Push, Request
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.link import Link, Pending

from . import variant


class AtItsOwnPace:
    """
    Deals with what each session says in order, and with each session at a pace of its own. To be put before any node.

    Whatever a check must know that the node has dealt with, it must ask on the session that said it.
    """

    PACE: ClassVar[tuple[float, ...]] = (0.0, 0.05, 0.1)
    """Seconds until a message is dealt with, by session, in the order in which they first say something; over and over."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.known: list[Link] = []
        self.inbox: list[tuple[float, Link, Any, bool]] = []

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link not in self.known:
            self.known.append(link)
        later = 0.0 if link.inside is not None else self.PACE[self.known.index(link) % len(self.PACE)]
        if later:
            self.inbox.append((self.now + later, link, message, reliable))
        else:
            super().route(link, message, reliable=reliable)  # type: ignore[misc]

    def drop(self, link: Link) -> None:
        self.deal([one for one in self.inbox if one[1] is link])
        super().drop(link)  # type: ignore[misc]

    def deal(self, due: list[tuple[float, Link, Any, bool]]) -> None:
        """Deal with these now."""
        self.inbox = [one for one in self.inbox if one not in due]
        for _, link, message, reliable in due:
            super().route(link, message, reliable=reliable)  # type: ignore[misc]

    def tick(self, now: float) -> list[Action]:
        self.now = now
        self.deal([one for one in self.inbox if one[0] <= now])
        return super().tick(now)  # type: ignore[misc,no-any-return]


PACED = "no page says how the work on two sessions is ordered"


@variant("deals-with-later-sessions-later", permitted=PACED)
class LaterSessionsLater(AtItsOwnPace, Reference):
    """Has a task for each session, and those of later sessions get to work later."""


@variant("deals-with-first-sessions-last", permitted=PACED)
class FirstSessionsLast(AtItsOwnPace, Reference):
    """Has a task for each session, and those of the first sessions get to work last."""

    PACE = (0.1, 0.05, 0.0)


@variant(
    "passes-on-later",
    permitted="no page says that what one session said has reached another when the first is answered",
)
class PassesOnLater(Reference):
    """Passes on what other sessions said a little later, in order; what a session itself asks is answered at once."""

    LATER: ClassVar = 0.05
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.speaking: Link | None = None
        self.waiting: list[tuple[float, Link, Any, bool]] = []

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        before, self.speaking = self.speaking, link
        super().route(link, message, reliable=reliable)
        self.speaking = before

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        first = not any(other is link for _, other, _, _ in self.waiting)
        if link.inside is not None or link is self.speaking or (self.speaking is None and first):
            super().say(link, message, reliable=reliable)
        else:
            self.waiting.append((self.now + self.LATER, link, message, reliable))

    def tick(self, now: float) -> list[Action]:
        due = [one for one in self.waiting if one[0] <= now]
        self.waiting = [one for one in self.waiting if one[0] > now]
        for _, link, message, reliable in due:
            if link.live:
                super().say(link, message, reliable=reliable)
        return super().tick(now)


@variant(
    "finds-its-first-way-late",
    permitted="push#routing: no page says how soon what is declared has an effect, nor that each publication takes alike",
)
class FindsItsFirstWayLate(Reference):
    """Holds back the first publication that it passes on, and what comes to that session behind it; later ones go at once."""

    LATE: ClassVar = 0.6
    """Seconds: more than a calm probe waits, and less than what cases wait."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.knows = False
        self.slow: Link | None = None
        self.due = 0.0
        self.behind: list[tuple[Any, bool]] = []

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Push) and not self.knows and link.inside is None:
            self.knows, self.slow, self.due = True, link, self.now + self.LATE
        if link is self.slow:
            self.behind.append((message, reliable))
        else:
            super().say(link, message, reliable=reliable)

    def tick(self, now: float) -> list[Action]:
        if self.slow is not None and now >= self.due:
            link, self.slow = self.slow, None
            for message, reliable in self.behind if link.live else ():
                super().say(link, message, reliable=reliable)
        return super().tick(now)


@variant(
    "forgets-sessions-later",
    permitted="close#session: no page says how soon what a session declared is withdrawn once its link has ended",
)
class ForgetsSessionsLater(Reference):
    """Ends the link at once, and forgets the session, and with it what it declared and owes, a little later."""

    LATER: ClassVar = 0.3
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.leaving: dict[str, float] = {}

    def drop(self, link: Link) -> None:
        more = [other for other in self.links.values() if other.session == link.session and other is not link]
        if link.live and not more and link.name not in self.leaving:
            self.leaving[link.name] = self.now + self.LATER
        else:
            self.leaving.pop(link.name, None)
            super().drop(link)

    def check_open(self, link: Link, open_: Open) -> None:
        """A node that comes back before it was forgotten is forgotten then."""
        for other in list(self.links.values()):
            if other.name in self.leaving and other.zid == link.zid:
                self.drop(other)
        super().check_open(link, open_)

    def send_batch(self, link: Link, batch: bytes) -> None:
        if link.name not in self.leaving:
            super().send_batch(link, batch)

    def on_time(self, link: Link) -> None:
        if self.leaving.get(link.name, self.now + 1) <= self.now:
            self.drop(link)
        elif link.name not in self.leaving:
            super().on_time(link)


@variant(
    "asks-who-has-just-left",
    permitted="query#request-response-flow: a query ends by its timeout, and no page says how soon a session is forgotten",
)
class AsksWhoHasJustLeft(ForgetsSessionsLater):
    """Settles at once what a session owed that has left, and asks it for a moment more; such a query ends by a timeout of its own."""

    TIMEOUT: ClassVar = 10.0
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.lost: list[tuple[float, Pending]] = []

    def drop(self, link: Link) -> None:
        if link.live and link.name not in self.leaving:
            owed, link.requests = link.requests, {}
            for pending in {id(one): one for one in owed.values()}.values():
                self.settle_final(pending, link.session)
        super().drop(link)

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        if other.name in self.leaving:
            other.requests.pop(pending.owing[other.session], None)
            self.lost.append((self.now + self.TIMEOUT, pending))
        else:
            super().pass_on(other, request, key, pending)

    def tick(self, now: float) -> list[Action]:
        due = [pending for at, pending in self.lost if at <= now]
        self.lost = [one for one in self.lost if one[0] > now]
        for pending in due:
            self.abandon(pending)
        return super().tick(now)


@variant(
    "takes-back-later",
    permitted="declarations: no page says how soon what is taken back has an effect",
    unjudged={
        "query-targets/who-has-left-off-is-not-asked": "who has just left off is asked once more, and answers nothing"
    },
)
class TakesBackLater(Reference):
    """Asks a queryable for a moment more after it was taken back."""

    LATER: ClassVar = 0.05
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.gone: list[tuple[float, Link, int]] = []

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        if kind == "queryable":
            self.gone.append((self.now + self.LATER, link, entity))
        else:
            super().on_entity_gone(link, kind, entity)

    def tick(self, now: float) -> list[Action]:
        due = [one for one in self.gone if one[0] <= now]
        self.gone = [one for one in self.gone if one[0] > now]
        for _, link, entity in due:
            super().on_entity_gone(link, "queryable", entity)
        return super().tick(now)


@variant(
    "asks-late-who-has-left-off",
    permitted="declarations: no page says how soon what is taken back has an effect",
    unjudged={
        "query-targets/who-has-left-off-is-not-asked": "who has just left off is asked once more, and answers nothing"
    },
)
class AsksLateWhoHasLeftOff(TakesBackLater):
    """Passes a query on to a queryable that was just taken back, and only after it has dealt with what came behind that query."""

    LATE: ClassVar = 0.5
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.late: list[tuple[float, Link, Request]] = []

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Request) and any(gone is link for _, gone, _ in self.gone):
            self.late.append((self.now + self.LATE, link, message))
        else:
            super().say(link, message, reliable=reliable)

    def tick(self, now: float) -> list[Action]:
        due = [one for one in self.late if one[0] <= now]
        self.late = [one for one in self.late if one[0] > now]
        for _, link, request in due:
            if link.live:
                super().say(link, request)
        return super().tick(now)
