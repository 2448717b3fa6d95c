"""Segments, messages and extensions as the builder writes them: bytes with their path, and the meaning beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from zenoh_vectors.build.octets import nibble, number, printed, vle

Fields = dict[str, Any]
"""Typed fields by name, as the JSON's `means` holds them."""

Z = 0x80
UNIT, Z64, ZBUF, ILLEGAL = 0x00, 0x20, 0x40, 0x60
"""Bits 6:5 of an extension's header."""
MANDATORY = 0x10
ENC_NAMES = {UNIT: "unit", Z64: "z64", ZBUF: "zbuf"}


class Segment(NamedTuple):
    """A stretch of bytes that one line of a table or diagram describes."""

    path: str
    data: bytes
    note: str = ""


Segments = tuple[Segment, ...]


def joined(segments: Iterable[Segment]) -> bytes:
    """The bytes of all segments, in order."""
    return b"".join(segment.data for segment in segments)


def under(prefix: str, segments: Iterable[Segment]) -> Segments:
    """The same segments, one level further down."""
    return tuple(segment._replace(path=f"{prefix}.{segment.path}") for segment in segments)


def offset(segments: Iterable[Segment], path: str) -> int:
    """Where the segment named `path` begins; the first of those below it, if it was split up."""
    at = 0
    for segment in segments:
        if segment.path == path or segment.path.startswith((path + ".", path + "[")):
            return at
        at += len(segment.data)
    raise KeyError(path)


def run(name: str, data: bytes, note: str = "") -> Segments:
    """`<u8;zN>`: a length, then that many bytes."""
    return (Segment(f"{name}.length", vle(len(data)), str(len(data))), Segment(f"{name}.bytes", data, note))


def text(name: str, value: str) -> Segments:
    """`<utf8;zN>`: the same with UTF-8 inside."""
    return run(name, value.encode(), repr(value) if len(value) < 60 else f"{len(value)} characters")


def integer(name: str, value: int, note: str = "") -> Segment:
    """A VLE integer."""
    return Segment(name, vle(value), note or str(value))


# --- composites that several messages share ------------------------------------------------------------------------


def timestamp(time: int, zid: bytes) -> Segments:
    """Bare: NTP64 time, then the ZenohID behind a VLE length."""
    return (
        Segment("timestamp.time", vle(time), f"{time >> 32} s and {time & 0xFFFFFFFF} / 2^32"),
        Segment("timestamp.zid.length", vle(len(zid)), str(len(zid))),
        Segment("timestamp.zid.bytes", zid, printed(zid)),
    )


def timestamp_means(time: int, zid: bytes) -> Fields:
    return {"time": number(time), "zid": printed(zid)}


def encoding(number_: int, schema: bytes | None = None) -> Segments:
    """`id << 1 | S`, then the schema when S is set."""
    value = number_ << 1 | (schema is not None)
    head = Segment("encoding.id", vle(value), f"id {number_}, S={int(schema is not None)}")
    return (head,) if schema is None else (head, *run("encoding.schema", schema))


def encoding_means(number_: int, schema: bytes | None = None) -> Fields:
    return {"id": number_} if schema is None else {"id": number_, "schema": schema.hex()}


@dataclass(frozen=True)
class Key:
    """A key on the wire: numeric scope, suffix when the header's N says so, whose mapping when its M says so."""

    scope: int = 0
    suffix: str | None = "a"
    mapping: bool | None = False
    """None where the carrier has no M bit of its own."""

    @property
    def flags(self) -> int:
        return (0x20 if self.suffix is not None else 0) | (0x40 if self.mapping else 0)

    @property
    def segments(self) -> Segments:
        head = integer("key.scope", self.scope)
        return (head,) if self.suffix is None else (head, *text("key.suffix", self.suffix))

    @property
    def means(self) -> Fields:
        out: Fields = {"scope": self.scope}
        if self.suffix is not None:
            out["suffix"] = self.suffix
        if self.mapping is not None:
            out["mapping"] = self.mapping
        return out


# --- extensions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ext:
    """One extension: its header byte without Z, what follows the header, what it means."""

    name: str
    """As in `means`, for example `QoSLink`."""
    slug: str
    """As in paths, for example `qos_link`."""
    header: int
    body: Segments = ()
    means: Fields = field(default_factory=dict)

    @property
    def ident(self) -> int:
        return self.header & 0x0F

    @property
    def note(self) -> str:
        enc = {**ENC_NAMES, ILLEGAL: "ENC 11"}[self.header & 0x60]
        return f"{self.name}, id {self.ident:#x}, {enc}" + (", mandatory" if self.header & MANDATORY else "")

    def segments(self, more: bool) -> Segments:
        head = Segment("header", bytes((self.header | (Z if more else 0),)), self.note + (", Z" if more else ""))
        return under(f"exts.{self.slug}", (head, *self.body))


def unit(name: str, slug: str, header: int) -> Ext:
    """An extension that says all by being there."""
    return Ext(name, slug, header)


def z64(name: str, slug: str, header: int, value: int, note: str = "") -> Ext:
    """An extension that holds one integer."""
    return Ext(name, slug, header, (integer("value", value, note),), {"value": number(value)})


def zbuf(name: str, slug: str, header: int, body: Segments, means: Fields) -> Ext:
    """An extension that holds bytes behind their length; `body` are the parts of these bytes."""
    size = len(joined(body))
    return Ext(name, slug, header, (Segment("length", vle(size), str(size)), *body), means)


