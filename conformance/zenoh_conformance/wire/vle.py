"""VLE integers: seven bits a byte, low group first; a ninth byte holds the last eight bits whole."""

from __future__ import annotations

from .errors import DecodeError, Diagnostic, EncodeError, unexpected_end

MOST = (1 << 64) - 1
CONTINUED = 0x8080808080808080
"""The bit of each of eight bytes that says that another byte follows."""
_ONE = tuple(bytes([value]) for value in range(0x80))


def encode(value: int, path: str = "vle") -> bytes:
    """The shortest encoding of `value`, 0 to 2^64-1.  Raises EncodeError outside that range."""
    if 0 <= value < 0x80:
        return _ONE[value]
    if not 0 <= value <= MOST:
        raise EncodeError(path, f"{value} is outside 0 to 2^64-1")
    if value >> 56:
        return (_spread(value & (1 << 56) - 1) | CONTINUED).to_bytes(8, "little") + bytes([value >> 56])
    size = (value.bit_length() + 6) // 7
    return (_spread(value) | CONTINUED & (1 << 8 * size - 8) - 1).to_bytes(size, "little")


def decode(data: bytes, at: int = 0) -> tuple[int, int]:
    """The value at `at`, and the offset after it; overlong encodings are accepted.  Raises DecodeError."""
    return read(data, at, len(data), "vle", [])


def read(data: bytes, at: int, end: int, path: str, diagnostics: list[Diagnostic]) -> tuple[int, int]:
    """As `decode`, without reading beyond `end`; reports an overlong encoding to `diagnostics`."""
    chunk = data[at : min(at + 8, end)]
    groups = int.from_bytes(chunk, "little")
    stops = ~groups & CONTINUED & (1 << 8 * len(chunk)) - 1
    if stops:
        size = (stops & -stops).bit_length() >> 3
        value = _gather(groups & (1 << 8 * size) - 1)
    elif end - at > 8:
        size = 9
        value = _gather(groups) | data[at + 8] << 56
    else:
        raise unexpected_end(end, path, "the rest of an integer")
    if size > 1 and not data[at + size - 1]:
        why = f"{value} in {size} bytes, {len(encode(value))} would do"
        diagnostics.append(Diagnostic(at, path, why, "overlong-vle"))
    return value, at + size


def _gather(groups: int) -> int:
    """Join seven bits of each of eight bytes to 56 bits: first neighbours, then pairs, then fours."""
    groups &= 0x7F7F7F7F7F7F7F7F
    groups = groups & 0x007F007F007F007F | (groups & 0x7F007F007F007F00) >> 1
    groups = groups & 0x00003FFF00003FFF | (groups & 0x3FFF00003FFF0000) >> 2
    return groups & 0x000000000FFFFFFF | (groups & 0x0FFFFFFF00000000) >> 4


def _spread(value: int) -> int:
    """Spread 56 bits over eight bytes, seven bits in each."""
    value = value & 0x000000000FFFFFFF | (value & 0x00FFFFFFF0000000) << 4
    value = value & 0x00003FFF00003FFF | (value & 0x0FFFC0000FFFC000) << 2
    return value & 0x007F007F007F007F | (value & 0x3F803F803F803F80) << 1


def overlong(value: int, size: int) -> bytes:
    """Encode `value` in exactly `size` bytes (1 to 9), padded with empty groups.  Raises EncodeError if it does not fit."""
    if not len(encode(value)) <= size <= 9:
        raise EncodeError("vle", f"{value} does not fit {size} bytes")
    groups = bytes(value >> 7 * index & 0x7F | 0x80 for index in range(size - 1))
    return groups + bytes([value >> 7 * (size - 1)])


__all__ = ["MOST", "DecodeError", "decode", "encode", "overlong", "read"]
