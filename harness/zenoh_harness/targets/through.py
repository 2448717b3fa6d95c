"""`?through=RULE,RULE`: a changing tap between the harness and a node; every check sees the changed node as the target.

A responder is started and ready before the tap; every later link goes through it. An initiator connects to the tap.
"""

from __future__ import annotations

from typing import TypeVar

from zenoh_conformance.reading.conversation import Event, Framing, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.changing import Rule, parse_rules
from zenoh_harness.links.links import Observer, StreamLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener
from zenoh_harness.links.tap import Tap, change_of
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.endpoints import Endpoint, endpoint_of
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeBase

AnyNode = TypeVar("AnyNode", bound=NodeBase)


def rules_of(reach: Reach) -> tuple[Rule, ...]:
    """Return the rules of a target string. Raises UsageError for one that cannot be read."""
    rules = reach.options.get("through")
    return parse_rules([rules]) if rules else ()


def add_tap(node: AnyNode, reach: Reach) -> AnyNode:
    """Return a ready node; later links to a responder go through a tap if its target string has rules."""
    rules = rules_of(reach)
    if rules and node.side is Side.RESPONDER:
        node.go_through(_start_tap(rules, Side.RESPONDER, node.locator, reach))
    return node


def listener_for(reach: Reach) -> LinkListener:
    """Return the listener for an initiator: ours, or a tap in front of it. Raises CannotConnect if we cannot listen."""
    rules = rules_of(reach)
    endpoint = endpoint_of(reach)
    listener = LinkListener.open(endpoint.listen)
    listener.locator = endpoint.locator_at(listener.locator)
    return TappedListener(listener, rules, reach) if rules else listener


class TappedListener(LinkListener):
    """A listener behind a tap; its locator is the tap's."""

    def __init__(self, behind: LinkListener, rules: tuple[Rule, ...], reach: Reach) -> None:
        """Listen behind a tap; `behind` is our listener, closed with this one."""
        self._behind = behind
        try:
            self._tap = _start_tap(rules, Side.INITIATOR, behind.locator, reach)
        except CannotConnect:
            behind.close()
            raise
        self.locator = self._tap.locator

    def accept(self, deadline: Deadline, observer: Observer | None = None) -> StreamLink | None:
        """Return the next link through the tap, or None when the deadline passes."""
        return self._behind.accept(deadline, observer)

    def close(self) -> None:
        """Stop the tap and the listener; idempotent."""
        self._tap.close()
        self._behind.close()


def _start_tap(rules: tuple[Rule, ...], side: Side, to: Locator, reach: Reach) -> Tap:
    """Start a tap; it records nothing itself. Over TLS it has a certificate of its own."""
    plain = Endpoint(Locator.of("udp" if to.framing is Framing.DATAGRAM else "tcp", "127.0.0.1", 0))
    endpoint = endpoint_of(reach) if to.protocol == "tls" else plain
    tap = Tap(endpoint.listen, to, _ignore_event, change=change_of(rules, side, framing=to.framing))
    tap.locator = endpoint.locator_at(tap.locator)
    return tap.__enter__()


def _ignore_event(_event: Event) -> None:
    """Ignore an event: each check records its own links."""
