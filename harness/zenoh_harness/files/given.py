"""What a file is that somebody gave us, told by its content: so that no reader takes one kind for another."""

from __future__ import annotations

import json
import re
from enum import Enum

from zenoh_harness.files.pcap import is_capture

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_ODD = re.compile(r"[0-9a-fA-F]+")
_BETWEEN = re.compile(r"0x|[\s:,]")
"""What may stand before and between the pairs of digits."""
_DIGITS = re.compile(r"[0-9a-fA-Fx\s:,]+")


class Given(Enum):
    """Kinds of content; the value is what is said of it."""

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
    Given.RESULTS: "the conversations of its judgements are the files under evidence/, beside it",
    Given.SCRIPT: "`zconform replay SCRIPT TARGET` does what it says, and explains what is answered",
    Given.COMPRESSED: "unpack it first",
    Given.ODD: "as in 0300, or '03 00'",
    Given.TEXT: "--layer takes the bytes of any file as they are",
    Given.JSON: "--layer takes the bytes of any file as they are",
}
"""What to do with what is none of the kinds that a reader takes."""


def given(data: bytes) -> Given:
    """The kind of some content."""
    if not data:
        return Given.EMPTY
    if is_capture(data):
        return Given.CAPTURE
    if data.startswith(COMPRESSED):
        return Given.COMPRESSED
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        return _beyond_ascii(data)
    if text.startswith("{"):
        return _of_json(text)
    if _DIGITS.fullmatch(text):
        digits = _BETWEEN.sub("", text)
        return Given.HEX if _HEX.fullmatch(digits) else Given.ODD if _ODD.fullmatch(digits) else Given.TEXT
    return _of_text(text)


def digits(text: str) -> bytes:
    """The bytes that hexadecimal digits tell, with or without spaces, colons, commas and 0x. Raises ValueError."""
    return bytes.fromhex(_BETWEEN.sub("", text))


def _of_json(text: str) -> Given:
    first = text.partition("\n")[0]
    try:
        row = json.loads(first)
    except ValueError:
        row = None
    if row is None:
        try:
            row = json.loads(text)
        except ValueError:
            return Given.CONVERSATION if first.startswith('{"conversation"') else Given.TEXT
    for key, kind in (("conversation", Given.CONVERSATION), ("probe", Given.PROBE), ("script", Given.SCRIPT)):
        if key in row:
            return kind
    return Given.RESULTS if "format" in row and "type" in row else Given.JSON


def _of_text(text: str) -> Given:
    if text.startswith("script "):
        return Given.SCRIPT
    if "[[deviation]]" in text:
        return Given.KNOWN
    printable = sum(character.isprintable() or character in "\n\r\t" for character in text)
    return Given.TEXT if printable == len(text) else Given.BYTES


def _beyond_ascii(data: bytes) -> Given:
    """Text of people is UTF-8 with few signs beyond ASCII; what else is there is bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Given.BYTES
    if text.lstrip().startswith("{"):
        return _of_json(text.lstrip())
    return _of_text(text)
