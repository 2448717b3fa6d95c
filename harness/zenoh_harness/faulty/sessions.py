"""Nodes that end or keep sessions wrongly: at CLOSE, at the end of a lease, at an unknown extension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Close, Drop, Fragment, Frame, KeepAlive
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire import Exts, Unknown
from zenoh_harness.reference import EXPIRED, INVALID, MAX_LINKS, Reference, before, refuse

from . import fault, faulty

LEASES = "session-leases"


class _DeadAreOthers(Reference):
    """Base of nodes that treat an expired session in another way than a closed one."""

    expired = False

    def refuse(self, link, reason):
        self.expired = reason == EXPIRED
        super().refuse(link, reason)
        self.expired = False

    def on_gone(self, link):
        if self.expired:
            self.bury(link)
        super().on_gone(link)

    def bury(self, link):
        """Clear state of an expired session before it is removed."""
        raise NotImplementedError


EXTENSIONS = "session-extensions"

DEAD = {
    "token": "what-a-dead-session-declared",
    "subscriber": "subscribers-of-a-dead-session",
    "queryable": "queryables-of-a-dead-session",
}


def _clears(table: str) -> Callable[..., None]:
    def bury(link):
        getattr(link, table).clear()

    return bury


def odd(message: Any) -> bool:
    """Whether a message has an unknown extension."""
    return any(isinstance(ext, Unknown) for ext in message.exts)


fault(
    "takes-no-second-link",
    "Agrees to several links, and refuses the second one.",
    check_open=lambda node, base, link: refuse(MAX_LINKS) if node.earlier_link(link) is not None else base(),
    caught_by="close-scope/two-links-make-one-session",
)
fault(
    "closes-one-link-of-a-session",
    "Takes CLOSE with S for CLOSE without: the session lives on over its other link.",
    on_close=lambda base, close: base(close=replace(close, session=False)),
    caught_by="close-scope/close-of-a-session-ends-all-its-links",
)
fault(
    "closes-every-link-for-one",
    "Takes CLOSE without S for CLOSE with: all links of the session end.",
    on_close=lambda base, close: base(close=replace(close, session=True)),
    caught_by="close-scope/close-of-a-link-leaves-the-others",
)
for _kind, _name in DEAD.items():
    fault(
        f"remembers-{_name}",
        f"Withdraws no {_kind} of a session whose lease expired.",
        of=_DeadAreOthers,
        bury=_clears(f"{_kind}s"),
        caught_by=f"{LEASES}/what-a-dead-session-declared-is-taken-back",
    )
fault(
    "waits-for-who-fell-silent",
    "Waits for the RESPONSE_FINAL of a session whose lease expired.",
    of=_DeadAreOthers,
    bury=lambda link: link.requests.clear(),
    caught_by=f"{LEASES}/a-source-that-dies-is-waited-for-no-more",
)
fault(
    "ends-a-session-for-an-unknown-extension",
    "Closes the session at a KEEP_ALIVE or FRAME with an unknown optional extension.",
    on_session=lambda base, message: (
        refuse(INVALID) if isinstance(message, KeepAlive | Frame) and odd(message) else base()
    ),
    caught_by=f"{EXTENSIONS}/an-unknown-extension-ends-no-session",
    also={f"{EXTENSIONS}/what-has-an-unknown-extension-counts": "it closes at that of a FRAME, too"},
)
fault(
    "loses-fragments-with-unknown-extensions",
    "Drops a message if one of its fragments has an unknown optional extension.",
    on_fragment=lambda base, link, fragment: (
        link.partial.pop((fragment.reliable, priority_of(fragment)), None) if odd(fragment) else base()
    ),
    caught_by=f"{EXTENSIONS}/what-has-an-unknown-extension-counts",
)
fault(
    "passes-over-a-close-with-unknown-extensions",
    "Ignores a CLOSE of a live session with an unknown optional extension.",
    on_close=lambda base, link, close: base() if not (link.live and odd(close)) else None,
    caught_by=f"{EXTENSIONS}/a-close-with-an-unknown-extension-counts",
)


fault(
    "forgets-a-session-with-its-first-link",
    "Withdraws a session's declarations when one of its links closes.",
    on_close=before(lambda node, link: node.on_gone(link)),
    caught_by="close-scope/close-of-a-link-leaves-the-others",
)


fault(
    "remembers-what-a-closed-session-declared",
    "Keeps the declarations of a session after CLOSE.",
    on_close=before(lambda link: link.tokens.clear()),
    caught_by="close-scope/what-a-session-declared-ends-with-it",
)


@faulty(
    "say_fragments",
    caught_by="establishment-patch/toward-patch-zero-no-marker-is-needed",
    also={
        "session-batches/what-does-not-fit-is-fragmented": "the dropped fragment looks like the end of the message",
        "law/initial-sn-own-start": "its first fragment may be one that it drops",
        "establishment-patch/the-first-fragment-is-marked": "the dropped fragment has no mark",
    },
)
def begins_with_what_it_gives_up(node, base, link, data, sn, reliable, priority):
    """Sends a first fragment of each large message, ends it with Drop, and begins again, whatever patch was negotiated."""
    node.send_batch(link, encode(Fragment(reliable=reliable, more=True, sn=sn, payload=data[:8])))
    given_up = node.next_sn(link, reliable, priority)
    node.send_batch(
        link, encode(Fragment(reliable=reliable, more=False, sn=given_up, exts=Exts((Drop(),)), payload=b""))
    )
    base(sn=node.next_sn(link, reliable, priority))


fault(
    "keeps-its-first-session-alive",
    "Sends KEEP_ALIVE in its oldest session only.",
    send=lambda node, base, link, messages: (
        None
        if messages == (KeepAlive(),)
        and link is not next((other for other in node.links.values() if other.live and other.inside is None), link)
        else base()
    ),
    caught_by=f"{LEASES}/each-session-is-kept-alive",
)


@faulty("lease_of", caught_by=f"{LEASES}/a-silent-session-of-any-lease-expires")
def counts_leases_in_longer_steps(node, base, link):
    """Rounds a lease that is no whole number of seconds up to four seconds per second begun."""
    seconds, rest = divmod(link.their_open.lease, 1000)
    if link.their_open.lease_in_seconds or not rest:
        return base()
    return min(4.0 * (seconds + 1), node.config.lease_ms / 1000)


@faulty(caught_by=f"{EXTENSIONS}/a-close-behind-another-message-counts")
class HearsNoCloseBehindAnotherMessage(Reference):
    """Ignores a CLOSE that follows KEEP_ALIVE in its batch."""

    hiding: type[Any] = KeepAlive
    behind = False

    def on_batch(self, link, batch):
        self.behind = False
        super().on_batch(link, batch)

    def on_message(self, link, seen):
        if isinstance(seen.message, Close) and self.behind:
            return
        self.behind = isinstance(seen.message, self.hiding)
        super().on_message(link, seen)


fault(
    "hears-no-close-behind-a-frame",
    "Ignores a CLOSE that follows a FRAME in its batch.",
    of=HearsNoCloseBehindAnotherMessage,
    hiding=Frame,
    caught_by=f"{EXTENSIONS}/a-close-behind-another-message-counts",
)
