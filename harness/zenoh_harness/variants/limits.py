"""Nodes with low limits (sessions, links, half-open handshakes, sizes, times), and nodes that do less than a router."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import Any, ClassVar

from zenoh_conformance.messages import Open, Push, sane
from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.reference import GENERIC, MAX_LINKS, Action, Habits, Link, Reference, Refused, before, refuse
from zenoh_harness.reference.application import COMMANDS
from zenoh_harness.reference.hooked import do_nothing

from . import row, variant

APPLICATION = frozenset({"agent", *(f"agent.{name}" for name in COMMANDS)})
"""The capabilities that a node without an application lacks."""

LIMITS = "session-establishment#overview: resource limits are refused by CLOSE"
HANDSHAKES = "no page says how long a handshake may take"
LESS = "a peer or a client does not route (push#routing)"


row(
    "holds-one-session",
    "Holds one session; it refuses another one at OPEN.",
    permitted=LIMITS,
    settings={"max_sessions": 1},
    lacks=frozenset({"several-sessions"}),
)
row(
    "holds-four-sessions",
    "Holds four sessions.",
    permitted=LIMITS,
    unjudged=dict.fromkeys(
        (
            "query-targets/all-complete-ones-are-asked",
            "query-targets/complete-is-said-of-its-own-key",
            "query-targets/the-best-match-is-asked",
        ),
        "more sessions than it holds",
    ),
    settings={"max_sessions": 4},
)
row(
    "takes-two-links-a-session",
    "Takes two links a session in every profile.",
    permitted="session-establishment#init-extensions: MultiLink",
    settings={"max_links": 2},
)
row(
    "gives-a-handshake-half-a-second",
    "Ends a handshake that takes longer than half a second.",
    permitted=HANDSHAKES,
    settings={"handshake_s": 0.5},
)
row(
    "gives-a-handshake-a-second",
    "Ends a handshake that takes longer than a second.",
    permitted=HANDSHAKES,
    settings={"handshake_s": 1.0},
)


class _Impatient(Reference):
    """Ends a link, without a word, on which a message of the handshake does not come within 100 ms."""

    impatient: ClassVar = Side.INITIATOR
    """The side on which it is so."""
    MOST: ClassVar = 0.1

    def on_time(self, link: Link) -> None:
        if not link.live and link.side is self.impatient and self.now - link.last_heard >= self.MOST:
            self.end(link)
        else:
            super().on_time(link)


row(
    "waits-100-ms-as-initiator",
    "As initiator, ends a link without a word when it has waited 100 ms for InitAck or OpenAck.",
    permitted=HANDSHAKES,
    of=_Impatient,
    impatient=Side.INITIATOR,
    habits=Habits(comes_back_after=0.0),
)
row(
    "waits-100-ms-as-listener",
    "As responder, ends a link without a word when it has waited 100 ms for InitSyn or OpenSyn.",
    permitted=HANDSHAKES,
    of=_Impatient,
    impatient=Side.RESPONDER,
    unjudged={"establishment-states/a-short-pause-is-endured": "it waits for less than the pause"},
)


@variant(permitted=LIMITS)
class LetsGoOfItsSessionLate(Reference):
    """As initiator, reconnects before it has released its previous session, and until then closes the new one."""

    held_until = -inf

    def drop(self, link: Link) -> None:
        if link.side is Side.INITIATOR and link.live:
            self.held_until = max(self.held_until, self.now + 0.5)
        super().drop(link)

    def check_open_ack(self, link: Link, ack: Open) -> None:
        super().check_open_ack(link, ack)
        if self.now < self.held_until:
            raise Refused(GENERIC, "one session at a time")


@variant(permitted=LIMITS)
class LetsAPeerBackInLate(Reference):
    """As responder, refuses a node that has just left until it has released that node's session."""

    left = cached_property(lambda node: dict[bytes | None, float]())

    def drop(self, link: Link) -> None:
        live = link.live and link.side is Side.RESPONDER
        super().drop(link)
        if live and not any(one.zid == link.zid for one in self.links.values()):
            self.left[link.zid] = self.now + 0.2

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        if self.now < self.left.get(link.zid, -inf):
            raise Refused(MAX_LINKS, "it has not let go of the last session")


row(
    "has-room-for-sixteen-of-each",
    "Accepts sixteen expression ids and sixteen subscribers of a session, and closes a session that declares more.",
    permitted="no page says how many declarations a session may make",
    unjudged={"routing-ids/a-session-may-declare-many": "it ends a session that declares so many"},
    on_alias=before(lambda link: refuse(GENERIC, "no room for another number") if len(link.keys) >= 16 else None),
    on_entity=before(
        lambda link: refuse(GENERIC, "no room for another subscriber") if len(link.subscribers) >= 16 else None
    ),
)


HALF_OPEN = "no page says how many handshakes a node has under way"
ONE_HALF_OPEN: Mapping[str, Any] = {
    "facts": {"half_open": 1},
    "lacks": frozenset({"several-links", "many-links"}),
}


