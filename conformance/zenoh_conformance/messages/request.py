"""REQUEST: a query to the queryables of a key expression."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from zenoh_conformance.primitives import Key
from zenoh_conformance.wire import NO_EXTS, Z32, Exts, Layer, Vle, Z32Cut, extension, message
from zenoh_conformance.wire.notes import member_note, milliseconds

from .network import NodeId, QoS, TimestampExt, TsStack
from .query import Query

REF = "query#request-extensions"


class Target(IntEnum):
    """The queryables that receive a query; other numbers are refused."""

    BEST_MATCHING = 0
    ALL = 1
    ALL_COMPLETE = 2


@extension(0x4, "z64", mandatory=True, ref=REF)
class QueryTarget:
    """Selects among the matching queryables."""

    value: Annotated[int, Vle(64, most=2, says=member_note(Target))]
    """A Target; BEST_MATCHING when absent."""


@extension(0x5, "z64", ref=REF)
class Budget:
    """The largest number of replies that the querier wants."""

    value: Z32Cut
    """Not zero."""


@extension(0x6, "z64", ref=REF)
class Timeout:
    """The time that the querier waits."""

    value: Annotated[int, Vle(64, says=milliseconds)]
    """Milliseconds."""


@message(0x1C, "Z|M|N", layer=Layer.NETWORK, ref="query#request")
class Request:
    """Asks a query; any number of RESPONSEs and one RESPONSE_FINAL answer it.

     7 6 5 4 3 2 1 0
    |Z|M|N|  0x1c   |
    """

    id: Z32
    """Chosen by the querier; the answers repeat it."""

    key: Key
    """The key expression of the query."""

    exts: Exts[QoS | TimestampExt | NodeId | QueryTarget | Budget | Timeout | TsStack] = NO_EXTS

    body: Query
    """The query."""
