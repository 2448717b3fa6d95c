"""Nodes that pass answers on, and are wrong in what is left of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.connection import priority_of
from zenoh_conformance.messages import Del, Err, Put, Reply, Request, Response, ResponseFinal
from zenoh_conformance.messages.delete import DelAttachment
from zenoh_conformance.messages.response import ResponderId
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.sane import DEFAULT_PRIORITY
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link, Pending

from . import faulty

VALUES = "reply-values"
KEPT = "reply-kept"


class _ChangesAnswers(Reference):
    """Changes each answer before it goes on."""

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        super().answer(pending, asker, key, self.changed(response))

    def changed(self, response: Response) -> Response:
        """The answer, as it goes on."""
        return replace(response, body=self.of(response.body))

    def of(self, body: Any) -> Any:
        """What it holds."""
        return replace(body, body=self.value(body.body)) if isinstance(body, Reply) else body

    def value(self, value: Any) -> Any:
        """The value, as it goes on."""
        return value


@faulty(
    "answers-under-the-queries-key",
    caught_by=(f"{VALUES}/an-answer-keeps-its-key"),
    also={f"{VALUES}/*": "the key is another"},
)
class AnswersUnderTheQueriesKey(Reference):
    """Puts the key that was asked for in the place of the value's."""

    def pending(self, link: Link, request: Any) -> Pending:
        self.asked = self.key_of(link, request.key) or ""
        return super().pending(link, request)

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        super().answer(pending, asker, self.asked, response)


@faulty("forgets-the-encoding-of-answers", caught_by=f"{VALUES}/an-answer-comes-with-all-its-fields")
class ForgetsTheEncodingOfAnswers(_ChangesAnswers):
    """Passes values on without their encoding."""

    def value(self, value: Any) -> Any:
        return replace(value, encoding=None) if isinstance(value, Put) else value