class _FewHalfOpen(Reference):
    """Ends a new link while `half_open` handshakes are half open."""

    facts: ClassVar = {"half_open": 8}

    def connected(self, name: str, side: Side, now: float, framing: Framing = Framing.STREAM) -> list[Action]:
        if side is Side.RESPONDER and self.half_open(now) >= self.facts["half_open"]:
            return [Action(name, end=True)]
        return super().connected(name, side, now, framing)

    def half_open(self, now: float) -> int:
        """Return the number of handshakes that count as half open."""
        return sum(not link.live for link in self.links.values())


row(
    "holds-eight-half-open-handshakes",
    "Ends every new link while eight handshakes are half open.",
    permitted=HALF_OPEN,
    of=_FewHalfOpen,
)
row(
    "holds-one-half-open-handshake",
    "Ends every new link while a handshake is half open.",
    permitted=HALF_OPEN,
    of=_FewHalfOpen,
    **ONE_HALF_OPEN,
)


@variant(permitted="no page says how soon a node notices that a handshake has ended")
class FreesItsPlaceLate(_FewHalfOpen):
    """Permits one half-open handshake, and counts it for 50 ms more after its link has ended."""

    facts = ONE_HALF_OPEN["facts"]
    lacks = ONE_HALF_OPEN["lacks"]

    ended = cached_property(lambda node: list[float]())

    def half_open(self, now: float) -> int:
        return super().half_open(now) + sum(now < at + 0.05 for at in self.ended)

    def drop(self, link: Link) -> None:
        if not link.live and link.name in self.links:
            self.ended.append(self.now)
        super().drop(link)


row(
    "takes-first-batches-of-2048-bytes",
    "As responder, refuses batches of more than 2048 bytes in the handshake.",
    permitted=LIMITS,
    on_batch=before(
        lambda link, batch: (
            refuse(GENERIC, "too large for a handshake")
            if link.side is Side.RESPONDER and not link.live and len(batch) > 2048
            else None
        )
    ),
)


row(
    "takes-messages-of-4096-bytes",
    "Drops fragmented messages and publications of more than 4096 bytes.",
    permitted="no page says how large a message a node must reassemble",
    unjudged=dict.fromkeys(
        (
            "establishment-patch/toward-patch-zero-no-marker-is-needed",
            "session-batches/what-does-not-fit-is-fragmented",
            "establishment-fields/without-size-batches-are-large",
            "push-delivery/a-value-of-any-size-comes-whole",
            "routing-sizes/an-answer-of-any-size-comes-whole",
            "routing-sizes/an-error-of-any-size-comes-whole",
            "routing-sizes/an-error-of-any-size-keeps-its-encoding",
            "routing-sizes/a-publication-to-a-long-key-reaches-its-subscriber",
            "routing-sizes/a-token-of-a-long-key-is-told",
            "routing-sizes/a-query-for-a-long-key-reaches-its-queryable",
            "session-batch-effects/low-latency-batches-have-long-lengths*size=40000*",
            "session-sizes/a-batch-as-large-as-settled-is-taken",
            "application-terms/an-application-keeps-to-the-smaller-batch",
            "multicast/batches-to-a-join-without-s-have-8192-bytes",
            "multicast/fragments-in-the-group-are-put-together",
        ),
        "the message is larger than it takes",
    ),
    facts={"message_size": 4096},
    route_bytes=lambda base, data: base() if len(data) <= 4096 else None,
    route=lambda base, message: (
        None if isinstance(message, Push) and len(getattr(message.body, "payload", b"")) > 4096 else base()
    ),
)


PASSES_NOTHING_ON = row(
    "passes-nothing-on",
    "A peer that does not pass data between those who are connected to it.",
    permitted=LESS,
    settings={"whatami": sane.PEER},
    lacks=frozenset({"routing"}) | APPLICATION,
    on_push=do_nothing,
    on_declare=do_nothing,
)
row(
    "a-client",
    "A client: it passes nothing on.",
    permitted="session-establishment#packed-byte: a router, a peer or a client",
    of=PASSES_NOTHING_ON,
    settings={"whatami": sane.CLIENT},
)
row(
    "finishes-no-queries",
    "A peer that knows no queries: it says nothing to a REQUEST.",
    permitted="query#request-response-flow binds nodes that have queryables",
    settings={"whatami": sane.PEER},
    lacks=frozenset({"finals"}) | APPLICATION,
    on_request=do_nothing,
)
ANSWERS_NOTHING: Mapping[str, Any] = {
    "settings": {"whatami": sane.PEER},
    "lacks": frozenset({"finals", "interests", "routing"}) | APPLICATION,
    "on_request": do_nothing,
    "on_interest": do_nothing,
    "on_push": do_nothing,
}
row(
    "answers-nothing-in-a-session",
    "A publisher that knows neither queries nor interests, and passes nothing on.",
    permitted="a publisher has nothing to answer",
    **ANSWERS_NOTHING,
)
row(
    "answers-no-interests",
    "Has nothing to declare, and says nothing to an INTEREST.",
    permitted="interests#modes binds nodes that have declarations",
    lacks=frozenset({"interests"}),
    on_interest=do_nothing,
)


row(
    "looks-at-timeouts-seldom",
    "Ends a query two seconds after its timeout.",
    permitted="no page says how precise a timeout is",
    deadline_of=lambda base: None if (due := base()) is None else due + 2.0,
)
