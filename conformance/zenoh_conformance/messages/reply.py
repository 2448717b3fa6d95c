"""REPLY: a value or a deletion as the answer to a query."""

from __future__ import annotations

from zenoh_conformance.wire import NO_EXTS, Exts, Layer, Unknown, given, message

from .delete import Del
from .put import Put
from .query import Consolidation


@message(0x04, "Z|X|C", layer=Layer.DATA, ref="reply#reply")
class Reply:
    """Answers a query; carried in RESPONSE.

     7 6 5 4 3 2 1 0
    |Z|X|C|  0x04   |
    """

    consolidation: Consolidation | None = given("C", default=None)
    """A ConsolidationMode; AUTO when absent."""

    exts: Exts[Unknown] = NO_EXTS

    body: Put | Del
    """The value, or its deletion."""
