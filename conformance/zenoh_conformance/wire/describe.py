"""Declarations as data for tables, pages and mutators."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from zenoh_conformance.wire import registry

from .extensions import MANDATORY
from .layer import Enc, Layer


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """A field of a declaration."""

    name: str
    wire: str
    """Its wire type: `z32`, `<u8;z16>`; `bit 5` or `bits 6:5` for a field in the header."""
    cell: str | None
    """The header cell that holds the field, or that says that the field follows."""
    when: str | None
    """The condition under which the field follows."""
    doc: str


@dataclass(frozen=True, slots=True)
class ExtensionFacts:
    """One row of a message's table of extensions."""

    name: str
    path: str
    id: int
    enc: Enc
    mandatory: bool
    header: int
    """The first byte, without the bit for another extension."""
    only: str
    """The condition on the message's fields under which the table has the row; empty for always."""
    ref: str
    doc: str
    fields: tuple[FieldFacts, ...]


@dataclass(frozen=True, slots=True)
class DeclarationFacts:
    """The declaration of a message, extension or composite."""

    name: str
    title: str
    path: str
    kind: str
    id: int
    layer: Layer | None
    cells: tuple[str, ...]
    """The meaning of bits 7, 6 and 5 of the header; X is reserved."""
    ref: str
    doc: str
    fields: tuple[FieldFacts, ...]
    """In wire order."""
    extensions: tuple[ExtensionFacts, ...]


@cache
def describe(cls: type) -> DeclarationFacts:
    """The declaration of `cls` as data.  Raises KeyError for a class that is not declared."""
    declared = registry.of(cls)
    return DeclarationFacts(
        name=declared.name,
        title=declared.title,
        path=declared.path,
        kind=declared.kind,
        id=declared.id,
        layer=declared.layer,
        cells=declared.cells,
        ref=declared.ref,
        doc=inspect.getdoc(cls) or "",
        fields=_fields(cls),
        extensions=tuple(map(_extension, declared.extensions or ())),
    )


def _fields(cls: type) -> tuple[FieldFacts, ...]:
    declared, docs, facts = registry.of(cls), field_docs(cls), []
    for field in declared.fields:
        presence = field.presence
        cell = presence.what if presence and presence.how != "when" else None
        when = presence.what if presence and presence.how == "when" else None
        wire = field.wire.label if field.wire else _bits(declared.mask(cell or ""))
        facts.append(FieldFacts(field.name, wire, cell, when, docs.get(field.name, "")))
    return tuple(facts)


def _bits(mask: int) -> str:
    high, low = mask.bit_length() - 1, (mask & -mask).bit_length() - 1
    return f"bit {low}" if high == low else f"bits {high}:{low}"


def _extension(cls: type) -> ExtensionFacts:
    declared = registry.of(cls)
    header = declared.id
    return ExtensionFacts(
        name=declared.name,
        path=declared.path,
        id=header & 0x0F,
        enc=Enc(header >> 5),
        mandatory=bool(header & MANDATORY),
        header=header,
        only=declared.only,
        ref=declared.ref,
        doc=inspect.getdoc(cls) or "",
        fields=_fields(cls),
    )


@cache
def field_docs(cls: type) -> dict[str, str]:
    """The docstring of each field of a class."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for pair in pairwise(body.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = inspect.cleandoc(text)
    return docs
