"""The decode oracle over a codec with one planted fault: CLOSE loses the highest bit of its reason when it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Close
from zenoh_conformance.wire import registry
from zenoh_fuzz.oracles.decode import one_input

__all__ = ["one_input"]

_declaration = registry.of(Close)
_right = _declaration.write


def _wrong(value: Any, out: bytearray) -> None:
    _right(replace(value, reason=value.reason & 0x7F), out)


_declaration.write = _wrong
