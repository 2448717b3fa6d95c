"""Nodes that keep some sessions alive and not others, take odd leases for longer ones, or forget what goes with a dead session."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import KeepAlive
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import EXPIRED
from zenoh_harness.reference.link import Link

from . import faulty

LEASES = "session-leases"


@faulty("keeps-its-first-session-alive", caught_by=f"{LEASES}/each-session-is-kept-alive")
class KeepsItsFirstSessionAlive(Reference):
    """Says KEEP_ALIVE in the oldest of its sessions alone."""

    def send(self, link: Link, *messages: Any) -> None:
        live = [other for other in self.links.values() if other.live and other.inside is None]
        if messages == (KeepAlive(),) and live and live[0] is not link:
            return
        super().send(link, *messages)


@faulty("counts-leases-in-longer-steps", caught_by=f"{LEASES}/a-silent-session-of-any-lease-expires")
class CountsLeasesInLongerSteps(Reference):
    """Takes a lease that is no whole number of seconds for one of four, eight, twelve."""

    def lease_of(self, link: Link) -> float:
        assert link.their_open is not None
        seconds, rest = divmod(link.their_open.lease, 1000)
        if link.their_open.lease_in_seconds or not rest:
            return super().lease_of(link)
        return min(4.0 * (seconds + 1), self.config.lease_ms / 1000)


class _DeadAreOthers(Reference):
    """Deals with a session that ends by its lease in another way than with one that is closed."""

    expired = False

    def refuse(self, link: Link, reason: int | None) -> None:
        self.expired = reason == EXPIRED
        super().refuse(link, reason)
        self.expired = False

    def on_gone(self, link: Link) -> None:
        if self.expired:
            self.bury(link)
        super().on_gone(link)

    def bury(self, link: Link) -> None:
        """What is done before its session is forgotten."""
        raise NotImplementedError


@faulty("remembers-what-a-dead-session-declared", caught_by=f"{LEASES}/what-a-dead-session-declared-is-taken-back")
class RemembersWhatADeadSessionDeclared(_DeadAreOthers):
    """Takes nothing back of what a session has declared whose lease ran out."""

    def bury(self, link: Link) -> None:
        link.tokens.clear()


@faulty("waits-for-who-fell-silent", caught_by=f"{LEASES}/a-source-that-dies-is-waited-for-no-more")
class WaitsForWhoFellSilent(_DeadAreOthers):
    """Goes on waiting for the final of a session whose lease ran out."""

    def bury(self, link: Link) -> None:
        link.requests.clear()
