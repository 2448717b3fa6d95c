"""Numbers, bytes and text: how one value stands on the wire.

A wire type is put beside Python's own type, `Z64 = Annotated[int, Vle(64)]`, and contributes the lines that read
and write a value.  In those lines `data`, `at`, `end` and `found` are the bytes, the offset, the limit and the
diagnostics so far; `out` is the bytearray being written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from . import vle
from .errors import DecodeError, Diagnostic, EncodeError, beyond, ended
from .notes import Says, content, note, size
from .source import Source

SAFE = (1 << 53) - 1
"""The largest integer that every JSON reader keeps exactly."""


class WireType:
    """What every wire type can do; the defaults suit values that JSON has itself."""

    label = "?"
    """As the tables write it: `z32`, `<u8;z16>`."""

    def bind(self, mask: Callable[[str], int]) -> WireType:
        """This type inside a message; `mask` tells the header bits of a cell, 0 when it has none of that name."""
        return self

    def write_in_header(self, out: Source, var: str) -> None:
        """Add the lines that set this value's bits in `header`."""

    def read(self, out: Source, var: str, path: str) -> None:
        """Add the lines that leave the value in `var`."""
        raise NotImplementedError

    def write(self, out: Source, var: str, path: str) -> None:
        """Add the lines that append `var` to `out`."""
        raise NotImplementedError

    def to_json(self, value: Any) -> Any:
        """The value as JSON tells it."""
        return value

    def from_json(self, text: Any) -> Any:
        """The value that JSON tells."""
        return text

    def from_json_beside(self, text: Any, values: Mapping[str, Any]) -> Any:
        """As `from_json`, for a type that needs to see the fields before it."""
        return self.from_json(text)


