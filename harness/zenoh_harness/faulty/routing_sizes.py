"""Nodes that pass on what is short, new and seldom, and not the rest; and nodes that let go of more than was taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.messages import Del, DQueryable, Err, Interest, Push, Put, Request, Response
from zenoh_conformance.primitives import WireExpr
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

SIZES, STAYS = "routing-sizes", "routing-stays"


@faulty(
    "goes-deaf-after-a-hundred",
    caught_by=f"{SIZES}/a-session-hears-however-many-there-are",
    also={
        "session-lanes/numbers-of-every-lane-wrap": "it takes more than a hundred",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "there are more than a hundred",
    },
)
class GoesDeafAfterAHundred(Reference):
    """Passes a hundred publications on to a session, and no more."""

    MOST: ClassVar = 100

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.passed: dict[str, int] = {}

    def receivers(self, link: Link, key: str) -> list[Link]:
        found = super().receivers(link, key)
        for other in found:
            self.passed[other.session] = self.passed.get(other.session, 0) + 1
        return [other for other in found if self.passed[other.session] <= self.MOST]


@faulty("drops-the-same-again", caught_by=f"{SIZES}/the-same-again-comes-again")
class DropsTheSameAgain(Reference):
    """Passes nothing on that says of a key what was said of it last."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.last: dict[str | None, Put | Del] = {}

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        key = self.key_of(link, push.key)
        if self.last.get(key) != push.body:
            self.last[key] = push.body
            super().on_push(link, push, reliable=reliable)


@faulty(
    "knows-short-keys-only",
    caught_by=(
        f"{SIZES}/a-publication-to-a-long-key-reaches-its-subscriber",
        f"{SIZES}/a-query-for-a-long-key-reaches-its-queryable",
    ),
)
class KnowsShortKeysOnly(Reference):
    """Matches no key of more than 127 bytes, of which the length takes a second byte."""

    def receivers(self, link: Link, key: str) -> list[Link]:
        return super().receivers(link, key) if len(key.encode()) < 128 else []

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        return super().targets(link, request, key) if len(key.encode()) < 128 else []


@faulty("tells-of-short-keys-only", caught_by=f"{SIZES}/a-token-of-a-long-key-is-told")
class TellsOfShortKeysOnly(Reference):
    """Tells nobody of a token whose key has a dozen chunks or more."""

    def told_of(self, link: Link, kind: str, key: str) -> list[Link]:
        deep = kind == "token" and key.count("/") > 10
        return [] if deep else super().told_of(link, kind, key)


@faulty(
    "cuts-large-answers",
    caught_by=(f"{SIZES}/an-answer-of-any-size-comes-whole", f"{SIZES}/an-error-of-any-size-comes-whole"),
    also={"routing-sizes/an-error-of-any-size-keeps*": "a large error is cut there, too"},
)
class CutsLargeAnswers(Reference):
    """Passes on of an answer what two bytes can count."""

    def on_response(self, link: Link, response: Response) -> None:
        body = response.body
        if isinstance(body, Err):
            body = replace(body, payload=body.payload[:16383])
        elif isinstance(body.body, Put):
            body = replace(body, body=replace(body.body, payload=body.body.payload[:16383]))
        super().on_response(link, replace(response, body=body))


