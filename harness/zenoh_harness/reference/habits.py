"""How a node treats its links, apart from what it says on them: when it comes, how fast it answers, in which pieces, how many at once.

None of it is the protocol's business, and each is somebody's habit. The world that carries a node, in memory or on sockets, keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import shake_128


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of one node; the defaults are those of the reference."""

    answers_after: float = 0.0
    """Seconds before what it says leaves."""
    jitter: float = 0.0
    """Seconds that may come on top, another number each time, the same in every run."""
    pieces: int = 0
    """Bytes of one write; 0 for as much as there is."""
    links_at_a_time: int | None = None
    """Links that it looks at; further ones wait until one of them has ended."""
    comes_back_after: float | None = 0.1
    """An initiator: seconds from the end of its link to its next; None when somebody must start it again."""
    ends_with: int | None = None
    """An initiator: its program ends with this exit code when its link does."""
    new_zid: bool = False
    """It has another ZenohID each time it is started."""
    log: str = ""
    """A line that it writes for every link."""

    def late(self, number: int) -> float:
        """Seconds after which its n-th utterance leaves."""
        drawn = int.from_bytes(shake_128(number.to_bytes(8, "little")).digest(2), "little") / 0xFFFF
        return self.answers_after + self.jitter * drawn

    def cut(self, data: bytes) -> Iterator[bytes]:
        """What it says, as it writes it."""
        size = self.pieces or len(data)
        return (data[at : at + size] for at in range(0, len(data), size))
