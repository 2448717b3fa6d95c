"""QUERY: what is asked."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from zenoh_conformance.primitives.encoding import EncodingField
from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, given, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import named
from zenoh_conformance.wire.types import BytesRest, TextZ64, Vle

from .data import SourceInfo

REF = "query#query-extensions"


class ConsolidationMode(IntEnum):
    """How replies for one key are thinned out; other numbers are taken for AUTO."""

    AUTO = 0
    NONE = 1
    MONOTONIC = 2
    LATEST = 3


Consolidation = Annotated[int, Vle(64, known=4, says=named(ConsolidationMode))]


@extension(0x3, "zbuf", ref=REF)
class QueryBody:
    """A value that goes with the question."""

    encoding: EncodingField
    """What the value is."""

    payload: BytesRest
    """The value: the rest of the extension; in slices under BodyShm."""


@extension(0x4, "unit", ref=REF)
class BodyShm:
    """The value of QueryBody is in slices."""


@extension(0x5, "zbuf", ref=REF, name="Attachment")
class QueryAttachment:
    """What the application adds to the question."""

    payload: BytesRest
    """Opaque."""


@message(0x03, "Z|P|C", layer=Layer.DATA, ref="query#query")
class Query:
    """Carried in REQUEST.

     7 6 5 4 3 2 1 0
    |Z|P|C|  0x03   |
    """

    consolidation: Consolidation | None = given("C", default=None)
    """A ConsolidationMode; AUTO when absent."""

    parameters: TextZ64 | None = given("P", default=None)
    """Of the application."""

    exts: Exts[SourceInfo | QueryBody | BodyShm | QueryAttachment] = NO_EXTS
