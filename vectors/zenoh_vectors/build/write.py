"""From vectors to files: one JSON a message, sorted, one segment a line, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zenoh_vectors.build.core import is_core
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.parts import Segments
from zenoh_vectors.build.variants import is_plain, needs_of, variants
from zenoh_vectors.build.vector import Vector

Entry = dict[str, Any]


def hexed(data: bytes) -> str:
    """Lowercase pairs; a space between them while that is still easy to read."""
    return data.hex(" ") if len(data) <= 32 else data.hex()


def segment_rows(segments: Segments) -> list[list[str]]:
    """Segments as the JSON holds them."""
    return [[segment.path, hexed(segment.data), segment.note] for segment in segments]


def erratum_entry(reading: Reading, ids: Mapping[str, str]) -> Entry:
    """One erratum of a vector, with what the other reading makes of the bytes where that is known."""
    entry: Entry = {"id": ids.get(reading.alias, reading.alias)}
    if reading.alias.startswith("ZD-"):
        entry["alias"] = reading.alias
    entry |= {"stance": reading.stance, "reading": reading.reading}
    if reading.means is not None:
        entry["other"] = {"means": reading.means}
    if reading.refuses is not None:
        entry["other"] = {"refuses": reading.refuses}
    return entry


def entry_of(vector: Vector, covers: list[str], confirmed: list[str], errata: Mapping[str, str]) -> Entry:
    """A vector as the JSON holds it, keys in the order that a person reads."""
    core = {"core": True} if is_core(vector) else {}
    entry: Entry = {"id": vector.id, "about": vector.about, **core, "covers": covers, "layer": vector.layer}
    if needs := needs_of([segment.path for segment in vector.segments]):
        entry["needs"] = needs
    if vector.steps:
        entry["steps"] = [{"from": who, "about": step.about, **bytes_of(step), **meaning_of(step)} for who, step in vector.steps]
    else:
        entry |= bytes_of(vector)
    entry |= meaning_of(vector)
    if vector.refuses is not None:
        entry["refuses"] = vector.refuses
    if vector.remarks:
        entry["remarks"] = [list(remark) for remark in vector.remarks]
    entry["source"] = vector.source
    if vector.errata:
        entry["errata"] = [erratum_entry(reading, errata) for reading in vector.errata]
    return {**entry, "confirmed_by": confirmed}


def bytes_of(vector: Vector) -> Entry:
    """Whole, and in pieces; a step of a conversation has its layer with it."""
    head: Entry = {"layer": vector.layer} if vector.id == "step" else {}
    return {**head, "bytes": vector.data.hex(), "segments": segment_rows(vector.segments)}


def meaning_of(vector: Vector) -> Entry:
    """What the bytes mean, the other ways to say it, and whether a writer gives these bytes."""
    if vector.means is None:
        return {}
    also = [*vector.also, *(text for means in [vector.means, *vector.also] for text in variants(means))]
    unique = [text for place, text in enumerate(also) if text not in also[:place] and text != vector.means]
    more = {"also": unique} if unique else {}
    return {"means": vector.means, **more, "canonical": vector.canonical and is_plain(vector.means)}


def file_text(message: str, entries: Iterable[Entry]) -> str:
    """A whole data file."""
    bodies = ",\n".join(_object(entry, "    ") for entry in entries)
    return f'{{\n  "format": 1,\n  "message": {json.dumps(message)},\n  "vectors": [\n{bodies}\n  ]\n}}\n'


def _object(entry: Entry, indent: str) -> str:
    lines = [f"{indent}  {json.dumps(key)}: {_value(key, value, indent + '  ')}" for key, value in entry.items()]
    return f"{indent}{{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _value(key: str, value: Any, indent: str) -> str:
    if key == "segments" and value:
        rows = ",\n".join(f"{indent}  {json.dumps(row, ensure_ascii=False)}" for row in value)
        return f"[\n{rows}\n{indent}]"
    if key == "steps":
        return "[\n" + ",\n".join(_object(step, indent + "  ") for step in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def changed(texts: Mapping[str, str], folder: Path) -> list[str]:
    """Names of the files under `folder` that differ from what the builder writes: new, gone, or other text."""
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(name for name in {*found, *texts} if found.get(name) != texts.get(name))


def rewrite(texts: Mapping[str, str], folder: Path) -> list[str]:
    """Make `folder` hold exactly these files; the names of those that were touched."""
    touched = changed(texts, folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in touched:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return touched
