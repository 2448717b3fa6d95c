"""Draw a learned automaton as Mermaid, Graphviz dot, or SVG that needs no other program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from html import escape

from zenoh_harness.probing.learning.automaton import END, SILENCE, WORKS, Mealy

WIDE, GAP, LINE, HIGH = 170, 150, 15, 34
"""In pixels: width of a state, gap between two, height of a line of text, height of a state."""
LEFT, FLAT, ARCHED = 20, 48, 100
"""In pixels: margin; distance of the states from the title, without and with arrows above them."""


def edges(machine: Mealy) -> dict[tuple[int, int], list[str]]:
    """Return the labels of each edge (from, to), as symbol and output; edges out of an ended link are left out."""
    found: dict[tuple[int, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (state, symbol), (output, there) in machine.steps.items():
        if state not in machine.sinks:
            found[state, there][output].append(symbol)
    return {
        ends: [f"{' | '.join(symbols)} / {output}" for output, symbols in by_output.items()]
        for ends, by_output in sorted(found.items())
    }


def mermaid(machine: Mealy, names: Mapping[int, str]) -> str:
    """Return a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> s0"]
    lines += [f'    state "{names[state]}" as s{state}' for state in machine.states]
    lines += [f"    s{a} --> s{b}: {label}" for (a, b), labels in edges(machine).items() for label in labels]
    return "\n".join(lines) + "\n"


def dot(machine: Mealy, names: Mapping[int, str]) -> str:
    """Return a graph in Graphviz's dot language."""
    lines = ["digraph handshake {", "    rankdir=LR;", "    node [shape=box, style=rounded];"]
    lines += [f'    s{state} [label="{names[state]}"];' for state in machine.states]
    lines += [f'    s{a} -> s{b} [label="{_label_text(labels)}"];' for (a, b), labels in edges(machine).items()]
    return "\n".join([*lines, "}"]) + "\n"


def _label_text(labels: list[str]) -> str:
    return "\\n".join(label.replace('"', "'") for label in labels)


Divergences = Mapping[tuple[int, str], str]
"""(state, symbol) to the different output of another target."""


def svg(machine: Mealy, names: Mapping[int, str], title: str, apart: Divergences | None = None, other: str = "") -> str:
    """Return an SVG: the states in a row by their shortest words, and under each the steps that stay or end the link.

    `apart`: the steps in which the target `other` differs; they are drawn in red.
    """
    row = [state for state in machine.access() if state not in machine.sinks]
    spot = {state: LEFT + n * (WIDE + GAP) for n, state in enumerate(row)}
    moves = [(a, b, labels) for (a, b), labels in edges(machine).items() if a != b and b not in machine.sinks]
    top = FLAT if all(spot[b] - spot[a] == WIDE + GAP for a, b, _ in moves) else ARCHED
    lines = [_arrow(spot[a], spot[b], labels, top) for a, b, labels in moves]
    deepest = 0
    for state in row:
        notes = _under(machine, state, apart or {}, other)
        deepest = max(deepest, len(notes))
        lines.append(_box(spot[state], top, names[state], notes))
    width = 2 * LEFT + len(row) * (WIDE + GAP) - GAP
    height = top + HIGH + (deepest + 2) * LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" role="img">'
    )
    frame = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/>'
    caption = f'<text x="{LEFT}" y="24" font-size="14" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, frame, _MARKER, caption, *lines, "</svg>"]) + "\n"


_MARKER = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
)

_WORDS = {END: "without Close", WORKS: "works on", SILENCE: "silent"}


def _under(machine: Mealy, state: int, apart: Divergences, other: str) -> list[tuple[str, bool]]:
    """Return the lines under a state: symbols that stay in it or end the link, and each difference on its own line.

    Each line comes with whether it is about a difference.
    """
    by_head: dict[str, list[str]] = defaultdict(list)
    lines: list[tuple[str, bool]] = []
    for symbol in machine.symbols:
        output, there = machine.steps[state, symbol]
        if (state, symbol) in apart:
            lines.append((f"{symbol}: {_WORDS.get(output, output)}", True))
            lines.append((f"    {other}: {_WORDS.get(apart[state, symbol], apart[state, symbol])}", True))
        elif there == state:
            by_head[f"stays, {_WORDS.get(output, output)}"].append(symbol)
        elif there in machine.sinks:
            by_head[f"ends the link, {_WORDS.get(output, output)}"].append(symbol)
    for head, symbols in sorted(by_head.items()):
        lines += [(head, False), *((f"    {symbol}", False) for symbol in symbols)]
    return lines


def _box(x: int, y: int, name: str, notes: list[tuple[str, bool]]) -> str:
    shapes = [
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="#e8eef7" stroke="#334"/>',
        f'<text x="{x + WIDE // 2}" y="{y + 21}" text-anchor="middle" font-weight="bold">{escape(name)}</text>',
    ]
    for n, (line, differs) in enumerate(notes):
        indent = 14 if line.startswith(" ") else 0
        style = ' fill="#b00020" font-weight="bold"' if differs else ' font-style="italic"' if not indent else ""
        at = y + HIGH + (n + 1) * LINE + 3
        shapes.append(f'<text x="{x + 4 + indent}" y="{at}"{style}>{escape(line.strip())}</text>')
    return "".join(shapes)


def _arrow(a: int, b: int, labels: list[str], top: int) -> str:
    y = top + HIGH // 2
    if b - a == WIDE + GAP:
        path, middle, below = f"M{a + WIDE},{y} L{b},{y}", a + WIDE + GAP // 2, y - 6
    else:
        path = f"M{a + WIDE // 2},{top} Q{(a + b + WIDE) // 2},{top - 60} {b + WIDE // 2},{top}"
        middle, below = (a + b + WIDE) // 2, top - 34
    captions = "".join(
        f'<text x="{middle}" y="{below - (len(labels) - 1 - n) * LINE}" text-anchor="middle">{escape(label)}</text>'
        for n, label in enumerate(labels)
    )
    return f'<path d="{path}" fill="none" stroke="#334" marker-end="url(#tip)"/>{captions}'
