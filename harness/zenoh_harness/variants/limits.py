"""Nodes with small limits: of sessions, links, half-open handshakes, message sizes, time; and nodes that do less than a router."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from zenoh_conformance.conversation import Framing, Side
from zenoh_conformance.messages import Interest, Open, Push, Request
from zenoh_harness.reference import Reference
from zenoh_harness.reference.application import COMMANDS
from zenoh_harness.reference.config import GENERIC, MAX_LINKS, Action, Refused
from zenoh_harness.reference.link import Link

from . import variant

APPLICATION = frozenset({"agent", *(f"agent.{name}" for name in COMMANDS)})
"""What an application above it does."""

LIMITS = "session-establishment#overview: resource limits are refused by CLOSE"
LESS = "a peer or a client does not route (push#routing)"


@variant("holds-one-session", permitted=LIMITS)
class HoldsOneSession(Reference):
    """Holds one session; it refuses another one at OPEN."""

    settings: ClassVar = {"max_sessions": 1}
    lacks = frozenset({"several-sessions"})


@variant("lets-go-of-its-session-late", permitted=LIMITS)
class LetsGoOfItsSessionLate(Reference):
    """As initiator it holds one session, comes back before it has let go of it, and leaves the next one by CLOSE until it has."""

    LATER: ClassVar = 0.5
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.held_until = -inf

    def drop(self, link: Link) -> None:
        if link.side is Side.INITIATOR and link.live:
            self.held_until = max(self.held_until, self.now + self.LATER)
        super().drop(link)

    def check_open_ack(self, link: Link, ack: Open) -> None:
        super().check_open_ack(link, ack)
        if self.now < self.held_until:
            raise Refused(GENERIC, "one session at a time")


@variant("lets-a-peer-back-in-late", permitted=LIMITS)
class LetsAPeerBackInLate(Reference):
    """As responder it has not let go of a node that has just left, and refuses it until it has."""

    LATER: ClassVar = 0.2
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.left: dict[bytes | None, float] = {}

    def drop(self, link: Link) -> None:
        live = link.live and link.side is Side.RESPONDER
        super().drop(link)
        if live and not any(one.zid == link.zid for one in self.links.values()):
            self.left[link.zid] = self.now + self.LATER

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        if self.now < self.left.get(link.zid, -inf):
            raise Refused(MAX_LINKS, "it has not let go of the last session")


@variant(
    "holds-four-sessions",
    permitted=LIMITS,
    unjudged=dict.fromkeys(
        ("query-targets/all-complete-ones-are-asked", "query-targets/the-best-match-is-asked"),
        "more sessions than it holds",
    ),
)
class HoldsFourSessions(Reference):
    """Holds four sessions."""

    settings: ClassVar = {"max_sessions": 4}


@variant(
    "has-room-for-sixteen-of-each",
    permitted="no page says how many declarations a session may make",
    unjudged={"routing-ids/a-session-may-declare-many": "it ends a session that declares so many"},
)
class HasRoomForSixteenOfEach(Reference):
    """Takes sixteen numbers and sixteen subscribers of a session, and ends the session that declares more by CLOSE."""

    MOST: ClassVar = 16

    def on_alias(self, link: Link, body: Any) -> None:
        if len(link.keys) >= self.MOST:
            raise Refused(GENERIC, "no room for another number")
        super().on_alias(link, body)

    def on_entity(self, link: Link, body: Any) -> None:
        if len(link.subscribers) >= self.MOST:
            raise Refused(GENERIC, "no room for another subscriber")
        super().on_entity(link, body)


@variant("takes-two-links-a-session", permitted="session-establishment#init-extensions: MultiLink")
class TakesTwoLinksASession(Reference):
    """Takes two links a session in every profile."""

    settings: ClassVar = {"max_links": 2}


class _FewHalfOpen(Reference):
    """Ends a link that comes while so many handshakes are half open."""

    most = 8
    facts: ClassVar = {"half_open": 8}

    def connected(self, name: str, side: Side, now: float, framing: Framing = Framing.STREAM) -> list[Action]:
        if side is Side.RESPONDER and self.half_open(now) >= self.most:
            return [Action(name, end=True)]
        return super().connected(name, side, now, framing)

    def half_open(self, now: float) -> int:
        """Handshakes that it counts as half open."""
        return sum(not link.live for link in self.links.values())


@variant("holds-eight-half-open-handshakes", permitted="no page says how many handshakes a node has under way")
class HoldsEightHalfOpenHandshakes(_FewHalfOpen):
    """Ends every link that comes while eight handshakes are half open."""


@variant("holds-one-half-open-handshake", permitted="no page says how many handshakes a node has under way")
class HoldsOneHalfOpenHandshake(_FewHalfOpen):
    """Ends every link that comes while a handshake is half open."""

    most = 1
    facts: ClassVar = {"half_open": 1}
    lacks = frozenset({"several-links", "many-links"})


@variant(
    "frees-its-place-late",
    permitted="no page says how soon a node notices that a handshake has ended",
)
class FreesItsPlaceLate(HoldsOneHalfOpenHandshake):
    """Holds one handshake that is half open, and counts it for a moment more after its link has ended."""

    LATER: ClassVar = 0.05
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.ended: list[float] = []

    def half_open(self, now: float) -> int:
        return super().half_open(now) + sum(now < at + self.LATER for at in self.ended)

    def drop(self, link: Link) -> None:
        if not link.live and link.name in self.links:
            self.ended.append(self.now)
        super().drop(link)


@variant("gives-a-handshake-half-a-second", permitted="no page says how long a handshake may take")
class GivesAHandshakeHalfASecond(Reference):
    """Ends a handshake that takes longer than half a second."""

    settings: ClassVar = {"handshake_s": 0.5}


@variant("gives-a-handshake-a-second", permitted="no page says how long a handshake may take")
class GivesAHandshakeASecond(Reference):
    """Ends a handshake that takes longer than a second."""

    settings: ClassVar = {"handshake_s": 1.0}


@variant("takes-first-batches-of-2048-bytes", permitted=LIMITS)
class TakesFirstBatchesOf2048Bytes(Reference):
    """As responder it refuses what is larger than 2048 bytes in a handshake."""

    def on_batch(self, link: Link, batch: bytes) -> None:
        if link.side is Side.RESPONDER and not link.live and len(batch) > 2048:
            raise Refused(GENERIC, "too large for a handshake")
        super().on_batch(link, batch)


@variant(
    "takes-messages-of-4096-bytes",
    permitted="no page says how large a message a node puts together",
    unjudged=dict.fromkeys(
        (
            "establishment-patch/toward-patch-zero-no-marker-is-needed", "session-batches/what-does-not-fit-is-fragmented",
            "establishment-fields/without-size-batches-are-large", "push-delivery/a-value-of-any-size-comes-whole",
            "routing-sizes/an-answer-of-any-size-comes-whole", "routing-sizes/an-error-of-any-size-comes-whole",
            "routing-sizes/an-error-of-any-size-keeps-its-encoding",
            "routing-sizes/a-publication-to-a-long-key-reaches-its-subscriber", "routing-sizes/a-token-of-a-long-key-is-told",
            "routing-sizes/a-query-for-a-long-key-reaches-its-queryable", "session-sizes/a-batch-as-large-as-settled-is-taken",
            "application-terms/an-application-keeps-to-the-smaller-batch",
        ),
        "the message is larger than it takes",
    ),
)  # fmt: skip
class TakesMessagesOf4096Bytes(Reference):
    """Gives up what has come in fragments to more than 4096 bytes."""

    facts: ClassVar = {"message_size": 4096}

    def route_bytes(self, link: Link, data: bytes, *, reliable: bool = True) -> None:
        if len(data) <= 4096:
            super().route_bytes(link, data, reliable=reliable)

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Push) and len(getattr(message.body, "payload", b"")) > 4096:
            return
        super().route(link, message, reliable=reliable)


@variant("passes-nothing-on", permitted=LESS)
class PassesNothingOn(Reference):
    """A peer that does not pass data between those who are connected to it."""

    settings: ClassVar = {"whatami": 1}
    lacks = frozenset({"routing"}) | APPLICATION

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        return

    def on_declare(self, link: Link, declare: Any) -> None:
        return


@variant("a-client", permitted="session-establishment#packed-byte: a router, a peer or a client")
class AClient(PassesNothingOn):
    """A client: it passes nothing on."""

    settings: ClassVar = {"whatami": 2}


@variant("finishes-no-queries", permitted="query#request-response-flow binds who serves")
class FinishesNoQueries(Reference):
    """A peer that knows no queries: it says nothing to a REQUEST."""

    settings: ClassVar = {"whatami": 1}
    lacks = frozenset({"finals"}) | APPLICATION

    def on_request(self, link: Link, request: Request) -> None:
        return


@variant(
    "answers-nothing-in-a-session",
    permitted="a publisher has nothing to answer",
)
class AnswersNothingInASession(FinishesNoQueries):
    """A publisher that knows neither queries nor interests, and passes nothing on."""

    lacks = frozenset({"finals", "interests", "routing"}) | APPLICATION

    def on_interest(self, link: Link, interest: Interest) -> None:
        return

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        return


@variant("answers-no-interests", permitted="interests#modes binds who has declarations")
class AnswersNoInterests(Reference):
    """Has nothing to declare, and says nothing to an INTEREST."""

    lacks = frozenset({"interests"})

    def on_interest(self, link: Link, interest: Interest) -> None:
        return
