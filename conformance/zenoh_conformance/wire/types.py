"""Wire types: the encodings of numbers, bytes and text.

A wire type annotates a Python type, as in `Z64 = Annotated[int, Vle(64)]`, and contributes the lines that read and
write a value.  In those lines `data`, `at`, `end` and `diagnostics` are the bytes, the offset, the limit and the
diagnostics so far; `out` is the bytearray that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from . import vle
from .errors import DecodeError, Diagnostic, EncodeError, excessive_length, unexpected_end
from .notes import Says, content, note, size
from .source import FunctionSource

SAFE = (1 << 53) - 1
"""The largest integer that every JSON reader keeps exactly."""


class WireType:
    """Base class of wire types; its JSON form is the value itself."""

    label = "?"
    """The name in tables: `z32`, `<u8;z16>`."""

    def bind(self, mask: Callable[[str], int]) -> WireType:
        """This type inside a message; `mask` returns the header bits of a cell, 0 for no such cell."""
        return self

    def write_in_header(self, out: FunctionSource, var: str) -> None:
        """Add the lines that set this value's bits in `header`."""

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        """Add the lines that read the value into `var`."""
        raise NotImplementedError

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        """Add the lines that append `var` to `out`."""
        raise NotImplementedError

    def to_json(self, value: Any) -> Any:
        """The JSON form of a value."""
        return value

    def from_json(self, json: Any) -> Any:
        """The value with this JSON form."""
        return json

    def from_json_beside(self, json: Any, values: Mapping[str, Any]) -> Any:
        """As `from_json`, for a type that depends on earlier fields."""
        return self.from_json(json)


