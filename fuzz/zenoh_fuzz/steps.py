"""Count work: the lines of Python that a call runs, and the peak of its memory. No stopwatch.

Both are compared with a limit that grows with the length of the input.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

from zenoh_conformance.reading.codec import DecodeError

LINES, LINES_A_BYTE = 3000, 120
"""Allowed: so many lines, and so many more a byte."""

MEMORY, MEMORY_A_BYTE = 200_000, 1500
"""Allowed, in bytes: so many, and so many more a byte of input."""


def lines_of(call: Callable[[], Any], most: int) -> int:
    """The lines that `call` runs, `most` + 1 at most: then it is stopped.  A refusal is an end as any other."""
    count = 0

    def step(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise _TooManyError
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        call()
    except DecodeError:
        pass
    finally:
        sys.settrace(before)
    return count


class _TooManyError(BaseException):
    """Ends a call that runs too long."""


def memory_of(call: Callable[[], Any]) -> int:
    """The bytes that `call` holds at its height.  A refusal is an end as any other."""
    tracemalloc.start()
    try:
        call()
    except DecodeError:
        pass
    finally:
        _, height = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return height


def excess(call: Callable[[], Any], size: int) -> str:
    """What `call` does too much for an input of `size` bytes; empty when it does not."""
    allowed = LINES + LINES_A_BYTE * size
    try:
        lines = lines_of(call, allowed)
    except _TooManyError:
        lines = allowed + 1
    if lines > allowed:
        return f"more than {allowed} lines for {size} bytes"
    held, room = memory_of(call), MEMORY + MEMORY_A_BYTE * size
    return f"{held} bytes of memory for {size} bytes, {room} allowed" if held > room else ""
