"""One page of all messages, their fields and their extensions, drawn from the declarations."""

from __future__ import annotations

from collections.abc import Iterator

import zenoh_conformance.messages  # noqa: F401 - declares them
from zenoh_conformance.wire.describe import ExtensionFacts, Facts, FieldFacts, describe
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.registry import LAYERS, MESSAGES

HEAD = """# Messages

Each message is declared once, in `conformance/zenoh_conformance/messages/`; this page, the codec, `zconform explain`,
the strategies and the fuzzers' mutators are all made from that declaration. Fields stand in wire order; a field with a
bit is part of the header. `X` is a reserved bit.
"""


def pages() -> Iterator[tuple[str, str]]:
    """The place of the page and its Markdown."""
    facts = [describe(each) for each in MESSAGES]
    sections = "\n".join(_layer(layer, [one for one in facts if one.layer is layer]) for layer in LAYERS)
    yield "generated/messages.md", f"{HEAD}\n{sections}"


def _layer(layer: Layer, messages: list[Facts]) -> str:
    return f"## {layer.value.capitalize()}\n\n" + "\n".join(_message(each) for each in messages)


def _message(one: Facts) -> str:
    lines = [f"### {one.title}", "", one.doc.splitlines()[0], ""]
    lines += [f"Id `{one.id:#04x}`, header bits 7 to 5: `{' '.join(one.cells)}`, from *{one.ref}*.", ""]
    lines += _table(("field", "wire", "follows when", ""), [_field(each) for each in one.fields])
    if one.extensions:
        lines += _table(("extension", "first byte", "encoding", ""), [_extension(each) for each in one.extensions])
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    return [_row(head), _row(("---",) * len(head)), *map(_row, rows), ""]


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _field(one: FieldFacts) -> tuple[str, ...]:
    presence = f"`{one.when}`" if one.when else f"`{one.cell}`" if one.cell and not one.wire.startswith("bit") else ""
    return f"`{one.name}`", f"`{one.wire}`", presence, one.doc


def _extension(one: ExtensionFacts) -> tuple[str, ...]:
    mandatory = ", mandatory" if one.mandatory else ""
    return f"`{one.name}`", f"`{one.header:#04x}`", f"{one.enc.word}{mandatory}", one.doc.splitlines()[0]
