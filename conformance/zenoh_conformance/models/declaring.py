"""Declarations, interests and publications as a Hypothesis state machine: what watchers were told is what is declared.

Up to three sessions declare and take back, up to three watch, one publishes. The oracle is a set: what is declared and meets what
was asked for, by a table of a few keys written by hand. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zenoh_conformance.cases.interest.telling import tells_who_asks_nothing
from zenoh_conformance.messages import (
    Declare,
    DQueryable,
    DSubscriber,
    DToken,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    UQueryable,
    USubscriber,
    UToken,
)
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Party, Scene, one_more, parties

from .manners import put_with_extras
from .modelled import Known, judged, unless_known
from .questions import KEYS, essence, meets

REQUIREMENT = "declarations/forwarded-on-interest"
ALSO = (
    "interests/snapshot-ends-with-final", "interests/options-select-kinds", "interests/restricted-to-key",
    "interests/final-stops-future", "declarations/entity-sent-once", "push/push-reaches-intersecting",
    "push/push-only-intersecting", "push/put-delivers-value", "interests/later-declarations-without-interest-id",
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
NEEDS = ("routing", "several-sessions", "interests")
MOST = 3
"""Sessions that declare, and sessions that watch, at a time."""
MOMENTS = 4
"""How often is looked whether a subscriber that was taken back has lost its effect."""

DECLARES: dict[str, type[Any]] = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
TAKES_BACK: dict[type[Any], str] = {USubscriber: "subscriber", UQueryable: "queryable", UToken: "token"}
OPTION = {
    "subscriber": InterestOptions.SUBSCRIBERS, "queryable": InterestOptions.QUERYABLES, "token": InterestOptions.TOKENS,
}  # fmt: skip
Thing = tuple[str, str]
"""Kind and key."""

keys = st.sampled_from(KEYS)
kinds = st.sampled_from(sorted(DECLARES))
which = st.integers(0, MOST - 1)


@dataclass(eq=False)
class Declarer:
    """A session that declares."""

    party: Party
    things: dict[tuple[str, int], str] = field(default_factory=dict)
    """(Kind, id) to key."""
    left: set[str] = field(default_factory=set)
    """The keys of the subscribers that it took back: no page says how soon nothing comes any more."""


@dataclass(eq=False)
class Watcher:
    """A session that watches."""

    party: Party
    interests: dict[int, tuple[frozenset[str], str | None]] = field(default_factory=dict)
    """Id to the kinds and the key that are asked for."""
    free: set[Thing] = field(default_factory=set)
    """What was told for an interest that has ended: it may stand or be taken back."""

    def told(self) -> set[Thing]:
        """What it was told and was not taken back."""
        now: dict[tuple[str, int], str] = {}
        for heard in self.party.heard(Declare):
            body = heard.message.body
            for kind, cls in DECLARES.items():
                if isinstance(body, cls):
                    now[kind, body.id] = (heard.key or "").removeprefix(f"{self.party.root}/")
            if type(body) in TAKES_BACK:
                now.pop((TAKES_BACK[type(body)], body.id), None)
        return {(kind, key) for (kind, _), key in now.items()}


class Declaring(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.declarers: list[Declarer] = []
        self.watchers: list[Watcher] = []
        self.count = 0
        self.unasked: bool | None = None

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for party in [*(each.party for each in self.declarers), *(each.party for each in self.watchers)]:
            party.us.hang_up()
        if self.declarers or self.watchers:
            self.publisher.us.hang_up()
        judged(self.scene, Side.RESPONDER, self.known)

    # -- steps

    @initialize(kind=kinds, key=keys)
    def arrive(self, kind: str, key: str) -> None:
        """A publisher, and a session that has declared something."""
        self.publisher, first = parties(self.scene, "publisher", "declarer-0")
        self.declarers.append(Declarer(first))
        self.declare(0, kind, key)

    @precondition(lambda self: len(self.declarers) < MOST)
    @rule(kind=kinds, key=keys)
    def join(self, kind: str, key: str) -> None:
        """One more session that declares."""
        self.count += 1
        self.declarers.append(Declarer(one_more(self.scene, f"declarer-{self.count}", self.publisher)))
        self.declare(len(self.declarers) - 1, kind, key)

    @precondition(lambda self: self.declarers)
    @rule(at=which, kind=kinds, key=keys)
    def declare(self, at: int, kind: str, key: str) -> None:
        """Something new."""
        who = self.declarers[at % len(self.declarers)]
        body = DECLARES[kind](id=who.party.us.new_id(), key=who.party.key(key))
        who.party.declares(body)
        who.party.settles()
        who.things[kind, body.id] = key

    @precondition(lambda self: any(who.things for who in self.declarers))
    @rule(at=which, thing=st.integers(0, 7))
    def take_back(self, at: int, thing: int) -> None:
        """What was declared is gone."""
        able = [who for who in self.declarers if who.things]
        who = able[at % len(able)]
        kind, entity = sorted(who.things)[thing % len(who.things)]
        who.party.retracts(next(cls for cls, name in TAKES_BACK.items() if name == kind), entity)
        key = who.things.pop((kind, entity))
        if kind == "subscriber":
            who.left.add(key)

    @precondition(lambda self: self.declarers)
    @rule(at=which, politely=st.booleans())
    def leave(self, at: int, politely: bool) -> None:
        """A session ends, and all that it declared."""
        who = self.declarers.pop(at % len(self.declarers))
        who.party.leaves() if politely else who.party.us.break_off()

    @rule(at=which, wanted=st.sets(kinds, min_size=1), key=st.one_of(st.none(), keys))
    def watch(self, at: int, wanted: set[str], key: str | None) -> None:
        """A session, perhaps one that watches already, sends an interest."""
        if len(self.watchers) <= at:
            self.count += 1
            self.watchers.append(Watcher(one_more(self.scene, f"watcher-{self.count}", self.publisher)))
        who = self.watchers[at % len(self.watchers)]
        options = InterestOptions(0)
        for kind in sorted(wanted):
            options |= OPTION[kind]
        interest = who.party.asks_interest(options, InterestMode.CURRENT_FUTURE, key)
        who.interests[interest.id] = (frozenset(wanted), key)

    @precondition(lambda self: any(who.interests for who in self.watchers))
    @rule(at=which)
    def stop_watching(self, at: int) -> None:
        """An interest ends; what was told for it is left as it is."""
        able = [who for who in self.watchers if who.interests]
        who = able[at % len(able)]
        who.free |= self.wanted(who)
        number = min(who.interests)
        del who.interests[number]
        who.party.ends_interest(number)
        who.party.settles()

    @rule(key=keys)
    def publish(self, key: str) -> None:
        """A publication comes to each session with a subscriber that it meets, once, and to no other."""
        self.count += 1
        payload = self.publisher.us.zid + self.count.to_bytes(2, "big")
        said = put_with_extras(payload, self.count)
        self.publisher.puts(key, body=said)
        self.publisher.settles()
        for who in self.declarers:
            due = any(kind == "subscriber" and meets(mine, key) for (kind, _), mine in who.things.items())
            got = self.got(who.party, payload, due)
            if got and not due and any(meets(left, key) for left in who.left):
                got = self.still_delivered(who.party, key)
            name = "push/push-reaches-intersecting" if due else "push/push-only-intersecting"
            self.require(who.party, got == int(due), name, f"{int(due)} Push", str(got))
            astray = who.party.strays(payload)
            self.require(who.party, not astray, "push/push-only-intersecting", "no key but its own", "another")
            for heard in who.party.heard(Push):
                body = heard.message.body
                whole = getattr(body, "payload", None) != payload or essence(body) == essence(said)
                self.require(who.party, whole, "push/put-delivers-value", "the value as it was said", "another")

    def still_delivered(self, who: Party, key: str) -> int:
        """Publish up to MOMENTS times more until one is not delivered; return how often the last one was."""
        came = 0
        for attempt in range(MOMENTS):
            payload = self.publisher.us.zid + b"again" + bytes([self.count & 0xFF, attempt])
            self.publisher.puts(key, body=Put(payload=payload))
            self.publisher.settles()
            if not (came := self.got(who, payload, False)):
                break
            who.us.listen(who.us.unit / MOMENTS)
        return came

    @staticmethod
    def got(who: Party, payload: bytes, due: bool) -> int:
        """How often a publication came; what is due is waited for."""

        def count() -> int:
            return sum(getattr(one.message.body, "payload", None) == payload for one in who.heard(Push))

        who.awaits(lambda: not due or bool(count()))
        return count()

    # -- what holds

    @invariant()
    def watchers_know_what_is_there(self) -> None:
        """What a watcher was told is what is declared and asked for; after an end of a session, at last."""
        for who in self.watchers:
            if not self.agrees(who):
                who.party.settles()
            who.party.us.wait_until(partial(self.agrees, who))
            due, text = self.wanted(who), who.told()
            missing = bool(due - text)
            if not missing and text - due - who.free and self.tells_all():
                continue  # what it tells need not answer an interest
            self.require(
                who.party, self.agrees(who), REQUIREMENT, f"{len(due)} told",
                self.untold(who) if missing else f"{len(text - due - who.free)} told that are not there",
            )  # fmt: skip

    def tells_all(self) -> bool:
        """Whether it tells of declarations who asked nothing; asked once, when something is told that nobody wanted."""
        if self.unasked is None:
            self.unasked = tells_who_asks_nothing(self.scene, self.publisher)
        return self.unasked

    def agrees(self, who: Watcher) -> bool:
        """Whether all that is due was told, and nothing else but what may be left."""
        due, text = self.wanted(who), who.told()
        return due <= text and (self.unasked is True or text <= due | who.free)

    def untold(self, who: Watcher) -> str:
        """What a watcher was not told, and how it had asked for it."""
        left = self.wanted(who) - who.told()
        keyed = {
            kind for asked, where in who.interests.values() if where is not None
            for kind, key in left if kind in asked and meets(where, key)
        }  # fmt: skip
        how = sorted(
            f"{kind} asked for {'by' if kind in keyed else 'without'} a key" for kind in {kind for kind, _ in left}
        )
        return f"{len(left)} not told ({', '.join(how)})"

    def wanted(self, who: Watcher) -> set[Thing]:
        """What is declared and asked for."""
        return {
            (kind, key)
            for declarer in self.declarers for (kind, _), key in declarer.things.items()
            for asked, where in who.interests.values()
            if kind in asked and (where is None or meets(where, key))
        }  # fmt: skip

    def require(self, who: Party, holds: bool, requirement: str, expected: str, got: str) -> None:
        """Deviate from one requirement of its own, unless it is known to be deviated from."""
        with unless_known(who.us, self.known, requirement):
            who.us.require(holds, expected=expected, got=got, step="what is declared")


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Declaring]:
    """The machine for a stage: every run of it begins with a new scene. `known`: requirements left to their own cases."""
    return type("DeclaringOnStage", (Declaring,), {"stage": staticmethod(stage), "known": known})
