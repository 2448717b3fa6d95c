"""Determine the type of a file from its content, so that a reader refuses a file of another type with a helpful message."""

from __future__ import annotations

import json
import re
from enum import Enum
from pathlib import Path
from typing import Final

from zenoh_harness.files.faults import regular, unreadable
from zenoh_harness.files.pcap import is_capture
from zenoh_harness.files.unpacking import inside

HEAD: Final = 1 << 20
"""Bytes of a file that are read to recognise its type."""
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_ODD = re.compile(r"[0-9a-fA-F]+")
_BETWEEN = re.compile(r"0x|[\s:,]")
"""Text that may stand before and between pairs of hexadecimal digits."""
_DIGITS = re.compile(r"[0-9a-fA-Fx\s:,]+")


class ContentType(Enum):
    """Types of content; the value describes the type in an error message."""

    EMPTY = "empty"
    CAPTURE = "a capture"
    CONVERSATION = "a recorded conversation"
    HEX = "hexadecimal digits"
    ODD = "an odd number of hexadecimal digits, where a byte is two"
    RESULTS = "the results of a run"
    SCRIPT = "a script"
    PROBE = "the results of a probe"
    KNOWN = "a list of known deviations"
    JSON = "JSON that is none of our files"
    COMPRESSED = "a compressed file"
    TEXT = "text, and no hexadecimal digits"
    BYTES = "bytes of no kind that is known here"


COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh")
HINTS = {
    ContentType.RESULTS: "the conversations of its judgements are the files under evidence/, beside it",
    ContentType.SCRIPT: "`zconform replay SCRIPT TARGET` does what it says, and explains what is answered",
    ContentType.COMPRESSED: "unpack it first",
    ContentType.ODD: "as in 0300, or '03 00'",
}
"""Type to the hint of the error message of a reader that does not accept it."""


def head_of(path: Path) -> bytes:
    """Return what tells the type of a file: its beginning, or its first line if that is JSON. Raises FileFault."""
    try:
        with regular(path).open("rb") as source:
            data = source.read(HEAD)
    except OSError as why:
        raise unreadable(path, why) from why
    return data.partition(b"\n")[0] + b"\n" if data.startswith(b"{") and b"\n" in data else data


def content_type(data: bytes) -> ContentType:
    """Return the type of the content of a file."""
    if not data:
        return ContentType.EMPTY
    if is_capture(data):
        return ContentType.CAPTURE
    if data.startswith(COMPRESSED):
        return ContentType.CAPTURE if is_capture(inside(data)) else ContentType.COMPRESSED
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        return _beyond_ascii(data)
    if text.startswith("{"):
        return _of_json(text)
    if _DIGITS.fullmatch(text):
        digits = _BETWEEN.sub("", text)
        return (
            ContentType.HEX
            if _HEX.fullmatch(digits)
            else ContentType.ODD
            if _ODD.fullmatch(digits)
            else ContentType.TEXT
        )
    return _of_text(text)


def bytes_of_hex(text: str) -> bytes:
    """Return the bytes of hexadecimal digits, with or without spaces, colons, commas and 0x. Raises ValueError."""
    return bytes.fromhex(_BETWEEN.sub("", text))


def _of_json(text: str) -> ContentType:
    first = text.partition("\n")[0]
    try:
        row = json.loads(first)
    except ValueError:
        row = None
    if row is None:
        try:
            row = json.loads(text)
        except ValueError:
            return ContentType.CONVERSATION if first.startswith('{"conversation"') else ContentType.TEXT
    for key, kind in (
        ("conversation", ContentType.CONVERSATION),
        ("probe", ContentType.PROBE),
        ("script", ContentType.SCRIPT),
    ):
        if key in row:
            return kind
    return ContentType.RESULTS if "format" in row and "type" in row else ContentType.JSON


def _of_text(text: str) -> ContentType:
    if text.startswith("script "):
        return ContentType.SCRIPT
    if "[[deviation]]" in text:
        return ContentType.KNOWN
    printable = sum(character.isprintable() or character in "\n\r\t" for character in text)
    return ContentType.TEXT if printable == len(text) else ContentType.BYTES


def _beyond_ascii(data: bytes) -> ContentType:
    """Return the type of content that is not ASCII: TEXT if it is UTF-8, else BYTES."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ContentType.BYTES
    return _of_json(text.lstrip()) if text.lstrip().startswith("{") else _of_text(text)
