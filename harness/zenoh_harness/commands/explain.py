"""`zconform explain`: annotated bytes, any layer, from hex, a file, a recorded conversation, or standard input."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from zenoh_conformance.explain import explain
from zenoh_conformance.verdict import Exit
from zenoh_conformance.wire.layer import Layer
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import captures, conversations
from zenoh_harness.files.explained import Explained, conversation_told
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.given import HINTS, Given, digits, given

_NAMES = [layer.value for layer in Layer]


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="HEX|FILE|-")
@click.option("--layer", type=click.Choice(_NAMES), help="How to read the bytes; guessed when left out.")
@shell_options()
def command(shell: Shell, source: tuple[str, ...], layer: str | None) -> int:
    """Say what bytes mean: offset, bytes, field, meaning; what is odd, and where reading had to stop.

    \b
    Example:  zconform explain 0300          a CLOSE
              zconform explain --layer network 3d 00 02 61 62 01 01 78
              zconform explain evidence/x.jsonl    a recorded conversation
              zconform explain lo.pcapng           a capture: its TCP put together, message by message
    Exit code 1 when some bytes cannot be explained, 3 when a capture is damaged and its rest was not read.
    """
    text = list(_told(source, None if layer is None else Layer(layer)))
    if shell.as_json:
        shell.print_json([one.as_json() for one in text])
    else:
        for one in text:
            show_told(shell, one, several=len(text) > 1)
    if any(one.unread for one in text):
        return int(Exit.CANNOT_GO_ON)
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
    kind = given(joined.encode(errors="replace"))
    if kind is Given.HEX and not any(Path(name).is_file() for name in source):
        yield Explained(joined, explain(digits(joined), layer))
    elif source == ("-",):
        yield from _content("-", sys.stdin.buffer.read(), layer)
    else:
        for name in source:
            yield from _content(name, _read(name, odd=kind is Given.ODD), layer)


def _read(name: str, *, odd: bool) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as why:
        if odd:
            raise UsageError(f"{name!r} is {Given.ODD.value}", hint=HINTS[Given.ODD]) from why
        hint = "hex is pairs of digits, as in 0300 or '03 00'; anything else is taken as the name of a file"
        raise UsageError(f"{name!r} is neither hex nor a file", seen=str(why.strerror), hint=hint) from why


def _content(name: str, data: bytes, layer: Layer | None) -> Iterator[Explained]:
    """A conversation, a capture, hex in text, or the bytes themselves; what is another kind of file is said to be that."""
    kind = given(data)
    if kind is Given.CONVERSATION:
        yield from conversation_told(conversations.parse(data.decode(errors="replace").splitlines(keepends=True), name))
    elif kind is Given.CAPTURE:
        yield from _capture_told(name, data)
    elif kind is Given.HEX:
        yield Explained(name, explain(digits(data.decode()), layer))
    elif kind in (Given.BYTES, Given.EMPTY) or (layer is not None and kind is not Given.ODD):
        yield Explained(name, explain(data, layer))
    else:
        raise UsageError(f"{name} is {kind.value}", step="explain", hint=HINTS.get(kind, ""))


def _capture_told(name: str, data: bytes) -> Iterator[Explained]:
    """A capture, flow by flow put together; what is not Zenoh's is counted."""
    path = Path(name)
    with tempfile.TemporaryDirectory() as folder:
        if not path.is_file():
            path = Path(folder) / "standard-input"
            path.write_bytes(data)
        captured = captures.read(path)
    yield from conversation_told(captured.conversation)
    for what, count in sorted(captured.counted.items()):
        yield Explained(f"beside it: {count} {what}", unread=captured.damaged and what.startswith("damaged"))
    if not captured.conversation.events:
        raise FileFault(name, None, f"is a capture of {captured.read} packets, none of which is Zenoh's")