@faulty(
    "takes-all-back-with-one",
    caught_by=(f"{STAYS}/the-other-subscribers-of-a-session-stay", f"{STAYS}/the-other-queryables-of-a-session-stay"),
    also={"*": "what stands beside what was taken back is gone"},
)
class TakesAllBackWithOne(Reference):
    """Takes all subscribers of a session back with one of them, and all queryables, too."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        for each in [entity, *(one for one in self.table(link, kind) if one != entity and kind != "token")]:
            super().on_entity_gone(link, kind, each)


OUTLIVES = (
    f"{STAYS}/a-subscriber-outlives-the-number-of-its-key",
    f"{STAYS}/a-queryable-outlives-the-number-of-its-key",
)


@faulty("lets-go-with-the-number", caught_by=OUTLIVES)
class LetsGoWithTheNumber(Reference):
    """Takes back with a released number what was declared of its key."""

    def on_alias_gone(self, link: Link, body: Any) -> None:
        key = link.keys.get(body.expr_id)
        super().on_alias_gone(link, body)
        for kind in ("subscriber", "queryable"):
            for entity in [one for one, held in self.table(link, kind).items() if held.key == key]:
                self.on_entity_gone(link, kind, entity)


@faulty("passes-on-under-released-numbers", caught_by=OUTLIVES)
class PassesOnUnderReleasedNumbers(Reference):
    """Goes on naming a key to a session by the number that the session gave it and has released."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.released: dict[tuple[str, str], int] = {}

    def on_alias_gone(self, link: Link, body: Any) -> None:
        key = link.keys.get(body.expr_id)
        if key is not None:
            self.released[link.session, key] = body.expr_id
        super().on_alias_gone(link, body)

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        number = self.released.get((link.session, getattr(getattr(message, "key", None), "suffix", None) or ""))
        if number is not None and isinstance(message, Push | Request):
            message = replace(message, key=WireExpr(scope=number))
        super().say(link, message, reliable=reliable)


@faulty("keeps-its-first-word", caught_by="query-targets/a-queryable-is-as-complete-as-it-was-declared-last")
class KeepsItsFirstWord(Reference):
    """Believes of a queryable what it was declared as first, under the same id."""

    def on_entity(self, link: Link, body: Any) -> None:
        if not isinstance(body, DQueryable) or body.id not in link.queryables:
            super().on_entity(link, body)


@faulty("answers-an-interest-of-an-id-once", caught_by="interest-changes/an-interest-that-is-over-may-be-asked-anew")
class AnswersAnInterestOfAnIdOnce(Reference):
    """Takes an interest under an id that had one before for the same again, and does not answer it."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.had: set[tuple[str, int]] = set()

    def on_interest(self, link: Link, interest: Interest) -> None:
        if not interest.mode or (link.session, interest.id) not in self.had:
            super().on_interest(link, interest)
        self.had.add((link.session, interest.id))


@faulty(
    "takes-equal-ones-back-together",
    caught_by=(
        f"{STAYS}/the-other-subscriber-of-one-key-stays",
        f"{STAYS}/the-other-queryable-of-one-key-stays",
    ),
)
class TakesEqualOnesBackTogether(Reference):
    """Takes back with one declaration of a session all of its kind and key."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        gone = self.table(link, kind).get(entity)
        super().on_entity_gone(link, kind, entity)
        for each in [one for one, held in self.table(link, kind).items() if gone is not None and held.key == gone.key]:
            super().on_entity_gone(link, kind, each)


@faulty("ends-all-interests-with-one", caught_by="interest-changes/an-interest-outlives-the-end-of-another")
class EndsAllInterestsWithOne(Reference):
    """Ends with one interest of a session all of them."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        super().on_interest(link, interest)
        if not interest.mode:
            link.interests.clear()


OF_TWO = "interest-changes/interests-of-two-sessions-may-have-one-id"


@faulty("answers-an-id-of-interests-to-one-session", caught_by=OF_TWO, also={"*": "our sessions use the same ids"})
class AnswersAnIdOfInterestsToOneSession(Reference):
    """Takes an interest whose id another session uses for that one's, and does not answer it."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        if not any(interest.id in other.interests for other in self.others(link)):
            super().on_interest(link, interest)


@faulty("ends-an-id-of-interests-for-all", caught_by=OF_TWO, also={"*": "our sessions use the same ids"})
class EndsAnIdOfInterestsForAll(Reference):
    """Ends with an interest those of other sessions that have its id."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        super().on_interest(link, interest)
        for other in self.others(link) if not interest.mode else ():
            other.interests.pop(interest.id, None)
