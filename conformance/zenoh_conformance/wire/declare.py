"""The declaration of messages: decorators, field specifiers, and the declarations that they make from a class.

    @message(0x02, "Z|T|A", layer=Layer.TRANSPORT, ref="session-establishment#open")
    class Open:
        ack: bool = flag("A")
        lease: Z64
        cookie: BytesZ16 | None = when("not ack", default=None)
        exts: Exts[QoS | Auth] = NO_EXTS

The letters are the header's cells, bits 7 to 5, as the pages draw them; X is reserved.  The order of the fields is their
order on the wire.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from . import compiler, registry
from .errors import EncodeError
from .extensions import NO_EXTS, Exts, Unknown
from .layer import Enc, Layer
from .nested import Body, Composite
from .types import WireType

T = TypeVar("T")
Kind = Literal["message", "extension", "composite"]


@dataclasses.dataclass(frozen=True, slots=True)
class Presence:
    """The condition under which a field is on the wire, or its place in the header."""

    how: Literal["flag", "bits", "given", "when"]
    """`flag`: the field is a bit of the header.  `bits`: several bits.  `given`: a bit says whether it follows.  `when`:
    earlier fields say so."""

    what: str
    """The cell's letters, or, for `when`, an expression over earlier fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of a declaration."""

    name: str
    wire: WireType | None
    """None for a field in the header."""
    presence: Presence | None
    values: type[IntEnum] | None
    """The enumeration of a field of several header bits."""


def flag(cell: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A bool field: this bit of the header."""
    return _field("flag", cell, default)


def bits(cell: str, *, default: Any = dataclasses.MISSING) -> Any:
    """An enumeration field: the bits of the header with this name."""
    return _field("bits", cell, default)


def given(cell: str, *, default: Any) -> Any:
    """An optional field; this bit of the header is set when the field is not None."""
    return _field("given", cell, default)


def when(condition: str, *, default: Any) -> Any:
    """An optional field that follows when `condition`, an expression over earlier fields, holds."""
    return _field("when", condition, default)


def _field(how: Any, what: str, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={"presence": Presence(how, what)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def message(mid: int, cells: str, *, layer: Layer, ref: str, lenient: bool = False) -> Callable[[type[T]], type[T]]:
    """Declare a message with this id and these header cells; `ref` is the page and section that defines it.

    `lenient`: its reader skips unknown mandatory extensions too.
    """
    return lambda cls: _declare(cls, "message", mid, tuple(cells.split("|")), layer, ref, lenient=lenient)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def extension(
    eid: int, enc: Literal["unit", "z64", "zbuf"], *, ref: str, mandatory: bool = False, name: str = "", only: str = ""
) -> Callable[[type[T]], type[T]]:
    """Declare an extension with this id and encoding; its fields are its content.

    `only`: the message has the extension when this expression over its fields before the chain holds.
    """
    header = Enc.of(enc) << 5 | mandatory << 4 | eid
    return lambda cls: _declare(cls, "extension", header, (), None, ref, name=name, only=only)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def composite(*, ref: str, listed: bool = False) -> Callable[[type[T]], type[T]]:
    """Declare a value of several fields, without a header; `listed`: its JSON form is a list."""
    return lambda cls: _declare(cls, "composite", 0, (), None, ref, listed=listed)


@dataclasses.dataclass(eq=False, slots=True)
class Declaration:
    """The declaration of a message, extension or composite; codec, JSON form and tables derive from it."""

    cls: Any
    kind: Kind
    id: int
    """The id of a message; the header of an extension without Z."""
    cells: tuple[str, ...]
    """The meaning of bits 7, 6 and 5 of a message's header."""
    layer: Layer | None
    ref: str
    name: str
    path: str
    lenient: bool
    listed: bool
    fields: tuple[Field, ...] = ()
    extensions: tuple[type, ...] | None = None
    """The extensions that the chain may hold; None for a class without a chain."""
    only: str = ""
    """The condition under which a message has this extension; empty for always."""
    read: Callable[..., Any] = dataclasses.field(init=False)
    """(data, at, end, diagnostics) -> (value, offset after it)"""
    trace: Callable[..., Any] = dataclasses.field(init=False)
    """As `read`, with (mark, prefix) as well."""
    write: Callable[..., None] = dataclasses.field(init=False)
    """(value, out), for an extension (value, out, more)"""

    @property
    def title(self) -> str:
        """The name on the pages: KEEP_ALIVE."""
        return self.path.upper() if self.kind == "message" else self.name

    @property
    def root(self) -> str:
        """The prefix of the names of its fields in paths."""
        return "" if self.kind == "composite" else f"{self.path}."

    def mask(self, cell: str) -> int:
        """The header bits of this cell, 0 for no such cell."""
        return sum(0x80 >> place for place, letters in enumerate(self.cells) if letters == cell)

    def condition(self, presence: Presence) -> str:
        """The expression, in generated code, for whether a field follows."""
        return f"header & {self.mask(presence.what):#x}" if presence.how == "given" else presence.what

    def fields_to_json(self, value: Any) -> Any:
        """The names and values of the fields that are present."""
        json: dict[str, Any] = {}
        for field in self.fields:
            item = getattr(value, field.name)
            if item is not None:
                json[field.name] = field.wire.to_json(item) if field.wire else _header_to_json(item)
        if self.extensions is not None and value.exts:
            json["exts"] = registry.chain_to_json(value.exts)
        return list(json.values()) if self.listed else json

    def from_json(self, json: Any) -> Any:
        """The value that `json` describes.  Raises EncodeError when it does not describe one."""
        if self.listed:
            json = dict(zip((field.name for field in self.fields), json, strict=True))
        values: dict[str, Any] = {}
        for field in self.fields:
            if field.name in json:
                values[field.name] = _field_from_json(field, json[field.name], values)
        if "exts" in json:
            among = {registry.of(extension).name: extension for extension in self.extensions or ()}
            values["exts"] = registry.chain_from_json(json["exts"], among)
        if surplus := set(json) - set(values):
            raise EncodeError(self.path, f"no field {', '.join(sorted(surplus))}")
        try:
            return self.cls(**values)
        except TypeError as missing:
            raise EncodeError(self.path, str(missing)) from None


def _header_to_json(value: Any) -> Any:
    return value.word if isinstance(value, Enc) else value if isinstance(value, bool) else int(value)


def _field_from_json(field: Field, json: Any, values: Mapping[str, Any]) -> Any:
    if field.wire:
        return field.wire.from_json_beside(json, values)
    if field.values is Enc:
        return Enc.of(json)
    return field.values(json) if field.values else bool(json)


def snake(name: str) -> str:
    """A class name in snake case: KeepAlive -> keep_alive, QoSLink -> qos_link, DKeyExpr -> d_key_expr."""
    name = name.replace("QoS", "Qos")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _declare(
    cls: type[T],
    kind: Kind,
    number: int,
    cells: tuple[str, ...],
    layer: Layer | None,
    ref: str,
    *,
    name: str = "",
    lenient: bool = False,
    listed: bool = False,
    only: str = "",
) -> type[T]:
    slotted = dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)
    name = name or cls.__name__
    declaration = Declaration(slotted, kind, number, cells, layer, ref, name, snake(name), lenient, listed, only=only)
    hints = get_type_hints(slotted, vars(sys.modules[cls.__module__]), include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(slotted)}  # type: ignore[arg-type]
    if "exts" in fields:
        declaration.extensions = _extensions(hints["exts"])
    declaration.fields = tuple(
        _field_of(declaration, field, hints[name]) for name, field in fields.items() if name != "exts"
    )
    compiler.build(declaration, after_exts=_after_exts(list(fields)))
    registry.add(declaration)
    return slotted


