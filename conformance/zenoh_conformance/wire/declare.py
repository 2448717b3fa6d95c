"""How a message is declared: decorators and field specifiers, and what they make of a class.

    @message(0x02, "Z|T|A", layer=Layer.TRANSPORT, ref="session-establishment#open")
    class Open:
        ack: bool = flag("A")
        lease: Z64
        cookie: BytesZ16 | None = when("not ack", default=None)
        exts: Exts[QoS | Auth] = NO_EXTS

The letters are the header's cells, bits 7 to 5, as the pages draw them; X is reserved.  Fields stand on the wire in
the order in which they are written.
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
    """When a field is on the wire, or how the header holds it."""

    how: Literal["flag", "bits", "given", "when"]
    """`flag`: it is a bit of the header.  `bits`: several.  `given`: a bit says whether it follows.  `when`: earlier
    fields say so."""

    what: str
    """The cell's letters, or, for `when`, an expression over earlier fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One field of a declaration."""

    name: str
    wire: WireType | None
    """None for what lives in the header."""
    presence: Presence | None
    values: type[IntEnum] | None
    """The enumeration of a field of several header bits."""


def flag(cell: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A bool: this bit of the header."""
    return _field("flag", cell, default)


def bits(cell: str, *, default: Any = dataclasses.MISSING) -> Any:
    """An enumeration: the bits of the header that bear this name."""
    return _field("bits", cell, default)


def given(cell: str, *, default: Any) -> Any:
    """An optional field: this bit of the header says that it follows, and is set when it is not None."""
    return _field("given", cell, default)


def when(condition: str, *, default: Any) -> Any:
    """An optional field: it follows where `condition`, an expression over earlier fields, holds."""
    return _field("when", condition, default)


def _field(how: Any, what: str, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={"presence": Presence(how, what)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def message(mid: int, cells: str, *, layer: Layer, ref: str, lenient: bool = False) -> Callable[[type[T]], type[T]]:
    """Declare a message with this id and these header cells; `ref` is the page and section that defines it.

    `lenient`: an unknown mandatory extension is skipped too.
    """
    return lambda cls: _declare(cls, "message", mid, tuple(cells.split("|")), layer, ref, lenient=lenient)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def extension(
    eid: int, enc: Literal["unit", "z64", "zbuf"], *, ref: str, mandatory: bool = False, name: str = "", only: str = ""
) -> Callable[[type[T]], type[T]]:
    """Declare an extension with this id and encoding; its fields are its content.

    `only`: the table has it where this expression over the message's fields before the chain holds.
    """
    header = Enc.of(enc) << 5 | mandatory << 4 | eid
    return lambda cls: _declare(cls, "extension", header, (), None, ref, name=name, only=only)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(flag, bits, given, when))
def composite(*, ref: str, listed: bool = False) -> Callable[[type[T]], type[T]]:
    """Declare a value of several fields, without header; `listed`: JSON tells it as a list."""
    return lambda cls: _declare(cls, "composite", 0, (), None, ref, listed=listed)


@dataclasses.dataclass(eq=False, slots=True)
class Declaration:
    """All that is known about a class of the wire; everything else is derived from it."""

    cls: Any
    kind: Kind
    id: int
    """Of a message its id; of an extension its whole header without Z."""
    cells: tuple[str, ...]
    """Of a message: what bits 7, 6 and 5 of the header are."""
    layer: Layer | None
    ref: str
    name: str
    path: str
    lenient: bool
    listed: bool
    fields: tuple[Field, ...] = ()
    extensions: tuple[type, ...] | None = None
    """The table of the chain, None when the class has no chain."""
    only: str = ""
    """Of an extension: when a message has it; always when empty."""
    read: Callable[..., Any] = dataclasses.field(init=False)
    """(data, at, end, found) -> (value, offset after it)"""
    trace: Callable[..., Any] = dataclasses.field(init=False)
    """As `read`, with (mark, prefix) as well."""
    write: Callable[..., None] = dataclasses.field(init=False)
    """(value, out), for an extension (value, out, more)"""

    @property
    def title(self) -> str:
        """As the pages write it: KEEP_ALIVE."""
        return self.path.upper() if self.kind == "message" else self.name

    @property
    def root(self) -> str:
        """What stands before the names of its fields in a path."""
        return "" if self.kind == "composite" else f"{self.path}."

    def mask(self, cell: str) -> int:
        """The header bits that this cell takes, 0 for none."""
        return sum(0x80 >> place for place, letters in enumerate(self.cells) if letters == cell)

    def fields_to_json(self, value: Any) -> Any:
        """Field names and values; what is absent is left out."""
        text: dict[str, Any] = {}
        for field in self.fields:
            item = getattr(value, field.name)
            if item is not None:
                text[field.name] = field.wire.to_json(item) if field.wire else _header_to_json(item)
        if self.extensions is not None and value.exts:
            text["exts"] = registry.chain_to_json(value.exts)
        return list(text.values()) if self.listed else text

    def from_json(self, text: Any) -> Any:
        """The value that `told` describes.  Raises EncodeError when it does not describe one."""
        if self.listed:
            text = dict(zip((field.name for field in self.fields), text, strict=True))
        values: dict[str, Any] = {}
        for field in self.fields:
            if field.name in text:
                values[field.name] = _field_from_json(field, text[field.name], values)
        if "exts" in text:
            among = {registry.of(each).name: each for each in self.extensions or ()}
            values["exts"] = registry.chain_from_json(text["exts"], among)
        if surplus := set(text) - set(values):
            raise EncodeError(self.path, f"no field {', '.join(sorted(surplus))}")
        try:
            return self.cls(**values)
        except TypeError as missing:
            raise EncodeError(self.path, str(missing)) from None


def _header_to_json(value: Any) -> Any:
    return value.word if isinstance(value, Enc) else value if isinstance(value, bool) else int(value)


def _field_from_json(field: Field, text: Any, values: Mapping[str, Any]) -> Any:
    if field.wire:
        return field.wire.from_json_beside(text, values)
    if field.values is Enc:
        return Enc.of(text)
    return field.values(text) if field.values else bool(text)


def snake(name: str) -> str:
    """KeepAlive -> keep_alive, QoSLink -> qos_link, DKeyExpr -> d_key_expr."""
    name = name.replace("QoS", "Qos")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _declare(
    cls: type[T], kind: Kind, number: int, cells: tuple[str, ...], layer: Layer | None, ref: str,
    *, name: str = "", lenient: bool = False, listed: bool = False, only: str = "",
) -> type[T]:  # fmt: skip
    made = dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)
    name = name or cls.__name__
    declaration = Declaration(made, kind, number, cells, layer, ref, name, snake(name), lenient, listed, only=only)
    hints = get_type_hints(made, vars(sys.modules[cls.__module__]), include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(made)}  # type: ignore[arg-type]
    if "exts" in fields:
        declaration.extensions = _extensions(hints["exts"])
    declaration.fields = tuple(
        _field_of(declaration, each, hints[each.name]) for each in fields.values() if each.name != "exts"
    )
    compiler.build(declaration, after_exts=_after_exts(list(fields)))
    registry.add(declaration)
    return made


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
    return tuple(each for each in get_args(inside) or (inside,) if each is not Unknown)


def wire_type(hint: Any) -> WireType:
    """The wire type that an annotation tells.  Raises TypeError when it tells none."""
    if get_origin(hint) is Annotated:
        return next(each for each in hint.__metadata__ if isinstance(each, WireType))
    kinds = tuple(each for each in get_args(hint) if each is not type(None)) or (hint,)
    if len(kinds) == 1 and kinds[0] is not hint:
        return wire_type(kinds[0])
    if all(registry.known(each) for each in kinds):
        composites = registry.of(kinds[0]).kind == "composite"
        return Composite(kinds[0]) if composites else Body(kinds)
    raise TypeError(f"{hint}: no wire type; annotate it as Annotated[type, WireType]")


__all__ = ["NO_EXTS", "Exts", "Mapping", "bits", "composite", "extension", "flag", "given", "message", "when"]
