"""Notes on values: functions of a value and, by parameter name, of earlier fields of the same message."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import IntEnum, IntFlag

from .source import FunctionSource

Says = Callable[..., str]
"""Returns the note on a value. The first parameter is the value; each other one is the earlier field of that name."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PRIORITIES = ["Control", "RealTime", "InteractiveHigh", "InteractiveLow", "DataHigh", "Data", "DataLow", "Background"]


def note(out: FunctionSource, var: str, says: Says | None) -> str:
    """The expression, in generated code, for the note on `var`."""
    if says is None:
        return f"str({var})"
    earlier_fields = list(inspect.signature(says).parameters)[1:]
    return f"{out.name(says, 'says')}({', '.join([var, *earlier_fields])})"


def size(count: int) -> str:
    """`1 byte`, `2 bytes`."""
    return "1 byte" if count == 1 else f"{count} bytes"


def content(data: bytes) -> str:
    """The number of bytes, and their text if they are printable ASCII."""
    shown = size(len(data))
    text = data[:40].decode("ascii", "replace")
    return f"{shown} {text + '...' * (len(data) > 40)!r}" if data and text.isascii() and text.isprintable() else shown


def member_note(members: type[IntEnum]) -> Says:
    """Notes such as `2 INVALID`; the number alone when it has no name."""
    notes = {int(member): f"{int(member)} {member.name}" for member in members}
    return lambda value: notes.get(value, f"{value}, no known value")


def flags_note(flags: type[IntFlag]) -> Says:
    """Notes such as `0x11 KEY_EXPRS RESTRICTED`."""
    return lambda value: " ".join([f"{value:#04x}", *(str(flag.name) for flag in flags if value & flag)])


SMALLEST_BATCH = 3
"""The size of a batch with its two-byte length and the smallest message, KEEP_ALIVE."""


def duration(value: int, lease_in_seconds: bool) -> str:
    """`10 s`; a lease of zero has a remark, since no sender can renew it in time."""
    text = f"{value} s" if lease_in_seconds else f"{value} ms"
    return text if value else f"{text}: expires before any message can renew it"


def batch_bytes(value: int) -> str:
    """`65535`; a size below SMALLEST_BATCH has a remark, since no message fits in such a batch."""
    return str(value) if value >= SMALLEST_BATCH else f"{value}: too small for any message"


def milliseconds(value: int) -> str:
    """`100 ms`."""
    return f"{value} ms"


def instant(time: int) -> str:
    """`2025-11-21 10:47:00.5 UTC`; the high 32 bits are seconds since 1970, the low 32 their fraction."""
    moment = EPOCH + timedelta(seconds=time >> 32, microseconds=(time & 0xFFFFFFFF) * 1_000_000 >> 32)
    return f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC"


def resolution(value: int) -> str:
    """`sequence numbers 32 bit, request ids 32 bit`."""
    return f"sequence numbers {8 << (value & 3)} bit, request ids {8 << (value >> 2 & 3)} bit"


def lane(value: int) -> str:
    """`5 Data`."""
    return f"{value & 7} {PRIORITIES[value & 7]}"


def link_use(value: int) -> str:
    """`priorities 4 to 6, reliable`: the messages that one of several links carries."""
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
