"""Nodes that tell of declarations wrongly: to whom, of what, under which ids, and how a snapshot ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

from zenoh_conformance.messages import Declare, DFinal, DKeyExpr, Interest, UKeyExpr
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import NO_EXTS, Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.declaring import UNDECLARE, declare
from zenoh_harness.reference.link import Entity, Link

from . import faulty

SNAPSHOTS = "interest-snapshots"


class _SaysOtherwise(Reference):
    """Changes each declaration that it tells."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        for each in self.told_as(link, message) if isinstance(message, Declare) else (message,):
            super().say(link, each, reliable=reliable)

    def told_as(self, link: Link, message: Declare) -> Iterator[Declare]:
        """What is said in its place."""
        raise NotImplementedError


def is_final(message: Declare) -> bool:
    """Whether it ends a snapshot."""
    return isinstance(message.body, DFinal)


@faulty(
    "tells-nobody",
    caught_by=f"{SNAPSHOTS}/who-asks-is-told",
    also={
        f"{SNAPSHOTS}/*": "nothing that comes is told",
        "qos-defaults/a-declaration*": "nor what has no QoS",
        "interest-changes/*": "nothing that comes is told",
        "routing-extensions/what-is-declared*": "nothing that comes is told",
        "routing-sizes/a-token*": "however long its key",
    },
)
class TellsNobody(Reference):
    """Answers interests, and tells nothing that comes later."""

    def wants(self, link: Link, kind: str, key: str) -> bool:
        return False


@faulty(
    "takes-nothing-back",
    caught_by=f"{SNAPSHOTS}/who-asks-is-told",
    also={
        "close-scope/what-a-session*": "nobody is told that it is gone",
        f"{SNAPSHOTS}/what-a-session*": "nothing is taken back",
        "routing-extensions/what-is-declared*": "nothing is taken back",
        "interest-changes/what-a-snapshot*": "so it is with what a snapshot told",
        "session-leases/what-a-dead-session-declared-is-taken-back": "however a session ends",
    },
)
class TakesNothingBack(Reference):
    """Tells what is declared, and not that it is gone."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        self.table(link, kind).pop(entity, None)


@faulty(
    "takes-another-thing-back",
    caught_by=(f"{SNAPSHOTS}/who-asks-is-told", "law/undeclared-was-declared"),
    also={
        "close-scope/what-a-session*": "another one is taken back",
        "law/undeclared-*-names-key": "and it names no key",
        "routing-extensions/what-is-declared*": "what is taken back is another",
        "interest-changes/what-a-snapshot*": "so it is with what a snapshot told",
        "session-leases/what-a-dead-session-declared-is-taken-back": "however a session ends",
    },
)
class TakesAnotherThingBack(Reference):
    """Tells that something is gone under the id that it has in its own session."""

    def undeclared(self, kind: str, entity: int, key: str) -> Any:
        return UNDECLARE[kind](id=entity + 1000)


@faulty(
    "names-no-key-where-it-takes-back",
    caught_by=(
        "law/undeclared-subscriber-names-key",
        "law/undeclared-queryable-names-key",
        "law/undeclared-token-names-key",
    ),
)
class NamesNoKeyWhereItTakesBack(Reference):
    """Takes back by id alone."""

    def undeclared(self, kind: str, entity: int, key: str) -> Any:
        return UNDECLARE[kind](id=entity)


@faulty(
    "keeps-what-the-dead-declared",
    caught_by=f"{SNAPSHOTS}/what-a-session-declared-is-taken-back-with-it",
    also={
        "close-scope/what-a-session*": "nobody is told that it is gone",
        "session-leases/what-a-dead-session-declared-is-taken-back": "however a session ends",
    },
)
class KeepsWhatTheDeadDeclared(Reference):
    """Tells nobody that what a session declared has gone with it."""

    def on_gone(self, link: Link) -> None:
        for table in (link.subscribers, link.queryables, link.tokens):
            table.clear()
        super().on_gone(link)


@faulty(
    "lets-anybody-take-back",
    caught_by=f"{SNAPSHOTS}/nobody-takes-back-what-another-declared",
    also={
        f"{SNAPSHOTS}/what-two*": "the other one has the same id",
        "push-delivery/the-rest*": "so has the other subscriber",
    },
)
class LetsAnybodyTakeBack(Reference):
    """Looks for an id in every session."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        holders = [other for other in self.links.values() if entity in self.table(other, kind)]
        for holder in holders or [link]:
            super().on_entity_gone(holder, kind, entity)


