"""Reads golden vectors.  Imports only the standard library, so that the file can be copied and used alone.

    for vector in load():
        outcome = decode(vector.layer, vector.data)

Every fault of a file raises a `VectorError` that names file, id and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 1
LAYERS = ("transport", "network", "scouting", "batch", "stream", "lowlatency", "vle", "keyexpr", "conversation")
STANCES = ("PIN", "DEV", "GAP", "BOTH")
READINGS = ("as written", "as erratum")
ID = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9]+(-[a-z0-9]+)*")
PATH = re.compile(r"[a-z][a-z0-9_]*(\[[0-9]+\])?(\.[a-z][a-z0-9_]*(\[[0-9]+\])?)*")


class VectorError(Exception):
    """A vector file cannot be used: file, line where that is known, vector, field, and why."""

    def __init__(self, file: str, ident: str, field: str, why: str, line: int = 0) -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: {ident or '(whole file)'}: {field}: {why}")
        self.file, self.id, self.field, self.why, self.line = file, ident, field, why, line


class VectorSegment(NamedTuple):
    """Some bytes of a vector, with their path and meaning."""

    path: str
    data: bytes
    note: str


class VectorRefusal(NamedTuple):
    """The refusal of bytes: the kind of fault, the first byte of the field at fault, its path."""

    why: str
    at: int
    path: str


class Remark(NamedTuple):
    """A remark of a strict reader on bytes that it accepts."""

    kind: str
    at: int
    path: str


@dataclass(frozen=True, slots=True)
class VectorErratum:
    """A difference between text and baseline, with the reading that the vector expects."""

    id: str
    alias: str | None
    stance: str
    reading: str
    other_means: Mapping[str, Any] | None = None
    other_refuses: VectorRefusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Bytes with their meaning, or with the reason for which they must be refused."""

    id: str
    about: str
    covers: tuple[str, ...]
    """Requirement ids."""
    layer: str
    data: bytes
    segments: tuple[VectorSegment, ...]
    means: Mapping[str, Any] | None
    """`{"Kind": {field: value}}`; None for bytes that must be refused."""
    also: tuple[Mapping[str, Any], ...]
    """Equivalent meanings: without skipped extensions, without fields at their default."""
    needs: tuple[str, ...]
    """Optional features, such as `shm`; a build without one may refuse the bytes."""
    refuses: VectorRefusal | None
    canonical: bool
    """Whether an encoder writes exactly these bytes for `means`."""
    remarks: tuple[Remark, ...]
    steps: tuple[tuple[str, Vector], ...]
    """The steps of a conversation: sender ("initiator" or "responder") and vector; its own `data` is then empty."""
    source: str
    errata: tuple[VectorErratum, ...]
    confirmed_by: tuple[str, ...]
    file: str
    core: bool = False
    """Whether it is one of the few hundred vectors to begin with."""

    @property
    def parts(self) -> tuple[Vector, ...]:
        """The steps of a conversation, or the vector itself."""
        return tuple(step for _, step in self.steps) or (self,)

    @property
    def acceptable(self) -> bool:
        """Whether the text leaves the point open, so that another outcome is reported and does not fail."""
        return any(erratum.stance in ("GAP", "BOTH") for erratum in self.errata)


KEYS = frozenset(field.name for field in fields(Vector)) - {"file", "data"} | {"bytes"}
"""The keys of a vector in a file."""


def data_folder() -> Path:
    """The folder of the packaged files."""
    return Path(str(resources.files(__package__ or "zenoh_vectors"))) / "data"


