"""Nodes that say more than they are asked, or say it in other batches, lanes and fragments than the reference."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from zenoh_conformance import keyexpr, sane
from zenoh_conformance.codec import encode
from zenoh_conformance.messages import (
    Declare,
    DKeyExpr,
    DSubscriber,
    Interest,
    KeepAlive,
    Oam,
    Push,
    Put,
    Query,
    Request,
    ResponseFinal,
)
from zenoh_conformance.messages.fragment import Drop, First, Fragment
from zenoh_conformance.messages.interest import InterestMode, InterestOptions
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.primitives.timestamp import Timestamp
from zenoh_conformance.primitives.zid import ZenohID
from zenoh_conformance.wire.extensions import Exts, Unknown
from zenoh_conformance.wire.layer import Enc
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.declaring import declare, whole
from zenoh_harness.reference.link import Link, Pending

from . import variant

UNKNOWN = (
    Unknown(id=0xE, mandatory=False, enc=Enc.ZBUF, value=b"ours"), Unknown(id=0xD, mandatory=False, enc=Enc.UNIT, value=None),
)  # fmt: skip
"""Optional extensions that no page names."""

ID, FRAGMENT = 0x1F, 0x06
"""The bits of a header that tell the message, and what they are in a FRAGMENT."""


@variant("unknown-extensions-everywhere", permitted="primitives#extensions: an unknown optional one is skipped")
class UnknownExtensionsEverywhere(Reference):
    """Puts optional extensions that no page names into every message that has a chain."""

    def encoded(self, message: Any) -> bytes:
        return super().encoded(dressed(message))

    def say(self, link: Link, message: Any, **how: Any) -> None:
        super().say(link, dressed(message), **how)


@variant("greets-with-declarations", permitted="declarations: a node declares when it likes")
class GreetsWithDeclarations(Reference):
    """Begins each session with declarations, an interest and a publication of its own, to nobody's key."""

    def on_live(self, link: Link) -> None:
        if link.name != link.session:
            return  # one more link of a session that was greeted
        key = whole("@/variant/greets")
        self.say(link, declare(DKeyExpr(expr_id=7, key=key)))
        self.say(link, declare(DSubscriber(id=90, key=WireExpr(scope=7, suffix="", mapping=True))))
        options = InterestOptions.SUBSCRIBERS | InterestOptions.KEY_EXPRS
        self.say(link, Interest(id=91, mode=InterestMode.CURRENT_FUTURE, options=options))
        self.say(link, Push(key=key, body=Put(payload=b"hello")))


@variant("greets-with-a-query", permitted="query#request-response-flow")
class GreetsWithAQuery(Reference):
    """Asks everybody who comes for what it has."""

    def on_live(self, link: Link) -> None:
        if (number := self.free_id(link)) is not None:
            link.requests[number] = Pending("nobody", 0, owing={link.session: 1})
            self.say(link, Request(id=number, key=whole("@/variant/**"), body=Query()))


@variant("says-oam", permitted="message-reference#oam")
class SaysOam(Reference):
    """Begins each session with an OAM message of the transport."""

    def on_live(self, link: Link) -> None:
        if not link.terms.lowlatency:
            self.send(link, Oam(id=0x7FFF, enc=Enc.Z64, body=5))


@variant("stamps-what-it-passes-on", permitted="push: a router may add a timestamp")
class StampsWhatItPassesOn(Reference):
    """Adds a timestamp to the data that it passes on."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if isinstance(push.body, Put) and push.body.timestamp is None:
            stamp = Timestamp(time=0x6A00_0000_0000_0001, zid=ZenohID(self.config.zid))
            push = replace(push, body=replace(push.body, timestamp=stamp))
        super().on_push(link, push, reliable=reliable)


@variant("keeps-alive-all-the-time", permitted="keep-alive#period: at least")
class KeepsAliveAllTheTime(Reference):
    """Says KEEP_ALIVE in each session whenever it looks at the clock, and before everything else."""

    def on_time(self, link: Link) -> None:
        super().on_time(link)
        if link.live and link.inside is None and link.name in self.links:
            self.send(link, KeepAlive())

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None:
            self.send(link, KeepAlive())
        super().say(link, message, **how)


@variant("several-messages-a-batch", permitted="erratum several-messages-per-batch")
class SeveralMessagesABatch(Reference):
    """Puts all that it has to say at a time into one batch, as far as it fits; behind a FRAGMENT, whose bytes are the rest, nothing."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.held_back: dict[str, bytes] = {}

    def send_batch(self, link: Link, batch: bytes) -> None:
        if not link.live or link.terms.lowlatency:
            super().send_batch(link, batch)
            return
        held = self.held_back.pop(link.name, b"")
        if held and len(held) + len(batch) > self.room(link):
            super().send_batch(link, held)
            held = b""
        self.held_back[link.name] = held + batch
        if batch[0] & ID == FRAGMENT:
            self.let_go(link)

    def end(self, link: Link) -> None:
        self.let_go(link)
        super().end(link)

    def let_go(self, link: Link) -> None:
        """Send what was held back."""
        held = self.held_back.pop(link.name, b"")
        if held:
            super().send_batch(link, held)

    def drain(self) -> list[Action]:
        for link in list(self.links.values()):
            self.let_go(link)
        self.held_back.clear()
        return super().drain()


