"""Lays out a conversation as a sequence diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zenoh_reports.plain.wirelog import Log, LogRow

MOST: Final = 60
"""The maximum number of events in a diagram."""
WIDE, TOP, STEP, LEFT = 760, 58, 34, 130
LABEL: Final = 58
"""The maximum length of a label."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An event of the diagram."""

    y: int
    x1: int
    x2: int
    label: str
    time: str
    kind: str
    """`bytes`, `open`, `eof`, `reset`."""
    guilty: bool
    number: int

    @property
    def middle(self) -> int:
        """The x coordinate of its label."""
        return (self.x1 + self.x2) // 2

    @property
    def tip(self) -> str:
        """The points of the arrow head."""
        back = -9 if self.x2 > self.x1 else 9
        return f"{self.x2},{self.y} {self.x2 + back},{self.y - 5} {self.x2 + back},{self.y + 5}"


@dataclass(frozen=True, slots=True)
class Sequenced:
    """A diagram as the template needs it."""

    width: int
    height: int
    lanes: tuple[tuple[int, str], ...]
    arrows: tuple[Arrow, ...]
    left_out: int
    sentence: str
    """The diagram as text, for screen readers."""


def sequence(log: Log) -> Sequenced:
    """Lay out at most `MOST` events, around the deviation if there are more."""
    rows = visible_rows(log)
    names = lanes(log.rows)
    spots = {name: LEFT + index * (WIDE - 2 * 60 - LEFT) // max(len(names) - 1, 1) for index, name in enumerate(names)}
    several = len(log.connections) > 1
    arrows = tuple(
        Arrow(
            y=TOP + (index + 1) * STEP,
            x1=spots[row.sender],
            x2=spots[row.receiver],
            label=_label(row, several=several),
            time=f"{row.time * 1000:.1f} ms",
            kind=row.happened,
            guilty=row.guilty,
            number=row.number,
        )
        for index, row in enumerate(rows)
    )
    return Sequenced(
        WIDE,
        TOP + (len(rows) + 1) * STEP,
        tuple((spots[name], name) for name in names),
        arrows,
        len(log.rows) + log.left_out - len(rows),
        sentence(rows),
    )


def visible_rows(log: Log) -> list[LogRow]:
    """Return the rows that the diagram shows."""
    if len(log.rows) <= MOST:
        return log.rows
    charged = next((index for index, row in enumerate(log.rows) if row.guilty), len(log.rows) - 1)
    first = max(0, min(charged - MOST * 3 // 4, len(log.rows) - MOST))
    return log.rows[first : first + MOST]


def lanes(rows: Sequence[LogRow]) -> list[str]:
    """Return the names of the participants, the harness first."""
    names = dict.fromkeys(name for row in rows for name in (row.sender, row.receiver))
    return sorted(names, key=lambda name: name != "harness") or ["harness", "target"]


def _label(row: LogRow, *, several: bool) -> str:
    text = f"{row.connection}: {row.label}" if several else row.label
    return text if len(text) <= LABEL else f"{text[: LABEL - 2]}.."


def sentence(rows: Sequence[LogRow]) -> str:
    """Return the rows as text: `harness: InitSyn; target: InitAck; ...`."""
    return "; ".join(f"{row.sender}: {row.label}" for row in rows[:20]) + ("; and so on" if len(rows) > 20 else "")
