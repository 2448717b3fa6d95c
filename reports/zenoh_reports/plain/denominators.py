"""What there is to judge, as rows: requirements and golden vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zenoh_conformance.spec.requirement import requirements
from zenoh_vectors.loader import Vector, VectorError, load_file


@dataclass(slots=True)
class RequirementRow:
    """One requirement."""

    id: str
    page: str
    level: str
    binds: str
    ref: list[str]
    says: str
    codec: bool
    needs: list[str]
    errata: list[str]
    owed: str
    unobservable: str


@dataclass(slots=True)
class VectorRow:
    """One golden vector, or why a file has none."""

    file: str
    id: str = ""
    about: str = ""
    layer: str = ""
    covers: list[str] = field(default_factory=list)
    data: bytes = b""
    refuses: str = ""
    """The kind of fault; empty for what must be read."""
    at: int = 0
    path: str = ""
    canonical: bool = False
    errata: list[str] = field(default_factory=list)
    source: str = ""
    confirmed_by: list[str] = field(default_factory=list)
    fault: str = ""


def requirement_rows() -> Iterator[RequirementRow]:
    """Every requirement, in the order of the pages."""
    for each in requirements().values():
        yield RequirementRow(
            each.id, each.page, str(each.level), each.binds, list(each.ref), each.says, each.by_codec, list(each.needs),
            list(each.erratum), each.owed, each.unobservable,
        )  # fmt: skip


def vector_rows(path: str) -> Iterator[VectorRow]:
    """The vectors of one file; a fault where it cannot be used. Never raises for what it reads."""
    try:
        yield from (_vector(path, each) for each in load_file(Path(path)))
    except (VectorError, OSError, UnicodeDecodeError) as why:
        yield VectorRow(path, fault=str(why))


def _vector(path: str, each: Vector) -> VectorRow:
    refusal = each.refuses
    return VectorRow(
        file=path, id=each.id, about=each.about, layer=each.layer, covers=list(each.covers), data=each.data,
        refuses=refusal.why if refusal else "", at=refusal.at if refusal else 0, path=refusal.path if refusal else "",
        canonical=each.canonical, errata=[one.id for one in each.errata], source=each.source,
        confirmed_by=list(each.confirmed_by),
    )  # fmt: skip
