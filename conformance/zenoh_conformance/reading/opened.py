"""The inner form of values that the codec reads as opaque bytes; used by `explain` only.

The codec does not need these forms, and bytes in another form stay one segment. Cookies, shared-memory probes, link states
and the data of applications have no known form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from zenoh_conformance.primitives import payload, timestamp
from zenoh_conformance.wire import Enc, Tracer, notes, registry, vle
from zenoh_conformance.wire.errors import CodecError, DecodeError, excessive_length
from zenoh_conformance.wire.extensions import MORE


class InnerPart(NamedTuple):
    """A part of a segment."""

    path: str
    """The path below that of the segment; empty for the whole segment."""

    size: int
    note: str


Form = Callable[[bytes, str, bytes], Iterator[InnerPart]]
"""From the bytes, their path, and the segment two before them to the parts. Raises CodecError for bytes of another form."""

USER_PASSWORD: Final = 2
"""The method of the Auth extension with a user and a password."""
LEAST_KEY: Final = 20
"""Bytes of the smallest key under which a challenge of eight bytes can be encrypted (PKCS #1, version 1.5)."""


def parts(path: str, data: bytes, before: Callable[[], bytes]) -> Sequence[InnerPart]:
    """The parts of a segment; none if it has no known form or does not fit it. `before`: the bytes of the segment two before."""
    owner, _, name = path.rpartition(".")
    if name not in _LAST or not data:
        return ()
    form = FORMS.get(f"{owner.rpartition('.')[2].partition('[')[0]}.{name}")
    if form is None:
        return ()
    try:
        inner = tuple(form(data, path, before()))
    except CodecError:
        return ()
    return inner if sum(part.size for part in inner) == len(data) else ()


def authentication(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """An extension chain keyed by method, as the baseline writes it (opaque in session-establishment#init-extensions)."""
    at, more = 0, True
    while more:
        if at == len(data):
            raise DecodeError(at, path, "the chain goes on")
        header, at = data[at], at + 1
        more, method, enc = bool(header & MORE), header & 0x0F, header >> 5 & 3
        if enc == 3:
            raise DecodeError(at - 1, path, "extension encoding 3 is reserved")
        by_password = method == USER_PASSWORD
        owner = "user_password" if by_password else f"method_{method}"
        yield InnerPart(f"{owner}.header", 1, f"method {method}{' user and password' * by_password}, {Enc(enc).word}")
        if enc == Enc.Z64:
            begin, (value, at) = at, vle.decode(data, at)
            yield InnerPart(f"{owner}.{'nonce' if by_password else 'value'}", at - begin, str(value))
        elif enc == Enc.ZBUF:
            begin, (content, at) = at, _read_blob(data, at)
            length, whole = _blob_parts(content, at - len(content) - begin, owner, "value")
            yield length
            yield from _blobs(content, owner, ("user", "hash")) if by_password else [whole]


def public_key(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """The public key of a node and, in InitAck, a challenge encrypted with the peer's key, as the baseline writes MultiLink."""
    inner = tuple(_blobs(data, "", ("modulus", "exponent", "challenge")))
    if len(inner) < 4 or inner[1].size < LEAST_KEY:
        raise DecodeError(0, path, "no key")
    yield from inner


def proof(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """The challenge, encrypted with the peer's key."""
    inner = tuple(_blobs(data, "", ("answer",)))
    if len(inner) != 2 or inner[1].size < LEAST_KEY:
        raise DecodeError(0, path, "no answer")
    yield from inner


def slices(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """A payload under the marker Shm (push#common-data-extensions): the number of slices, and kind and length of each."""
    count, at = vle.decode(data, 0)
    yield InnerPart("count", at, f"{count} slices")
    for index in range(count):
        if at >= len(data):
            raise DecodeError(at, path, "a slice is missing")
        kind = "the bytes themselves" if data[at] == payload.RAW else "where in shared memory they are"
        yield InnerPart(f"[{index}].kind", 1, f"{data[at]} {kind}")
        begin = at + 1
        content, at = _read_blob(data, begin)
        yield from _blob_parts(content, at - len(content) - begin, f"[{index}]", "bytes")


def stamp(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """A Timestamp in a TsStack, unless the flags of its entry say that the stamp is in the application's own form."""
    if before[:1] and before[0] & 0x80:
        raise DecodeError(0, path, "the application's own form")
    tracer = Tracer(data)
    registry.of(timestamp.Timestamp).trace(data, 0, len(data), [], tracer.mark, "")
    for segment in tracer.segments():
        yield InnerPart(segment.path, len(segment.data), segment.note)


def lane(data: bytes, path: str, before: bytes) -> Iterator[InnerPart]:
    """A sequence number in JOIN's QoS (join#extensions), which belongs to one priority."""
    index = int(path.rpartition("[")[2].partition("]")[0])
    yield InnerPart("", len(data), f"{vle.decode(data, 0)[0]}, lane {notes.lane(index)}")


def _blob_parts(content: bytes, length_size: int, owner: str, name: str) -> Iterator[InnerPart]:
    """The length and the content of a blob."""
    yield InnerPart(f"{owner}.length", length_size, notes.size(len(content)))
    yield InnerPart(f"{owner}.{name}", len(content), notes.content(content))


def _read_blob(data: bytes, at: int) -> tuple[bytes, int]:
    """The bytes after the length at `at`, and the offset after them.  Raises DecodeError."""
    size, after = vle.decode(data, at)
    if size > len(data) - after:
        raise excessive_length(at, "length", size, len(data) - after)
    return data[after : after + size], after + size


def _blobs(data: bytes, owner: str, names: Sequence[str]) -> Iterator[InnerPart]:
    """Blobs back to back, at most one for each name."""
    at, dot = 0, "." * bool(owner)
    for name in names:
        if at == len(data):
            return
        begin = at
        content, at = _read_blob(data, at)
        yield from _blob_parts(content, at - len(content) - begin, f"{owner}{dot}{name}", "bytes")
    if at < len(data):
        raise DecodeError(at, owner, f"{len(data) - at} bytes after the last value")


FORMS: Final[dict[str, Form]] = {
    "auth.payload": authentication,
    "multi_link.payload": public_key,
    "multi_link_syn.payload": proof,
    "payload.slices": slices,
    "stamp.bytes": stamp,
    "sns.reliable": lane,
    "sns.best_effort": lane,
}
"""The forms by the last two components of a segment's path, without indices."""
_LAST: Final = frozenset(path.rpartition(".")[2] for path in FORMS)