def _field_of(declaration: Declaration, field: dataclasses.Field[Any], hint: Any) -> Field:
    presence = field.metadata.get("presence")
    if presence and presence.how != "when" and not declaration.mask(presence.what):
        raise ValueError(f"{declaration.name}: no header cell {presence.what!r} in {'|'.join(declaration.cells)}")
    if presence and presence.how in ("flag", "bits"):
        return Field(field.name, None, presence, hint if presence.how == "bits" else None)
    return Field(field.name, wire_type(hint).bind(declaration.mask), presence, None)


def _after_exts(names: list[str]) -> frozenset[str]:
    return frozenset(names[names.index("exts") + 1 :] if "exts" in names else ())


def _extensions(hint: Any) -> tuple[type, ...]:
    [inside] = get_args(hint)
    return tuple(kind for kind in get_args(inside) or (inside,) if kind is not Unknown)


def wire_type(hint: Any) -> WireType:
    """The wire type of an annotation.  Raises TypeError when it has none."""
    if get_origin(hint) is Annotated:
        return next(metadata for metadata in hint.__metadata__ if isinstance(metadata, WireType))
    kinds = tuple(kind for kind in get_args(hint) if kind is not type(None)) or (hint,)
    if len(kinds) == 1 and kinds[0] is not hint:
        return wire_type(kinds[0])
    if all(map(registry.is_declared, kinds)):
        composites = registry.of(kinds[0]).kind == "composite"
        return Composite(kinds[0]) if composites else Body(kinds)
    raise TypeError(f"{hint}: no wire type; annotate it as Annotated[type, WireType]")


__all__ = ["NO_EXTS", "Exts", "Mapping", "bits", "composite", "extension", "flag", "given", "message", "when"]
