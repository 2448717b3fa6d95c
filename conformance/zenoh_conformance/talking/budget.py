"""What one check reads of a target at most: no traffic extends a wait, or fills our memory.

Most checks ask for well under a megabyte; what we send may come back to each of our sessions. What a target sends beyond that
and the budget, nobody asked for: the check ends without a verdict on its requirement, and its cause says which budget was spent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.reading.batch import LARGEST

BYTES: Final = 2 << 20
"""Bytes from the target's links."""
MESSAGES: Final = 20_000
"""Messages and batches, the messages inside a FRAME each on its own."""
UNPACKED: Final = 8 << 20
"""Bytes of batches after decompression, and of fragments after reassembly."""
EXTENSIONS: Final = 4 << 10
"""Extensions of messages; each takes a hundred times the memory of its byte."""
ALL: Final = {"bytes": BYTES, "messages": MESSAGES, "bytes unpacked": UNPACKED, "extensions": EXTENSIONS}
FEW: Final = {
    "bytes": BYTES >> 4,
    "messages": MESSAGES // 20,
    "bytes unpacked": UNPACKED >> 3,
    "extensions": EXTENSIONS >> 3,
}
"""What a check gets of a target that is suspected, or while `TOGETHER` is spent."""
LARGE: Final = 1 << 14
"""Bytes after which a check decodes in turn with others that have read as much, ..."""
DECODING: Final = 2
"""... so many at a time: a batch of 64 kB may be 60,000 values, twenty megabytes in memory."""
KEPT: Final = 1 << 12
"""Bytes of the target that are kept as evidence of a check whose budget it spent."""
TOGETHER: Final = 2
"""How many whole budgets the checks that run at the same time may hold, all together."""

RETURNS: Final = 16
"""How often at most what we sent may come back, to several sessions or in several answers."""

PIECE: Final = 8
"""Bytes of a very small fragment: what we sent whole may come back in as many messages."""

SUSPECT: Final = 3
"""Checks whose budget a target has spent, after which it gets a small one."""

UNASKED: Final = "that nobody asked for"
"""How the cause of a check ends whose budget the target has spent."""

LOOK: Final = 32
"""Messages between two looks at the budget."""


@dataclass(slots=True, eq=False)
class ReadBudget:
    """What was read so far, of all links of one check."""

    most: Mapping[str, int] = field(default_factory=lambda: ALL)
    beside: Collection[ReadBudget] = ()
    """The budgets of the checks that run at the same time on the same target, this one among them."""
    bytes: int = 0
    messages: int = 0
    unpacked: int = 0
    extensions: int = 0
    sent: int = 0
    """Bytes that we sent: RETURNS times as many may come back."""
    sent_messages: int = 0
    inits: int = 0
    """INITs that we sent: the cookie of each answer may fill a batch."""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    """Held while large input is decoded."""
    reads: int = 0
    """Reads from a link that brought bytes; without a limit of their own."""

    @property
    def spent(self) -> str | None:
        """Why reading ends, or None while there is budget left."""
        for number, (count, few) in enumerate(zip(self._unasked, FEW.values(), strict=True)):
            if count > few and (limit := self._limit(number, count)):
                return f"the target sent {_count(limit)} {list(FEW)[number]} {UNASKED}"
        return None

    def _limit(self, number: int, count: int) -> int:
        """The limit that so many bytes or messages exceed; 0 if none."""
        name = list(FEW)[number]
        if count > self.most[name]:
            return self.most[name]
        together = sum(one._unasked[number] for one in tuple(self.beside))
        return FEW[name] if together > TOGETHER * ALL[name] else 0

    @property
    def _unasked(self) -> tuple[int, ...]:
        """Bytes, messages, bytes unpacked and extensions beyond what our own words may bring about; below zero while there are none."""
        asked = RETURNS * self.sent + LARGEST * self.inits
        messages = RETURNS * (self.sent_messages + self.sent // PIECE)
        extensions = RETURNS * self.sent
        return self.bytes - asked, self.messages - messages, self.unpacked - asked, self.extensions - extensions


@dataclass(slots=True)
class Budgets:
    """The budgets of all checks on one target."""

    under_way: list[ReadBudget] = field(default_factory=list)
    overruns: int = 0
    """Checks whose budget the target has spent."""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    """Held while large input is decoded: where checks run in threads, a semaphore of `DECODING`."""

    @contextmanager
    def one(self) -> Iterator[ReadBudget]:
        """A budget for one check: a small one for a target that has spent several."""
        budget = ReadBudget(FEW if self.overruns >= SUSPECT else ALL, self.under_way, turn=self.turn)
        self.under_way.append(budget)
        try:
            yield budget
        finally:
            self.overruns += budget.spent is not None
            self.under_way.remove(budget)


def _count(number: int) -> str:
    """A round number for people: `4 Mi`, `20,000`, `300`."""
    for size, letter in ((1 << 20, " Mi"), (1 << 10, " Ki"), (1000, ",000")):
        if number >= size and not number % size:
            return f"{number // size}{letter}"
    return str(number)
