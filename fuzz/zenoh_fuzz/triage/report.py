"""Explain a finding: the segments of its input, the answer of each codec, and the command that repeats it."""

from __future__ import annotations

import shlex
from dataclasses import replace

from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire import Layer
from zenoh_fuzz import inputs, oracle
from zenoh_harness.files.campaigns import FindingRow


def explain_finding(row: FindingRow, where: str = "") -> FindingRow:
    """Return the finding with segments, explanation and command; `where` is the folder in which it is kept."""
    data = bytes.fromhex(row.input)
    structured = "." in row.oracle or oracle.kind_of(row.oracle).structured
    lines, segments = _explain_message(data) if structured else ([repr(data)], [])
    said = [f"{side.name}: {side.verdict}{', ' if side.told else ''}{side.told}" for side in row.sides]
    return replace(
        row, segments=tuple(segments), explanation=(row.why, *said, *lines), repeat=replay_command(row, where)
    )


def _explain_message(data: bytes) -> tuple[list[str], list[tuple[str, str, str]]]:
    number, message = inputs.split_input(data)
    if number == inputs.VLE:
        return [f"vle {message.hex(' ')}"], [("vle", message.hex(), "")]
    layer = inputs.LAYERS[number]
    told = explain(message, Layer.NETWORK if layer == "lowlatency" else Layer(layer))
    segments = [(line.path, line.data.hex(), line.note) for line in told.lines if not line.inside]
    return [f"as {layer}, {len(message)} bytes", *list(told.text())[:40]], segments


def replay_command(row: FindingRow, where: str) -> str:
    """Return the command that judges the input again."""
    words = ["zconform", "fuzz", "replay", row.oracle, where or row.input]
    return shlex.join([*words, *(word for target in row.targets for word in ("--target", target))])


def lines_of(row: FindingRow) -> list[str]:
    """Return the lines of the finding for a person."""
    if row.embargo:
        return [
            f"{row.id}  under embargo: a current release crashes or runs out of memory; kept only in your data folder"
        ]
    seen = f", {row.count} inputs" if row.count > 1 else ""
    head = f"{row.id}  {row.oracle}/{row.rule}{seen}"
    return [head, f"    {row.why}", *(f"    {line}" for line in row.explanation[1:14]), f"    {row.repeat}"]