def opaque(name: str, slug: str, header: int, payload: bytes, field_name: str = "payload") -> Ext:
    """An extension whose bytes have no structure that the protocol knows."""
    return zbuf(name, slug, header, (Segment(field_name, payload),), {field_name: payload.hex()})


def unknown(ident: int, enc: int, mandatory: bool = False, value: int | bytes = 0) -> Ext:
    """An extension that no table lists."""
    header = ident | enc | (MANDATORY if mandatory else 0)
    means: Fields = {"id": ident, "mandatory": mandatory, "enc": ENC_NAMES.get(enc, "zbuf")}
    body: Segments = ()
    if enc == Z64:
        body, means["value"] = (integer("value", int(value)),), number(int(value))
    if enc == ZBUF:
        payload = value if isinstance(value, bytes) else bytes(value)
        body = (Segment("length", vle(len(payload)), str(len(payload))), Segment("value", payload))
        means["value"] = payload.hex()
    return Ext("Unknown", f"unknown_{ident}", header, body, means)


def chain(exts: Sequence[Ext]) -> Segments:
    """Extensions one after the other, Z set on all but the last."""
    out: list[Segment] = []
    for position, ext in enumerate(exts):
        out += ext.segments(more=position < len(exts) - 1)
    return tuple(out)


def chain_means(exts: Sequence[Ext]) -> Fields:
    """`{"exts": [...]}` in wire order; nothing when there are none."""
    return {"exts": [{ext.name: ext.means} for ext in exts]} if exts else {}


# --- messages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A message as bytes and as meaning; every edit gives a new one."""

    kind: str
    name: str
    """The first word of its paths."""
    segments: Segments
    fields: Fields
    layer: str
    focus: tuple[str, ...] = ()
    """Where in `fields` the message is whose fields `meaning` edits, when `name` leads to a carried one."""

    @property
    def means(self) -> Fields:
        return {self.kind: self.fields}

    @property
    def data(self) -> bytes:
        return joined(self.segments)

    def path(self, tail: str) -> str:
        return f"{self.name}.{tail}"

    def at(self, tail: str) -> int:
        return offset(self.segments, self.path(tail))

    def meaning(self, **fields: Any) -> Message:
        """Same bytes, other meaning; a field that is None goes away."""
        return replace(self, fields=_merged(self.fields, self.focus, fields))

    def inside(self, tail: str, *focus: str) -> Message:
        """The same whole, seen from the message that it carries."""
        return replace(self, name=self.path(tail), focus=focus)

    def put(self, tail: str, data: bytes, note: str | None = None, **fields: Any) -> Message:
        """Replace the bytes of one segment, and the meaning of the fields that this changes.

        The length of an extension around the segment is made to fit; a segment that is itself a length stands as told.
        """
        path = self.path(tail)
        if path not in {segment.path for segment in self.segments}:
            raise KeyError(path)
        changed = tuple(
            segment._replace(data=data, note=segment.note if note is None else note) if segment.path == path else segment
            for segment in self.segments
        )
        return replace(self.meaning(**fields), segments=_fitted(changed, path))

    def put_first(self, data: bytes, note: str) -> Message:
        """Replace the bytes of the first segment."""
        return replace(self, segments=(self.segments[0]._replace(data=data, note=note), *self.segments[1:]))

    def flip(self, bits: int, note: str) -> Message:
        """Set bits of the header byte."""
        head = next(segment for segment in self.segments if segment.path == self.path("header"))
        return self.put("header", bytes((head.data[0] ^ bits,)), note)

    def then(self, *extra: Segment) -> Message:
        """More segments after the last."""
        return replace(self, segments=self.segments + extra)


def _fitted(segments: Segments, path: str) -> Segments:
    """With the length of the extension around `path` recomputed."""
    before, exts, tail = path.partition(".exts.")
    owner = f"{before}{exts}{tail.partition('.')[0]}."
    if not exts or path in (owner + "length", owner + "header"):
        return segments
    size = sum(len(s.data) for s in segments if s.path.startswith(owner)) - 1
    size -= sum(len(s.data) for s in segments if s.path == owner + "length")
    return tuple(s._replace(data=vle(size), note=str(size)) if s.path == owner + "length" else s for s in segments)


def _merged(fields: Fields, focus: tuple[str, ...], new: Fields) -> Fields:
    if focus:
        return {**fields, focus[0]: _merged(fields[focus[0]], focus[1:], new)}
    merged = {**fields, **new}
    return {name: value for name, value in merged.items() if value is not None}


def message(
    kind: str,
    name: str,
    layer: str,
    header: int,
    note: str,
    body: Iterable[Segment],
    fields: Fields,
    exts: Sequence[Ext] = (),
) -> Message:
    """A whole message: header with Z as `exts` require, then the body, which holds the chain where it belongs."""
    flags = f"{note}, Z" if exts else note
    head = Segment("header", bytes((header | (Z if exts else 0),)), flags)
    return Message(kind, name, under(name, (head, *body)), {**fields, **chain_means(exts)}, layer)


def zid_segments(zid: bytes, low: int, note: str) -> Segments:
    """The packed byte and the ZenohID after it."""
    return (Segment("packed", nibble(zid, low), f"{len(zid)} bytes, {note}"), Segment("zid", zid, printed(zid)))
