"""`zconform explain`: annotated bytes, any layer, from hex, a file, a recorded conversation, or standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.connection import ConnectionDecoder
from zenoh_conformance.conversation import Conversation, Happened
from zenoh_conformance.explain import Explanation, explain
from zenoh_conformance.verdict import Exit
from zenoh_conformance.wire.layer import Layer
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import conversations

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BETWEEN = re.compile(r"0x|[\s:,]")
"""What may stand before and between the pairs of digits."""

_NAMES = [layer.value for layer in Layer]


@dataclass(frozen=True, slots=True)
class Explained:
    """One explanation and where its bytes come from."""

    head: str
    explanation: Explanation | None = None
    """None for what happened to a link."""

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        return {"of": self.head, **(self.explanation.to_json() if self.explanation else {})}


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="HEX|FILE|-")
@click.option("--layer", type=click.Choice(_NAMES), help="How to read the bytes; guessed when left out.")
@shell_options()
def command(shell: Shell, source: tuple[str, ...], layer: str | None) -> int:
    """Say what bytes mean: offset, bytes, field, meaning; what is odd, and where reading had to stop.

    \b
    Example:  zconform explain 0300          a CLOSE
              zconform explain --layer network 1d 00 02 61 62 01 00 01 78
              zconform explain evidence/x.jsonl    a recorded conversation
    Exit code 1 when some bytes cannot be explained.
    """
    text = list(_told(source, None if layer is None else Layer(layer)))
    if shell.as_json:
        shell.print_json([one.as_json() for one in text])
    else:
        for one in text:
            show_told(shell, one, several=len(text) > 1)
    good = all(one.explanation is None or one.explanation.ok for one in text)
    return int(Exit.CONFORMING if good else Exit.NOT_CONFORMING)


def show_told(shell: Shell, one: Explained, *, several: bool = True) -> None:
    """Print one explanation, under its head where there are several."""
    if several:
        shell.out.print(one.head, style="bold", soft_wrap=True)
    if one.explanation is not None:
        for line in one.explanation.text():
            shell.out.print(plain(line), soft_wrap=True)


def _told(source: tuple[str, ...], layer: Layer | None) -> Iterator[Explained]:
    joined = " ".join(source)
    if _is_hex(joined):
        yield Explained(joined, explain(_bytes(joined), layer))
    elif source == ("-",):
        yield from _content("-", sys.stdin.buffer.read(), layer)
    else:
        for name in source:
            yield from _content(name, _read(name), layer)


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as why:
        hint = "hex is pairs of digits, as in 0300 or '03 00'; anything else is taken as the name of a file"
        raise UsageError(f"{name!r} is neither hex nor a file", seen=str(why.strerror), hint=hint) from why


def _content(name: str, data: bytes, layer: Layer | None) -> Iterator[Explained]:
    """A conversation, hex in text, or the bytes themselves."""
    if data.lstrip().startswith(b'{"conversation"'):
        yield from conversation_told(conversations.parse(data.decode(errors="replace").splitlines(keepends=True), name))
        return
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    yield Explained(name, explain(_bytes(text) if _is_hex(text) else data, layer))


def conversation_told(conversation: Conversation) -> Iterator[Explained]:
    """Event by event; bytes as the batches that they complete, read as the session has come to be."""
    decoders: dict[str, ConnectionDecoder] = {}
    for event in conversation:
        connection = conversation.connection(event.connection)
        decoder = decoders.setdefault(event.connection, ConnectionDecoder(connection))
        who = f"{event.time:9.4f}  {event.connection}  {event.sender.value}"
        if event.kind is not Happened.BYTES:
            yield Explained(f"{who}  {event.kind.value}")
        batches = [seen.message for seen in decoder.feed(event) if seen.kind == "batch"]
        layer = Layer.LOWLATENCY if decoder.directions[event.sender].lowlatency else Layer.BATCH
        for batch in batches:
            yield Explained(f"{who}  {len(batch)} bytes", explain(batch, layer))
        if event.kind is Happened.BYTES and not batches:
            yield Explained(f"{who}  {len(event.data)} bytes, a part of a batch")


def _is_hex(text: str) -> bool:
    return _HEX.fullmatch(_BETWEEN.sub("", text)) is not None


def _bytes(text: str) -> bytes:
    return bytes.fromhex(_BETWEEN.sub("", text))
