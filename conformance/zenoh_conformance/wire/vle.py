"""VLE integers: seven bits a byte, low group first; a ninth byte holds the last eight bits whole."""

from __future__ import annotations

from .errors import DecodeError, Diagnostic, EncodeError, ended

MOST = (1 << 64) - 1
_ONE = tuple(bytes([value]) for value in range(0x80))


def encode(value: int, path: str = "vle") -> bytes:
    """The shortest form of `value`, 0 to 2^64-1.  Raises EncodeError outside that range."""
    if 0 <= value < 0x80:
        return _ONE[value]
    if not 0 <= value <= MOST:
        raise EncodeError(path, f"{value} is outside 0 to 2^64-1")
    out = bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes, at: int = 0) -> tuple[int, int]:
    """The value that begins at `at`, and the offset after it; overlong forms are accepted.  Raises DecodeError."""
    return read(data, at, len(data), "vle", [])


def read(data: bytes, at: int, end: int, path: str, found: list[Diagnostic]) -> tuple[int, int]:
    """As `decode`, not reading past `end`; an overlong form is added to `found`."""
    value = shift = 0
    for here in range(at, min(end, at + 8)):
        byte = data[here]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not byte and shift:
                found.append(_overlong(at, path, here + 1 - at, value))
            return value, here + 1
        shift += 7
    if end - at < 9:
        raise ended(end, path, "the rest of an integer")
    last = data[at + 8]
    value |= last << 56
    if not last:
        found.append(_overlong(at, path, 9, value))
    return value, at + 9


def overlong(value: int, size: int) -> bytes:
    """`value` in exactly `size` bytes (1 to 9), padded with empty groups.  Raises EncodeError when it does not fit."""
    if not len(encode(value)) <= size <= 9:
        raise EncodeError("vle", f"{value} does not fit {size} bytes")
    groups = [value >> 7 * index & 0x7F for index in range(min(size, 8))]
    tail = [value >> 56] if size == 9 else []
    out = bytes(group | 0x80 for group in groups) + bytes(tail)
    return out if size == 9 else out[:-1] + bytes([groups[-1]])


def _overlong(at: int, path: str, size: int, value: int) -> Diagnostic:
    return Diagnostic(at, path, f"{value} in {size} bytes, {len(encode(value))} would do", "overlong-vle")


__all__ = ["MOST", "DecodeError", "decode", "encode", "overlong", "read"]