def load(folder: Path | None = None, *, requirements: Collection[str] | None = None) -> tuple[Vector, ...]:
    """All vectors of a folder, sorted by id.  Raises VectorError.

    `requirements`: every id that exists; a vector may cover no other.
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


def load_usable(
    folder: Path,
    *,
    known: Iterable[Vector] = (),
    requirements: Collection[str] | None = None,
    check: Callable[[Vector], None] = lambda _vector: None,
) -> tuple[tuple[Vector, ...], tuple[VectorError, ...]]:
    """The vectors of a folder that can be used, sorted by id, and what is wrong with each of the others.

    `known`: vectors whose ids and meanings those of the folder must not contradict; `check` raises VectorError for what else is wrong
    with a vector. Raises VectorError for a folder without files.
    """
    files = sorted(path for path in folder.glob("*.json") if not path.name.endswith(".schema.json"))
    if not files:
        raise VectorError(str(folder), "", "(folder)", "holds no vector file (*.json)")
    usable: dict[str, Vector] = {vector.id: vector for vector in known}
    outcomes = {(vector.layer, vector.data): vector for vector in usable.values() if not vector.steps}
    own, broken = [], []
    for file in files:
        try:
            rows = _rows(file)
        except VectorError as error:
            broken.append(error)
            continue
        for row in rows:
            try:
                vector = _vector(file.name, row)
                check_covers([vector], vector.covers if requirements is None else requirements)
                _check_beside(vector, usable, outcomes)
                check(vector)
            except VectorError as error:
                broken.append(VectorError(error.file, error.id, error.field, error.why, _line_of(file, error.id)))
                continue
            usable[vector.id] = outcomes[vector.layer, vector.data] = vector
            own.append(vector)
    return tuple(sorted(own, key=lambda vector: vector.id)), tuple(broken)


def _check_beside(vector: Vector, usable: Mapping[str, Vector], outcomes: Mapping[tuple[str, bytes], Vector]) -> None:
    """Raise VectorError where a vector has the id of another one, or the same bytes with the contrary outcome."""
    if vector.id in usable:
        raise VectorError(vector.file, vector.id, "id", f"stands in {usable[vector.id].file} too")
    other = None if vector.steps else outcomes.get((vector.layer, vector.data))
    if other is not None and (other.refuses is None) != (vector.refuses is None) and not vector.needs:
        field = "means" if vector.refuses is None else "refuses"
        raise VectorError(vector.file, vector.id, field, f"contradicts {other.id}, which has the same bytes")


def _line_of(file: Path, ident: str) -> int:
    """The line on which a vector's id stands, 0 where it does not."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return next((number for number, line in lines if ident and re.search(rf'"id":\s*"{re.escape(ident)}"', line)), 0)


