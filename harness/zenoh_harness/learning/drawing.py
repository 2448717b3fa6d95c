"""A learned automaton as a picture: Mermaid, dot, and SVG that needs no other program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from html import escape

from zenoh_harness.learning.automaton import Mealy

WIDE, GAP, LINE, HIGH = 170, 150, 15, 34
"""Widths of a state and of the room between two, height of a line of text and of a state, in pixels."""


def edges(machine: Mealy) -> dict[tuple[int, int], list[str]]:
    """(from, to) to the labels on it: what is said, what comes; what nobody asks of an ended link is left out."""
    found: dict[tuple[int, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (state, symbol), (output, there) in machine.steps.items():
        if state not in machine.sinks:
            found[state, there][output].append(symbol)
    return {
        ends: [f"{' | '.join(symbols)} / {output}" for output, symbols in by_output.items()]
        for ends, by_output in sorted(found.items())
    }


def mermaid(machine: Mealy, names: Mapping[int, str]) -> str:
    """As a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> s0"]
    lines += [f'    state "{names[state]}" as s{state}' for state in machine.states]
    lines += [f"    s{a} --> s{b}: {label}" for (a, b), labels in edges(machine).items() for label in labels]
    return "\n".join(lines) + "\n"


def dot(machine: Mealy, names: Mapping[int, str]) -> str:
    """As Graphviz reads it."""
    lines = ["digraph handshake {", "    rankdir=LR;", "    node [shape=box, style=rounded];"]
    lines += [f'    s{state} [label="{names[state]}"];' for state in machine.states]
    lines += [f'    s{a} -> s{b} [label="{_joined(labels)}"];' for (a, b), labels in edges(machine).items()]
    return "\n".join([*lines, "}"]) + "\n"


def _joined(labels: list[str]) -> str:
    return "\\n".join(label.replace('"', "'") for label in labels)


def svg(machine: Mealy, names: Mapping[int, str], title: str) -> str:
    """As SVG: the states in a row in the order of their shortest words, under each what keeps it or ends the link there."""
    row = [state for state in machine.access() if state not in machine.sinks]
    spot = {state: 20 + n * (WIDE + GAP) for n, state in enumerate(row)}
    lines: list[str] = []
    deepest = 0
    for (a, b), labels in edges(machine).items():
        if a == b or b in machine.sinks:
            continue
        lines.append(_arrow(spot[a], spot[b], labels, back=spot[b] < spot[a]))
    for state in row:
        told = _under(machine, state)
        deepest = max(deepest, len(told))
        lines.append(_box(spot[state], names[state], told))
    width = 40 + len(row) * (WIDE + GAP)
    height = 130 + HIGH + (deepest + 1) * LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" role="img">'
    )
    frame = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/>'
    caption = f'<text x="20" y="24" font-size="14" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, frame, _MARKER, caption, *lines, "</svg>"]) + "\n"


_MARKER = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
)


def _under(machine: Mealy, state: int) -> list[str]:
    """What is said in a state and does not lead to another one: it stays, or the link ends."""
    told: dict[str, list[str]] = defaultdict(list)
    for symbol in machine.symbols:
        output, there = machine.steps[state, symbol]
        if there == state:
            told[f"stays: {output}"].append(symbol)
        elif there in machine.sinks:
            told[f"ends: {output}"].append(symbol)
    return [line for head, symbols in sorted(told.items()) for line in (head, *(f"    {symbol}" for symbol in symbols))]


def _box(x: int, name: str, told: list[str]) -> str:
    y = 100
    shapes = [
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="#e8eef7" stroke="#334"/>',
        f'<text x="{x + WIDE // 2}" y="{y + 21}" text-anchor="middle" font-weight="bold">{escape(name)}</text>',
    ]
    for n, line in enumerate(told):
        indent = 14 if line.startswith(" ") else 0
        weight = ' font-style="italic"' if not indent else ""
        at = y + HIGH + (n + 1) * LINE + 3
        shapes.append(f'<text x="{x + 4 + indent}" y="{at}"{weight}>{escape(line.strip())}</text>')
    return "".join(shapes)


def _arrow(a: int, b: int, labels: list[str], *, back: bool) -> str:
    y = 100 + HIGH // 2
    if not back and b - a == WIDE + GAP:
        path, middle, top = f"M{a + WIDE},{y} L{b},{y}", a + WIDE + GAP // 2, y - 6
    else:
        rise = 60
        path = f"M{a + WIDE // 2},100 Q{(a + b + WIDE) // 2},{100 - rise} {b + WIDE // 2},100"
        middle, top = (a + b + WIDE) // 2, 66
    told = "".join(
        f'<text x="{middle}" y="{top - (len(labels) - 1 - n) * LINE}" text-anchor="middle">{escape(label)}</text>'
        for n, label in enumerate(labels)
    )
    return f'<path d="{path}" fill="none" stroke="#334" marker-end="url(#tip)"/>{told}'
