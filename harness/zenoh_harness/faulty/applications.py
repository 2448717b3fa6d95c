"""Nodes that say or hear the wrong thing for their own application."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from zenoh_conformance.messages import Del, Push, Put, Request, Response
from zenoh_conformance.messages.response import ResponderId
from zenoh_conformance.primitives import Timestamp, WhatAmI, ZenohID
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.application import Application

from . import faulty

APPLICATION = "application"


class _NeverEnds(Application):
    def on_end(self, number: int) -> None:
        """Nothing ends."""


@faulty(
    "ends-no-get",
    caught_by=(f"{APPLICATION}/a-get-ends-at-its-final", f"{APPLICATION}/a-get-ends-at-its-timeout"),
    also={f"{APPLICATION}/*": "its application waits for ever"},
)
class EndsNoGet(Reference):
    """Tells its application no end of a get."""

    application_class = _NeverEnds


class _EndsAtOnce(Application):
    def on_answer(self, response: Response) -> None:
        super().on_answer(response)
        self.on_end(response.id)


@faulty(
    "ends-a-get-at-its-first-answer",
    caught_by=f"{APPLICATION}/a-get-does-not-end-before-its-final",
    also={f"{APPLICATION}/an-application-*": "later answers are not told"},
)
class EndsAGetAtItsFirstAnswer(Reference):
    """Takes the first answer for the last one."""

    application_class = _EndsAtOnce


class _TellsLate(Application):
    def on_end(self, number: int) -> None:
        kept = self.gets.get(number)
        super().on_end(number)
        if kept is not None:
            self.gets[number] = kept


@faulty("tells-what-comes-too-late", caught_by=f"{APPLICATION}/what-comes-after-the-timeout-is-not-told")
class TellsWhatComesTooLate(Reference):
    """Goes on telling answers of a get that has ended."""

    application_class = _TellsLate

    def on_response(self, link: Any, response: Response) -> None:
        if response.id not in link.requests and self._application is not None:
            for number in self._application.gets:
                self._application.on_answer(replace(response, id=number))
                self._application.on_end(number)
                return
        super().on_response(link, response)


class _WantsAll(Application):
    def get(self, line: Any) -> None:
        super().get(line | {"consolidation": "none"})


@faulty(
    "thins-nothing-out",
    caught_by=(
        f"{APPLICATION}/an-application-gets-nothing-older",
        f"{APPLICATION}/an-application-gets-the-newest-only",
    ),
)
class ThinsNothingOut(Reference):
    """Tells its application every answer, whatever it wants."""

    application_class = _WantsAll


class _WantsNewest(Application):
    def get(self, line: Any) -> None:
        super().get(line | {"consolidation": "latest"})


@faulty(
    "keeps-the-newest-only",
    caught_by=f"{APPLICATION}/an-application-that-wants-all-gets-all",
    also={f"{APPLICATION}/*": "it waits for the final"},
)
class KeepsTheNewestOnly(Reference):
    """Tells its application the newest of each key, whatever it wants."""

    application_class = _WantsNewest


class _ErrorsAreValues(Application):
    def tell(self, name: str, key: str, response: Response) -> None:
        body: Any = response.body
        told = {"event": "reply", "id": name, "key": key, "kind": "put", "payload": ""}
        self.events.append(told) if not hasattr(body, "body") else super().tell(name, key, response)


@faulty("tells-errors-as-values", caught_by=f"{APPLICATION}/an-application-is-told-of-an-error")
class TellsErrorsAsValues(Reference):
    """Tells its application a value where an error came."""

    application_class = _ErrorsAreValues


class _ForgetsFinals(Application):
    def finish(self, request: Request) -> None:
        if request.body.parameters is not None or not self.held:
            super().finish(request)


@faulty(
    "ends-no-query-of-others",
    caught_by=f"{APPLICATION}/a-queryable-ends-what-it-answers",
    also={f"{APPLICATION}/*": "no query of ours ends"},
)
class EndsNoQueryOfOthers(Reference):
    """Says no final for what its application serves."""

    application_class = _ForgetsFinals


class _FailsInSilence(Application):
    def reply(self, request: Request, step: Any) -> None:
        if "error" not in step:
            super().reply(request, step)


@faulty("fails-in-silence", caught_by=f"{APPLICATION}/a-queryable-that-fails-says-so")
class FailsInSilence(Reference):
    """Says no ERR."""

    application_class = _FailsInSilence


class _OneKey(Application):
    def reply(self, request: Request, step: Any) -> None:
        super().reply(request, {name: value for name, value in step.items() if name != "key"})


@faulty("answers-under-one-key", caught_by=f"{APPLICATION}/a-queryable-answers-under-the-values-key")
class AnswersUnderOneKey(Reference):
    """Answers under the key that was asked for, whatever the value's is."""

    application_class = _OneKey


@faulty("answers-as-somebody-else", caught_by=f"{APPLICATION}/a-queryable-names-itself")
class AnswersAsSomebodyElse(Reference):
    """Writes another node's ZenohID into ResponderId."""

    class _Somebody(Application):
        """The same."""

    application_class = _Somebody

    def answer(self, pending: Any, asker: Any, key: str, response: Response) -> None:
        who = ResponderId(zid=ZenohID(b"\x66"), eid=1)
        super().answer(pending, asker, key, replace(response, exts=Exts((*response.exts, who))))


class _Empty(Application):
    def publish(self, line: Any, body: Any) -> None:
        super().publish(line, replace(body, payload=b"") if isinstance(body, Put) else body)


@faulty("publishes-nothing", caught_by=f"{APPLICATION}/an-application-publishes")
class PublishesNothing(Reference):
    """Publishes empty values."""

    application_class = _Empty


class _PutsDeletions(Application):
    def delete(self, line: Any) -> None:
        self.put(line)


@faulty("puts-deletions", caught_by=f"{APPLICATION}/an-application-deletes")
class PutsDeletions(Reference):
    """Publishes an empty value where its application deletes."""

    application_class = _PutsDeletions


class _CountsNothing(Application):
    def source(self) -> Exts[Any]:
        self.source_sn = count(7)
        return super().source()


@faulty(
    "counts-no-publications",
    caught_by=("law/source-numbers-rise", f"{APPLICATION}/an-application-counts-what-it-publishes"),
)
class CountsNoPublications(Reference):
    """Gives every publication the same source number."""

    application_class = _CountsNothing

    def propose(self, link: Any) -> Any:
        return replace(super().propose(link), whatami=WhatAmI.CLIENT)


class _StampsNothing(Application):
    def stamp(self) -> Timestamp | None:
        return None


@faulty("stamps-nothing", caught_by="law/publications-are-stamped")
class StampsNothing(Reference):
    """Publishes without a timestamp."""

    application_class = _StampsNothing

    def propose(self, link: Any) -> Any:
        return replace(super().propose(link), whatami=WhatAmI.CLIENT)


class _HearsEverything(Application):
    def on_sample(self, push: Push) -> None:
        for held in self.held.values():
            body = (
                {"kind": "delete"}
                if isinstance(push.body, Del)
                else {"kind": "put", "payload": push.body.payload.hex()}
            )
            self.events.append({"event": "sample", "id": held.name, "key": push.key.suffix, **body})


@faulty("hears-everything", caught_by=f"{APPLICATION}/an-application-hears")
class HearsEverything(Reference):
    """Tells its application every publication."""

    application_class = _HearsEverything

    def subscribes(self, link: Any, key: str) -> bool:
        return link.inside is not None or super().subscribes(link, key)