def load_file(file: Path) -> tuple[Vector, ...]:
    """The vectors of one file, in its order; read once as long as it does not change. Raises VectorError."""
    try:
        stat = file.stat()
    except OSError as error:
        raise VectorError(file.name, "", "(file)", f"cannot be read as JSON: {error}") from error
    return _load_file(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _load_file(file: Path, _changed: int, _size: int) -> tuple[Vector, ...]:
    return tuple(_vector(file.name, entry) for entry in _rows(file))


def _rows(file: Path) -> list[Any]:
    """The entries of a file as they stand there. Raises VectorError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise VectorError(file.name, "", "(file)", f"cannot be read as JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("vectors"), list):
        raise VectorError(file.name, "", "vectors", 'expected {"format": 1, "message": ..., "vectors": [...]}')
    if document.get("format") != FORMAT:
        raise VectorError(file.name, "", "format", f"is {document.get('format')!r}; this loader reads {FORMAT}")
    rows: list[Any] = document["vectors"]
    return rows


def check_covers(vectors: Iterable[Vector], requirements: Collection[str]) -> None:
    """Raise VectorError for a vector that covers a requirement that does not exist."""
    for vector in vectors:
        for requirement in vector.covers:
            if requirement not in requirements:
                raise VectorError(vector.file, vector.id, "covers", f"unknown requirement {requirement!r}")


# --- one entry ---------------------------------------------------------------------------------------------------------


class _Entry:
    """A JSON object with its file and id, for errors."""

    def __init__(self, file: str, ident: str, row: Mapping[str, Any]) -> None:
        self.file, self.id, self.row = file, ident, row

    def fail(self, field: str, why: str) -> VectorError:
        return VectorError(self.file, self.id, field, why)

    def get(self, field: str, kind: type, default: Any = None) -> Any:
        value = self.row.get(field, default)
        if not isinstance(value, kind):
            why = f"expected {kind.__name__}, found {value!r:.60}" if field in self.row else "is missing"
            raise self.fail(field, why)
        return value

    def parse(self, field: str, value: Any, parse: Callable[[Any], Any], expected: str) -> Any:
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
    if unknown := sorted(row.keys() - KEYS):
        raise entry.fail(unknown[0], "no such field")
    if row.get("layer") not in LAYERS:
        raise entry.fail("layer", f"expected one of {', '.join(LAYERS)}; found {row.get('layer')!r}")
    steps = tuple(_step(entry, number, step) for number, step in enumerate(entry.get("steps", list, [])))
    if sum(name in row for name in ("means", "refuses", "steps")) != 1:
        raise entry.fail("means", "expected exactly one of means, refuses, steps")
    return _make_vector(entry, steps)


def _make_vector(entry: _Entry, steps: tuple[tuple[str, Vector], ...]) -> Vector:
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


def _segments(entry: _Entry) -> tuple[VectorSegment, ...]:
    rows = enumerate(entry.get("segments", list))
    return tuple([entry.parse(f"segments[{number}]", row, _segment, "[path, hex, note]") for number, row in rows])


def _segment(row: Any) -> VectorSegment:
    path, hexed, note = row
    if not _is_path(path) or not isinstance(note, str):
        raise ValueError(path)
    return VectorSegment(path, bytes.fromhex(hexed), note)


@cache
def _is_path(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def _bytes(entry: _Entry, segments: tuple[VectorSegment, ...]) -> bytes:
    data: bytes = entry.parse("bytes", entry.get("bytes", str), bytes.fromhex, "pairs of hexadecimal digits")
    joined = b"".join(segment.data for segment in segments)
    if data != joined:
        pairs = enumerate(zip(data, joined, strict=False))
        at = next((n for n, (a, b) in pairs if a != b), min(len(data), len(joined)))
        raise entry.fail("bytes", f"differ from the joined segments at byte {at} ({len(data)} and {len(joined)} bytes)")
    return data


def _refusal(entry: _Entry, field: str, row: Any, size: int) -> VectorRefusal:
    def parse(row: Any) -> VectorRefusal:
        return VectorRefusal(row["why"], row["at"], row["path"])

    refusal: VectorRefusal = entry.parse(field, row, parse, '{"why": ..., "at": ..., "path": ...}')
    if not _inside(refusal.at, size):
        raise entry.fail(f"{field}.at", f"byte {refusal.at!r} is outside the {size} bytes")
    return refusal


def _inside(at: object, size: int) -> bool:
    return isinstance(at, int) and 0 <= at <= size


def _remark(entry: _Entry, row: Any, size: int) -> Remark:
    remark: Remark = entry.parse("remarks", row, lambda row: Remark(*row), "[kind, at, path]")
    if not _inside(remark.at, size):
        raise entry.fail("remarks", f"byte {remark.at!r} is outside the {size} bytes")
    return remark


def _erratum(entry: _Entry, row: Any, size: int) -> VectorErratum:
    def parse(row: Any) -> VectorErratum:
        other = row.get("other", {})
        if row["stance"] not in STANCES or row["reading"] not in READINGS:
            raise ValueError(row)
        refuses = _refusal(entry, "errata", other["refuses"], size) if "refuses" in other else None
        return VectorErratum(row["id"], row.get("alias"), row["stance"], row["reading"], other.get("means"), refuses)

    erratum: VectorErratum = entry.parse("errata", row, parse, '{"id", "stance", "reading"}')
    return erratum
