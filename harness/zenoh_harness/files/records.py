"""Records as JSON: a class declares the fields, and msgspec derives reader, writer and JSON schema from it."""

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
    """JSON data does not match its record class; the message names the field and what was expected."""

    def __init__(self, why: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(why)


def read(kind: type[Record], data: object) -> Record:
    """Return the record that JSON data describes; unknown fields are ignored. Raises RecordFault."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as why:
        raise _record_fault(kind, str(why)) from None
    except RecursionError:
        raise RecordFault("is nested too deeply") from None


def read_from(path: Path | str, kind: type[Record], data: object, line: int | None = None) -> Record:
    """Return the record that JSON data of a file describes; `line` counts from 1. Raises FileFault."""
    try:
        return read(kind, data)
    except RecordFault as why:
        raise FileFault(path, line, str(why), hint=why.hint) from why


def _record_fault(kind: type, why: str) -> RecordFault:
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
    """Return a record as JSON data, in the order of its fields."""
    row: Row = msgspec.to_builtins(record)
    return row


def schema_of(
    *kinds: type,
    constants: Row | None = None,
    limits: Mapping[str, Row] | None = None,
    optional: Collection[str] | None = None,
) -> Row:
    """Return the JSON schema of an object that has the fields of all these classes, and no others.

    `constants`: fields with a fixed value; `limits`: keywords that the schema adds to a field's type; `optional`: fields
    that may be absent, by default those that have a default in their class.
    """
    _, parts = msgspec.json.schema_components(kinds)
    properties: Row = {name: {"const": value} for name, value in (constants or {}).items()}
    for kind in kinds:
        for name, field in parts[kind.__name__]["properties"].items():
            properties[name] = _inline(field, parts) | (limits or {}).get(name, {})
    needed = {*(constants or {})}.union(*(parts[kind.__name__].get("required", ()) for kind in kinds))
    required = [name for name in properties if (name in needed if optional is None else name not in optional)]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def with_title(title: str, schema: Row) -> Row:
    """Return the schema as a complete document, with `$schema` and title."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _inline(field: Any, parts: Mapping[str, Any]) -> Any:
    """Return a part of a schema without references and defaults; its objects allow no additional properties."""
    if isinstance(field, list):
        return [_inline(item, parts) for item in field]
    if not isinstance(field, dict):
        return field
    if "$ref" in field:
        whole = parts[field["$ref"].rpartition("/")[2]]
        return _inline({key: value for key, value in whole.items() if key not in ("title", "description")}, parts)
    closed = {"additionalProperties": False} if "properties" in field else {}
    return {key: _inline(value, parts) for key, value in field.items() if key != "default"} | closed
