"""`zconform explain`: decode bytes of any layer from hexadecimal text, a file, a recording, or standard input."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.conversation import Conversation
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire import Layer
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import conversations
from zenoh_harness.files.capture_stream import CaptureStream
from zenoh_harness.files.content_types import HINTS, ContentType, bytes_of_hex, content_type, head_of
from zenoh_harness.files.explained import Explained, explain_conversation
from zenoh_harness.files.faults import FileFault, regular

_NAMES = [layer.value for layer in Layer]


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="HEX|FILE|-")
@click.option("--layer", type=click.Choice(_NAMES), help="Layer of the bytes; guessed by default.")
@shell_options()
def command(shell: Shell, source: tuple[str, ...], layer: str | None) -> int:
    """Decode bytes and print the meaning of each field.

    Prints offset, bytes, field and meaning; marks unusual values, and the byte at which decoding failed.

    \b
    Example:  zconform explain 0300          a CLOSE
              zconform explain --layer network 3d 00 02 61 62 01 01 78
              zconform explain evidence/x.jsonl    a recorded conversation
              zconform explain lo.pcapng           a capture; its TCP streams are reassembled
    Exit codes: 0 all bytes were decoded, 1 some were not, 2 usage, 3 a capture is damaged and was read in part.
    """
    parts = _explain(source, None if layer is None else Layer(layer))
    if shell.as_json:
        every = list(parts)
        shell.print_json([part.as_json() for part in every])
        return int(max(map(_code, every), default=Exit.CONFORMING))
    return int(max(map(_code, _print_all(shell, parts)), default=Exit.CONFORMING))


def _code(part: Explained) -> Exit:
    if part.unread:
        return Exit.CANNOT_GO_ON
    return Exit.CONFORMING if part.explanation is None or part.explanation.ok else Exit.NOT_CONFORMING


def _print_all(shell: Shell, parts: Iterator[Explained]) -> Iterator[Explained]:
    """Print explanations as they come: a capture may be larger than the memory."""
    first = list(islice(parts, 2))
    for part in chain(first, parts):
        print_explained(shell, part, with_head=len(first) > 1)
        yield part


def print_explained(shell: Shell, part: Explained, *, with_head: bool = True) -> None:
    """Print one explanation, with its heading if there are several."""
    if with_head:
        shell.out.print(part.head, style="bold", soft_wrap=True)
    if part.explanation is not None:
        shell.print_lines(part.explanation.text())


def _explain(source: tuple[str, ...], layer: Layer | None) -> Iterator[Explained]:
    joined = " ".join(source)
    kind = content_type(joined.encode(errors="replace"))
    if kind is ContentType.HEX and not any(map(_is_file, source)):
        yield Explained(joined, explain(bytes_of_hex(joined), layer))
    elif source == ("-",):
        yield from _content("-", sys.stdin.buffer.read(), layer)
    else:
        for name in source:
            of_file = content_type(head_of(Path(name))) if _is_file(name) else None
            if of_file is ContentType.CAPTURE:
                yield from _explain_capture(Path(name))
            elif of_file is ContentType.CONVERSATION:
                with conversations.open_conversation(Path(name)) as (conversation, events):
                    yield from explain_conversation(conversation, events)
            else:
                yield from _content(name, _read(name, odd=kind is ContentType.ODD), layer)


def _is_file(name: str) -> bool:
    """Whether a word names a file; a long one cannot."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def _read(name: str, *, odd: bool) -> bytes:
    try:
        return regular(Path(name)).read_bytes()
    except OSError as why:
        if odd:
            raise UsageError(f"{name!r} is {ContentType.ODD.value}", hint=HINTS[ContentType.ODD]) from why
        hint = "hexadecimal text is pairs of digits, such as 0300 or '03 00'; anything else is taken for a file name"
        raise UsageError(f"{name!r} is neither hexadecimal nor a file", seen=str(why.strerror), hint=hint) from why


def _content(name: str, data: bytes, layer: Layer | None) -> Iterator[Explained]:
    """Explain a conversation, a capture, hexadecimal text, or bytes. Raises UsageError that names any other kind of file."""
    kind = content_type(data)
    if kind is ContentType.CONVERSATION:
        yield from explain_conversation(
            conversations.parse(data.decode(errors="replace").splitlines(keepends=True), name)
        )
    elif kind is ContentType.CAPTURE:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "standard-input"
            path.write_bytes(data)
            yield from _explain_capture(path)
    elif kind is ContentType.HEX:
        yield Explained(name, explain(bytes_of_hex(data.decode()), layer))
    elif kind in (ContentType.BYTES, ContentType.EMPTY) or (layer is not None and kind is not ContentType.ODD):
        yield Explained(name, explain(data, layer))
    else:
        hint = HINTS.get(kind, "--layer takes the bytes of any file as they are")
        raise UsageError(f"{name} is {kind.value}", step="explain", hint=hint)


def _explain_capture(path: Path) -> Iterator[Explained]:
    """Explain a capture packet by packet, with its TCP streams reassembled; other traffic is counted."""
    capture = CaptureStream(path)
    yield from explain_conversation(Conversation(capture.connections), capture)
    read = capture.counted.pop("packets", 0)
    for traffic, count in sorted(capture.counted.items()):
        yield Explained(
            f"also in the file: {count} {traffic}", unread=capture.damaged and traffic.startswith("damaged")
        )
    if not capture.connections:
        raise FileFault(path, None, f"is a capture of {read} packets without Zenoh traffic")
