"""ZenohID and WhatAmI, and the packed byte that they share in several messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from zenoh_conformance.wire import DecodeError, Diagnostic, EncodeError, excessive_length, unexpected_end
from zenoh_conformance.wire.notes import Says, resolution, size
from zenoh_conformance.wire.source import FunctionSource
from zenoh_conformance.wire.types import Fixed, Vle, WireType, report_reserved


@dataclass(frozen=True, slots=True)
class ZenohID:
    """The identity of a node: 1 to 16 bytes, not all zero."""

    raw: bytes
    """The bytes on the wire, least significant first; zero bytes at the end are kept."""

    def __str__(self) -> str:
        return self.raw[::-1].hex()

    @classmethod
    def parse(cls, text: str) -> ZenohID:
        """Parse the printed form, most significant byte first.  Raises ValueError for a text that is not hexadecimal."""
        return cls(bytes.fromhex(text.zfill(len(text) + len(text) % 2))[::-1])


class WhatAmI(IntEnum):
    """The role of a node; code 3 is refused."""

    ROUTER = 0
    PEER = 1
    CLIENT = 2


ROLES = tuple(WhatAmI)


class ZidType(WireType):
    """Base class for the encodings of a ZenohID: reads and writes its bytes; the variable `VAR_size` holds their number."""

    label = "ZenohID"

    def read_bytes(self, out: FunctionSource, var: str, path: str) -> None:
        out.raise_if(f"{var}_size > end - at", unexpected_end, f"end, {path!r}, 'the rest of a ZenohID'")
        out(f"{var} = data[at:at + {var}_size]")
        with out.block(f"if not {var}[-1]:"):
            out(f"{out.name(check_zeros, 'check_zeros')}(at, {path!r}, {var}, diagnostics)")
        out(f"{var}_raw = {var}", f"at += {var}_size")
        out.make(var, ZenohID, ["raw"], [f"{var}_raw"])
        out.mark(path, f"str({var})")

    def write_bytes(self, out: FunctionSource, var: str, path: str) -> None:
        out(f"{var}_raw = {out.name(valid_bytes, 'valid_bytes')}({var}, {path!r})")

    def to_json(self, value: ZenohID) -> str:
        return str(value)

    def from_json(self, json: str) -> ZenohID:
        return ZenohID.parse(json)


class SizedZid(ZidType):
    """A ZenohID after its length as a VLE, as in a Timestamp."""

    label = "<ZenohID;z8>"
    length = Vle(64)

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        out("begin = at")
        self.length.read_count(out, f"{var}_size", f"{path}.length")
        out.mark(f"{path}.length", f"{out.name(size, 'size_note')}({var}_size)", f"('vle', prefix + {path!r})")
        why = f"a ZenohID of {{{var}_size}} bytes"
        out.raise_if(f"not 1 <= {var}_size <= 16", DecodeError, f"begin, '{path}.length', f'{why}'")
        out.raise_if(f"{var}_size > end - at", excessive_length, f"begin, '{path}.length', {var}_size, end - at")
        self.read_bytes(out, var, f"{path}.bytes")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        self.write_bytes(out, var, path)
        out(f"out.append(len({var}_raw))", f"out += {var}_raw")


class PackedBits(WireType):
    """The low bits of the packed byte before a ZenohID; its high nibble is the length of the ZenohID."""

    def __init__(self, mask: int, values: type[IntEnum] | None = None) -> None:
        self.mask, self.values = mask, values
        self.label = f"bits {mask.bit_length() - 1}:0 of packed"

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        read_packed(out, sibling(path, "packed"), sibling(path, "zid"), packed_role if self.values else packed_mask)
        if self.values is None:
            out(f"{var} = packed & {self.mask:#x}")
            return
        roles = out.name(tuple(self.values), "VALUES")
        why = f"{self.values.__name__} {{packed & {self.mask:#x}}} is reserved"
        out.raise_if(f"packed & {self.mask:#x} >= {len(self.values)}", DecodeError, f"at - 1, {path!r}, f{why!r}")
        out(f"{var} = {roles}[packed & {self.mask:#x}]")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        out.raise_if(f"not 0 <= {var} <= {self.mask:#x}", EncodeError, f"{path!r}, f'{{{var}}} does not fit'")
        out(f"packed = int({var})")

    def to_json(self, value: int) -> int:
        return int(value)

    def from_json(self, json: int) -> int:
        return self.values(json) if self.values else json


class PackedZid(ZidType):
    """A ZenohID whose length less one is the high nibble of the packed byte.

    `spare`: the reserved low bits of the byte; `alone`: the byte holds only the length; `present`: the bit of the byte
    that says whether there is a ZenohID.
    """

    def __init__(self, *, spare: int, alone: bool = False, present: int = 0) -> None:
        self.spare, self.alone, self.present = spare, alone, present

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        if self.alone:
            read_packed(out, sibling(path, "packed"), path, packed_size)
        if self.spare:
            report_reserved(out, "packed", self.spare, "at - 1", sibling(path, "packed"))
        if not self.present:
            out(f"{var}_size = (packed >> 4) + 1")
            self.read_bytes(out, var, path)
            return
        with out.block(f"if packed & {self.present:#x}:"):
            out(f"{var}_size = (packed >> 4) + 1")
            self.read_bytes(out, var, path)
        with out.block("else:"):
            report_reserved(out, "packed", 0xF0, "at - 1", sibling(path, "packed"))
            out(f"{var} = None")

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        if self.alone:
            out("packed = 0")
        if not self.present:
            self.write_bytes(out, var, path)
            out(f"out.append(packed | len({var}_raw) - 1 << 4)", f"out += {var}_raw")
            return
        with out.block(f"if {var} is None:"):
            out("out.append(packed)")
        with out.block("else:"):
            self.write_bytes(out, var, path)
            out(f"out.append(packed | {self.present:#x} | len({var}_raw) - 1 << 4)", f"out += {var}_raw")


def read_packed(out: FunctionSource, path: str, zid: str, says: Says) -> None:
    """Add the lines that read the packed byte."""
    out.raise_if("at >= end", unexpected_end, f"end, {path!r}, 'a byte with a length'")
    out("packed = data[at]", "at += 1")
    out.mark(path, f"{out.name(says, 'packed_note')}(packed)", f"('nibble', prefix + {zid!r})")


def packed_size(packed: int) -> str:
    """`ZenohID of 16 bytes`."""
    return f"ZenohID of {size((packed >> 4) + 1)}"


def packed_role(packed: int) -> str:
    """`peer, ZenohID of 16 bytes`."""
    role = packed & 3
    return f"{WhatAmI(role).name.lower() if role < len(ROLES) else 'no role'}, {packed_size(packed)}"


def packed_mask(packed: int) -> str:
    """`for router and peer, ZenohID of 16 bytes`."""
    roles = [role.name.lower() for role in ROLES if packed & 1 << role]
    return f"for {' and '.join(roles) or 'nobody'}, {packed_size(packed) if packed & 8 else 'no ZenohID'}"


def sibling(path: str, name: str) -> str:
    """The path of the field `name` of the same owner as `path`."""
    owner, dot, _ = path.rpartition(".")
    return owner + dot + name


def check_zeros(at: int, path: str, raw: bytes, diagnostics: list[Diagnostic]) -> None:
    """Report a ZenohID whose last byte is zero.  Raises DecodeError when all are."""
    if not raw.strip(b"\0"):
        raise DecodeError(at, path, "a ZenohID of zero")
    diagnostics.append(Diagnostic(at, path, "a ZenohID with zero bytes at its end", "non-canonical"))


def valid_bytes(zid: ZenohID, path: str) -> bytes:
    """The bytes of a ZenohID.  Raises EncodeError unless they are 1 to 16 and not all zero."""
    if not 1 <= len(zid.raw) <= 16 or not zid.raw.strip(b"\0"):
        raise EncodeError(path, f"{zid.raw.hex() or 'nothing'} is no ZenohID")
    return zid.raw


Role = Annotated[WhatAmI, PackedBits(0b11, WhatAmI)]
RoleMask = Annotated[int, PackedBits(0b111)]
"""1 router, 2 peer, 4 client; 0 matches no node."""
ZidAfterRole = Annotated[ZenohID, PackedZid(spare=0b1100)]
ZidAfterMask = Annotated[ZenohID, PackedZid(spare=0, present=0b1000)]
ZidAlone = Annotated[ZenohID, PackedZid(spare=0b1111, alone=True)]
ZidSized = Annotated[ZenohID, SizedZid()]
Resolution = Annotated[int, Fixed(1, reserved=0xF0, says=resolution)]
"""Bits 1:0 for sequence numbers, 3:2 for request ids: codes 0 to 3 mean 8, 16, 32 and 64 bits."""
