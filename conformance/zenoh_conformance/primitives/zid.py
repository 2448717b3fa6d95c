"""ZenohID and WhatAmI, and the packed byte that they share in several messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from zenoh_conformance.wire.errors import DecodeError, Diagnostic, EncodeError, beyond, ended
from zenoh_conformance.wire.notes import Says, resolution, size
from zenoh_conformance.wire.source import Source
from zenoh_conformance.wire.types import Fixed, Vle, WireType, reserved_bits


@dataclass(frozen=True, slots=True)
class ZenohID:
    """Who a node is: 1 to 16 bytes, not all zero."""

    raw: bytes
    """As on the wire, least significant byte first; zero bytes at its end are kept."""

    def __str__(self) -> str:
        return self.raw[::-1].hex()

    @classmethod
    def parse(cls, text: str) -> ZenohID:
        """The one printed as `text`, most significant byte first.  Raises ValueError for no hexadecimal."""
        return cls(bytes.fromhex(text.zfill(len(text) + len(text) % 2))[::-1])


class WhatAmI(IntEnum):
    """The role of a node; code 3 is refused."""

    ROUTER = 0
    PEER = 1
    CLIENT = 2


ROLES = tuple(WhatAmI)


class ZidType(WireType):
    """What all places of a ZenohID have in common: its bytes, once `var_size` holds their number."""

    label = "ZenohID"

    def read_bytes(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if {var}_size > end - at:"):
            out(f"raise {out.name(ended, 'ended')}(end, {path!r}, 'the rest of a ZenohID')")
        out(f"{var} = data[at:at + {var}_size]")
        with out.block(f"if not {var}[-1]:"):
            out(f"{out.name(look_at_zeros, 'look_at_zeros')}(at, {path!r}, {var}, found)")
        out(f"{var}_raw = {var}", f"at += {var}_size")
        out.make(var, ZenohID, ["raw"], [f"{var}_raw"])
        out.mark(path, f"str({var})")

    def write_bytes(self, out: Source, var: str, path: str) -> None:
        out(f"{var}_raw = {out.name(checked, 'checked')}({var}, {path!r})")

    def to_json(self, value: ZenohID) -> str:
        return str(value)

    def from_json(self, text: str) -> ZenohID:
        return ZenohID.parse(text)


class SizedZid(ZidType):
    """After its length as a VLE, as in a Timestamp."""

    label = "<ZenohID;z8>"
    length = Vle(64)

    def read(self, out: Source, var: str, path: str) -> None:
        out("begin = at")
        self.length.read_count(out, f"{var}_size", f"{path}.length")
        out.mark(f"{path}.length", f"{out.name(size, 'size_note')}({var}_size)", f"('vle', prefix + {path!r})")
        with out.block(f"if not 1 <= {var}_size <= 16:"):
            why = f"'a ZenohID of {{{var}_size}} bytes'"
            out(f"raise {out.name(DecodeError, 'DecodeError')}(begin, '{path}.length', f{why})")
        with out.block(f"if {var}_size > end - at:"):
            out(f"raise {out.name(beyond, 'beyond')}(begin, '{path}.length', {var}_size, end - at)")
        self.read_bytes(out, var, f"{path}.bytes")

    def write(self, out: Source, var: str, path: str) -> None:
        self.write_bytes(out, var, path)
        out(f"out.append(len({var}_raw))", f"out += {var}_raw")


class PackedBits(WireType):
    """The low bits of the packed byte, before the ZenohID whose length its high nibble tells."""

    def __init__(self, mask: int, values: type[IntEnum] | None = None) -> None:
        self.mask, self.values = mask, values
        self.label = f"bits {mask.bit_length() - 1}:0 of packed"

    def read(self, out: Source, var: str, path: str) -> None:
        read_packed(out, sibling(path, "packed"), sibling(path, "zid"), packed_role if self.values else packed_mask)
        if self.values is None:
            out(f"{var} = packed & {self.mask:#x}")
            return
        roles = out.name(tuple(self.values), "VALUES")
        with out.block(f"if packed & {self.mask:#x} >= {len(self.values)}:"):
            why = f"{self.values.__name__} {{packed & {self.mask:#x}}} is reserved"
            out(f"raise {out.name(DecodeError, 'DecodeError')}(at - 1, {path!r}, f{why!r})")
        out(f"{var} = {roles}[packed & {self.mask:#x}]")

    def write(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if not 0 <= {var} <= {self.mask:#x}:"):
            out(f"raise {out.name(EncodeError, 'EncodeError')}({path!r}, f'{{{var}}} does not fit')")
        out(f"packed = int({var})")

    def to_json(self, value: int) -> int:
        return int(value)

    def from_json(self, text: int) -> int:
        return self.values(text) if self.values else text


class PackedZid(ZidType):
    """Its length less one is the high nibble of the packed byte.

    `spare` are the low bits that nobody uses; `alone`: the byte holds nothing but the length; `present`: the bit of
    the byte that says whether there is a ZenohID at all.
    """

    def __init__(self, *, spare: int, alone: bool = False, present: int = 0) -> None:
        self.spare, self.alone, self.present = spare, alone, present

    def read(self, out: Source, var: str, path: str) -> None:
        if self.alone:
            read_packed(out, sibling(path, "packed"), path, packed_size)
        if self.spare:
            self._warn(out, path, self.spare)
        if not self.present:
            out(f"{var}_size = (packed >> 4) + 1")
            self.read_bytes(out, var, path)
            return
        with out.block(f"if packed & {self.present:#x}:"):
            out(f"{var}_size = (packed >> 4) + 1")
            self.read_bytes(out, var, path)
        with out.block("else:"):
            self._warn(out, path, 0xF0)
            out(f"{var} = None")

    def _warn(self, out: Source, path: str, mask: int) -> None:
        with out.block(f"if packed & {mask:#x}:"):
            where = repr(sibling(path, "packed"))
            out(f"found.append({out.name(reserved_bits, 'reserved_bits')}(at - 1, {where}, packed, {mask:#x}))")

    def write(self, out: Source, var: str, path: str) -> None:
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


def read_packed(out: Source, path: str, zid: str, says: Says) -> None:
    """Add the lines that read the packed byte."""
    with out.block("if at >= end:"):
        out(f"raise {out.name(ended, 'ended')}(end, {path!r}, 'a byte with a length')")
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
    """The path of `name` beside `path`."""
    owner, dot, _ = path.rpartition(".")
    return owner + dot + name


def look_at_zeros(at: int, path: str, raw: bytes, found: list[Diagnostic]) -> None:
    """The last byte is zero: so is the whole, or it could be shorter.  Raises DecodeError for the first."""
    if not raw.strip(b"\0"):
        raise DecodeError(at, path, "a ZenohID of zero")
    found.append(Diagnostic(at, path, "a ZenohID with zero bytes at its end", "non-canonical"))


def checked(zid: ZenohID, path: str) -> bytes:
    """Its bytes.  Raises EncodeError unless they are 1 to 16 and not all zero."""
    if not 1 <= len(zid.raw) <= 16 or not zid.raw.strip(b"\0"):
        raise EncodeError(path, f"{zid.raw.hex() or 'nothing'} is no ZenohID")
    return zid.raw


Role = Annotated[WhatAmI, PackedBits(0b11, WhatAmI)]
RoleMask = Annotated[int, PackedBits(0b111)]
"""1 router, 2 peer, 4 client; none at all matches nobody."""
ZidAfterRole = Annotated[ZenohID, PackedZid(spare=0b1100)]
ZidAfterMask = Annotated[ZenohID, PackedZid(spare=0, present=0b1000)]
ZidAlone = Annotated[ZenohID, PackedZid(spare=0b1111, alone=True)]
ZidSized = Annotated[ZenohID, SizedZid()]
Resolution = Annotated[int, Fixed(1, reserved=0xF0, says=resolution)]
"""Bits 1:0 of frame sequence numbers, 3:2 of request ids: codes 0 to 3 for 8 to 64 bits."""
