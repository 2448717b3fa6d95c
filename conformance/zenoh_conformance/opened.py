"""What stands in bytes that a declaration leaves whole, where their form is known all the same: for `explain` alone.

The codec reads these as one value, since who does not use them need not know their form; what has another form than the
known one stays whole. Opaque to the end are cookies, shared memory's probes, link states and whatever an application sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from .primitives import payload, timestamp
from .wire import notes, registry, vle
from .wire.errors import CodecError, DecodeError, beyond
from .wire.extensions import MORE
from .wire.layer import Enc


class Part(NamedTuple):
    """A piece of what was one segment."""

    path: str
    """Below the segment's; empty for the whole of it."""

    size: int
    note: str


Form = Callable[[bytes, str, bytes], Iterator[Part]]
"""From the bytes, their path, and the segment two before it to the parts. Raises CodecError for bytes of another form."""

USER_PASSWORD: Final = 2
"""The method of the Auth extension that shows a user and a password."""
LEAST_KEY: Final = 20
"""Bytes of the smallest key under which a challenge of eight bytes can be encrypted (PKCS #1, version 1.5)."""


def parts(path: str, data: bytes, before: Callable[[], bytes]) -> Sequence[Part]:
    """The parts of a segment; none where it has no form of its own, or is of another. `before`: the last but one before it."""
    owner, _, name = path.rpartition(".")
    if name not in _LAST or not data:
        return ()
    form = FORMS.get(f"{owner.rpartition('.')[2].partition('[')[0]}.{name}")
    if form is None:
        return ()
    try:
        found = tuple(form(data, path, before()))
    except CodecError:
        return ()
    return found if sum(part.size for part in found) == len(data) else ()


def authentication(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """An extension chain keyed by method (session-establishment#init-extensions says opaque; the baseline writes this)."""
    at, more = 0, True
    while more:
        if at == len(data):
            raise DecodeError(at, path, "the chain goes on")
        header, at = data[at], at + 1
        more, method, enc = bool(header & MORE), header & 0x0F, header >> 5 & 3
        if enc == 3:
            raise DecodeError(at - 1, path, "extension encoding 3 is reserved")
        ours = method == USER_PASSWORD
        owner = "user_password" if ours else f"method_{method}"
        yield Part(f"{owner}.header", 1, f"method {method}{' user and password' * ours}, {Enc(enc).word}")
        if enc == Enc.Z64:
            begin, (value, at) = at, vle.decode(data, at)
            yield Part(f"{owner}.{'nonce' if ours else 'value'}", at - begin, str(value))
        elif enc == Enc.ZBUF:
            begin, (content, at) = at, _sized(data, at)
            yield Part(f"{owner}.length", at - len(content) - begin, notes.size(len(content)))
            yield from (
                _blobs(content, owner, ("user", "hash"))
                if ours
                else [Part(f"{owner}.value", len(content), notes.content(content))]
            )


def public_key(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """The key of a node, and in InitAck a challenge under the other's: as the baseline writes MultiLink."""
    found = tuple(_blobs(data, "", ("modulus", "exponent", "challenge")))
    if len(found) < 4 or found[1].size < LEAST_KEY:
        raise DecodeError(0, path, "no key")
    yield from found


def proof(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """The challenge, encrypted with the other's key."""
    found = tuple(_blobs(data, "", ("answer",)))
    if len(found) != 2 or found[1].size < LEAST_KEY:
        raise DecodeError(0, path, "no answer")
    yield from found


def slices(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """A payload under the marker Shm (push#common-data-extensions): how many slices, and each with kind and length."""
    count, at = vle.decode(data, 0)
    yield Part("count", at, f"{count} slices")
    for index in range(count):
        if at >= len(data):
            raise DecodeError(at, path, "a slice is missing")
        kind = "the bytes themselves" if data[at] == payload.RAW else "where in shared memory they are"
        yield Part(f"[{index}].kind", 1, f"{data[at]} {kind}")
        begin = at + 1
        content, at = _sized(data, begin)
        yield Part(f"[{index}].length", at - len(content) - begin, notes.size(len(content)))
        yield Part(f"[{index}].bytes", len(content), notes.content(content))


def stamp(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """A Timestamp in a TsStack, unless the entry's flags say that it is the application's own."""
    if before[:1] and before[0] & 0x80:
        raise DecodeError(0, path, "the application's own")
    found: list[Part] = []
    reached = 0

    def mark(path: str, at: int, note: str = "", _measure: object = None) -> None:
        nonlocal reached
        found.append(Part(path, at - reached, note))
        reached = at

    registry.of(timestamp.Timestamp).trace(data, 0, len(data), [], mark, "")
    yield from found


def lane(data: bytes, path: str, before: bytes) -> Iterator[Part]:
    """One number of JOIN's QoS (join#extensions), which counts one priority's messages."""
    index = int(path.rpartition("[")[2].partition("]")[0])
    yield Part("", len(data), f"{vle.decode(data, 0)[0]}, lane {notes.lane(index)}")


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    size, after = vle.decode(data, at)
    if size > len(data) - after:
        raise beyond(at, "length", size, len(data) - after)
    return data[after : after + size], after + size


def _blobs(data: bytes, owner: str, names: Sequence[str]) -> Iterator[Part]:
    """Bytes behind their lengths, one behind the other, of at most these names."""
    at, dot = 0, "." * bool(owner)
    for name in names:
        if at == len(data):
            return
        begin = at
        content, at = _sized(data, at)
        yield Part(f"{owner}{dot}{name}.length", at - len(content) - begin, notes.size(len(content)))
        yield Part(f"{owner}{dot}{name}.bytes", len(content), notes.content(content))
    if at < len(data):
        raise DecodeError(at, owner, "more than there should be")


FORMS: Final[dict[str, Form]] = {
    "auth.payload": authentication,
    "multi_link.payload": public_key,
    "multi_link_syn.payload": proof,
    "payload.slices": slices,
    "stamp.bytes": stamp,
    "sns.reliable": lane,
    "sns.best_effort": lane,
}
"""By the last two components of a segment's path, without places in lists."""
_LAST: Final = frozenset(each.rpartition(".")[2] for each in FORMS)