class Vle(WireType):
    """A variable-length integer of at most `bits` bits.

    A larger value is refused; with `cut`, where the baseline drops the high bits, it is kept and gets a diagnostic.
    `most` sets a smaller limit than `bits`.  Values from `known` on, and `reserved` bits, get diagnostics.
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
        """A value below this one is one byte long and gets no diagnostic."""

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        self.read_count(out, var, path)
        out.mark(path, note(out, var, self.says))

    def read_count(self, out: FunctionSource, var: str, path: str) -> None:
        """As `read`, without the mark."""
        with out.block(f"if at < end and ({var} := data[at]) < {self.plain:#x}:"):
            out("at += 1")
        with out.block("else:"):
            out(f"{var}, at = {out.name(self._reader(), 'long_vle')}(data, at, end, {path!r}, diagnostics)")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        with out.block(f"if 0 <= {var} < {min(0x80, self.most + 1):#x}:"):
            out(f"out.append({var})")
        with out.block("else:"):
            out(f"out += {out.name(self._writer(), 'put_vle')}({var}, {path!r})")

    def _reader(self) -> Callable[..., tuple[int, int]]:
        def read_checked(data: bytes, at: int, end: int, path: str, diagnostics: list[Diagnostic]) -> tuple[int, int]:
            value, after = vle.read(data, at, end, path, diagnostics)
            if value > self.most:
                if not self.cut:
                    raise DecodeError(at, path, f"{value} is beyond {self.most}")
                why = f"{value} is beyond {self.most}; it may be cut"
                diagnostics.append(Diagnostic(at, path, why, "truncated-value"))
            if self.known and value >= self.known:
                diagnostics.append(Diagnostic(at, path, f"{value} has no meaning here", "unknown-value"))
            if value & self.reserved:
                why = f"reserved bits {value & self.reserved:#x} are set"
                diagnostics.append(Diagnostic(at, path, why, "reserved-bit"))
            return value, after

        everything = self.most == vle.MOST and not self.known and not self.reserved
        return vle.read if everything else read_checked

    def _writer(self) -> Callable[[int, str], bytes]:
        def write_checked(value: int, path: str) -> bytes:
            if value > self.most:
                raise EncodeError(path, f"{value} is beyond {self.most}")
            return vle.encode(value, path)

        return vle.encode if self.cut or self.most == vle.MOST else write_checked

    def to_json(self, value: int) -> int | str:
        return value if value <= SAFE else str(value)

    def from_json(self, json: int | str) -> int:
        return int(json)


class Fixed(WireType):
    """An unsigned integer of one byte, or of two, little-endian; `least` bounds it from below."""

    def __init__(self, size: int, *, reserved: int = 0, least: int = 0, says: Says | None = None) -> None:
        self.size, self.reserved, self.least, self.says = size, reserved, least, says
        self.label = {1: "u8", 2: "u16 LE"}[size]

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        out.raise_if(f"at + {self.size} > end", unexpected_end, f"end, {path!r}, '{self.size} byte(s)'")
        out(f"{var} = data[at]" if self.size == 1 else f"{var} = data[at] | data[at + 1] << 8")
        if self.least:
            out.raise_if(f"{var} < {self.least}", DecodeError, f"at, {path!r}, f'{{{var}}} is less than {self.least}'")
        if self.reserved:
            report_reserved(out, var, self.reserved, "at", path)
        out(f"at += {self.size}")
        out.mark(path, note(out, var, self.says))

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        out_of_range = f"not {self.least} <= {var} < {1 << 8 * self.size}"
        out.raise_if(out_of_range, EncodeError, f"{path!r}, f'{{{var}}} does not fit {self.label}'")
        out(f"out.append({var})" if self.size == 1 else f"out += {var}.to_bytes(2, 'little')")


class Blob(WireType):
    """Bytes or text: after their length or, without one, up to the end of their container."""

    def __init__(self, length: Vle | None, *, text: bool = False, sizes: range | None = None) -> None:
        self.length, self.text, self.sizes = length, text, sizes
        unit = "utf8" if text else "u8"
        self.label = f"<{unit};{length.label}>" if length else f"{unit}, the rest"

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        if self.length is None:
            out(f"{var}_size = end - at")
            self._read_content(out, var, path)
            return
        out("begin = at")
        self.length.read_count(out, f"{var}_size", f"{path}.length")
        out.mark(f"{path}.length", f"{out.name(size, 'size_note')}({var}_size)", f"('vle', prefix + {path!r})")
        out.raise_if(f"{var}_size > end - at", excessive_length, f"begin, '{path}.length', {var}_size, end - at")
        self._read_content(out, var, f"{path}.bytes")

    def _read_content(self, out: FunctionSource, var: str, path: str) -> None:
        if self.sizes:
            out_of_range = f"not {self.sizes.start} <= {var}_size < {self.sizes.stop}"
            out.raise_if(out_of_range, DecodeError, f"at, {path!r}, f'{{{var}_size}} bytes do not fit here'")
        out(f"{var} = data[at:at + {var}_size]")
        if self.text:
            with out.block("try:"):
                out(f"{var} = {var}.decode()")
            with out.block("except UnicodeDecodeError as bad:"):
                out(f"raise {out.name(DecodeError, 'DecodeError')}(at + bad.start, {path!r}, 'not UTF-8') from None")
        out(f"at += {var}_size")
        out.mark(path, f"repr({var})" if self.text else f"{out.name(content, 'content')}({var})")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        content = var
        if self.text:
            content = f"{var}_bytes"
            out(f"{content} = {out.name(utf8, 'utf8')}({var}, {path!r})")
        if self.sizes:
            out_of_range = f"not {self.sizes.start} <= len({content}) < {self.sizes.stop}"
            out.raise_if(out_of_range, EncodeError, f"{path!r}, f'{{len({content})}} bytes do not fit'")
        if self.length is not None:
            out(f"{var}_size = len({content})")
            self.length.write(out, f"{var}_size", f"{path}.length")
        out(f"out += {content}")

    def to_json(self, value: bytes | str) -> str:
        return value if isinstance(value, str) else value.hex()

    def from_json(self, json: str) -> bytes | str:
        return json if self.text else bytes.fromhex(json)


def utf8(value: str, path: str) -> bytes:
    """Encode `value` as UTF-8.  Raises EncodeError for a lone surrogate."""
    try:
        return value.encode()
    except UnicodeEncodeError as bad:
        raise EncodeError(path, f"not UTF-8: {bad.reason}") from None


def report_reserved(out: FunctionSource, var: str, mask: int, at: str, path: str) -> None:
    """Add the lines that report bits of `mask` in `var`; `at` is an expression for the offset of its byte."""
    with out.block(f"if {var} & {mask:#x}:"):
        out(f"diagnostics.append({out.name(reserved_bits, 'reserved_bits')}({at}, {path!r}, {var}, {mask:#x}))")


def reserved_bits(at: int, path: str, value: int, mask: int) -> Diagnostic:
    """The diagnostic for reserved bits of `mask` that are set in `value`."""
    return Diagnostic(at, path, f"reserved bits {value & mask:#04x} are set", "reserved-bit")


U8 = Annotated[int, Fixed(1)]
Z32 = Annotated[int, Vle(32)]
Z64 = Annotated[int, Vle(64)]
Z8Cut = Annotated[int, Vle(8, cut=True)]
"""A value of more than eight bits is kept, with a diagnostic; the baseline keeps only its low bits."""
Z16Cut = Annotated[int, Vle(16, cut=True)]
Z32Cut = Annotated[int, Vle(32, cut=True)]

BytesZ8 = Annotated[bytes, Blob(Vle(8))]
BytesZ16 = Annotated[bytes, Blob(Vle(16))]
BytesZ64 = Annotated[bytes, Blob(Vle(64))]
"""Bytes of any length, up to the number of bytes left."""
BytesRest = Annotated[bytes, Blob(None)]
TextZ64 = Annotated[str, Blob(Vle(64), text=True)]
TextRest = Annotated[str, Blob(None, text=True)]
