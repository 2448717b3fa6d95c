"""Reads golden vectors.  Imports the standard library and nothing of ours, so that the file can be taken away alone.

    for vector in load():
        outcome = decode(vector.layer, vector.data)

Whatever is wrong with a file is a `VectorError` that names file, id and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 1
LAYERS = ("transport", "network", "scouting", "batch", "stream", "lowlatency", "vle", "keyexpr", "conversation")
STANCES = ("PIN", "DEV", "GAP", "BOTH")
READINGS = ("as written", "as erratum")
ID = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9]+(-[a-z0-9]+)*")
PATH = re.compile(r"[a-z][a-z0-9_]*(\[[0-9]+\])?(\.[a-z][a-z0-9_]*(\[[0-9]+\])?)*")
KEYS = frozenset(
    (
        "id",
        "about",
        "core",
        "covers",
        "layer",
        "bytes",
        "segments",
        "means",
        "also",
        "needs",
        "refuses",
        "canonical",
        "remarks",
        "steps",
        "source",
        "errata",
        "confirmed_by",
    )
)


class VectorError(Exception):
    """A vector file cannot be used: which file, which vector, which field, and why."""

    def __init__(self, file: str, ident: str, field: str, why: str) -> None:
        super().__init__(f"{file}: {ident or '(whole file)'}: {field}: {why}")
        self.file, self.id, self.field, self.why = file, ident, field, why


class Segment(NamedTuple):
    """A stretch of bytes with the path of what it holds."""

    path: str
    data: bytes
    note: str


class Refusal(NamedTuple):
    """The bytes are no message: the kind of fault, the first byte of the field at fault, its path."""

    why: str
    at: int
    path: str


class Remark(NamedTuple):
    """What a strict reader reports about bytes that it accepts."""

    kind: str
    at: int
    path: str


@dataclass(frozen=True, slots=True)
class Erratum:
    """A place where text and baseline differ, and the reading that the vector expects."""

    id: str
    alias: str | None
    stance: str
    reading: str
    other_means: Mapping[str, Any] | None = None
    other_refuses: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Bytes, and what they must mean or why they must be refused."""

    id: str
    about: str
    covers: tuple[str, ...]
    """Requirement ids."""
    layer: str
    data: bytes
    segments: tuple[Segment, ...]
    means: Mapping[str, Any] | None
    """`{"Kind": {field: value}}`; None where the bytes must be refused."""
    also: tuple[Mapping[str, Any], ...]
    """Other meanings that say the same: without what was skipped, without what stands at its default."""
    needs: tuple[str, ...]
    """What only some builds can do: `shm`. Others may refuse these bytes."""
    refuses: Refusal | None
    canonical: bool
    """Whether a writer that is given `means` writes exactly these bytes."""
    remarks: tuple[Remark, ...]
    steps: tuple[tuple[str, Vector], ...]
    """A conversation: who speaks ("initiator" or "responder"), and what; its own `data` is then empty."""
    source: str
    errata: tuple[Erratum, ...]
    confirmed_by: tuple[str, ...]
    file: str
    core: bool = False
    """One of the few hundred that the author of a codec reads first."""

    @property
    def parts(self) -> tuple[Vector, ...]:
        """The steps of a conversation; of anything else the vector itself."""
        return tuple(step for _, step in self.steps) or (self,)

    @property
    def acceptable(self) -> bool:
        """The text leaves it open: another outcome is reported and not failed."""
        return any(erratum.stance in ("GAP", "BOTH") for erratum in self.errata)


def data_folder() -> Path:
    """Where the packaged files are."""
    return Path(str(resources.files(__package__ or "zenoh_vectors"))) / "data"


