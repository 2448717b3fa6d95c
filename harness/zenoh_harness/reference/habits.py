"""Properties of a node's links that the protocol does not define: delays, sizes of writes, number of links, reconnection.

Real implementations differ in each of them. The reference node does not know its habits: the code that connects it to links,
in memory (`memory`) or on sockets (`serve`), implements them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import shake_128


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of one node; the defaults are those of the reference node."""

    answers_after: float = 0.0
    """Seconds by which each write is delayed."""
    jitter: float = 0.0
    """The most seconds of an additional delay, which varies from write to write and is the same in every run."""
    pieces: int = 0
    """The most bytes of one write; 0 for no limit."""
    links_at_a_time: int | None = None
    """Number of links that it serves at a time; further ones wait until one of these has ended. None for no limit."""
    comes_back_after: float | None = 0.1
    """For an initiator: seconds from the end of its link to the next one; None if its program must be restarted."""
    ends_with: int | None = None
    """For an initiator: the exit code with which its program ends when its link ends; None if the program continues."""
    new_zid: bool = False
    """Whether it has another ZenohID after each start."""
    log: str = ""
    """A line that it prints for every link; empty for none."""

    def late(self, number: int) -> float:
        """Return the delay in seconds of the write with this number."""
        drawn = int.from_bytes(shake_128(number.to_bytes(8, "little")).digest(2), "little") / 0xFFFF
        return self.answers_after + self.jitter * drawn

    def cut(self, data: bytes) -> Iterator[bytes]:
        """Yield the data in writes of `pieces` bytes."""
        size = self.pieces or len(data)
        return (data[at : at + size] for at in range(0, len(data), size))
