"""What keeps a target from answering and is not its fault: that it was suspended from outside."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Final

from zenoh_harness.links.timing import stretched
from zenoh_harness.targets.target import NodeInstance

RECOVERS: Final = 2.0
"""Seconds after a stop, before scaling, in which a first attempt that is red counts as disturbed."""

SUSPENDED: Final = "the target was suspended from outside (SIGSTOP)"


@dataclass(frozen=True, slots=True)
class Watch:
    """Tells whether a node was suspended since a moment.

    The supervisor of its program may report a stop some time after it happened: a later question may have another answer.
    """

    node: NodeInstance
    suspensions: int
    """How often it was suspended or continued before."""
    halted: bool
    """Whether it was suspended at that moment."""
    recovers: bool = False
    """Whether it went on only shortly before: it first does what it was kept from, and lets go of what has timed out meanwhile."""

    @classmethod
    def of(cls, node: NodeInstance) -> Watch:
        """Watch a node from now on."""
        program = node.program
        if program is None:
            return cls(node, 0, False)
        count, now = program.suspensions(), time.monotonic()
        seen, since = getattr(program, "stops_seen", (0, -math.inf))
        if count != seen:
            since = now
            program.stops_seen = count, since  # type: ignore[attr-defined]  # when it was first seen to be as many
        # It may go on already, and its supervisor not have said so yet.
        return cls(node, count, program.halted and program.suspended(), now - since < stretched(RECOVERS))

    @property
    def has_changed(self) -> bool:
        """Whether it was suspended or continued since then."""
        return self.node.program is not None and self.node.program.suspensions() != self.suspensions

    @property
    def was_suspended(self) -> bool:
        """Whether it was suspended at any time since then; False for a node that is no program of ours."""
        return self.has_changed or self.halted or (self.node.program is not None and self.node.program.suspended())