@faulty(
    "takes-a-key-back-with-its-first",
    caught_by=f"{SNAPSHOTS}/what-two-declared-stays-with-one",
    also={
        "push-delivery/the-rest*": "the other one is gone, too",
        f"{SNAPSHOTS}/what-a-session*": "it is gone before it is looked for",
        "close-scope/what-a-session*": "it is gone before it is looked for",
        "routing-stays/*one-key-stays": "both are of that key",
        "session-leases/what-a-dead-session-declared-is-taken-back": "however a session ends",
    },
)
class TakesAKeyBackWithItsFirst(Reference):
    """Counts keys, not who declared them."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        held = self.table(link, kind).get(entity)
        for other in self.links.values():
            for number in [
                n for n, each in self.table(other, kind).items() if held is not None and each.key == held.key
            ]:
                super().on_entity_gone(other, kind, number)


@faulty("calls-nobody-complete", caught_by=f"{SNAPSHOTS}/completeness-is-told")
class CallsNobodyComplete(Reference):
    """Passes queryables on without what they say of themselves."""

    def told_info(self, held: Entity) -> Exts[Any]:
        return NO_EXTS


@faulty("calls-all-complete", caught_by=f"{SNAPSHOTS}/completeness-is-told")
class CallsAllComplete(Reference):
    """Passes queryables on as complete ones."""

    def told_info(self, held: Entity) -> Exts[Any]:
        return super().told_info(replace(held, complete=True))


@faulty("answers-without-the-interest", caught_by=(f"{SNAPSHOTS}/a-snapshot-names-its-interest"))
class AnswersWithoutTheInterest(_SaysOtherwise):
    """Names no interest in a snapshot, but at its end."""

    def told_as(self, link: Link, message: Declare) -> Iterator[Declare]:
        yield message if is_final(message) else replace(message, interest_id=None)


@faulty(
    "answers-another-interest",
    caught_by=(
        "law/interest-id-is-known",
        f"{SNAPSHOTS}/a-snapshot-names-its-interest",
        f"{SNAPSHOTS}/a-snapshot-ends",
    ),
    also={"*": "no snapshot is that of an interest"},
)
class AnswersAnotherInterest(_SaysOtherwise):
    """Counts interests itself."""

    def told_as(self, link: Link, message: Declare) -> Iterator[Declare]:
        yield message if message.interest_id is None else replace(message, interest_id=message.interest_id + 1000)


@faulty(
    "names-the-interest-later-too",
    caught_by=(f"{SNAPSHOTS}/what-comes-later-names-no-interest", "law/interest-id-only-in-snapshots"),
    also={"*": "what comes later names an interest"},
)
class NamesTheInterestLaterToo(_SaysOtherwise):
    """Names the interest in all that it tells for it."""

    def told_as(self, link: Link, message: Declare) -> Iterator[Declare]:
        first = next(iter(link.interests), None)
        is_entity = hasattr(message.body, "key") and not isinstance(message.body, DKeyExpr)
        yield replace(message, interest_id=first) if message.interest_id is None and is_entity else message


@faulty(
    "ends-no-snapshot",
    caught_by=f"{SNAPSHOTS}/a-snapshot-ends",
    also={
        "qos-defaults/an-interest*": "nor where QoS is not said",
        "interest-changes/interests-of-two*": "the end of a snapshot is waited for",
        "routing-ids/an-interest*": "so it is of any id",
    },
)
class EndsNoSnapshot(Reference):
    """Says no D_FINAL."""

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        pass


@faulty(
    "ends-a-snapshot-first",
    caught_by=(f"{SNAPSHOTS}/a-snapshot-ends", "law/interest-id-only-in-snapshots"),
    also={f"{SNAPSHOTS}/*": "what is there comes after the end"},
)
class EndsASnapshotFirst(Reference):
    """Says D_FINAL before what is there."""

    def snapshot(self, link: Link, interest: Interest) -> Iterator[tuple[Link, str, int]]:
        super().end_snapshot(link, interest)
        return super().snapshot(link, interest)

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        pass

    def refresh_aggregate(self, link: Link, interest: Interest, answers: int | None = None) -> None:
        pass


@faulty("ends-a-snapshot-twice", caught_by=(f"{SNAPSHOTS}/a-snapshot-ends", "law/one-final-for-a-snapshot"))
class EndsASnapshotTwice(Reference):
    """Says D_FINAL twice."""

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        super().end_snapshot(link, interest)
        super().end_snapshot(link, interest)


@faulty(
    "ends-no-snapshot-in-particular",
    caught_by=("law/one-final-for-a-snapshot", f"{SNAPSHOTS}/a-snapshot-ends"),
    also={
        "interest-changes/interests-of-two*": "the end of a snapshot is waited for",
        "routing-ids/an-interest*": "so it is of any id",
    },
)
class EndsNoSnapshotInParticular(Reference):
    """Says D_FINAL without the interest's id."""

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        self.say(link, declare(DFinal()))


@faulty("ends-the-future", caught_by=(f"{SNAPSHOTS}/the-future-has-no-snapshot", "law/future-has-no-final"))
class EndsTheFuture(Reference):
    """Says D_FINAL to every interest."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        super().on_interest(link, interest)
        if interest.mode == 2:
            self.end_snapshot(link, interest)


@faulty("tells-the-past-to-who-wants-the-future", caught_by=f"{SNAPSHOTS}/the-future-has-no-snapshot")
class TellsThePastToWhoWantsTheFuture(Reference):
    """Tells what is there to every interest."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        super().on_interest(link, interest)
        if interest.mode == 2:
            for owner, kind, entity in self.snapshot(link, interest):
                self.tell(link, owner, kind, entity)


