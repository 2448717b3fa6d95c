"""A vector as the builder holds it, and the two ways to make one: what must be understood, what must be refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.parts import Message, Segment, Segments, joined, offset

Remark = tuple[str, str]
"""What a strict reader remarks about bytes that it accepts: kind, and path of the segment."""

WITH_CHAIN = "Z set: an extension follows; a reader that overlooks Z takes its bytes for what comes next"
"""Why a message stands once more with an extension."""
TRUNCATED = "truncated"
TRAILING = "trailing-bytes"
BAD_UTF8 = "bad-utf8"
BAD_ENC = "bad-enc"
MANDATORY_UNKNOWN = "unknown-mandatory-extension"
OUT_OF_RANGE = "out-of-range"
ILLEGAL_VALUE = "illegal-value"
UNKNOWN_ID = "unknown-id"
WRONG_BODY = "wrong-body"
BAD_KEY = "bad-key"


@dataclass(frozen=True)
class Vector:
    """One entry of a data file."""

    id: str
    about: str
    layer: str
    segments: Segments
    source: str
    means: dict[str, Any] | None = None
    refuses: dict[str, Any] | None = None
    also: tuple[dict[str, Any], ...] = ()
    """Other meanings that are as good."""
    canonical: bool = False
    errata: tuple[Reading, ...] = ()
    remarks: tuple[tuple[str, int, str], ...] = ()
    steps: tuple[tuple[str, Vector], ...] = ()
    """A conversation: who speaks, and what; then the vector has no bytes of its own."""

    @property
    def data(self) -> bytes:
        return joined(self.segments)


def accept(
    ident: str,
    about: str,
    message: Message,
    *,
    source: str,
    canonical: bool = True,
    errata: Sequence[Reading] = (),
    remarks: Sequence[Remark] = (),
    also: Sequence[Message] = (),
) -> Vector:
    """The bytes must be understood as `message.means`; `canonical`: and a writer gives exactly these bytes."""
    placed = tuple((kind, offset(message.segments, path), path) for kind, path in remarks)
    return Vector(
        ident,
        about,
        message.layer,
        message.segments,
        source,
        means=message.means,
        also=tuple(other.means for other in also),
        canonical=canonical,
        errata=tuple(errata),
        remarks=placed,
    )


def refuse(
    ident: str, about: str, message: Message, why: str, path: str, *, source: str, errata: Sequence[Reading] = ()
) -> Vector:
    """The bytes must be refused, at the first byte of the segment named `path`."""
    at = offset(message.segments, path)
    return Vector(
        ident,
        about,
        message.layer,
        message.segments,
        source,
        errata=tuple(errata),
        refuses={"why": why, "at": at, "path": path},
    )


def refuse_at(
    ident: str,
    about: str,
    layer: str,
    segments: Iterable[Segment],
    why: str,
    at: int,
    path: str,
    *,
    source: str,
    errata: Sequence[Reading] = (),
) -> Vector:
    """The same where no segment stands at the place: data that ends too early."""
    return Vector(
        ident, about, layer, tuple(segments), source, errata=tuple(errata), refuses={"why": why, "at": at, "path": path}
    )


def with_errata(vectors: Iterable[Vector], *errata: Reading) -> Iterable[Vector]:
    """The same vectors, each told to stand on an erratum."""
    for vector in vectors:
        yield replace(vector, errata=vector.errata + errata)


def slug(path: str) -> str:
    """A path as part of an id."""
    return path.replace(".", "-").replace("_", "-").replace("[", "-").replace("]", "")


@dataclass(frozen=True)
class Book:
    """The vectors of one file that share an origin: saves naming file and source each time."""

    stem: str
    source: str

    def ok(self, phrase: str, about: str, message: Message, *remarks: Remark, canonical: bool = True,
           errata: Sequence[Reading] = (), also: Sequence[Message] = ()) -> Vector:
        """These bytes must be understood; a remark about them means that no careful writer sends them."""
        return accept(f"{self.stem}/{phrase}", about, message, source=self.source, errata=errata, remarks=remarks,
                      also=also, canonical=canonical and not remarks)

    def bad(self, phrase: str, about: str, message: Message, why: str, path: str, *,
            errata: Sequence[Reading] = ()) -> Vector:
        """These bytes must be refused, at the segment named `path`."""
        return refuse(f"{self.stem}/{phrase}", about, message, why, path, source=self.source, errata=errata)

    def bad_at(self, phrase: str, about: str, message: Message, why: str, at: int, path: str, *,
               errata: Sequence[Reading] = ()) -> Vector:
        """These bytes must be refused at a byte where no segment begins."""
        return refuse_at(f"{self.stem}/{phrase}", about, message.layer, message.segments, why, at, path,
                         source=self.source, errata=errata)