def load(folder: Path | None = None, *, requirements: Collection[str] | None = None) -> tuple[Vector, ...]:
    """All vectors of a folder, sorted by id.

    `requirements`: every id that exists; a vector that covers another one is a `VectorError`.
    """
    where = data_folder() if folder is None else folder
    files = sorted(path for path in where.glob("*.json") if not path.name.endswith(".schema.json"))
    if not files:
        raise VectorError(str(where), "", "(folder)", "holds no vector file (*.json)")
    vectors: dict[str, Vector] = {}
    for file in files:
        for vector in load_file(file):
            if vector.id in vectors:
                raise VectorError(file.name, vector.id, "id", f"stands in {vectors[vector.id].file} too")
            vectors[vector.id] = vector
    if requirements is not None:
        check_covers(vectors.values(), requirements)
    return tuple(vectors[ident] for ident in sorted(vectors))


def load_file(file: Path) -> tuple[Vector, ...]:
    """The vectors of one file, in its order."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise VectorError(file.name, "", "(file)", f"cannot be read as JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("vectors"), list):
        raise VectorError(file.name, "", "vectors", 'expected {"format": 1, "message": ..., "vectors": [...]}')
    if document.get("format") != FORMAT:
        raise VectorError(file.name, "", "format", f"is {document.get('format')!r}; this loader reads {FORMAT}")
    return tuple(_vector(file.name, entry) for entry in document["vectors"])


def check_covers(vectors: Iterable[Vector], requirements: Collection[str]) -> None:
    """Refuse a vector that names a requirement which does not exist."""
    for vector in vectors:
        for requirement in vector.covers:
            if requirement not in requirements:
                raise VectorError(vector.file, vector.id, "covers", f"unknown requirement {requirement!r}")


def schema_faults(file: Path, schema: Mapping[str, Any]) -> list[VectorError]:
    """What the JSON Schema says; needs the `jsonschema` package.  Slower and broader than the checks of `load`."""
    import jsonschema

    document = json.loads(file.read_text(encoding="utf-8"))
    faults = []
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
        where = list(error.absolute_path)
        entry = document["vectors"][where[1]] if where[:1] == ["vectors"] and len(where) > 1 else {}
        field = ".".join(str(step) for step in where[2:]) or "(whole)"
        faults.append(VectorError(file.name, str(entry.get("id", "")), field, error.message[:200]))
    return faults


# --- one entry ---------------------------------------------------------------------------------------------------------


class _Entry:
    """One JSON object with the name of where it stands, so that each refusal can say it."""

    def __init__(self, file: str, ident: str, row: Mapping[str, Any]) -> None:
        self.file, self.id, self.row = file, ident, row

    def fail(self, field: str, why: str) -> VectorError:
        return VectorError(self.file, self.id, field, why)

    def get(self, field: str, kind: type, default: Any = None) -> Any:
        value = self.row.get(field, default)
        if not isinstance(value, kind):
            raise self.fail(
                field, f"expected {kind.__name__}, found {value!r:.60}" if field in self.row else "is missing"
            )
        return value

    def parsed(self, field: str, value: Any, parse: Callable[[Any], Any], expected: str) -> Any:
        try:
            return parse(value)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self.fail(field, f"expected {expected}, found {value!r:.80}") from error


def _vector(file: str, row: Any) -> Vector:
    if not isinstance(row, dict):
        raise VectorError(file, "", "vectors", f"expected an object, found {row!r:.60}")
    entry = _Entry(file, str(row.get("id", "")), row)
    if not ID.fullmatch(entry.get("id", str)):
        raise entry.fail("id", "expected <file>/<phrase-of-words>")
    if strange := sorted(row.keys() - KEYS):
        raise entry.fail(strange[0], "no such field")
    if row.get("layer") not in LAYERS:
        raise entry.fail("layer", f"expected one of {', '.join(LAYERS)}; found {row.get('layer')!r}")
    steps = tuple(_step(entry, number, step) for number, step in enumerate(entry.get("steps", list, [])))
    if sum(name in row for name in ("means", "refuses", "steps")) != 1:
        raise entry.fail("means", "expected exactly one of means, refuses, steps")
    return _built(entry, steps)


def _built(entry: _Entry, steps: tuple[tuple[str, Vector], ...]) -> Vector:
    row = entry.row
    segments = () if steps else _segments(entry)
    data = b"" if steps else _bytes(entry, segments)
    return Vector(
        id=entry.id,
        about=entry.get("about", str),
        covers=tuple(entry.get("covers", list)),
        layer=row["layer"],
        data=data,
        segments=segments,
        means=entry.get("means", dict) if "means" in row else None,
        also=tuple(entry.get("also", list, [])),
        needs=tuple(entry.get("needs", list, [])),
        refuses=_refusal(entry, "refuses", row["refuses"], len(data)) if "refuses" in row else None,
        canonical=entry.get("canonical", bool) if "means" in row else False,
        remarks=tuple(_remark(entry, remark, len(data)) for remark in entry.get("remarks", list, [])),
        steps=steps,
        source=entry.get("source", str),
        errata=tuple(_erratum(entry, erratum, len(data)) for erratum in entry.get("errata", list, [])),
        confirmed_by=tuple(entry.get("confirmed_by", list)),
        file=entry.file,
        core=entry.get("core", bool, False),
    )


def _step(entry: _Entry, number: int, row: Any) -> tuple[str, Vector]:
    if not isinstance(row, dict) or row.get("from") not in ("initiator", "responder"):
        raise entry.fail(f"steps[{number}].from", "expected initiator or responder")
    inner = {**row, "id": entry.id, "covers": [], "source": entry.row.get("source", ""), "confirmed_by": []}
    del inner["from"]
    inner.setdefault("about", "step")
    return row["from"], _vector(entry.file, inner)


def _segments(entry: _Entry) -> tuple[Segment, ...]:
    return tuple([entry.parsed(f"segments[{number}]", row, _segment, "[path, hex, note]")
                  for number, row in enumerate(entry.get("segments", list))])  # fmt: skip


def _segment(row: Any) -> Segment:
    path, hexed, note = row
    if not _is_path(path) or not isinstance(note, str):
        raise ValueError(path)
    return Segment(path, bytes.fromhex(hexed), note)


@cache
def _is_path(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def _bytes(entry: _Entry, segments: tuple[Segment, ...]) -> bytes:
    data: bytes = entry.parsed("bytes", entry.get("bytes", str), bytes.fromhex, "pairs of hexadecimal digits")
    joined = b"".join(segment.data for segment in segments)
    if data != joined:
        at = next(
            (n for n, (a, b) in enumerate(zip(data, joined, strict=False)) if a != b), min(len(data), len(joined))
        )
        raise entry.fail("bytes", f"differ from the joined segments at byte {at} ({len(data)} and {len(joined)} bytes)")
    return data


def _refusal(entry: _Entry, field: str, row: Any, size: int) -> Refusal:
    refusal: Refusal = entry.parsed(
        field,
        row,
        lambda found: Refusal(found["why"], found["at"], found["path"]),
        '{"why": ..., "at": ..., "path": ...}',
    )
    if not _inside(refusal.at, size):
        raise entry.fail(f"{field}.at", f"byte {refusal.at!r} is outside the {size} bytes")
    return refusal


def _inside(at: object, size: int) -> bool:
    return isinstance(at, int) and 0 <= at <= size


def _remark(entry: _Entry, row: Any, size: int) -> Remark:
    remark: Remark = entry.parsed("remarks", row, lambda found: Remark(*found), "[kind, at, path]")
    if not _inside(remark.at, size):
        raise entry.fail("remarks", f"byte {remark.at!r} is outside the {size} bytes")
    return remark


def _erratum(entry: _Entry, row: Any, size: int) -> Erratum:
    def parse(found: Any) -> Erratum:
        other = found.get("other", {})
        if found["stance"] not in STANCES or found["reading"] not in READINGS:
            raise ValueError(found)
        refuses = _refusal(entry, "errata", other["refuses"], size) if "refuses" in other else None
        return Erratum(found["id"], found.get("alias"), found["stance"], found["reading"], other.get("means"), refuses)

    erratum: Erratum = entry.parsed("errata", row, parse, '{"id", "stance", "reading"}')
    return erratum
