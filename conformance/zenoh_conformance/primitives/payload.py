"""The payload of PUT and ERR: bytes after their length or, under the shared-memory marker, slices."""

from __future__ import annotations

from zenoh_conformance.wire import Blob, DecodeError, Diagnostic, Vle, excessive_length, registry, unexpected_end, vle
from zenoh_conformance.wire.source import FunctionSource

RAW, REFERENCE = 0, 1
"""The kinds of slice: the bytes themselves, or a reference into shared memory."""


class Payload(Blob):
    """`<u8;z32>`; with the extension `marker`, the number of slices and then the slices."""

    def __init__(self, marker: type) -> None:
        super().__init__(Vle(32))
        self.marker = marker

    def read(self, out: FunctionSource, var: str, path: str) -> None:
        with out.block(f"if exts and {registry.of(self.marker).id:#x} in seen:"):
            out("begin = at", f"at = {out.name(skip, 'skip')}(data, at, end, '{path}.slices', diagnostics)")
            out(f"{var} = data[begin:at]")
            out.mark(f"{path}.slices", f"f'{{len({var})}} bytes'")
        with out.block("else:"):
            super().read(out, var, path)

    def write(self, out: FunctionSource, var: str, path: str) -> None:
        with out.block(f"if exts and {out.name(self.marker, 'MARKER')} in map(type, exts):"):
            out(f"{out.name(skip, 'skip')}({var}, 0, len({var}), '{path}.slices', [])", f"out += {var}")
        with out.block("else:"):
            super().write(out, var, path)


def slices(payload: bytes) -> list[tuple[int, bytes]]:
    """The kind and the content of each slice of a payload with the marker.  Raises DecodeError."""
    into: list[tuple[int, bytes]] = []
    skip(payload, 0, len(payload), "payload.slices", [], into)
    return into


def skip(
    data: bytes,
    at: int,
    end: int,
    path: str,
    diagnostics: list[Diagnostic],
    into: list[tuple[int, bytes]] | None = None,
) -> int:
    """Return the offset after the slices that begin at `at`, and add them to `into`.  Raises DecodeError."""
    count, at = vle.read(data, at, end, path, diagnostics)
    while count:
        if at >= end:
            raise unexpected_end(end, path, "a slice")
        kind = data[at]
        if kind not in (RAW, REFERENCE):
            raise DecodeError(at, path, f"slice kind {kind}")
        begin = at + 1
        size, at = vle.read(data, begin, end, path, diagnostics)
        if size > end - at:
            raise excessive_length(begin, path, size, end - at)
        if into is not None:
            into.append((kind, data[at : at + size]))
        at, count = at + size, count - 1
    return at
