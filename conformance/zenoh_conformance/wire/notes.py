"""What to say about a value: functions of it and, by their names, of earlier fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import IntEnum, IntFlag

from .source import Source

Says = Callable[..., str]
"""Its first parameter is the value; others are earlier fields of the same message, by name."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PRIORITIES = ["Control", "RealTime", "InteractiveHigh", "InteractiveLow", "DataHigh", "Data", "DataLow", "Background"]


def note(out: Source, var: str, says: Says | None) -> str:
    """The expression that says something about `var`."""
    if says is None:
        return f"str({var})"
    beside = list(inspect.signature(says).parameters)[1:]
    return f"{out.name(says, 'says')}({', '.join([var, *beside])})"


def size(count: int) -> str:
    """`1 byte`, `2 bytes`."""
    return "1 byte" if count == 1 else f"{count} bytes"


def content(data: bytes) -> str:
    """How many bytes, and as text what can be read as such."""
    shown = size(len(data))
    text = data[:40].decode("ascii", "replace")
    return f"{shown} {text + '...' * (len(data) > 40)!r}" if data and text.isascii() and text.isprintable() else shown


def named(names: type[IntEnum]) -> Says:
    """`2 INVALID`; the number alone when it has no name."""
    text = {int(each): f"{int(each)} {each.name}" for each in names}
    return lambda value: text.get(value, f"{value}, no known value")


def flagged(names: type[IntFlag]) -> Says:
    """`0x11 KEY_EXPRS RESTRICTED`."""

    def say(value: int) -> str:
        return " ".join([f"{value:#04x}", *(str(each.name) for each in names if value & each)])

    return say


SMALLEST_BATCH = 3
"""A length of two bytes and the smallest message, KEEP_ALIVE."""


def duration(value: int, lease_in_seconds: bool) -> str:
    """`10 s`; of none, that nobody can keep it."""
    text = f"{value} s" if lease_in_seconds else f"{value} ms"
    return text if value else f"{text}: over before anything can be said, which nobody can keep"


def batch_bytes(value: int) -> str:
    """`65535`; of what holds no message beside its own length, that nobody can keep to it."""
    return (
        f"{value}"
        if value >= SMALLEST_BATCH
        else f"{value}: no message fits beside its length, so that nobody can keep to it"
    )


def milliseconds(value: int) -> str:
    """`100 ms`."""
    return f"{value} ms"


def instant(time: int) -> str:
    """`2025-11-21 10:47:00.5 UTC`, from seconds since 1970 in the high 32 bits and their fraction in the low."""
    moment = EPOCH + timedelta(seconds=time >> 32, microseconds=(time & 0xFFFFFFFF) * 1_000_000 >> 32)
    return f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC"


def resolution(value: int) -> str:
    """`sequence numbers 32 bit, request ids 32 bit`."""
    return f"sequence numbers {8 << (value & 3)} bit, request ids {8 << (value >> 2 & 3)} bit"


def lane(value: int) -> str:
    """`5 Data`."""
    return f"{value & 7} {PRIORITIES[value & 7]}"


def link_use(value: int) -> str:
    """`priorities 4 to 6, reliable`: what a link of several is for."""
    words = [f"priorities {value >> 3 & 0xFF} to {value >> 11 & 0xFF}"] * (value & 1)
    words += ["reliable" if value >> 19 & 1 else "best effort"] * (value >> 1 & 1)
    return f"{value:#x}: {', '.join(words) or 'any messages'}"


def treatment(value: int) -> str:
    """`Data, block, express`."""
    words = [PRIORITIES[value & 7], "block" if value & 0x08 else "block first" if value & 0x20 else "drop"]
    return ", ".join([*words, *["express"] * (value >> 4 & 1)])


def completeness(value: int) -> str:
    """`complete, distance 2`."""
    return f"{'complete' if value & 1 else 'not complete'}, distance {value >> 8}"