class Vle(WireType):
    """A variable-length integer of at most `bits` bits.

    A value beyond them is refused; with `cut`, where the baseline drops the high bits, it is kept whole and a
    diagnostic says so.  `most` bounds it further, `known` and `reserved` make diagnostics.
    """

    def __init__(
        self,
        bits: int,
        *,
        cut: bool = False,
        most: int = 0,
        known: int = 0,
        reserved: int = 0,
        says: Says | None = None,
    ) -> None:
        self.bits, self.cut, self.known, self.reserved, self.says = bits, cut, known, reserved, says
        self.most = most or (1 << bits) - 1
        self.label = f"z{bits}"
        self.plain = min(0x80, self.most + 1, known or 0x80, reserved & -reserved or 0x80)
        """Below this, a value is one byte long and nothing is to be said about it."""

    def read(self, out: Source, var: str, path: str) -> None:
        self.read_count(out, var, path)
        out.mark(path, note(out, var, self.says))

    def read_count(self, out: Source, var: str, path: str) -> None:
        """As `read`, leaving the mark to the caller."""
        with out.block(f"if at < end and ({var} := data[at]) < {self.plain:#x}:"):
            out("at += 1")
        with out.block("else:"):
            out(f"{var}, at = {out.name(self._reader(), 'long_vle')}(data, at, end, {path!r}, found)")

    def write(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if 0 <= {var} < {min(0x80, self.most + 1):#x}:"):
            out(f"out.append({var})")
        with out.block("else:"):
            out(f"out += {out.name(self._writer(), 'put_vle')}({var}, {path!r})")

    def _reader(self) -> Callable[..., tuple[int, int]]:
        def read_checked(data: bytes, at: int, end: int, path: str, found: list[Diagnostic]) -> tuple[int, int]:
            value, after = vle.read(data, at, end, path, found)
            if value > self.most:
                self._too_large(at, path, value, found)
            if self.known and value >= self.known:
                found.append(Diagnostic(at, path, f"{value} has no meaning here", "unknown-value"))
            if value & self.reserved:
                found.append(Diagnostic(at, path, f"reserved bits {value & self.reserved:#x} are set", "reserved-bit"))
            return value, after

        everything = self.most == vle.MOST and not self.known and not self.reserved
        return vle.read if everything else read_checked

    def _too_large(self, at: int, path: str, value: int, found: list[Diagnostic]) -> None:
        if not self.cut:
            raise DecodeError(at, path, f"{value} is beyond {self.most}")
        found.append(Diagnostic(at, path, f"{value} is beyond {self.most}; it may be cut", "truncated-value"))

    def _writer(self) -> Callable[[int, str], bytes]:
        def write_checked(value: int, path: str) -> bytes:
            if value > self.most:
                raise EncodeError(path, f"{value} is beyond {self.most}")
            return vle.encode(value, path)

        return vle.encode if self.cut or self.most == vle.MOST else write_checked

    def to_json(self, value: int) -> int | str:
        return value if value <= SAFE else str(value)

    def from_json(self, text: int | str) -> int:
        return int(text)


class Fixed(WireType):
    """An unsigned integer of one byte, or of two, little-endian; `least` bounds it from below."""

    def __init__(self, size: int, *, reserved: int = 0, least: int = 0, says: Says | None = None) -> None:
        self.size, self.reserved, self.least, self.says = size, reserved, least, says
        self.label = {1: "u8", 2: "u16 LE"}[size]

    def read(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if at + {self.size} > end:"):
            out(f"raise {out.name(ended, 'ended')}(end, {path!r}, '{self.size} byte(s)')")
        out(f"{var} = data[at]" if self.size == 1 else f"{var} = data[at] | data[at + 1] << 8")
        if self.least:
            with out.block(f"if {var} < {self.least}:"):
                why = f"f'{{{var}}} is less than {self.least}'"
                out(f"raise {out.name(DecodeError, 'DecodeError')}(at, {path!r}, {why})")
        if self.reserved:
            warn = out.name(reserved_bits, "reserved_bits")
            with out.block(f"if {var} & {self.reserved:#x}:"):
                out(f"found.append({warn}(at, {path!r}, {var}, {self.reserved:#x}))")
        out(f"at += {self.size}")
        out.mark(path, note(out, var, self.says))

    def write(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if not {self.least} <= {var} < {1 << 8 * self.size}:"):
            out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, f'{{{var}}} does not fit {self.label}')")
        out(f"out.append({var})" if self.size == 1 else f"out += {var}.to_bytes(2, 'little')")


class Blob(WireType):
    """Bytes or text: after their length, or, without one, up to where their container ends."""

    def __init__(self, length: Vle | None, *, text: bool = False, sizes: range | None = None) -> None:
        self.length, self.text, self.sizes = length, text, sizes
        unit = "utf8" if text else "u8"
        self.label = f"<{unit};{length.label}>" if length else f"{unit}, the rest"

    def read(self, out: Source, var: str, path: str) -> None:
        if self.length is None:
            out(f"{var}_size = end - at")
            self._read_content(out, var, path)
            return
        out("begin = at")
        self.length.read_count(out, f"{var}_size", f"{path}.length")
        out.mark(f"{path}.length", f"{out.name(size, 'size_note')}({var}_size)", f"('vle', prefix + {path!r})")
        with out.block(f"if {var}_size > end - at:"):
            out(f"raise {out.name(beyond, 'beyond')}(begin, '{path}.length', {var}_size, end - at)")
        self._read_content(out, var, f"{path}.bytes")

    def _read_content(self, out: Source, var: str, path: str) -> None:
        if self.sizes:
            with out.block(f"if not {self.sizes.start} <= {var}_size < {self.sizes.stop}:"):
                why = f"f'{{{var}_size}} bytes do not fit here'"
                out(f"raise {out.name(DecodeError, 'DecodeError')}(at, {path!r}, {why})")
        out(f"{var} = data[at:at + {var}_size]")
        if self.text:
            with out.block("try:"):
                out(f"{var} = {var}.decode()")
            with out.block("except UnicodeDecodeError as bad:"):
                out(f"raise {out.name(DecodeError, 'DecodeError')}(at + bad.start, {path!r}, 'not UTF-8') from None")
        out(f"at += {var}_size")
        out.mark(path, f"repr({var})" if self.text else f"{out.name(content, 'content')}({var})")

    def write(self, out: Source, var: str, path: str) -> None:
        content = var
        if self.text:
            content = f"{var}_bytes"
            out(f"{content} = {out.name(utf8, 'utf8')}({var}, {path!r})")
        if self.sizes:
            with out.block(f"if not {self.sizes.start} <= len({content}) < {self.sizes.stop}:"):
                out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, f'{{len({content})}} bytes do not fit')")
        if self.length is not None:
            out(f"{var}_size = len({content})")
            self.length.write(out, f"{var}_size", f"{path}.length")
        out(f"out += {content}")

    def to_json(self, value: bytes | str) -> str:
        return value if isinstance(value, str) else value.hex()

    def from_json(self, text: str) -> bytes | str:
        return text if self.text else bytes.fromhex(text)


def utf8(value: str, path: str) -> bytes:
    """`value` as UTF-8.  Raises EncodeError for a lone surrogate."""
    try:
        return value.encode()
    except UnicodeEncodeError as bad:
        raise EncodeError(path, f"not UTF-8: {bad.reason}") from None


def reserved_bits(at: int, path: str, value: int, mask: int) -> Diagnostic:
    """Bits of `mask` are set in `value`, which should be clear."""
    return Diagnostic(at, path, f"reserved bits {value & mask:#04x} are set", "reserved-bit")


U8 = Annotated[int, Fixed(1)]
U16 = Annotated[int, Fixed(2)]
Z16 = Annotated[int, Vle(16)]
Z32 = Annotated[int, Vle(32)]
Z64 = Annotated[int, Vle(64)]
Z8Cut = Annotated[int, Vle(8, cut=True)]
"""Beyond eight bits: kept whole, with a diagnostic; the baseline keeps the low ones."""
Z16Cut = Annotated[int, Vle(16, cut=True)]
Z32Cut = Annotated[int, Vle(32, cut=True)]

BytesZ8 = Annotated[bytes, Blob(Vle(8))]
BytesZ16 = Annotated[bytes, Blob(Vle(16))]
BytesZ32 = Annotated[bytes, Blob(Vle(32))]
BytesZ64 = Annotated[bytes, Blob(Vle(64))]
"""Of any length that the bytes left can hold."""
BytesRest = Annotated[bytes, Blob(None)]
TextZ8 = Annotated[str, Blob(Vle(8), text=True)]
TextZ16 = Annotated[str, Blob(Vle(16), text=True)]
TextZ64 = Annotated[str, Blob(Vle(64), text=True)]
TextRest = Annotated[str, Blob(None, text=True)]
