"""Nodes that keep links and sessions alive wrongly, or end them wrongly: leases, KEEP_ALIVE and CLOSE, in each mode of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from zenoh_conformance.messages import Declare, Fragment, Frame, KeepAlive, Push, Request, Response, sane
from zenoh_harness.reference import EXPIRED, Reference, before

from . import fault, faulty

MODES: dict[str, Callable[[Any], bool]] = {
    "low-latency": lambda link: link.terms.lowlatency,
    "compression": lambda link: link.terms.compression,
}
NEVER = 1e9
"""Seconds of a lease that is not kept."""


def _silent_in(mode: Callable[[Any], bool]) -> Callable[..., None]:
    return lambda base, link, messages: None if messages == (KeepAlive(),) and mode(link) else base()


def _endless_in(mode: Callable[[Any], bool]) -> Callable[..., float]:
    return lambda base, link: NEVER if mode(link) else base()


def _open_in(mode: Callable[[Any], bool]) -> Callable[..., None]:
    return lambda base, link: None if link.live and mode(link) else base()


def _silent_after(kind: type[Any]) -> dict[str, Any]:
    """The hooks of a node that sends no KEEP_ALIVE on a session to which it has sent such a message."""
    return {
        "say": before(lambda node, link, message: node.sent.update([link.session] * isinstance(message, kind))),
        "send": lambda node, base, link, messages: (
            None if messages == (KeepAlive(),) and link.session in node.sent else base()
        ),
    }


for _what, _kind in {"publication": Push, "query": Request, "answer": Response, "declaration": Declare}.items():
    fault(
        f"keeps-no-session-alive-after-{_what}",
        f"Sends no KEEP_ALIVE on a session to which it has sent {'an' if _what == 'answer' else 'a'} {_what}.",
        state={"sent": set},
        caught_by="session-leases/each-session-is-kept-alive",
        **_silent_after(_kind),
    )

fault(
    "keeps-no-session-alive-with-half-a-message",
    "Sends no KEEP_ALIVE while a chain of fragments is not complete.",
    send=_silent_in(lambda link: bool(link.partial)),
    caught_by="session-leases/each-session-is-kept-alive",
)

LIVES = {
    "low-latency": "session-modes/a-low-latency-session-lives-and-ends",
    "compression": "session-modes/a-compressed-session-lives-and-ends",
}

for _name, _mode in MODES.items():
    fault(
        f"keeps-no-session-alive-with-{_name}",
        f"Sends no KEEP_ALIVE on a session with {_name.replace('-', ' ')}.",
        send=_silent_in(_mode),
        caught_by=LIVES[_name],
    )
    fault(
        f"never-lets-a-session-expire-with-{_name}",
        f"Ends no session with {_name.replace('-', ' ')} by its lease.",
        lease_of=_endless_in(_mode),
        caught_by=LIVES[_name],
    )
    fault(
        f"stays-after-close-with-{_name}",
        f"Ignores CLOSE on a session with {_name.replace('-', ' ')}.",
        on_close=_open_in(_mode),
        caught_by=LIVES[_name],
    )


def _marks(kind: type[Any]) -> dict[str, Any]:
    """The hook that remembers the sessions which sent a message of a kind."""
    mark = before(lambda node, link, message: node.marked.add(link.session) if isinstance(message, kind) else None)
    return {"on_session" if kind is KeepAlive else "route": mark}


_DONE = (("declared", Declare), ("asked", Request), ("published", Push), ("kept-alive", KeepAlive))
for _name, _kind in _DONE:
    fault(
        f"never-lets-a-session-expire-that-has-{_name}",
        f"Ends no session by its lease that has {_name} something.",
        **_marks(_kind),
        lease_of=lambda node, base, link: NEVER if link.session in node.marked else base(),
        state={"marked": set},
        caught_by="session-modes/a-session-expires-whatever-it-did",
    )
fault(
    "never-lets-a-session-expire-with-half-a-message",
    "Ends no session by its lease while a chain of fragments is not complete.",
    lease_of=lambda base, link: NEVER if link.partial else base(),
    caught_by="session-modes/a-session-expires-whatever-it-did",
)


def _renew_all(node):
    for link in node.links.values():
        link.last_heard = node.now


fault(
    "lives-on-while-others-speak",
    "Renews the leases of all sessions at a message of any.",
    on_message=before(_renew_all),
    caught_by="session-leases/a-silent-session-of-any-lease-expires",
)
fault(
    "leaves-dead-links-open",
    "Withdraws the declarations of a session whose lease expired, and leaves its link open.",
    refuse=lambda node, base, link, reason: node.drop(link) if reason == EXPIRED else base(),
    caught_by="session-modes/the-link-of-a-dead-session-is-closed",
)
fault(
    "expires-at-half-the-lease",
    "Ends a session when half of its lease is over.",
    lease_of=lambda base: base() / 2,
    caught_by="session-modes/a-session-lives-until-its-lease-is-over",
)


class _RenewsLess(Reference):
    """Base of nodes for which some messages do not renew the lease."""

    renewed = cached_property(lambda node: dict[str, float]())
    several = False
    """Whether the batch begins with several KEEP_ALIVEs."""

    def on_message(self, link, seen):
        if link.live and self.counts_not(link, seen.message):
            link.last_heard = self.renewed.get(link.name, link.opened_at)
        self.renewed[link.name] = link.last_heard
        super().on_message(link, seen)

    def counts_not(self, link, message):
        """Whether a message does not renew the lease."""
        raise NotImplementedError


fault(
    "is-not-kept-alive-by-fragments",
    "Does not renew a lease at FRAGMENT.",
    of=_RenewsLess,
    counts_not=lambda message: isinstance(message, Fragment),
    caught_by="establishment-limits/whatever-is-said-renews-the-lease",
)
fault(
    "is-not-kept-alive-by-best-effort",
    "Does not renew a lease at a FRAME of the best-effort channel.",
    of=_RenewsLess,
    counts_not=lambda message: isinstance(message, Frame) and not message.reliable,
    caught_by="establishment-limits/whatever-is-said-renews-the-lease",
)
fault(
    "is-not-kept-alive-by-several-at-once",
    "Does not renew a lease at a batch of several KEEP_ALIVEs.",
    of=_RenewsLess,
    on_batch=before(lambda node, batch: setattr(node, "several", batch[:2] == b"\4\4")),
    counts_not=lambda node: node.several,
    caught_by="establishment-limits/whatever-is-said-renews-the-lease",
)
fault(
    "is-not-kept-alive-by-messages-without-frame",
    "Does not renew the lease of a low-latency session at a network message.",
    of=_RenewsLess,
    counts_not=lambda link, message: link.terms.lowlatency and not isinstance(message, KeepAlive),
    caught_by="session-modes/a-low-latency-session-lives-and-ends",
)


def _keeps_alive_by(silence: Callable[[Any, Any], float]) -> Callable[..., None]:
    """An `on_time` whose KEEP_ALIVE is due after another silence; the rest is as in the reference node."""

    def on_time(node, base, link):
        if not link.live or link.their_open is None or node.now - link.last_heard >= node.lease_of(link):
            base()
        elif node.now - link.last_said >= silence(node, link):
            node.send(link, KeepAlive())

    return on_time


fault(
    "keeps-alive-in-each-half-of-its-lease",
    "Sends KEEP_ALIVE after half of its lease.",
    on_time=_keeps_alive_by(lambda node, link: node.config.lease_ms / 2000),
    caught_by="settled-terms/a-stated-lease-is-kept",
)
fault(
    "keeps-alive-by-the-longer-lease",
    "Sends KEEP_ALIVE by the longer one of both leases.",
    on_time=_keeps_alive_by(lambda node, link: max(node.config.lease_ms / 1000, sane.lease_of(link.their_open)) / 4),
    caught_by="settled-terms/a-stated-lease-is-kept",
)
fault(
    "keeps-silent-while-it-hears",
    "Sends no KEEP_ALIVE while something comes in.",
    on_time=_keeps_alive_by(
        lambda node, link: node.config.lease_ms / 4000 if node.now - link.last_heard > 1 else NEVER
    ),
    caught_by="settled-terms/a-stated-lease-is-kept",
)
fault(
    "is-kept-alive-by-empty-frames",
    "Sends an empty FRAME in place of KEEP_ALIVE.",
    send=lambda node, base, link, messages: (
        base(messages=(Frame(reliable=True, sn=node.next_sn(link, True, sane.DEFAULT_PRIORITY), messages=()),))
        if messages == (KeepAlive(),) and not link.terms.lowlatency
        else base()
    ),
    caught_by=("law/frames-are-not-empty", "settled-terms/an-idle-session-gets-keep-alives"),
)
fault(
    "is-kept-alive-by-nothing",
    "Sends an empty batch in place of KEEP_ALIVE.",
    send=lambda node, base, link, messages: (
        node.send_batch(link, b"") if messages == (KeepAlive(),) and not link.terms.compression else base()
    ),
    caught_by="settled-terms/a-stated-lease-is-kept",
)


def _one_closes_all(node, base, link, close):
    first = next((other for other in node.links.values() if other.session == link.session), link)
    base(close=replace(close, session=close.session or first is link))


fault(
    "ends-a-session-with-its-first-link",
    "Takes CLOSE without S for CLOSE with, on the first link of a session.",
    on_close=_one_closes_all,
    caught_by="close-scope/close-of-a-link-leaves-the-others",
)

fault(
    "keeps-the-first-link-of-a-session-alive-only",
    "Sends no KEEP_ALIVE on a further link of a session.",
    send=_silent_in(lambda link: link.session != link.name),
    caught_by="close-scope/each-link-of-a-session-is-kept-alive",
)


@faulty(caught_by="session-modes/a-low-latency-session-lives-and-ends")
class IsRenewedByWorkAloneInLowLatency(Reference):
    """Does not count KEEP_ALIVE for the lease of a low-latency session."""

    worked = 0.0

    def on_message(self, link, seen):
        if link.live and link.terms.lowlatency and isinstance(seen.message, KeepAlive):
            link.last_heard = self.worked
        self.worked = link.last_heard
        super().on_message(link, seen)
