"""Encoding: what a payload is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from zenoh_conformance.wire.errors import Diagnostic, EncodeError
from zenoh_conformance.wire.source import Source
from zenoh_conformance.wire.types import Blob, Vle, WireType

from .encodings import name_of


@dataclass(frozen=True, slots=True)
class Encoding:
    """A number from the registry of encodings, and what the sender adds to it."""

    id: int = 0
    """0 is zenoh/bytes, as is no encoding at all."""

    schema: bytes | None = None
    """Up to 255 bytes; None where its bit S is clear."""


class EncodingType(WireType):
    """One integer, `id << 1 | S`, and where S is set the schema."""

    label = "Encoding"
    number, schema = Vle(32), Blob(Vle(8))

    def read(self, out: Source, var: str, path: str) -> None:
        out("begin = at")
        self.number.read_count(out, f"{var}_number", f"{path}.id")
        with out.block(f"if {var}_number > 0x1ffff:"):
            out(f"found.append({out.name(_cut, 'cut')}(begin, '{path}.id', {var}_number >> 1))")
        out.mark(f"{path}.id", f"{out.name(name_of, 'name_of')}({var}_number >> 1)")
        with out.block(f"if {var}_number & 1:"):
            self.schema.read(out, f"{var}_schema", f"{path}.schema")
        with out.block("else:"):
            out(f"{var}_schema = None")
        out.make(var, Encoding, ["id", "schema"], [f"{var}_number >> 1", f"{var}_schema"])

    def write(self, out: Source, var: str, path: str) -> None:
        with out.block(f"if not 0 <= {var}.id < 0x80000000:"):
            out(f"raise {out.name(EncodeError, 'EncodeError')}('{path}.id', f'{{{var}.id}} does not fit 31 bits')")
        out(f"{var}_schema = {var}.schema", f"{var}_number = {var}.id << 1 | ({var}_schema is not None)")
        self.number.write(out, f"{var}_number", f"{path}.id")
        with out.block(f"if {var}_schema is not None:"):
            self.schema.write(out, f"{var}_schema", f"{path}.schema")

    def to_json(self, value: Encoding) -> dict[str, Any]:
        return {"id": value.id, **({} if value.schema is None else {"schema": value.schema.hex()})}

    def from_json(self, text: dict[str, Any]) -> Encoding:
        return Encoding(text["id"], bytes.fromhex(text["schema"]) if "schema" in text else None)


def _cut(at: int, path: str, number: int) -> Diagnostic:
    return Diagnostic(at, path, f"{number} is beyond 65535; it may be cut", "truncated-value")


EncodingField = Annotated[Encoding, EncodingType()]
