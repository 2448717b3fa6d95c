"""Two reference routers with a link between them, as one node: what comes to the one must reach who is with the other.

Links from outside go to the one and to the other in turn. Nothing in the world sees the link between them.
"""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.config import Action

BETWEEN = "between"
"""The name of their link, on both."""


class Joined(Reference):
    """Two nodes behind one door."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        other = replace(self.config, zid=self.config.zid[:-1] + b"\x77")
        self.nodes = (Reference(self.config), Reference(other))
        self.home: dict[str, Reference] = {}
        """Link from outside to the node that has it."""
        self.nodes[0].connected(BETWEEN, Side.RESPONDER, 0.0)
        self._carry(self.nodes[1], self.nodes[1].connected(BETWEEN, Side.INITIATOR, 0.0))

    def connected(self, name: str, side: Side, now: float, framing: Framing = Framing.STREAM) -> list[Action]:
        """A link came up, to the one that has fewer."""
        node = self.home[name] = self.nodes[len(self.home) % 2]
        return self._carry(node, node.connected(name, side, now, framing))

    def received(self, name: str, data: bytes, now: float) -> list[Action]:
        """Bytes came in on a link."""
        for node in self.nodes:
            node.now = now
        return self._carry(self.home[name], self.home[name].received(name, data, now))

    def disconnected(self, name: str, now: float) -> list[Action]:
        """A link ended at the far side."""
        return self._carry(self.home[name], self.home[name].disconnected(name, now))

    def tick(self, now: float) -> list[Action]:
        """Time passed, for both."""
        return [action for node in self.nodes for action in self._carry(node, node.tick(now))]

    def _carry(self, node: Reference, actions: list[Action]) -> list[Action]:
        """What goes over the link between them is carried at once, until nothing more comes; the rest is the world's."""
        outside: list[Action] = []
        queue = [(node, action) for action in actions]
        while queue:
            sender, action = queue.pop(0)
            if action.link != BETWEEN:
                outside.append(action)
                continue
            other = self.nodes[1 - self.nodes.index(sender)]
            said = other.received(BETWEEN, action.data, sender.now) if action.data else []
            queue += [(other, each) for each in said]
        return outside
