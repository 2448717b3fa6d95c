"""Records as JSON: a class declares the fields, and msgspec derives the reader, the writer and the JSON schema from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

import msgspec

from zenoh_harness.files.faults import FileFault, Row

Record = TypeVar("Record")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_WRONG: Final = re.compile(r"Expected `(.*)`, got `(.*)`")


class RecordFault(ValueError):  # noqa: N818 - a fault of the data
    """JSON data is no record of its class; names the field and what was expected."""

    def __init__(self, why: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(why)


def read(kind: type[Record], data: object) -> Record:
    """The record that JSON data describes; fields that the class does not know are passed over. Raises RecordFault."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as why:
        raise _explained(kind, str(why)) from None
    except RecursionError:
        raise RecordFault("is nested too deeply") from None


def read_from(path: Path | str, kind: type[Record], data: object, line: int | None = None) -> Record:
    """The record that JSON data of a file describes. Raises FileFault."""
    try:
        return read(kind, data)
    except RecordFault as why:
        raise FileFault(path, line, str(why), hint=why.hint) from why


def _explained(kind: type, why: str) -> RecordFault:
    fault, _, place = why.partition(" - at `$")
    field = place.strip(".`")
    if missing := _MISSING.fullmatch(fault):
        return RecordFault(f"field {missing[1]!r} is missing")
    if wrong := _WRONG.fullmatch(fault):
        return RecordFault(f"field {field!r} must be {wrong[1]}, found {wrong[2]}")
    wanted = get_type_hints(kind).get(field)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        known = ", ".join(str(member.value) for member in wanted)
        return RecordFault(
            f"field {field!r}: unknown {field} {fault.removeprefix('Invalid enum value ')}", f"known: {known}"
        )
    return RecordFault(f"field {field!r}: {fault}")


def row_of(record: object) -> Row:
    """A record as JSON data, in the order of its fields."""
    row: Row = msgspec.to_builtins(record)
    return row


def schema_of(
    *kinds: type,
    constants: Row | None = None,
    limits: Mapping[str, Row] | None = None,
    optional: Collection[str] | None = None,
) -> Row:
    """The JSON schema of an object that has the fields of all these classes, and none besides.

    `constants`: fields that say what the object is; `limits`: what a schema asks of a field beyond its type; `optional`:
    the fields that may be absent, all that the classes give a default unless told.
    """
    _, parts = msgspec.json.schema_components(kinds)
    properties: Row = {name: {"const": value} for name, value in (constants or {}).items()}
    for kind in kinds:
        for name, field in parts[kind.__name__]["properties"].items():
            properties[name] = _inlined(field, parts) | (limits or {}).get(name, {})
    needed = {*(constants or {})}.union(*(parts[kind.__name__].get("required", ()) for kind in kinds))
    required = [name for name in properties if (name in needed if optional is None else name not in optional)]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def titled(title: str, schema: Row) -> Row:
    """The schema as a document of its own."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _inlined(field: Any, parts: Mapping[str, Any]) -> Any:
    """A part of a schema without references and defaults; its objects have no fields besides those that they name."""
    if isinstance(field, list):
        return [_inlined(item, parts) for item in field]
    if not isinstance(field, dict):
        return field
    if "$ref" in field:
        whole = parts[field["$ref"].rpartition("/")[2]]
        return _inlined({key: value for key, value in whole.items() if key not in ("title", "description")}, parts)
    closed = {"additionalProperties": False} if "properties" in field else {}
    return {key: _inlined(value, parts) for key, value in field.items() if key != "default"} | closed
