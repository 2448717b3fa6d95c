"""REQUEST: a question to whoever serves a key expression."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from zenoh_conformance.primitives.wire_expr import Key
from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import milliseconds, named
from zenoh_conformance.wire.types import Z32, Vle, Z32Cut

from .network import NodeId, QoS, TimestampExt, TsStack
from .query import Query

REF = "query#request-extensions"


class Target(IntEnum):
    """Which queryables are asked; other numbers are refused."""

    BEST_MATCHING = 0
    ALL = 1
    ALL_COMPLETE = 2


@extension(0x4, "z64", mandatory=True, ref=REF)
class QueryTarget:
    """Who of those that match is asked."""

    value: Annotated[int, Vle(64, most=2, says=named(Target))]
    """A Target; BEST_MATCHING when absent."""


@extension(0x5, "z64", ref=REF)
class Budget:
    """How many replies are wanted at most."""

    value: Z32Cut
    """Not zero."""


@extension(0x6, "z64", ref=REF)
class Timeout:
    """How long the querier waits."""

    value: Annotated[int, Vle(64, says=milliseconds)]
    """Milliseconds."""


@message(0x1C, "Z|M|N", layer=Layer.NETWORK, ref="query#request")
class Request:
    """Answered by any number of RESPONSE, then one RESPONSE_FINAL.

     7 6 5 4 3 2 1 0
    |Z|M|N|  0x1c   |
    """

    id: Z32
    """Chosen by the querier; the answers bear it."""

    key: Key
    """What is asked for."""

    exts: Exts[QoS | TimestampExt | NodeId | QueryTarget | Budget | Timeout | TsStack] = NO_EXTS

    body: Query
    """The question."""
