"""Nodes that lose messages for an extension that they might skip."""

from __future__ import annotations

from typing import Any, ClassVar

from zenoh_conformance.messages import Declare, Interest, Request, Response, ResponseFinal
from zenoh_conformance.wire.extensions import Unknown
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

EXTENSIONS = "routing-extensions"


class _LosesMarked(Reference):
    """Drops messages of some kinds that have an extension which it does not know."""

    kinds: ClassVar[tuple[type[Any], ...]] = ()

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        marked = isinstance(message, self.kinds) and any(isinstance(ext, Unknown) for ext in message.exts)
        if not marked:
            super().route(link, message, reliable=reliable)


@faulty(
    "loses-marked-declarations",
    caught_by=f"{EXTENSIONS}/what-is-declared-with-an-unknown-extension-counts",
)
class LosesMarkedDeclarations(_LosesMarked):
    """A DECLARE or an INTEREST with an optional extension that it does not know is lost."""

    kinds = (Declare, Interest)


@faulty("loses-marked-queries", caught_by=f"{EXTENSIONS}/what-is-asked-with-an-unknown-extension-counts")
class LosesMarkedQueries(_LosesMarked):
    """A REQUEST, RESPONSE or RESPONSE_FINAL with an optional extension that it does not know is lost."""

    kinds = (Request, Response, ResponseFinal)
