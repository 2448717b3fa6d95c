"""Nodes that process messages later than the reference node does: all messages, or those of some sessions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from zenoh_conformance.messages import Close, Open, Push, Request
from zenoh_harness.reference import Link, Pending

from . import row, variant
from .later import A_LITTLE, TimedNode
from .limits import ANSWERS_NOTHING


class AtItsOwnPace(TimedNode):
    """
    Processes the messages of each session in order, with another delay for each session. A mixin for any node.

    A check that needs to know that the node has processed a message must send its fence on the session of that message.
    """

    pace: ClassVar[tuple[float, ...]] = (0.0, 0.05, 0.1)
    """Seconds by which the messages of a session are delayed, by the order of the sessions' first messages, repeated."""

    known = cached_property(lambda node: list[Link]())

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link not in self.known:
            self.known.append(link)
        later = 0.0 if link.inside is not None else self.pace[self.known.index(link) % len(self.pace)]
        if later:
            self.after(later, super().route, link, message, reliable=reliable)
        else:
            super().route(link, message, reliable=reliable)

    def drop(self, link: Link) -> None:
        self.carry_out(self.tasks_of(link))
        super().drop(link)


PACED = "no page says how the work on two sessions is ordered"


LATER_SESSIONS_LATER = row(
    "deals-with-later-sessions-later",
    "Processes each session in a task of its own; the tasks of later sessions run later.",
    permitted=PACED,
    of=AtItsOwnPace,
)
FIRST_SESSIONS_LAST = row(
    "deals-with-first-sessions-last",
    "Processes each session in a task of its own; the tasks of the first sessions run last.",
    permitted=PACED,
    of=AtItsOwnPace,
    pace=(0.1, 0.05, 0.0),
)


@variant(permitted="no page says that what one session said has reached another when the first is answered")
class PassesOnLater(TimedNode):
    """Forwards the messages of other sessions a little later, in order; answers a session's own requests at once."""

    speaking: Link | None = None

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        before, self.speaking = self.speaking, link
        super().route(link, message, reliable=reliable)
        self.speaking = before

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        first = not self.tasks_of(link)
        if link.inside is not None or link is self.speaking or (self.speaking is None and first):
            super().say(link, message, reliable=reliable)
        else:
            self.after(A_LITTLE, super().say, link, message, reliable=reliable, while_live=True)


@variant(
    permitted="push#routing: no page says how soon what is declared has an effect, nor that each publication takes alike",
)
class FindsItsFirstWayLate(TimedNode):
    """Delays the first publication that it forwards, and the messages to that session after it; later ones go at once."""

    LATE: ClassVar = 0.6
    """The delay in seconds: more than a probe waits for silence, and less than cases wait."""

    slow: Link | None = None
    behind = cached_property(lambda node: list[tuple[Any, bool]]())

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Push) and not self.behind and link.inside is None:
            self.slow = link
            self.after(self.LATE, self.find_way, link)
        if link is self.slow:
            self.behind.append((message, reliable))
        else:
            super().say(link, message, reliable=reliable)

    def find_way(self, link: Link) -> None:
        """Send the delayed messages."""
        self.slow = None
        for message, reliable in self.behind if link.live else ():
            super().say(link, message, reliable=reliable)


@variant(
    permitted="close#session: no page says how soon what a session declared is withdrawn once its link has ended",
)
class ForgetsSessionsLater(TimedNode):
    """Ends a link at once, and withdraws the session's declarations and missing finals a little later."""

    leaving = cached_property(lambda node: dict[str, float]())

    def drop(self, link: Link) -> None:
        more = [other for other in self.links.values() if other.session == link.session and other is not link]
        if link.live and not more and link.name not in self.leaving:
            self.leaving[link.name] = self.now + 0.3
        else:
            self.leaving.pop(link.name, None)
            super().drop(link)

    def check_open(self, link: Link, open_: Open) -> None:
        """Forget the earlier session of a node that reconnects, before the new one begins."""
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
    permitted="query#request-response-flow: a query ends by its timeout, and no page says how soon a session is forgotten",
)
class AsksWhoHasJustLeft(ForgetsSessionsLater):
    """Ends the queries to a session that has just left, but forwards new ones to it, which end by a timeout."""

    def drop(self, link: Link) -> None:
        if link.live and link.name not in self.leaving:
            owed, link.requests = link.requests, {}
            for pending in {id(one): one for one in owed.values()}.values():
                self.settle_final(pending, link.session)
        super().drop(link)

    def pass_on(self, other: Link, request: Request, key: str, pending: Pending) -> None:
        if other.name in self.leaving:
            other.requests.pop(pending.owing[other.session], None)
            self.after(10.0, lambda _: self.abandon(pending), other)
        else:
            super().pass_on(other, request, key, pending)


ASKED_ONCE_MORE = {
    "query-targets/who-has-left-off-is-not-asked": "a queryable that was just undeclared gets one more query, unanswered"
}


@variant(permitted="declarations: no page says how soon what is taken back has an effect", unjudged=ASKED_ONCE_MORE)
class TakesBackLater(TimedNode):
    """Forwards queries to a queryable for a moment after its undeclaration."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        if kind == "queryable":
            self.forget_later(super().on_entity_gone, link, kind, entity)
        else:
            super().on_entity_gone(link, kind, entity)


@variant(permitted="declarations: no page says how soon what is taken back has an effect", unjudged=ASKED_ONCE_MORE)
class AsksLateWhoHasLeftOff(TakesBackLater):
    """Forwards a query to a queryable that was just undeclared, half a second later than the messages after it."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Request) and self.tasks_of(link, self.forget):
            self.after(0.5, super().say, link, message, while_live=True)
        else:
            super().say(link, message, reliable=reliable)


class _EndsLinksLater(TimedNode):
    """Ends a link 0.7 seconds after CLOSE, and sends nothing on it in between."""

    def on_close(self, link: Link, close: Close) -> None:
        if not self.tasks_of(link):
            self.after(0.7, super().on_close, link, Close(session=False, reason=0))

    def on_time(self, link: Link) -> None:
        if not self.tasks_of(link):
            super().on_time(link)


row(
    "ends-links-in-its-own-time",
    "Answers neither queries nor interests, and ends a link 0.7 seconds after CLOSE.",
    permitted="no page says how soon after CLOSE a link ends",
    of=_EndsLinksLater,
    **ANSWERS_NOTHING,
)
