"""Encoding: the type of a payload, as a number and a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from zenoh_conformance.wire import Blob, Diagnostic, EncodeError, Vle, WireType
from zenoh_conformance.wire.source import FunctionSource

_REGISTRY = """
    zenoh/bytes zenoh/string zenoh/serialized application/octet-stream text/plain application/json text/json
    application/cdr application/cbor application/yaml text/yaml text/json5 application/python-serialized-object
    application/protobuf application/java-serialized-object application/openmetrics-text image/png image/jpeg image/gif
    image/bmp image/webp application/xml application/x-www-form-urlencoded text/html text/xml text/css text/javascript
    text/markdown text/csv application/sql application/coap-payload application/json-patch+json application/json-seq
    application/jsonpath application/jwt application/mp4 application/soap+xml application/yang audio/aac audio/flac
    audio/mp4 audio/ogg audio/vorbis video/h261 video/h263 video/h264 video/h265 video/h266 video/mp4 video/ogg
    video/raw video/vp8 video/vp9
"""

NAMES = tuple(_REGISTRY.split())
"""The names by number, from 0 on."""

CUSTOM = 0xFFFF
"""The number of an encoding whose name is in the schema."""


def name_of(number: int) -> str:
    """`4 text/plain`; the number alone when it has no name."""
    if number < len(NAMES):
        return f"{number} {NAMES[number]}"
    return f"{number} custom" if number == CUSTOM else str(number)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A number from the registry of encodings, and the schema that the sender adds to it."""

    id: int = 0
    """0 is zenoh/bytes, which a payload without an encoding has too."""

    schema: bytes | None = None
    """Up to 255 bytes; None when bit S is clear."""


class EncodingType(WireType):
    """One integer, `id << 1 | S`, and the schema when S is set."""

    label = "Encoding"
    number, schema = Vle(32), Blob(Vle(8))

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        out("begin = at")
        self.number.read_count(out, f"{var}_number", f"{path}.id")
        with out.block(f"if {var}_number > 0x1ffff:"):
            out(f"diagnostics.append({out.name(_cut_id, 'cut_id')}(begin, '{path}.id', {var}_number >> 1))")
        out.mark(f"{path}.id", f"{out.name(name_of, 'name_of')}({var}_number >> 1)")
        with out.block(f"if {var}_number & 1:"):
            self.schema.read(out, f"{var}_schema", f"{path}.schema")
        with out.block("else:"):
            out(f"{var}_schema = None")
        out.make(var, Encoding, ["id", "schema"], [f"{var}_number >> 1", f"{var}_schema"])

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        out.raise_if(
            f"not 0 <= {var}.id < 0x80000000", EncodeError, f"'{path}.id', f'{{{var}.id}} does not fit 31 bits'"
        )
        out(f"{var}_schema = {var}.schema", f"{var}_number = {var}.id << 1 | ({var}_schema is not None)")
        self.number.write(out, f"{var}_number", f"{path}.id")
        with out.block(f"if {var}_schema is not None:"):
            self.schema.write(out, f"{var}_schema", f"{path}.schema")

    def to_json(self, value: Encoding) -> dict[str, Any]:
        return {"id": value.id, **({} if value.schema is None else {"schema": value.schema.hex()})}

    def from_json(self, json: dict[str, Any]) -> Encoding:
        return Encoding(json["id"], bytes.fromhex(json["schema"]) if "schema" in json else None)


def _cut_id(at: int, path: str, number: int) -> Diagnostic:
    return Diagnostic(at, path, f"{number} is beyond 65535; it may be cut", "truncated-value")


EncodingField = Annotated[Encoding, EncodingType()]