@faulty(
    "forgets-the-moment-of-answers",
    caught_by=(f"{VALUES}/an-answer-comes-with-all-its-fields", f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one"),
)
class ForgetsTheMomentOfAnswers(_ChangesAnswers):
    """Stamps all answers anew."""

    def value(self, value: Any) -> Any:
        return replace(value, timestamp=value.timestamp and replace(value.timestamp, zid=ZenohID(b"\x01")))


@faulty(
    "forgets-what-goes-with-answers",
    caught_by=(f"{VALUES}/an-answer-comes-with-all-its-fields", f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one"),
    also={"reply-kept/a-deletion*": "an attachment goes with it"},
)
class ForgetsWhatGoesWithAnswers(_ChangesAnswers):
    """Passes values on without their extensions."""

    def value(self, value: Any) -> Any:
        return replace(value, exts=Exts())


@faulty(
    "answers-deletions-with-values",
    caught_by=f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one",
    also={"reply-kept/a-deletion*": "so it is with an attachment"},
)
class AnswersDeletionsWithValues(_ChangesAnswers):
    """Makes an empty value of a deletion."""

    def value(self, value: Any) -> Any:
        return Put(payload=b"") if isinstance(value, Del) else value


@faulty(
    "answers-errors-with-values",
    caught_by=(f"{VALUES}/an-error-comes-as-one"),
    also={"application/*": "so it is for its own application", "routing-sizes/an-error*": "so it is with large ones"},
)
class AnswersErrorsWithValues(_ChangesAnswers):
    """Makes a value of an error."""

    def of(self, body: Any) -> Any:
        return Reply(body=Put(encoding=body.encoding, payload=body.payload)) if isinstance(body, Err) else body


@faulty(
    "forgets-the-encoding-of-errors",
    caught_by=f"{VALUES}/an-error-comes-as-one",
    also={"routing-sizes/an-error-of-any-size-keeps*": "so it does of large ones"},
)
class ForgetsTheEncodingOfErrors(_ChangesAnswers):
    """Passes errors on without their encoding."""

    def of(self, body: Any) -> Any:
        return replace(body, encoding=None) if isinstance(body, Err) else body


@faulty(
    "words-errors-itself",
    caught_by=(f"{VALUES}/an-error-comes-as-one", f"{VALUES}/an-error-may-be-structured"),
    also={
        "application/*": "so it is for its own application",
        "reply-kept/answers-may-follow*": "the error is another",
        "routing-sizes/an-error*": "large ones, too",
    },
)
class WordsErrorsItself(_ChangesAnswers):
    """Has one text for all errors."""

    def of(self, body: Any) -> Any:
        return replace(body, payload=b"error") if isinstance(body, Err) else body


@faulty(
    "loses-errors",
    caught_by=f"{VALUES}/an-error-comes-as-one",
    also={
        f"{VALUES}/an-error*": "errors are lost",
        f"{VALUES}/the-responder*": "errors are lost",
        "reply-kept/answers-may-follow*": "errors are lost",
        "routing-sizes/an-error*": "large ones, too",
    },
)
class LosesErrors(Reference):
    """Passes no error on."""

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        if isinstance(response.body, Reply):
            super().answer(pending, asker, key, response)


@faulty(
    "ends-with-an-error",
    caught_by=f"{VALUES}/an-error-may-be-structured",
    also={"law/*": "the final comes again", "reply-kept/answers-may-follow*": "what came before the error is dropped"},
)
class EndsWithAnError(Reference):
    """Takes an error for the end of a query, and drops what came before it."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.waiting: dict[int, list[tuple[Pending, Link, str, Response]]] = {}

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        if isinstance(response.body, Err):
            self.waiting.pop(id(pending), None)
            super().answer(pending, asker, key, response)
        else:
            self.waiting.setdefault(id(pending), []).append((pending, asker, key, response))

    def finish(self, pending: Pending) -> None:
        for each in self.waiting.pop(id(pending), []):
            super().answer(*each)
        super().finish(pending)


@faulty("hears-nothing-after-an-error", caught_by=f"{KEPT}/answers-may-follow-an-error")
class HearsNothingAfterAnError(Reference):
    """Passes no more answers on to a query once one of them was an error."""

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        super().answer(pending, asker, key, response)
        if isinstance(response.body, Err):
            pending.budget = 0


@faulty("forgets-the-mode-of-an-answer", caught_by=f"{KEPT}/an-answer-keeps-its-mode")
class ForgetsTheModeOfAnAnswer(_ChangesAnswers):
    """Passes a REPLY on without its consolidation mode."""

    def of(self, body: Any) -> Any:
        return replace(body, consolidation=None) if isinstance(body, Reply) else body


@faulty("forgets-attachments-of-answered-deletions", caught_by=f"{KEPT}/a-deletion-that-answers-keeps-its-attachment")
class ForgetsAttachmentsOfAnsweredDeletions(_ChangesAnswers):
    """Passes a deletion that answers on without its attachment."""

    def value(self, value: Any) -> Any:
        if not isinstance(value, Del):
            return value
        return replace(value, exts=Exts(ext for ext in value.exts if not isinstance(ext, DelAttachment)))


@faulty("forgets-the-encoding-of-large-errors", caught_by="routing-sizes/an-error-of-any-size-keeps-its-encoding")
class ForgetsTheEncodingOfLargeErrors(_ChangesAnswers):
    """Passes errors on without their encoding where they are larger than a batch."""

    def of(self, body: Any) -> Any:
        large = isinstance(body, Err) and len(body.payload) > 0xFFFF
        return replace(body, encoding=None) if large else body


@faulty("names-itself-as-the-responder", caught_by=f"{VALUES}/the-responder-passes-unchanged")
class NamesItselfAsTheResponder(_ChangesAnswers):
    """Writes itself into ResponderId."""

    def changed(self, response: Response) -> Response:
        exts = [
            replace(ext, zid=ZenohID(self.config.zid)) if isinstance(ext, ResponderId) else ext for ext in response.exts
        ]
        return replace(response, exts=Exts(exts))


@faulty(
    "turns-answers-round", caught_by=f"{VALUES}/both-answer-several-times", also={"*": "the last answer comes first"}
)
class TurnsAnswersRound(Reference):
    """Keeps all answers to the end, and gives the last one first."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.waiting: dict[int, list[tuple[Pending, Link, str, Response]]] = {}

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        self.waiting.setdefault(id(pending), []).insert(0, (pending, asker, key, response))

    def finish(self, pending: Pending) -> None:
        for each in self.waiting.pop(id(pending), []):
            super().answer(*each)
        super().finish(pending)


@faulty(
    "passes-an-answers-number-on", caught_by=(f"{VALUES}/an-answer-may-name-its-key-by-number", "law/scope-is-declared")
)
class PassesAnAnswersNumberOn(Reference):
    """Passes the key of an answer on as it stands: what it means to one session means nothing to another."""

    def on_response(self, link: Link, response: Response) -> None:
        self.number = response.key
        super().on_response(link, response)

    def answer(self, pending: Pending, asker: Link, key: str, response: Response) -> None:
        if self.number.scope:
            self.say(asker, replace(response, id=pending.request_id, key=self.number))
        else:
            super().answer(pending, asker, key, response)


@faulty(
    "takes-no-qos-for-background",
    caught_by=(
        "qos-defaults/a-push-without-qos-is-data",
        "qos-defaults/a-request-without-qos-is-data",
        "qos-defaults/a-response-without-qos-is-data",
        "qos-defaults/a-final-without-qos-is-data",
    ),
    also={
        "law/frame-carries-priority": "its lane says otherwise",
        "routing-lanes/an-answer*": "a final without QoS is in that lane",
    },
)
class TakesNoQosForBackground(Reference):
    """Puts messages without QoS into the lowest lane."""

    def lane_of(self, link: Link, message: Any) -> int:
        silent = link.terms.qos and not any(type(ext).__name__ == "QoS" for ext in message.exts)
        return 7 if silent else super().lane_of(link, message)


LANES = "routing-lanes"


@faulty("answers-in-the-default-lane", caught_by=(f"{LANES}/an-answer-comes-in-its-lane", "law/frame-carries-priority"))
class AnswersInTheDefaultLane(Reference):
    """Puts answers into the lane of Data, whatever their priority."""

    def lane_of(self, link: Link, message: Any) -> int:
        return DEFAULT_PRIORITY if isinstance(message, Response) else super().lane_of(link, message)


@faulty("loses-answers-to-other-lanes", caught_by=f"{LANES}/a-query-in-any-lane-is-answered")
class LosesAnswersToOtherLanes(Reference):
    """Passes on of what answers a query that is not Data the final alone."""

    def pending(self, link: Link, request: Request) -> Pending:
        pending = super().pending(link, request)
        return pending if priority_of(request) == DEFAULT_PRIORITY else replace(pending, budget=0)


@faulty(
    "ends-no-query",
    caught_by=("establishment-sane/a-session-does-work", "routing-plain/a-query-reaches-a-queryable"),
    also={"*": "our fences are queries"},
)
class EndsNoQuery(Reference):
    """Says no final to anybody; all else it does."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if not isinstance(message, ResponseFinal):
            super().say(link, message, reliable=reliable)
