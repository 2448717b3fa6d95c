"""JSON lines as they are found: whole, half written, foreign, compressed. What cannot be read is a value, not an exception."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeVar

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


def objects(path: str) -> Iterator[Found]:
    """Each line of a file as an object; a fault for one that is none, and for a last line that was cut off."""
    number = 0
    try:
        with _opened(path) as source:
            while line := source.readline(LONGEST):
                number += 1
                if len(line) == LONGEST and not line.endswith(b"\n"):
                    yield number, Fault(f"longer than {LONGEST} bytes; the rest of the file is left out")
                    return
                if line.strip():
                    yield number, _object(line)
    except (OSError, EOFError, zlib.error) as why:
        yield number, Fault(f"cannot be read: {why}")


def _opened(path: str) -> IO[bytes]:
    with Path(path).open("rb") as source:
        compressed = source.read(2) == _GZIP
    return gzip.open(path, "rb") if compressed else Path(path).open("rb")  # type: ignore[return-value]


def _object(line: bytes) -> Mapping[str, Any] | Fault:
    try:
        row = json.loads(line.decode("ascii") if line.isascii() else line)
    except (ValueError, RecursionError) as why:
        cut = "" if line.endswith(b"\n") else "cut off: "
        return Fault(f"{cut}is no JSON: {why}"[:200])
    return row if isinstance(row, dict) else Fault(f"expected an object, found {type(row).__name__}")


def text(row: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A field that is text, fit for a table (a lone surrogate becomes `?`). Raises ValueError, which names the field."""
    value = row.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"field {name!r} must be text, found {value!r:.60}")
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def texts_of(row: Mapping[str, Any], defaults: Mapping[str, str | None]) -> list[str]:
    """Fields that are text, as `text` takes each; all at once, since most lines are as they should be. Raises ValueError."""
    values = [row.get(name, default) for name, default in defaults.items()]
    try:
        if "".join(values).isascii():
            return values
    except TypeError:
        pass  # one of them is no text: which one is told below
    return [text(row, name, default) for name, default in defaults.items()]


def number(row: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """A field that is an integer of 64 bits. Raises ValueError, which names the field."""
    value = row.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not -_WIDEST <= value < _WIDEST:
        raise ValueError(f"field {name!r} must be an integer of 64 bits, found {value!r:.60}")
    return value


def texts(row: Mapping[str, Any], name: str) -> list[str]:
    """A field that is a list; each item as text. Raises ValueError, which names the field."""
    value = row.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"field {name!r} must be a list, found {value!r:.60}")
    return [text({name: str(item)}, name) for item in value]


def fields(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A field that is an object. Raises ValueError, which names the field."""
    value = row.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f"field {name!r} must be an object, found {value!r:.60}")
    return value
