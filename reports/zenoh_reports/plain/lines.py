"""JSON lines as they are found: whole, half written, foreign, compressed. What cannot be read is a value, not an exception."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from zenoh_harness.files.faults import regular

LONGEST: Final = 16 << 20
"""Bytes of a line; a longer one is left out, so that memory stays bounded."""
_GZIP: Final = b"\x1f\x8b"
_WIDEST: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a line, or a file from there on, was left out."""

    why: str


Found = tuple[int, Mapping[str, Any] | Fault]
"""Line number from 1 (0: the file itself), and the object or why there is none."""


Here = Mapping[str, Any]
"""What is known of a row before its line is looked at: column to value."""
Row = TypeVar("Row")


def row_of(row: Callable[..., Row], here: Here, found: object, made: Callable[[Here, Mapping[str, Any]], Row]) -> Row:
    """The row that is `made` of what was found; where none can be, one that says why, in its column `fault`."""
    if isinstance(found, Mapping):
        try:
            return made(here, found)
        except ValueError as why:
            return row(**{**here, "fault": str(why)})
    fault = found.why if isinstance(found, Fault) else f"expected an object, found {type(found).__name__}"
    return row(**{**here, "fault": fault})


def objects(path: str, begin: int = 0, end: int = -1) -> Iterator[Found]:
    """Each line of a file as an object; a fault for one that is none, and for a last line that was cut off.

    `begin`, `end`: the bytes between which the lines are that are read, of a file that is not compressed; -1 is the end of the file.
    """
    number, left = 0, end - begin
    try:
        with _opened(path) as source:
            if begin:
                source.seek(begin)
            while (end < 0 or left > 0) and (line := source.readline(LONGEST)):
                number, left = number + 1, left - len(line)
                if len(line) == LONGEST and not line.endswith(b"\n"):
                    yield number, Fault(f"longer than {LONGEST} bytes; the rest of the file is left out")
                    return
                if line.strip():
                    yield number, _object(line)
    except (OSError, EOFError, zlib.error) as why:
        yield number, Fault(f"cannot be read: {why}")


def _opened(path: str) -> IO[bytes]:
    with regular(Path(path)).open("rb") as source:
        compressed = source.read(2) == _GZIP
    return gzip.open(path, "rb") if compressed else Path(path).open("rb")  # type: ignore[return-value]


def _object(line: bytes) -> Mapping[str, Any] | Fault:
    try:
        row = json.loads(line.decode("ascii") if line.isascii() else line)
    except (ValueError, RecursionError) as why:
        cut = "" if line.endswith(b"\n") else "cut off: "
        return Fault(f"{cut}is no JSON: {why}"[:200])
    return row if isinstance(row, dict) else Fault(f"expected an object, found {type(row).__name__}")


def cell(name: str, value: Any) -> Any:
    """A value as a column holds it: text without lone surrogates, integers of 64 bits. Raises ValueError."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case int():
            if not -_WIDEST <= value < _WIDEST:
                raise ValueError(f"field {name!r} must be an integer of 64 bits, found {value!r:.60}")
            return value
        case float():
            return value
        case None:
            return ""
        case Enum():
            return value.value
        case _ if name == "parameters":
            return ",".join(f"{key}={cell(key, text)}" for key, text in sorted(value))
        case _:
            return [cell(name, item) for item in value]
