"""Extension chains: the tuple that holds one, and the extension that no table names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from . import notes, vle
from .errors import DecodeError, Diagnostic, EncodeError, beyond
from .layer import Enc

MORE, MANDATORY, KEY = 0x80, 0x10, 0x7F


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An extension that the message's table does not name: skipped by a receiver, kept here as it came."""

    id: int
    """Bits 3:0 of its header."""

    mandatory: bool = False
    """M: a receiver that does not know it refuses the message."""

    enc: Enc = Enc.UNIT
    """How its value is written."""

    value: int | bytes | None = None
    """None, an integer or bytes, as `enc` says."""

    @property
    def header(self) -> int:
        """Its first byte, without the bit that says that another follows."""
        return self.enc << 5 | self.mandatory << 4 | self.id


E_co = TypeVar("E_co", covariant=True)


class Exts(tuple[E_co | Unknown, ...]):
    """An extension chain in wire order, duplicates and unknown ones included."""

    __slots__ = ()

    def get(self, kind: type[T]) -> T | None:
        """The extension of this class; the last one where a sender repeats it, as the baseline reads it."""
        return next((item for item in reversed(self) if type(item) is kind), None)


T = TypeVar("T")
NO_EXTS: Exts[Any] = Exts()


def exts(*items: T) -> Exts[T]:
    """A chain of these extensions, in this order."""
    return Exts(items)


def title(header: int) -> str:
    """The path component of an extension that no table names."""
    return f"unknown_{header & 0x0F}"


def duplicate(at: int, header: int, names: Mapping[int, str]) -> Diagnostic:
    """The extension at `at` stood in this chain before."""
    path = names.get(header & KEY, title(header))
    return Diagnostic(at, path, f"extension {header & KEY:#04x} is repeated; the last counts", "duplicate-extension")


def read_unknown(
    data: bytes, at: int, end: int, found: list[Diagnostic], mark: Any = None, prefix: str = ""
) -> tuple[Unknown, int]:
    """An extension that no table names.  Raises DecodeError when it is mandatory or broken."""
    header = data[at]
    path = title(header)
    if header & MANDATORY:
        raise DecodeError(at, path, f"extension {header & KEY:#04x} is unknown and mandatory")
    return skip_unknown(data, at, end, found, mark, prefix)


def skip_unknown(
    data: bytes, at: int, end: int, found: list[Diagnostic], mark: Any = None, prefix: str = ""
) -> tuple[Unknown, int]:
    """As `read_unknown`, but a mandatory one is skipped too, as scouting does."""
    header = data[at]
    path = title(header)
    code = header >> 5 & 3
    if code == 3:
        raise DecodeError(at, path, "extension encoding 3 is reserved")
    text = "mandatory" if header & MANDATORY else "optional"
    found.append(Diagnostic(at, path, f"extension {header & KEY:#04x} is unknown and {text}", "unknown-extension"))
    mark = mark or _nothing
    at += 1
    mark(
        f"{prefix}{path}.header",
        at,
        f"extension {header & 0x0F:#x} {Enc(code).word}, unknown, {text}",
        ("chain", prefix[:-1]),
    )
    value: int | bytes | None = None
    if code == Enc.Z64:
        value, at = vle.read(data, at, end, f"{path}.value", found)
        mark(f"{prefix}{path}.value", at, str(value))
    elif code == Enc.ZBUF:
        begin = at
        size, at = vle.read(data, at, end, f"{path}.length", found)
        mark(f"{prefix}{path}.length", at, notes.size(size), ("vle", prefix + path))
        if size > end - at:
            raise beyond(begin, f"{path}.length", size, end - at)
        value, at = data[at : at + size], at + size
        mark(f"{prefix}{path}.value", at, notes.content(value))
    return Unknown(id=header & 0x0F, mandatory=bool(header & MANDATORY), enc=Enc(code), value=value), at


def write_unknown(extension: Unknown, out: bytearray, more: int) -> None:
    """Append an extension that no table names; `more` is 0x80 when another follows."""
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


def _nothing(path: str, at: int, note: str = "", measures: object = None) -> None:
    """The mark of a reading that nobody traces."""
