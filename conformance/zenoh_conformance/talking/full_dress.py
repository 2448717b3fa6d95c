"""Publications, queries and answers with every optional field and extension that says nothing of how they are routed.

What a case is not about is said in full dress, so that a node that loses or changes any of it shows (`laws/forwarding.py`). Timestamps
and source numbers rise, so that each message is told from every other.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from zenoh_conformance.messages import (
    Del,
    DelAttachment,
    Err,
    Put,
    PutAttachment,
    QueryAttachment,
    QueryBody,
    ResponderId,
    SourceInfo,
)
from zenoh_conformance.primitives import Encoding, Timestamp, ZenohID
from zenoh_conformance.wire import Enc, Exts, Unknown

BEGUN: Final = 0x6500_0000_0000_0000
"""The time of the first timestamp, in NTP64: in 2023, so that no node takes it for the future."""
SECOND: Final = 1 << 32
MOST: Final = 8
"""Messages of one node that are in full dress: those after them would show no more, and cost."""
ENTITY: Final = 300
"""The least entity id."""


def encoding_of(number: int) -> Encoding:
    """An encoding with a schema, another one for each number; with a schema 0 is no default either."""
    return Encoding(number % 2 * 5, b"dress %d" % number)


def odd(number: int) -> Unknown:
    """An extension that no page names, and that is optional."""
    return Unknown(id=0xD, enc=Enc.Z64, value=number)


class FullDress:
    """Makes the messages of one node."""

    def __init__(self, zid: bytes, most: int = MOST) -> None:
        """`most`: how many messages have all fields; none in a low-latency session, which has no fragments for what is larger."""
        self.zid, self.most = ZenohID(zid), most
        self.origin = ZenohID((zid * 16)[-16:])
        """The node whose clock and entities are named: a ZenohID of the full length."""
        self._numbers = count(1)
        self._answers = 0

    def _next(self) -> tuple[int, SourceInfo, bytes]:
        """The number, the source and the attachment of the next message."""
        number = next(self._numbers)
        return number, SourceInfo(zid=self.origin, eid=ENTITY, sn=number), b"attached %d" % number

    def _stamp(self, number: int) -> Timestamp:
        return Timestamp(time=BEGUN + number * SECOND, zid=self.origin)

    def put(self, payload: bytes) -> Put:
        """A value."""
        number, source, attachment = self._next()
        if number > self.most:
            return Put(payload=payload)
        exts: Exts[Any] = Exts((source, PutAttachment(payload=attachment), odd(number)))
        return Put(timestamp=self._stamp(number), encoding=encoding_of(number), exts=exts, payload=payload)

    def delete(self) -> Del:
        """A deletion."""
        number, source, attachment = self._next()
        if number > self.most:
            return Del()
        exts: Exts[Any] = Exts((source, DelAttachment(payload=attachment), odd(number)))
        return Del(timestamp=self._stamp(number), exts=exts)

    def error(self, payload: bytes) -> Err:
        """An error; it has no timestamp and no attachment."""
        number, source, _ = self._next()
        if number > self.most:
            return Err(payload=payload)
        exts: Exts[Any] = Exts((source, odd(number)))
        return Err(encoding=encoding_of(number), exts=exts, payload=payload)

    def query(self) -> tuple[Any, ...]:
        """The extensions of a QUERY."""
        number, source, attachment = self._next()
        if number > self.most:
            return ()
        body = QueryBody(encoding=encoding_of(number), payload=b"asked %d" % number)
        return source, body, QueryAttachment(payload=attachment), odd(number)

    def responder(self) -> tuple[ResponderId, ...]:
        """The entity that answers: another one for each answer, as of a node with several."""
        self._answers += 1
        return (ResponderId(zid=self.zid, eid=ENTITY + self._answers),) if self._answers <= self.most else ()
