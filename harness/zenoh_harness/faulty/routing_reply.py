"""Routers that change, drop or reorder replies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import Any

from zenoh_conformance.messages import Del, DelAttachment, Err, Put, Reply, ResponderId, Response, ResponseFinal
from zenoh_conformance.messages.sane import DEFAULT_PRIORITY
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import Pending, Reference, after

from . import fault, faulty
from .routing_values import change_exts

VALUES, KEPT, LANES = "reply-values", "reply-kept", "routing-lanes"


class _ChangesAnswers(Reference):
    """Base of nodes that change each reply before they forward it."""

    def answer(self, pending, asker, key, response):
        super().answer(pending, asker, key, self.changed(response))

    def changed(self, response):
        """The reply to forward."""
        return replace(response, body=self.body(response.body))

    def body(self, body):
        """The body to forward."""
        return replace(body, body=self.value(body.body)) if isinstance(body, Reply) else body

    def value(self, value):
        """The value to forward."""
        return value


class _HoldsAnswers(Reference):
    """Base of nodes that hold all replies to a query until it ends."""

    waiting = cached_property(lambda node: defaultdict[Pending, list[Any]](list))

    def answer(self, pending, asker, key, response):
        self.hold(self.waiting[pending], (pending, asker, key, response))

    def hold(self, held, answer):
        """Add a reply to those that are held for its query."""
        held.append(answer)

    def finish(self, pending):
        for answer in self.waiting.pop(pending, ()):
            super().answer(*answer)
        super().finish(pending)


fault(
    "forgets-the-encoding-of-answers",
    "Forwards values without their encoding.",
    of=_ChangesAnswers,
    value=lambda value: replace(value, encoding=None) if isinstance(value, Put) else value,
    caught_by=f"{VALUES}/an-answer-comes-with-all-its-fields",
)
fault(
    "forgets-the-moment-of-answers",
    "Replaces the timestamp of replies.",
    of=_ChangesAnswers,
    value=lambda value: replace(value, timestamp=value.timestamp and replace(value.timestamp, zid=ZenohID(b"\x01"))),
    caught_by=(f"{VALUES}/an-answer-comes-with-all-its-fields", f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one"),
)
fault(
    "forgets-what-goes-with-answers",
    "Forwards values without their extensions.",
    of=_ChangesAnswers,
    value=lambda value: replace(value, exts=Exts()),
    caught_by=(f"{VALUES}/an-answer-comes-with-all-its-fields", f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one"),
    also={"reply-kept/a-deletion*": "an attachment is an extension"},
)
fault(
    "answers-deletions-with-values",
    "Forwards a deletion in a reply as an empty value.",
    of=_ChangesAnswers,
    value=lambda value: Put(payload=b"") if isinstance(value, Del) else value,
    caught_by=f"{VALUES}/the-answer-that-it-is-deleted-comes-as-one",
    also={"reply-kept/a-deletion*": "the same with an attachment"},
)
fault(
    "answers-errors-with-values",
    "Forwards an error as a value.",
    of=_ChangesAnswers,
    body=lambda body: Reply(body=Put(encoding=body.encoding, payload=body.payload)) if isinstance(body, Err) else body,
    caught_by=f"{VALUES}/an-error-comes-as-one",
    also={"application/*": "the same for its own application", "routing-sizes/an-error*": "the same for large errors"},
)
fault(
    "forgets-the-encoding-of-errors",
    "Forwards errors without their encoding.",
    of=_ChangesAnswers,
    body=lambda body: replace(body, encoding=None) if isinstance(body, Err) else body,
    caught_by=f"{VALUES}/an-error-comes-as-one",
    also={"routing-sizes/an-error-of-any-size-keeps*": "the same for large errors"},
)
fault(
    "words-errors-itself",
    "Replaces the payload of every error.",
    of=_ChangesAnswers,
    body=lambda body: replace(body, payload=b"error") if isinstance(body, Err) else body,
    caught_by=(f"{VALUES}/an-error-comes-as-one", f"{VALUES}/an-error-may-be-structured"),
    also={
        "application/*": "the same for its own application",
        "reply-kept/answers-may-follow*": "it changes the error",
        "routing-sizes/an-error*": "the same for large errors",
    },
)
fault(
    "loses-errors",
    "Drops errors.",
    answer=lambda base, response: base() if isinstance(response.body, Reply) else None,
    caught_by=f"{VALUES}/an-error-comes-as-one",
    also={
        f"{VALUES}/an-error*": "it drops errors",
        f"{VALUES}/the-responder*": "it drops errors",
        "reply-kept/answers-may-follow*": "it drops errors",
        "routing-sizes/an-error*": "the same for large errors",
    },
)
fault(
    "forgets-the-mode-of-an-answer",
    "Forwards a REPLY without its consolidation mode.",
    of=_ChangesAnswers,
    body=lambda body: replace(body, consolidation=None) if isinstance(body, Reply) else body,
    caught_by=f"{KEPT}/an-answer-keeps-its-mode",
)
fault(
    "forgets-attachments-of-answered-deletions",
    "Forwards a deletion in a reply without its attachment.",
    of=_ChangesAnswers,
    value=lambda value: (
        value
        if not isinstance(value, Del)
        else replace(value, exts=Exts(ext for ext in value.exts if not isinstance(ext, DelAttachment)))
    ),
    caught_by=f"{KEPT}/a-deletion-that-answers-keeps-its-attachment",
)
fault(
    "answers-in-the-default-lane",
    "Sends replies in the lane of Data, whatever their priority.",
    lane_of=lambda base, message: DEFAULT_PRIORITY if isinstance(message, Response) else base(),
    caught_by=(f"{LANES}/an-answer-comes-in-its-lane", "law/frame-carries-priority"),
)
fault(
    "ends-no-query",
    "Sends no RESPONSE_FINAL.",
    say=lambda base, message: base() if not isinstance(message, ResponseFinal) else None,
    caught_by=("establishment-sane/a-session-does-work", "routing-plain/a-query-reaches-a-queryable"),
    also={"*": "our fences are queries"},
)
fault(
    "turns-answers-round",
    "Holds all replies until the end, and sends the last one first.",
    of=_HoldsAnswers,
    hold=lambda held, answer: held.insert(0, answer),
    caught_by=f"{VALUES}/both-answer-several-times",
    also={"*": "it sends the last reply first"},
)
fault(
    "forgets-the-encoding-of-large-errors",
    "Forwards errors larger than a batch without their encoding.",
    of=_ChangesAnswers,
    body=lambda body: replace(body, encoding=None) if isinstance(body, Err) and len(body.payload) > 0xFFFF else body,
    caught_by="routing-sizes/an-error-of-any-size-keeps-its-encoding",
)
fault(
    "names-itself-as-the-responder",
    "Replaces ResponderId with itself.",
    of=_ChangesAnswers,
    changed=lambda node, response: change_exts(
        response, ResponderId, lambda ext: replace(ext, zid=ZenohID(node.config.zid))
    ),
    caught_by=f"{VALUES}/the-responder-passes-unchanged",
)


fault(
    "hears-nothing-after-an-error",
    "Drops the replies after an error.",
    answer=after(lambda pending, response: setattr(pending, "budget", 0) if isinstance(response.body, Err) else None),
    caught_by=f"{KEPT}/answers-may-follow-an-error",
)


fault(
    "takes-no-qos-for-background",
    "Sends messages without QoS in the lowest lane.",
    lane_of=lambda base, link, message: (
        7 if link.terms.qos and not any(type(ext).__name__ == "QoS" for ext in message.exts) else base()
    ),
    caught_by=(
        "qos-defaults/a-push-without-qos-is-data",
        "qos-defaults/a-request-without-qos-is-data",
        "qos-defaults/a-response-without-qos-is-data",
        "qos-defaults/a-final-without-qos-is-data",
    ),
    also={
        "law/frame-carries-priority": "the lane is not that of the message",
        "routing-lanes/an-answer*": "it sends a final without QoS in that lane",
    },
)


fault(
    "loses-answers-to-other-lanes",
    "Drops the replies to a query in another lane than Data.",
    pending=lambda base, request: base() if priority_of(request) == DEFAULT_PRIORITY else replace(base(), budget=0),
    caught_by=f"{LANES}/a-query-in-any-lane-is-answered",
)


@faulty(caught_by=f"{VALUES}/an-answer-keeps-its-key", also={f"{VALUES}/*": "it changes the key"})
class AnswersUnderTheQueriesKey(Reference):
    """Forwards a reply under the key of the query."""

    def pending(self, link, request):
        self.asked = self.key_of(link, request.key) or ""
        return super().pending(link, request)

    def answer(self, pending, asker, key, response):
        super().answer(pending, asker, self.asked, response)


@faulty(
    caught_by=f"{VALUES}/an-error-may-be-structured",
    also={
        "law/*": "it sends a second final",
        "reply-kept/answers-may-follow*": "it drops the replies before the error",
    },
)
class EndsWithAnError(_HoldsAnswers):
    """Drops the replies that came before an error."""

    def answer(self, pending, asker, key, response):
        if isinstance(response.body, Err):
            self.waiting.pop(pending, None)
            Reference.answer(self, pending, asker, key, response)
        else:
            super().answer(pending, asker, key, response)


@faulty(caught_by=(f"{VALUES}/an-answer-may-name-its-key-by-number", "law/scope-is-declared"))
class PassesAnAnswersNumberOn(Reference):
    """Forwards a reply with the expression id of the queryable's session."""

    def on_response(self, link, response):
        self.number = response.key
        super().on_response(link, response)

    def answer(self, pending, asker, key, response):
        if self.number.scope:
            self.say(asker, replace(response, id=pending.request_id, key=self.number))
        else:
            super().answer(pending, asker, key, response)
