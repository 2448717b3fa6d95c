"""The bystanders of a campaign as steps of a script, so that a replay misses what they missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.messages import (
    Declare,
    DQueryable,
    DSubscriber,
    Frame,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    sane,
)
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import NO_EXTS, exts
from zenoh_fuzz.mutators import segments_of
from zenoh_harness.files.scripts import Part, Step, Value
from zenoh_harness.scripting.binder import PREFIX

from .acts import LIVE, Channel
from .input_scripts import Bystander, Numbers, key_of, opening
from .sessions import LANES, Bystanders

FIRST, SECOND = Bystanders.FIRST, Bystanders.SECOND
KEY: Final = f"{Bystanders.PREFIX}0"
_NORMAL: Final[Channel] = (True, sane.DEFAULT_PRIORITY)
_ASKED: Final = 0x20000


def bystander_steps(keys: Iterable[str]) -> Bystander:
    """Return the steps before and after those of a campaign: what one bystander publishes and asks must reach the other.

    `keys`: those of the campaign's inputs that are tried, too.
    """
    author = _Author()
    before = [*_open(FIRST), *author.declare(KEY), *_open(SECOND)]
    return before, list(author.look(sorted(keys)))


def _open(name: str) -> Iterator[Step]:
    return opening(name, LIVE, WhatAmI.CLIENT)


class _Author:
    def __init__(self) -> None:
        self.numbers = Numbers()
        self.count = 0

    def send(self, name: str, message: Any, channel: Channel = _NORMAL, *, asked_by: str = "") -> Step:
        """Return a step that sends a network message; `asked_by`: the id of a request that this link received is its id."""
        lane = NO_EXTS if channel[1] == sane.DEFAULT_PRIORITY else exts(sane.lane(channel[1]))
        sn = self.numbers.on(name)(*channel)
        found = segments_of(b"\x00" + encode(Frame(reliable=channel[0], sn=sn, exts=lane, messages=(message,))))
        assert found is not None
        parts = [Part(one.path.replace("-", "_"), Value(data=one.data), one.note) for one in found[0]]
        heard = Value(bound="heard", name=name, path="request.id")
        parts = [replace(one, value=heard) if asked_by and one.path.endswith(asked_by) else one for one in parts]
        return Step(do="send", connection=name, parts=(Part(PREFIX, Value(bound="auto")), *parts))

    def declare(self, key: str) -> Iterator[Step]:
        """Yield the steps by which the first bystander subscribes to a key and answers queries for it."""
        self.count += 2
        for body in (DSubscriber(id=self.count, key=key_of(key)), DQueryable(id=self.count + 1, key=key_of(key))):
            yield self.send(FIRST, Declare(exts=exts(sane.qos(sane.OUR_DECLARE_QOS)), body=body))
        yield self.fence(FIRST)

    def fence(self, name: str) -> Step:
        """Return a fence, which uses up a number."""
        self.numbers.fence(name)
        return Step(do="fence", connection=name)

    def look(self, keys: list[str]) -> Iterator[Step]:
        """Yield the steps that publish on all channels and on `keys`, and ask."""
        for key in keys:
            yield from self.declare(key)
        yield self.fence(FIRST)
        for key, channel in ((KEY, lane) for lane in LANES):
            qos = exts(sane.qos(0x08 | channel[1]))
            yield self.send(SECOND, Push(key=key_of(key), exts=qos, body=Put(payload=b"bystander")), channel)
            yield Step(do="expect", connection=FIRST, what="Push")
        for key in keys:
            yield self.send(SECOND, Push(key=key_of(key), body=Put(payload=b"bystander")))
            yield Step(do="expect", connection=FIRST, what="Push")
        yield self.send(SECOND, Request(id=_ASKED, key=key_of(KEY), body=Query()))
        yield Step(do="expect", connection=FIRST, what="Request")
        reply = Response(id=1, key=key_of(KEY), body=Reply(body=Put(payload=b"answer")))
        yield self.send(FIRST, reply, asked_by="].response.id")
        yield self.send(FIRST, ResponseFinal(id=1), asked_by="].response_final.id")
        yield Step(do="expect", connection=SECOND, what="Response")
        yield Step(do="expect", connection=SECOND, what="ResponseFinal")
