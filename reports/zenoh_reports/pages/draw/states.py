"""State diagrams: states in layers by their distance from the first one, arrows between them, with counts on the arrows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WIDE, HIGH, ACROSS, DOWN, MARGIN = 150, 40, 310, 110, 24
LINE: Final = 14

Edges = Mapping[tuple[str, str], tuple[str, ...]]
"""(from, to) to the labels on the arrow."""


@dataclass(frozen=True, slots=True)
class Box:
    """A state."""

    x: int
    y: int
    name: str
    stays: tuple[str, ...] = ()
    """What is met without leaving it; stands above the box."""


@dataclass(frozen=True, slots=True)
class Curve:
    """An arrow."""

    path: str
    tip: str
    labels: tuple[tuple[int, int, str], ...]
    visits: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the template draws."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    sentence: str


def draw(start: str, edges: Edges, visits: Counter[tuple[str, str]] | None = None) -> Drawn:
    """Lay a machine out from left to right; what leads from a state to itself is written above it."""
    seen = visits or Counter()
    layers = _layers(start, edges)
    spots: dict[str, tuple[int, int]] = {}
    column: Counter[int] = Counter()
    stays = {state: _counted(edges.get((state, state), ()), seen[state, state]) for state in layers}
    above = max(map(len, stays.values()), default=0) * LINE
    for state, layer in layers.items():
        spots[state] = (MARGIN + layer * ACROSS, MARGIN + max(above, 30) + column[layer] * (DOWN + above))
        column[layer] += 1
    boxes = tuple(Box(x, y, state, stays[state]) for state, (x, y) in spots.items())
    curves = tuple(
        _curve(spots[a], spots[b], _counted(labels, seen[a, b]), seen[a, b], far=layers[b] - layers[a] != 1)
        for (a, b), labels in edges.items() if a != b and a in spots and b in spots
    )  # fmt: skip
    arches = [
        abs(layers[b] - layers[a])
        for a, b in edges
        if a != b and a in layers and b in layers and layers[b] - layers[a] != 1
    ]
    width = MARGIN * 2 + max(layers.values(), default=0) * ACROSS + WIDE
    height = (
        max((y for _, y in spots.values()), default=0) + HIGH + MARGIN * 2 + (40 + 28 * max(arches) if arches else 0)
    )
    text = "; ".join(f"{a} to {b}: {', '.join(labels)}" for (a, b), labels in edges.items())
    return Drawn(width, height, boxes, curves, text)


def _counted(labels: tuple[str, ...], visits: int) -> tuple[str, ...]:
    return (*labels, f"{visits} times here") if visits else labels


def _layers(start: str, edges: Edges) -> dict[str, int]:
    """State to its distance from the first; states without exits one layer after all others."""
    following: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        following[a].append(b)
    layers, queue = {start: 0}, [start]
    while queue:
        here = queue.pop(0)
        for there in following[here]:
            if there not in layers:
                layers[there] = layers[here] + 1
                queue.append(there)
    ends = {state for state in layers if not set(following[state]) - {state}} - {start}
    last = max((layer for state, layer in layers.items() if state not in ends), default=0) + 1
    return {state: last if state in ends else layer for state, layer in layers.items()}


def _curve(a: tuple[int, int], b: tuple[int, int], labels: tuple[str, ...], visits: int, *, far: bool) -> Curve:
    (ax, ay), (bx, by) = a, b
    if not far:
        x1, y1, x2, y2 = ax + WIDE, ay + HIGH // 2, bx, by + HIGH // 2
        text = tuple(
            ((x1 + x2) // 2, (y1 + y2) // 2 - 8 - (len(labels) - 1 - n) * LINE, label) for n, label in enumerate(labels)
        )
        return Curve(f"M{x1},{y1} L{x2 - 9},{y2}", f"{x2},{y2} {x2 - 9},{y2 - 5} {x2 - 9},{y2 + 5}", text, visits)
    x1, y1, x2, y2 = ax + WIDE * 2 // 3, ay + HIGH, bx + WIDE // 3, by + HIGH
    deep = max(y1, y2) + 50 + abs(bx - ax) // 7
    low = (max(y1, y2) + deep) // 2 - 4 - (len(labels) - 1) * LINE
    text = tuple(((x1 + x2) // 2, low + n * LINE, label) for n, label in enumerate(labels))
    return Curve(
        f"M{x1},{y1} Q{(x1 + x2) // 2},{deep} {x2},{y2 + 9}",
        f"{x2},{y2} {x2 - 5},{y2 + 9} {x2 + 5},{y2 + 9}",
        text,
        visits,
    )
