"""Extension chains, and the extensions that no table names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from . import notes, vle
from .errors import DecodeError, Diagnostic, EncodeError, excessive_length
from .layer import Enc

MORE, MANDATORY, KEY = 0x80, 0x10, 0x7F


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An extension that the message's table does not name: a receiver skips it, this codec keeps it unchanged."""

    id: int
    """Bits 3:0 of its header."""

    mandatory: bool = False
    """M: a receiver that does not know the extension refuses the message."""

    enc: Enc = Enc.UNIT
    """The encoding of its value."""

    value: int | bytes | None = None
    """None, an integer or bytes, as `enc` says."""

    @property
    def header(self) -> int:
        """The first byte, without the bit for another extension."""
        return self.enc << 5 | self.mandatory << 4 | self.id


E_co = TypeVar("E_co", covariant=True)


class Exts(tuple[E_co | Unknown, ...]):
    """An extension chain in wire order, with duplicates and unknown extensions."""

    __slots__ = ()

    def get(self, kind: type[T]) -> T | None:
        """The extension of this class, or None; of several the last, which is the one that the baseline uses."""
        for item in reversed(self):
            if type(item) is kind:
                return item
        return None


T = TypeVar("T")
NO_EXTS: Exts[Any] = Exts()


def exts(*items: T) -> Exts[T]:
    """A chain of these extensions, in this order."""
    return Exts(items)


def title(header: int) -> str:
    """The path component of an extension that no table names."""
    return f"unknown_{header & 0x0F}"


def duplicate(at: int, header: int, names: Mapping[int, str]) -> Diagnostic:
    """The diagnostic for an extension at `at` that the chain already has."""
    path = names.get(header & KEY, title(header))
    return Diagnostic(at, path, f"extension {header & KEY:#04x} is repeated; the last counts", "duplicate-extension")


def read_unknown(
    data: bytes, at: int, end: int, diagnostics: list[Diagnostic], mark: Any = None, prefix: str = ""
) -> tuple[Unknown, int]:
    """Read an extension that no table names.  Raises DecodeError when it is mandatory or malformed."""
    header = data[at]
    path = title(header)
    if header & MANDATORY:
        raise DecodeError(at, path, f"extension {header & KEY:#04x} is unknown and mandatory")
    return skip_unknown(data, at, end, diagnostics, mark, prefix)


def skip_unknown(
    data: bytes, at: int, end: int, diagnostics: list[Diagnostic], mark: Any = None, prefix: str = ""
) -> tuple[Unknown, int]:
    """As `read_unknown`, but accept a mandatory extension too, as scouting does."""
    header = data[at]
    path = title(header)
    code = header >> 5 & 3
    if code == 3:
        raise DecodeError(at, path, "extension encoding 3 is reserved")
    text = "mandatory" if header & MANDATORY else "optional"
    why = f"extension {header & KEY:#04x} is unknown and {text}"
    diagnostics.append(Diagnostic(at, path, why, "unknown-extension"))
    mark = mark or _ignore_mark
    at += 1
    note = f"extension {header & 0x0F:#x} {Enc(code).word}, unknown, {text}"
    mark(f"{prefix}{path}.header", at, note, ("chain", prefix[:-1]))
    value: int | bytes | None = None
    if code == Enc.Z64:
        value, at = vle.read(data, at, end, f"{path}.value", diagnostics)
        mark(f"{prefix}{path}.value", at, str(value))
    elif code == Enc.ZBUF:
        begin = at
        size, at = vle.read(data, at, end, f"{path}.length", diagnostics)
        mark(f"{prefix}{path}.length", at, notes.size(size), ("vle", prefix + path))
        if size > end - at:
            raise excessive_length(begin, f"{path}.length", size, end - at)
        value, at = data[at : at + size], at + size
        mark(f"{prefix}{path}.value", at, notes.content(value))
    return Unknown(id=header & 0x0F, mandatory=bool(header & MANDATORY), enc=Enc(code), value=value), at


def write_unknown(extension: Unknown, out: bytearray, more: int) -> None:
    """Append an extension that no table names to `out`; `more` is 0x80 when another follows."""
    path = title(extension.header)
    out.append(extension.header | more)
    match extension.enc, extension.value:
        case Enc.UNIT, None:
            pass
        case Enc.Z64, int(value):
            out += vle.encode(value, f"{path}.value")
        case Enc.ZBUF, bytes(value):
            out += vle.encode(len(value), f"{path}.length") + value
        case enc, value:
            raise EncodeError(f"{path}.value", f"{value!r} is no {enc.word}")


def _ignore_mark(path: str, at: int, note: str = "", measures: object = None) -> None:
    """Stand in for `mark` in a reading without segments."""