@faulty("hears-no-end-of-an-interest", caught_by=f"{SNAPSHOTS}/after-final-nothing-is-told")
class HearsNoEndOfAnInterest(Reference):
    """Goes on telling after Final."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        if interest.mode:
            super().on_interest(link, interest)


@faulty(
    "tells-all-keys",
    caught_by=f"{SNAPSHOTS}/an-interest-is-restricted-to-its-key",
    also={f"{SNAPSHOTS}/*": "all keys are told"},
)
class TellsAllKeys(Reference):
    """Does not look at the key of an interest."""

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        return super().covers(link, replace(interest, options=(interest.options or 0) & ~0x10), kind, key)


@faulty(
    "tells-all-kinds",
    caught_by=f"{SNAPSHOTS}/options-select-what-is-told",
    also={f"{SNAPSHOTS}/*": "all kinds are told"},
)
class TellsAllKinds(Reference):
    """Does not look at the options of an interest."""

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        return super().covers(link, replace(interest, options=(interest.options or 0) | 0x0E), kind, key)


@faulty(
    "tells-no-tokens",
    caught_by=(f"{SNAPSHOTS}/options-select-what-is-told", f"{SNAPSHOTS}/a-snapshot-of-many-is-whole"),
    also={
        f"{SNAPSHOTS}/*": "tokens are not told",
        "qos-defaults/an-interest*": "it asks for tokens",
        "interest-changes/*": "tokens are told nobody",
        "routing-extensions/what-is-declared*": "tokens are told nobody",
        "routing-numbers/an-interest*": "tokens are told nobody",
        "routing-sizes/a-token*": "however long its key",
    },
)
class TellsNoTokens(Reference):
    """Knows no tokens where it is asked for them."""

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        return kind != "token" and super().covers(link, interest, kind, key)


@faulty("tells-keys-one-by-one", caught_by=f"{SNAPSHOTS}/an-aggregate-is-one-declaration")
class TellsKeysOneByOne(Reference):
    """Does not aggregate."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        super().on_interest(link, replace(interest, options=interest.options and interest.options & ~0x80))


@faulty("tells-a-hundred", caught_by=f"{SNAPSHOTS}/a-snapshot-of-many-is-whole")
class TellsAHundred(Reference):
    """Has no more than a hundred in a snapshot."""

    def snapshot(self, link: Link, interest: Interest) -> Iterator[tuple[Link, str, int]]:
        return islice(super().snapshot(link, interest), 100)


@faulty("tells-twice", caught_by=(f"{SNAPSHOTS}/what-is-declared-again-is-told-once", "law/entity-sent-once"))
class TellsTwice(Reference):
    """Tells an entity again whenever it is declared again."""

    def tell(
        self, to: Link, owner: Link, kind: str, entity: int, interest: int | None = None, *, once: bool = False
    ) -> None:
        if interest is None and (kind, owner.session, entity) in to.announced:
            held = self.table(owner, kind)[entity]
            text = to.announced.pop((kind, owner.session, entity))
            number, to.entity_ids = to.entity_ids, iter([text])
            super().tell(to, owner, kind, entity)
            to.entity_ids = number
            assert held is not None
            return
        super().tell(to, owner, kind, entity, interest, once=once)


@faulty(
    "gives-each-key-the-same-number",
    caught_by="law/expr-id-not-reused",
    also={"*": "its numbers are wrong"},
)
class GivesEachKeyTheSameNumber(Reference):
    """Declares every key under the number 1."""

    def named(self, to: Link, kind: str, key: str) -> WireExpr:
        to.expr_ids = count(1)
        return super().named(to, kind, key)


@faulty(
    "uses-numbers-before-it-declares-them",
    caught_by="law/scope-is-declared",
    also={"*": "its numbers are wrong"},
)
class UsesNumbersBeforeItDeclaresThem(_SaysOtherwise):
    """Says a number first, and what it stands for never."""

    def told_as(self, link: Link, message: Declare) -> Iterator[Declare]:
        if not isinstance(message.body, DKeyExpr | UKeyExpr):
            yield message


@faulty(
    "reads-no-m-in-declarations",
    caught_by=(
        "routing-numbers/a-subscriber-may-name-its-key-by-a-number-of-the-receiver",
        "routing-numbers/an-interest-may-name-its-key-by-a-number-of-the-receiver",
    ),
)
class ReadsNoMInDeclarations(Reference):
    """Takes every number in a declaration or an interest for one of its sender, whatever M says."""

    def on_entity(self, link: Link, body: Any) -> None:
        super().on_entity(link, replace(body, key=replace(body.key, mapping=True)))

    def on_interest(self, link: Link, interest: Interest) -> None:
        key = interest.key and replace(interest.key, mapping=True)
        super().on_interest(link, replace(interest, key=key))
