"""The vectors' files by their JSON schema: slower and more thorough than the loader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema

from zenoh_vectors.loader import VectorError


def schema_faults(file: Path, schema: Mapping[str, Any]) -> list[VectorError]:
    """The faults by the JSON Schema; needs the `jsonschema` package.  Slower and more thorough than `load`."""
    document = json.loads(file.read_text(encoding="utf-8"))
    faults = []
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
        where = list(error.absolute_path)
        entry = document["vectors"][where[1]] if where[:1] == ["vectors"] and len(where) > 1 else {}
        field = ".".join(str(step) for step in where[2:]) or "(whole)"
        faults.append(VectorError(file.name, str(entry.get("id", "")), field, error.message[:200]))
    return faults