@variant("everything-in-fragments", permitted="fragmentation: no page forbids a fragment that would fit")
class EverythingInFragments(Reference):
    """Sends every network message in fragments of at most ten bytes."""

    def room(self, link: Link) -> int:
        return min(super().room(link), 24)


@variant("gives-up-and-begins-anew", permitted="session-establishment#init-extensions: Drop from patch 1 on")
class GivesUpAndBeginsAnew(Reference):
    """Toward who knows the markers: begins a large message, gives it up with Drop, and begins it again."""

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        if link.terms.patch:
            lane = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
            begun = Fragment(reliable=reliable, more=True, sn=sn, exts=Exts((*lane, First())), payload=data[:8])
            self.send_batch(link, encode(begun))
            sn = self.next_sn(link, reliable, priority)
            given_up = Fragment(reliable=reliable, more=False, sn=sn, exts=Exts((*lane, Drop())), payload=b"")
            self.send_batch(link, encode(given_up))
            sn = self.next_sn(link, reliable, priority)
        super().say_fragments(link, data, sn, reliable, priority)


@variant("on-its-own-lanes", permitted="qos: who sends chooses the lane")
class OnItsOwnLanes(Reference):
    """Sends declarations and finals on the control lane where lanes were settled, publications with best effort."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Declare | ResponseFinal) and link.terms.qos:
            kept: list[Any] = [ext for ext in message.exts if type(ext).__name__ != "QoS"]
            message = replace(message, exts=Exts((sane.qos(sane.DECLARE_QOS & 0xF8), *kept)))
        super().say(link, message, reliable=reliable and not isinstance(message, Push))


@variant("declares-names", permitted="declarations: expression ids")
class DeclaresNames(Reference):
    """Declares an expression id for every key, and names data by it."""

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None and isinstance(message, Push) and message.key.suffix and not message.key.scope:
            number = next(link.entity_ids)
            super().say(link, declare(DKeyExpr(expr_id=number, key=message.key)), **how)
            message = replace(message, key=WireExpr(scope=number, suffix="", mapping=True))
        super().say(link, message, **how)


def dressed(message: Any) -> Any:
    """The message, and what it holds, with optional extensions that no page names."""
    if not is_dataclass(message) or isinstance(message, type):
        return message
    changes: dict[str, Any] = {}
    for field in fields(message):
        value = getattr(message, field.name)
        if field.name == "exts":
            changes["exts"] = Exts((*value, *UNKNOWN))
        elif field.name == "body" and is_dataclass(value):
            changes["body"] = dressed(value)
    return replace(message, **changes)


@variant(
    "asks-in-mid-session", permitted="query#request-response-flow: who asks what, and when, is a node's own affair"
)
class AsksInMidSession(Reference):
    """Asks each session for what it has, and for what is declared there, whenever somebody publishes, asks or declares."""

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        asks = isinstance(message, Push | Request | Declare) and link.terms is not None
        if asks and (number := self.free_id(link)) is not None:
            link.requests[number] = Pending("nobody", 0, owing={link.session: 1})
            self.say(link, Request(id=number, key=whole("@/variant/**"), body=Query()))
            self.say(link, Interest(id=1000 + number, mode=InterestMode.CURRENT, options=InterestOptions.TOKENS))
        super().route(link, message, reliable=reliable)


@variant(
    "sends-what-somebody-wants",
    permitted="push: a publication goes to who declared a subscriber; query: to who serves it",
)
class SendsWhatSomebodyWants(Reference):
    """Sends what its own application publishes or asks to whoever declared that he wants it, and to no router that did not."""

    def receivers(self, link: Link, key: str) -> list[Link]:
        return [other for other in super().receivers(link, key) if self.subscribes(other, key)]

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        serving = self.held(link, lambda held: keyexpr.intersects(key, held.key))
        return [other for other in super().targets(link, request, key) if other.session in serving]
