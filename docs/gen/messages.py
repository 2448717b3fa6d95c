"""Generates the page of all messages, their fields and their extensions from the declarations."""

from __future__ import annotations

from collections.abc import Iterator

import zenoh_conformance.messages  # noqa: F401 - declares them
from zenoh_conformance.wire.describe import DeclarationFacts, ExtensionFacts, FieldFacts, describe
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.registry import LAYERS, MESSAGES

HEAD = """# Messages

Each message is declared once, in `conformance/zenoh_conformance/messages/`. This page, the codec, `zconform explain`, the
Hypothesis strategies and the fuzzers' mutators are generated from that declaration. Fields are in wire order; a field with
a bit is part of the header. `X` is a reserved bit.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    facts = [describe(each) for each in MESSAGES]
    sections = "\n".join(_layer(layer, [one for one in facts if one.layer is layer]) for layer in LAYERS)
    yield "generated/messages.md", f"{HEAD}\n{sections}"


def _layer(layer: Layer, messages: list[DeclarationFacts]) -> str:
    return f"## {layer.value.capitalize()}\n\n" + "\n".join(map(_message, messages))


def _message(facts: DeclarationFacts) -> str:
    lines = [f"### {facts.title}", "", facts.doc.splitlines()[0], ""]
    lines += [f"Id `{facts.id:#04x}`, header bits 7 to 5: `{' '.join(facts.cells)}`, from *{facts.ref}*.", ""]
    lines += _table(("field", "wire", "follows when", ""), list(map(_field, facts.fields)))
    lines += _table(("extension", "first byte", "encoding", ""), list(map(_extension, facts.extensions)))
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    return [_row(head), _row(("---",) * len(head)), *map(_row, rows), ""]


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _field(facts: FieldFacts) -> tuple[str, ...]:
    condition = facts.when or ("" if facts.wire.startswith("bit") else facts.cell)
    return f"`{facts.name}`", f"`{facts.wire}`", f"`{condition}`" if condition else "", facts.doc


def _extension(facts: ExtensionFacts) -> tuple[str, ...]:
    mandatory = ", mandatory" if facts.mandatory else ""
    return f"`{facts.name}`", f"`{facts.header:#04x}`", f"{facts.enc.word}{mandatory}", facts.doc.splitlines()[0]
