"""Nodes that send or report the wrong thing for their own application."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

from zenoh_conformance.messages import Put, ResponderId
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import after
from zenoh_harness.reference.application import Application, sample

from . import fault, faulty

APPLICATION = "application"

of_application = partial(fault, of=Application)

of_application(
    "ends-no-get",
    "Does not report the end of a get to its application.",
    on_end=lambda: None,
    caught_by=(f"{APPLICATION}/a-get-ends-at-its-final", f"{APPLICATION}/a-get-ends-at-its-timeout"),
    also={f"{APPLICATION}/*": "its application waits forever"},
)
of_application(
    "ends-the-oldest-get",
    "Takes each final for that of its oldest query.",
    on_end=lambda node, base, number: base(number=min(node.gets, default=number)),
    caught_by="application-declared/each-of-two-gets-ends-at-its-own-final",
)
fault(
    "answers-no-id-twice",
    "As initiator, ignores a query with the id of one that it has answered before in the session.",
    state={"answered": set},
    on_request=lambda node, base, link, request: (
        None
        if link.side is Side.INITIATOR and (link.session, request.id) in node.answered
        else (node.answered.add((link.session, request.id)), base())
    ),
    caught_by="application-declared/a-queryable-ends-queries-of-any-id",
)
fault(
    "ends-no-empty-snapshot",
    "As initiator, ends no snapshot in which nothing is.",
    end_snapshot=lambda node, base, link, interest: (
        base() if link.side is not Side.INITIATOR or any(True for _ in node.snapshot(link, interest)) else None
    ),
    caught_by="application-declared/what-an-application-declares-is-told",
)
of_application(
    "thins-nothing-out",
    "Reports every reply, whatever consolidation its application asked for.",
    get=lambda base, line: base(line=line | {"consolidation": "none"}),
    caught_by=(
        f"{APPLICATION}/an-application-gets-nothing-older",
        f"{APPLICATION}/an-application-gets-the-newest-only",
    ),
)
of_application(
    "keeps-the-newest-only",
    "Reports only the newest reply of each key, whatever consolidation its application asked for.",
    get=lambda base, line: base(line=line | {"consolidation": "latest"}),
    caught_by=f"{APPLICATION}/an-application-that-wants-all-gets-all",
    also={f"{APPLICATION}/*": "it waits for the final"},
)
of_application(
    "ends-no-query-of-others",
    "Does not send RESPONSE_FINAL for a query that its application answers.",
    finish=lambda node, base, request: base() if request.body.parameters is not None or not node.held else None,
    caught_by=f"{APPLICATION}/a-queryable-ends-what-it-answers",
    also={f"{APPLICATION}/*": "it ends no query of ours"},
)
of_application(
    "fails-in-silence",
    "Does not send ERR.",
    reply=lambda base, step: base() if "error" not in step else None,
    caught_by=f"{APPLICATION}/a-queryable-that-fails-says-so",
)
of_application(
    "answers-under-one-key",
    "Replies under the key of the query instead of the key of the value.",
    reply=lambda base, step: base(step={name: value for name, value in step.items() if name != "key"}),
    caught_by=f"{APPLICATION}/a-queryable-answers-under-the-values-key",
)
of_application(
    "publishes-nothing",
    "Publishes empty values.",
    publish=lambda base, body: base(body=replace(body, payload=b"") if isinstance(body, Put) else body),
    caught_by=f"{APPLICATION}/an-application-publishes",
)
of_application(
    "puts-deletions",
    "Publishes an empty value when its application deletes.",
    delete=lambda node, line: node.put(line),
    caught_by=f"{APPLICATION}/an-application-deletes",
)
fault(
    "stamps-nothing",
    "Publishes without a timestamp.",
    application_class=type("_StampsNothing", (Application,), {"stamp": lambda application: None}),
    propose=lambda base: replace(base(), whatami=WhatAmI.CLIENT),
    caught_by="law/publications-are-stamped",
)


fault(
    "ends-a-get-at-its-first-answer",
    "Ends a get at its first reply.",
    of=Application,
    on_answer=after(lambda node, response: node.on_end(response.id)),
    caught_by=f"{APPLICATION}/a-get-does-not-end-before-its-final",
    also={f"{APPLICATION}/an-application-*": "it reports no later replies"},
)


fault(
    "tells-errors-as-values",
    "Reports an error reply to its application as a value.",
    of=Application,
    tell=lambda node, base, name, key, response: (
        base()
        if hasattr(response.body, "body")
        else node.events.append({"event": "reply", "id": name, "key": key, "kind": "put", "payload": ""})
    ),
    caught_by=f"{APPLICATION}/an-application-is-told-of-an-error",
)


fault(
    "answers-as-somebody-else",
    "Writes another node's ZenohID into ResponderId.",
    application_class=type("_Same", (Application,), {}),
    answer=lambda base, response: base(
        response=replace(response, exts=Exts((*response.exts, ResponderId(zid=ZenohID(b"\x66"), eid=1))))
    ),
    caught_by=f"{APPLICATION}/a-queryable-names-itself",
)


class _TellsLate(Application):
    def on_end(self, number):
        kept = self.gets.get(number)
        super().on_end(number)
        if kept is not None:
            self.gets[number] = kept


@faulty(
    "on_response", caught_by=f"{APPLICATION}/what-comes-after-the-timeout-is-not-told", application_class=_TellsLate
)
def tells_what_comes_too_late(node, base, link, response):
    """Reports replies that come after the end of a get."""
    if response.id not in link.requests and node._application is not None:
        for number in node._application.gets:
            node._application.on_answer(replace(response, id=number))
            node._application.on_end(number)
            return
    base()


class _CountsNothing(Application):
    def source(self):
        self.source_sn = count(7)
        return super().source()


fault(
    "counts-no-publications",
    "Gives every publication the same source number.",
    application_class=_CountsNothing,
    propose=lambda base: replace(base(), whatami=WhatAmI.CLIENT),
    caught_by=("law/source-numbers-rise", f"{APPLICATION}/an-application-counts-what-it-publishes"),
)


class _HearsEverything(Application):
    def on_sample(self, push):
        for held in self.held.values():
            self.events.append({"event": "sample", "id": held.name, **sample(push.key.suffix or "", push.body)})


fault(
    "hears-everything",
    "Reports every publication to its application, whatever its key.",
    application_class=_HearsEverything,
    subscribes=lambda base, link: link.inside is not None or base(),
    caught_by=f"{APPLICATION}/an-application-hears",
)
