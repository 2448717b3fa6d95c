"""QUERY: the content of a query."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from zenoh_conformance.primitives import EncodingField
from zenoh_conformance.wire import NO_EXTS, BytesRest, Exts, Layer, TextZ64, Vle, extension, given, member_note, message

from .data import SourceInfo

REF = "query#query-extensions"


class ConsolidationMode(IntEnum):
    """How several replies for one key are reduced; other numbers count as AUTO."""

    AUTO = 0
    NONE = 1
    MONOTONIC = 2
    LATEST = 3


Consolidation = Annotated[int, Vle(64, known=4, says=member_note(ConsolidationMode))]


@extension(0x3, "zbuf", ref=REF)
class QueryBody:
    """A value that is sent with the query."""

    encoding: EncodingField
    """The encoding of the value."""

    payload: BytesRest
    """The value, up to the end of the extension; a list of slices under BodyShm."""


@extension(0x4, "unit", ref=REF)
class BodyShm:
    """Marks a QueryBody whose value is a list of slices."""


@extension(0x5, "zbuf", ref=REF, name="Attachment")
class QueryAttachment:
    """Bytes that the application attaches to the query."""

    payload: BytesRest
    """Opaque."""


@message(0x03, "Z|P|C", layer=Layer.DATA, ref="query#query")
class Query:
    """Holds the parameters of a query; carried in REQUEST.

     7 6 5 4 3 2 1 0
    |Z|P|C|  0x03   |
    """

    consolidation: Consolidation | None = given("C", default=None)
    """A ConsolidationMode; AUTO when absent."""

    parameters: TextZ64 | None = given("P", default=None)
    """The parameters of the selector, as the application gave them."""

    exts: Exts[SourceInfo | QueryBody | BodyShm | QueryAttachment] = NO_EXTS
