"""Nodes that stumble over what they do not know in a live session, or over what stands behind something else in its batch."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.connection import Seen, priority_of
from zenoh_conformance.messages import Close, Fragment, Frame, KeepAlive
from zenoh_conformance.wire.extensions import Unknown
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.link import Link

from . import faulty

EXTENSIONS = "session-extensions"


def odd(message: Any) -> bool:
    """Whether it has an extension that nobody knows."""
    return any(isinstance(ext, Unknown) for ext in message.exts)


@faulty(
    "ends-a-session-for-an-unknown-extension",
    caught_by=f"{EXTENSIONS}/an-unknown-extension-ends-no-session",
    also={f"{EXTENSIONS}/what-has-an-unknown-extension-counts": "that of a FRAME ends it, too"},
)
class EndsASessionForAnUnknownExtension(Reference):
    """Ends the session when a KEEP_ALIVE or FRAME has an optional extension that it does not know."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, KeepAlive | Frame) and odd(message):
            raise Refused(INVALID)
        super().on_session(link, message)


@faulty("loses-fragments-with-unknown-extensions", caught_by=f"{EXTENSIONS}/what-has-an-unknown-extension-counts")
class LosesFragmentsWithUnknownExtensions(Reference):
    """Drops a chain when one of its fragments has an optional extension that it does not know."""

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        if odd(fragment):
            link.partial.pop((fragment.reliable, priority_of(fragment)), None)
        else:
            super().on_fragment(link, fragment)


@faulty(
    "passes-over-a-close-with-unknown-extensions", caught_by=f"{EXTENSIONS}/a-close-with-an-unknown-extension-counts"
)
class PassesOverACloseWithUnknownExtensions(Reference):
    """Does not hear a CLOSE of a live session that has an optional extension which it does not know."""

    def on_close(self, link: Link, close: Close) -> None:
        if not (link.live and odd(close)):
            super().on_close(link, close)


@faulty("hears-no-close-behind-another-message", caught_by=f"{EXTENSIONS}/a-close-behind-another-message-counts")
class HearsNoCloseBehindAnotherMessage(Reference):
    """Does not hear a CLOSE that stands behind KEEP_ALIVE in its batch."""

    behind = False

    def on_batch(self, link: Link, batch: bytes) -> None:
        self.behind = False
        super().on_batch(link, batch)

    def on_message(self, link: Link, seen: Seen) -> None:
        if isinstance(seen.message, Close) and self.behind:
            return
        self.behind = isinstance(seen.message, KeepAlive)
        super().on_message(link, seen)
