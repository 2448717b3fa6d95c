"""LZ4 blocks in plain Python; `verify.pyz` contains this module as `lz4.block`, for machines without lz4."""

from __future__ import annotations


class LZ4BlockError(Exception):
    """The block cannot be decompressed."""


def compress(data: bytes, *, store_size: bool = True) -> bytes:
    """Return a valid block with the data uncompressed."""
    head = len(data).to_bytes(4, "little") if store_size else b""
    return head + bytes([min(len(data), 15) << 4]) + _length(len(data)) + data


def _length(size: int) -> bytes:
    return b"" if size < 15 else b"\xff" * ((size - 15) // 255) + bytes([(size - 15) % 255])


def decompress(block: bytes, *, uncompressed_size: int) -> bytes:
    """Decompress a block to at most `uncompressed_size` bytes. Raises LZ4BlockError."""
    out = bytearray()
    at = 0
    try:
        while at < len(block):
            token = block[at]
            size, at = _read(block, at + 1, token >> 4)
            if at + size > len(block):
                raise LZ4BlockError("literals end beyond the block")
            out += block[at : at + size]
            at += size
            if at >= len(block):
                break
            distance = int.from_bytes(block[at : at + 2], "little")
            size, at = _read(block, at + 2, token & 15)
            if not 0 < distance <= len(out) or len(out) + size + 4 > uncompressed_size:
                raise LZ4BlockError("a match reaches where nothing is")
            for _ in range(size + 4):
                out.append(out[-distance])
    except IndexError:
        raise LZ4BlockError("the block ends early") from None
    if len(out) > uncompressed_size:
        raise LZ4BlockError("the block holds too much")
    return bytes(out)


def _read(block: bytes, at: int, size: int) -> tuple[int, int]:
    if size < 15:
        return size, at
    while True:
        size, at = size + block[at], at + 1
        if block[at - 1] != 255:
            return size, at
