"""What keeps a target from answering and is not its fault: that it was suspended from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from zenoh_harness.targets.target import NodeInstance

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

    @classmethod
    def of(cls, node: NodeInstance) -> Watch:
        """Watch a node from now on."""
        program = node.program
        if program is None:
            return cls(node, 0, False)
        # It may go on already, and its supervisor not have said so yet.
        return cls(node, program.suspensions(), program.halted and program.suspended())

    @property
    def has_changed(self) -> bool:
        """Whether it was suspended or continued since then."""
        return self.node.program is not None and self.node.program.suspensions() != self.suspensions

    @property
    def was_suspended(self) -> bool:
        """Whether it was suspended at any time since then; False for a node that is no program of ours."""
        return self.has_changed or self.halted or (self.node.program is not None and self.node.program.suspended())
