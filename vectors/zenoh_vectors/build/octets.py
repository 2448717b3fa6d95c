"""The only arithmetic the builder has: integers and lengths to bytes, as the primitives page lays them out."""


def vle(value: int) -> bytes:
    """Groups of seven bits, low group first, bit 7 while more follow; a ninth byte holds the last eight bits raw."""
    out = bytearray()
    while value > 0x7F and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def overlong(value: int, size: int) -> bytes:
    """The same value in `size` bytes (2 to 9): correct groups, then needless zero groups."""
    groups = [value >> shift & 0x7F for shift in range(0, 7 * min(size, 8), 7)]
    if size == 9:
        return bytes(group | 0x80 for group in groups) + bytes((value >> 56,))
    return bytes(group | 0x80 for group in groups[:-1]) + bytes((groups[-1],))


def le16(value: int) -> bytes:
    """Two bytes, low byte first."""
    return bytes((value & 0xFF, value >> 8))


def le32(value: int) -> bytes:
    """Four bytes, low byte first."""
    return le16(value & 0xFFFF) + le16(value >> 16)


def nibble(zid: bytes, low: int = 0) -> bytes:
    """The packed byte: ZenohID size minus one in bits 7:4, and four other bits below."""
    return bytes(((len(zid) - 1) << 4 | low,))


def printed(zid: bytes) -> str:
    """A ZenohID as people write it: hexadecimal, most significant byte first, every wire byte kept."""
    return zid[::-1].hex()


def number(value: int) -> int | str:
    """An integer as the JSON holds it: a decimal string above 2^53 - 1, which other languages would round."""
    return value if value <= 2**53 - 1 else str(value)
