"""Lays out state diagrams: states in layers by their distance from the initial state, with counts on the arrows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WIDE, HIGH, ACROSS, DOWN, MARGIN = 150, 40, 310, 110, 24
LINE: Final = 14

Edges = Mapping[tuple[str, str], tuple[str, ...]]
"""(from, to) to the labels of the transition."""


@dataclass(frozen=True, slots=True)
class Box:
    """A state of the diagram."""

    x: int
    y: int
    name: str
    stays: tuple[str, ...] = ()
    """Labels of the transitions to itself, shown above the box."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A transition of the diagram."""

    path: str
    tip: str
    labels: tuple[tuple[int, int, str], ...]
    visits: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A diagram as the template needs it."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    sentence: str


def draw(start: str, edges: Edges, visits: Counter[tuple[str, str]] | None = None) -> Drawn:
    """Lay out a machine from left to right; transitions to the same state are written above it."""
    seen = visits or Counter()
    layers = _layers(start, edges)
    spots: dict[str, tuple[int, int]] = {}
    column: Counter[int] = Counter()
    stays = {state: _with_count(edges.get((state, state), ()), seen[state, state]) for state in layers}
    above = max(map(len, stays.values()), default=0) * LINE
    for state, layer in layers.items():
        spots[state] = (MARGIN + layer * ACROSS, MARGIN + max(above, 30) + column[layer] * (DOWN + above))
        column[layer] += 1
    boxes = tuple(Box(x, y, state, stays[state]) for state, (x, y) in spots.items())
    drawn = {
        (a, b): _with_count(labels, seen[a, b])
        for (a, b), labels in edges.items()
        if a != b and a in spots and b in spots
    }
    lows = _lows({ends: labels for ends, labels in drawn.items() if layers[ends[1]] - layers[ends[0]] != 1}, spots)
    curves = tuple(_curve(spots[a], spots[b], labels, seen[a, b], lows.get((a, b))) for (a, b), labels in drawn.items())
    width = MARGIN * 2 + max(layers.values(), default=0) * ACROSS + WIDE
    height = max([*(y + HIGH for _, y in spots.values()), *lows.values()], default=0) + MARGIN
    text = "; ".join(f"{a} to {b}: {', '.join(labels)}" for (a, b), labels in edges.items())
    return Drawn(width, height, boxes, curves, text)


def _with_count(labels: tuple[str, ...], visits: int) -> tuple[str, ...]:
    return (*labels, f"{visits} times here") if visits else labels


def _layers(start: str, edges: Edges) -> dict[str, int]:
    """Return state to layer: the distance from the initial state; states without exits are in the last layer."""
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


def _lows(arches: Edges, spots: Mapping[str, tuple[int, int]]) -> dict[tuple[str, str], int]:
    """Return the lowest y coordinate of each arch; an arch lies below those that it crosses, so that labels do not overlap."""
    placed: list[tuple[int, int, int]] = []
    lows: dict[tuple[str, str], int] = {}
    for a, b in sorted(arches, key=lambda ends: (abs(spots[ends[1]][0] - spots[ends[0]][0]), ends)):
        left, right = sorted((spots[a][0], spots[b][0]))
        own = LINE * len(arches[a, b]) + 10
        above = [low for x1, x2, low in placed if x1 < right and left < x2]
        lows[a, b] = max([max(spots[a][1], spots[b][1]) + HIGH + 10, *above]) + own
        placed.append((left, right, lows[a, b]))
    return lows


def _curve(a: tuple[int, int], b: tuple[int, int], labels: tuple[str, ...], visits: int, low: int | None) -> Curve:
    """Return a straight line to the next layer, or an arch down to `low` to any other."""
    (ax, ay), (bx, by) = a, b
    if low is None:
        x1, y1, x2, y2 = ax + WIDE, ay + HIGH // 2, bx, by + HIGH // 2
        text = tuple(
            ((x1 + x2) // 2, (y1 + y2) // 2 - 8 - (len(labels) - 1 - n) * LINE, label) for n, label in enumerate(labels)
        )
        return Curve(f"M{x1},{y1} L{x2 - 9},{y2}", f"{x2},{y2} {x2 - 9},{y2 - 5} {x2 - 9},{y2 + 5}", text, visits)
    x1, y1, x2, y2 = ax + WIDE * 2 // 3, ay + HIGH, bx + WIDE // 3, by + HIGH
    deep = 2 * low - (y1 + y2) // 2  # a quadratic curve comes half as far as its point
    text = tuple(((x1 + x2) // 2, low - 6 - (len(labels) - 1 - n) * LINE, label) for n, label in enumerate(labels))
    return Curve(
        f"M{x1},{y1} Q{(x1 + x2) // 2},{deep} {x2},{y2 + 9}",
        f"{x2},{y2} {x2 - 5},{y2 + 9} {x2 + 5},{y2 + 9}",
        text,
        visits,
    )
