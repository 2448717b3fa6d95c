"""`?through=RULE,RULE`: a changing tap between the harness and a node, so that every check sees the changed node as the target.

A node that listens is started and found ready without it; every link from then on goes through. One that connects to us
is told where the tap listens.
"""

from __future__ import annotations

from typing import TypeVar

from zenoh_conformance.conversation import Event, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.changing import Rule, parse_rules
from zenoh_harness.links.links import Listener, Observer, StreamLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Tap, change_of
from zenoh_harness.links.timing import Deadline
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeBase

AnyNode = TypeVar("AnyNode", bound=NodeBase)


def rules_of(reach: Reach) -> tuple[Rule, ...]:
    """The rules of a target string; UsageError for one that cannot be read."""
    text = reach.options.get("through")
    return parse_rules([text]) if text else ()


def put_through(node: AnyNode, reach: Reach) -> AnyNode:
    """The node, which is ready: one that listens is reached through a tap from now on, where its target string says so."""
    rules = rules_of(reach)
    if rules and node.side is Side.RESPONDER:
        node.go_through(_changing(rules, Side.RESPONDER, node.locator))
    return node


def listener_for(reach: Reach) -> Listener:
    """Where a node that connects to us is to come to: our listener, or the tap before it. CannotConnect when nobody may listen."""
    rules = rules_of(reach)
    return TappedListener(Listener.open(), rules) if rules else Listener.open()


class TappedListener(Listener):
    """A listener to which links come through a tap: its locator is the tap's."""

    def __init__(self, behind: Listener, rules: tuple[Rule, ...]) -> None:
        """`behind` is where we listen; it is closed with this one."""
        self._behind = behind
        try:
            self._tap = _changing(rules, Side.INITIATOR, behind.locator)
        except CannotConnect:
            behind.close()
            raise
        self.locator = self._tap.locator

    def accept(self, deadline: Deadline, observer: Observer | None = None) -> StreamLink | None:
        """The next link that comes through, or None when the deadline passes."""
        return self._behind.accept(deadline, observer)

    def close(self) -> None:
        """Stop listening, and end what goes through; idempotent."""
        self._tap.close()
        self._behind.close()


def _changing(rules: tuple[Rule, ...], side: Side, to: Locator) -> Tap:
    """A tap that runs beside; what it passes on is recorded where it arrives."""
    tap = Tap(Locator.tcp("127.0.0.1", 0), to, _unrecorded, change=change_of(rules, side))
    return tap.__enter__()


def _unrecorded(_event: Event) -> None:
    """Each check records its own links."""
