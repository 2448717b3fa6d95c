"""Explains bytes as annotated segments; bytes without a known meaning are kept as unexplained."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from zenoh_conformance.messages import Init, Oam, Open, init
from zenoh_conformance.wire import NO_EXTS, DecodeError, Diagnostic, Exts, Layer, notes, registry

from . import batch, opened

UNEXPLAINED = "unexplained"
"""The last component of the path of bytes without a known meaning."""

ROW = 12
"""Bytes on one line."""

OUTER = (Layer.STREAM, Layer.BATCH, Layer.NETWORK, Layer.SCOUTING, Layer.LOWLATENCY)
GUESSES = (*OUTER, Layer.DATA, Layer.DECLARATION)
"""The layers that a guess tries; the first one wins a tie. A single byte is read as one of OUTER only."""

VERSION = 9
"""The version of the protocol; a reading that finds another version is probably wrong."""


class ExplainedSegment(NamedTuple):
    """One segment, with its offset and its meaning."""

    at: int
    """Offset of the first byte in the given bytes or, with `inside`, in the decompressed block."""

    data: bytes
    path: str
    note: str
    inside: bool = False
    """Whether the segment is part of a decompressed block."""


@dataclass(slots=True)
class Explanation:
    """The meaning of some bytes: segments, messages, diagnostics, and the first refusal."""

    layer: Layer
    """The given layer, or the guessed one."""

    lines: list[ExplainedSegment] = field(default_factory=list)
    """Every byte, in order; the content of a compressed block follows the block."""

    messages: list[Any] = field(default_factory=list)
    """The messages, in order."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    """Remarks on bytes that were read, though a careful sender would not write them."""

    refusal: DecodeError | None = None
    """The first reason why bytes could not be read."""

    @property
    def ok(self) -> bool:
        """Whether every byte is explained."""
        return self.refusal is None

    @property
    def explained(self) -> int:
        """The number of explained bytes."""
        return sum(len(line.data) for line in self.lines if not line.inside and not line.path.endswith(UNEXPLAINED))

    @property
    def odd(self) -> int:
        """The number of unlikely parts: empty batches, OAM and other versions, which zeros read as."""
        empty = sum(
            not any(line.data) and line.path.startswith("batch[") and _is_batch_length(line) for line in self.lines
        )
        versions = sum(getattr(message, "version", VERSION) != VERSION for message in self.messages)
        return empty + int(versions) + sum(isinstance(message, Oam) for message in self.messages)

    @property
    def merit(self) -> tuple[bool, bool, int, int]:
        """The quality of this reading; of several readings the largest wins."""
        return self.ok, not self.odd, self.explained, -len(self.diagnostics)

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON."""
        json: dict[str, Any] = {
            "layer": self.layer.value,
            "ok": self.ok,
            "segments": [
                {"at": line.at, "path": line.path, "bytes": line.data.hex(), "note": line.note}
                | ({"inside": True} if line.inside else {})
                for line in self.lines
            ],
            "diagnostics": [diagnostic._asdict() for diagnostic in self.diagnostics],
        }
        if self.refusal:
            json["refusal"] = {"at": self.refusal.at, "path": self.refusal.path, "why": self.refusal.why}
        return json

    def text(self) -> Iterator[str]:
        """Lines for people: offset, bytes, name, meaning; each diagnostic below its segment, the refusal last."""
        shown: set[Diagnostic] = set()
        diagnostics = sorted(self.diagnostics, key=attrgetter("at"))
        places = [diagnostic.at for diagnostic in diagnostics]
        owners: list[str] = []
        for line in self.lines:
            if not line.data:
                continue
            while owners and not _inside(owners[-1], line.path):
                owners.pop()
            owner = owners[-1] if owners else ""
            name = line.path.removeprefix(owner).lstrip(".") if owner else line.path
            yield from _rows(line, "  " * len(owners) + name)
            if line.path.endswith(".header") and ".exts." not in line.path.removeprefix(owner):
                owners.append(line.path.removesuffix(".header"))
            if line.inside:
                continue
            for diagnostic in diagnostics[bisect_left(places, line.at) : bisect_left(places, line.at + len(line.data))]:
                if diagnostic not in shown:
                    shown.add(diagnostic)
                    yield f"{'':>6}  {'':<{3 * ROW}} ! {diagnostic.kind}: {diagnostic.why}"
        if self.refusal:
            yield f"refused at byte {self.refusal.at}, {self.refusal.path}: {self.refusal.why}"

    def add_unexplained(self, data: bytes, at: int, end: int, prefix: str, why: DecodeError) -> None:
        """Add the bytes from `at` to `end` as unexplained, and keep the first refusal."""
        self.refusal = self.refusal or why
        if at < end:
            self.lines.append(ExplainedSegment(at, data[at:end], prefix + UNEXPLAINED, why.why))


def explain(data: bytes, layer: Layer | None = None) -> Explanation:
    """Explain `data`, read as `layer`; without one, as the layer that explains most of it.  Never raises."""
    data = bytes(data)
    if layer is not None:
        return READINGS[layer](data)
    best = READINGS[GUESSES[0]](data)
    for guess in (GUESSES if len(data) > 1 else OUTER)[1:]:
        if best.ok and not best.diagnostics and not best.odd:
            break  # no other layer can explain it better
        best = max(best, READINGS[guess](data), key=attrgetter("merit"))
    return best


def explain_batch(data: bytes, layer: Layer = Layer.TRANSPORT, *, compressed: bool = False) -> Explanation:
    """Explain a batch without its length, as a session reads it: `layer` TRANSPORT, LOWLATENCY or SCOUTING. Never raises.

    An empty batch counts as explained.
    """
    if layer is Layer.SCOUTING:
        return READINGS[layer](data)
    explanation = Explanation(Layer.LOWLATENCY if layer is Layer.LOWLATENCY else Layer.BATCH)
    if data:
        _add_batch(explanation, data, 0, len(data), "", StreamForm(0, layer, compressed), guess=False)
    return explanation


def _read_one(layer: Layer, data: bytes) -> Explanation:
    """Explain one message of a layer."""
    explanation = Explanation(layer)
    size = _add_message(explanation, data, 0, len(data), "", layer, registry.TRACERS[layer]) if data else 0
    if size < len(data) or not data:
        why = f"{notes.size(len(data) - size)} after the message" if data else "there are no bytes"
        explanation.add_unexplained(data, size, len(data), "", DecodeError(size, layer, why))
    return explanation


def _read_all(layer: Layer, data: bytes) -> Explanation:
    """Explain messages back to back: network messages as in FRAME, or the transport messages of a batch."""
    explanation = Explanation(layer)
    _add_messages(explanation, data, 0, len(data), "", Layer.TRANSPORT if layer is Layer.BATCH else layer)
    return explanation


def _rate_coverage(explanation: Explanation) -> tuple[bool, int]:
    return explanation.ok, explanation.explained


def _read_direction(data: bytes) -> Explanation:
    """Explain one direction of a link, in which the extensions of INIT may change the framing after OPEN."""
    switched = _read_stream(Layer.STREAM, data, follow=True)
    return (
        switched if switched.ok else max(switched, _read_stream(Layer.STREAM, data, follow=False), key=_rate_coverage)
    )


def _read_stream(layer: Layer, data: bytes, *, follow: bool) -> Explanation:
    """Explain batches with their lengths; with `follow`, apply the framing that INIT and OPEN negotiate."""
    explanation, at, seen = Explanation(layer), 0, 0
    form = LOWLATENCY if layer is Layer.LOWLATENCY else STREAM
    offers: Exts[Any] | None = None
    for index in itertools.count():
        if at >= len(data):
            break
        if form is LOWLATENCY and not form.fits(data, at) and STREAM.fits(data, at):
            form = STREAM  # the last CLOSE of the baseline's low-latency sessions has a two-byte length
        size, name = form.size(data, at), f"batch[{index}]"
        begin, at = at, at + form.prefix + size
        if at > len(data):
            why = f"a batch of {size} bytes where {max(0, len(data) - begin - form.prefix)} are left"
            explanation.add_unexplained(data, begin, len(data), f"{name}.", DecodeError(begin, f"{name}.length", why))
            break
        explanation.lines.append(
            ExplainedSegment(begin, data[begin : begin + form.prefix], f"{name}.length", notes.size(size))
        )
        _add_batch(explanation, data, begin + form.prefix, at, f"{name}.", form)
        for message in explanation.messages[seen:] if follow else ():
            if isinstance(message, Init) and offers is None:
                offers = message.exts
            elif isinstance(message, Open):
                form = _form_after(NO_EXTS if offers is None else offers)
        seen = len(explanation.messages)
    if not data:
        explanation.add_unexplained(data, 0, 0, "", DecodeError(0, layer, "there are no bytes"))
    return explanation


class StreamForm(NamedTuple):
    """The framing of batches on a stream."""

    prefix: int
    """Bytes of the length before each batch."""
    layer: Layer
    compressed: bool

    def size(self, data: bytes, at: int) -> int:
        """The length at `at`."""
        return int.from_bytes(data[at : at + self.prefix], "little")

    def fits(self, data: bytes, at: int) -> bool:
        """Whether `data` holds the whole batch whose length is at `at`."""
        return at + self.prefix + self.size(data, at) <= len(data)


STREAM = StreamForm(batch.STREAM_PREFIX, Layer.TRANSPORT, False)
LOWLATENCY = StreamForm(batch.LOWLATENCY_PREFIX, Layer.LOWLATENCY, False)


def _form_after(offers: Exts[Any]) -> StreamForm:
    """The framing after a handshake in which one side offered these extensions, if the other side offered them too."""
    if offers.get(init.LowLatency):
        return LOWLATENCY
    return STREAM._replace(compressed=offers.get(init.Compression) is not None)


def _read_datagram(data: bytes) -> Explanation:
    explanation = max(_read_one(Layer.SCOUTING, data), _read_all(Layer.BATCH, data), key=_rate_coverage)
    explanation.layer = Layer.DATAGRAM
    return explanation


READINGS: dict[Layer, Callable[[bytes], Explanation]] = {
    **{layer: partial(_read_one, layer) for layer in registry.LAYERS},
    Layer.NETWORK: partial(_read_all, Layer.NETWORK),
    Layer.BATCH: partial(_read_all, Layer.BATCH),
    Layer.STREAM: _read_direction,
    Layer.LOWLATENCY: partial(_read_stream, Layer.LOWLATENCY, follow=False),
    Layer.DATAGRAM: _read_datagram,
}
"""The reader of each layer."""


def _add_batch(
    explanation: Explanation, data: bytes, at: int, end: int, prefix: str, form: StreamForm, *, guess: bool = True
) -> None:
    """Add the messages from `at` to `end`; with `guess`, try the other compression if they cannot be read."""
    expected, other = (_read_compressed, _read_plain) if form.compressed else (_read_plain, _read_compressed)
    best = expected(form.layer, data, at, end, prefix)
    if not best.ok and guess and form.layer is not Layer.LOWLATENCY and at < end:
        second = other(form.layer, data, at, end, prefix)
        best = second if second.ok else best
    explanation.lines += best.lines
    explanation.messages += best.messages
    explanation.diagnostics += best.diagnostics
    explanation.refusal = explanation.refusal or best.refusal


def _read_plain(layer: Layer, data: bytes, at: int, end: int, prefix: str) -> Explanation:
    explanation = Explanation(layer)
    _add_messages(explanation, data, at, end, prefix, layer)
    return explanation


def _read_compressed(layer: Layer, data: bytes, at: int, end: int, prefix: str) -> Explanation:
    explanation = Explanation(layer)
    if at == end:
        explanation.add_unexplained(data, at, end, prefix, DecodeError(at, f"{prefix}compression", "no header byte"))
        return explanation
    if not data[at] & batch.COMPRESSED:
        explanation.lines.append(ExplainedSegment(at, data[at : at + 1], f"{prefix}compression", "not compressed"))
        _add_messages(explanation, data, at + 1, end, prefix, layer)
        return explanation
    try:
        content = batch.decompress(data[at:end])
    except DecodeError as why:
        moved = DecodeError(at + why.at, f"{prefix}{why.path}", why.why)
        explanation.add_unexplained(data, at, end, prefix, moved)
        return explanation
    explanation.lines.append(ExplainedSegment(at, data[at : at + 1], f"{prefix}compression", "LZ4 block"))
    note = f"expands to {notes.size(len(content))}"
    explanation.lines.append(ExplainedSegment(at + 1, data[at + 1 : end], f"{prefix}block", note))
    inner = _read_plain(layer, content, 0, len(content), f"{prefix}block.")
    explanation.lines += [line._replace(inside=True) for line in inner.lines]
    explanation.diagnostics += [
        diagnostic._replace(at=at + 1, why=f"{diagnostic.why} (expanded)") for diagnostic in inner.diagnostics
    ]
    explanation.messages = inner.messages
    explanation.refusal = inner.refusal
    return explanation


def _add_messages(explanation: Explanation, data: bytes, at: int, end: int, prefix: str, layer: Layer) -> None:
    tracers = batch.tracers_of(layer)
    if at == end and not prefix:
        explanation.refusal = explanation.refusal or DecodeError(at, layer, "there are no bytes")
    while at < end and explanation.ok:
        at = _add_message(explanation, data, at, end, prefix, layer, tracers)


def _add_message(
    explanation: Explanation,
    data: bytes,
    at: int,
    end: int,
    prefix: str,
    layer: Layer,
    tracers: list[Callable[..., Any] | None],
) -> int:
    """Add the message at `at`; return the offset after it, or `end` after a refusal."""
    reader = tracers[data[at] & 0x1F]
    diagnostics: list[Diagnostic] = []
    marks = _LineMarks(explanation.lines, data, at)
    refusal = None
    after = end
    if reader is None:
        refusal = DecodeError(at, layer, f"no {layer} message has the id {data[at] & 0x1F:#04x}")
    else:
        try:
            message, after = reader(data, at, end, diagnostics, marks.mark, prefix)
            explanation.messages.append(message)
        except DecodeError as why:
            why.within(prefix)
            refusal = why.with_traceback(None)  # the frames of a traceback would keep all bytes alive
    explanation.diagnostics += (
        [diagnostic._replace(path=prefix + diagnostic.path) for diagnostic in diagnostics] if prefix else diagnostics
    )
    if refusal:
        explanation.add_unexplained(data, marks.at, end, prefix, refusal)
    return after


class _LineMarks:
    """Turns the marks of a reader directly into lines, since a chain may have thousands of them."""

    def __init__(self, lines: list[ExplainedSegment], data: bytes, at: int) -> None:
        self._lines, self._data, self.at = lines, data, at

    def mark(self, path: str, at: int, note: str = "", _measure: object = None) -> None:
        """Add the segment at `path`, which ends at `at`, or its parts if its inner form is known."""
        data = self._data[self.at : at]
        parts = opened.parts(path, data, self._before)
        if not parts:
            self._lines.append(ExplainedSegment(self.at, data, path, note))
        for part in parts:
            below = path + ("" if part.path[:1] in ("", "[") else ".") + part.path
            self._lines.append(ExplainedSegment(self.at, self._data[self.at : self.at + part.size], below, part.note))
            self.at += part.size
        self.at = at

    def _before(self) -> bytes:
        """The bytes of the last line but one, before the length of the segment."""
        return self._lines[-2].data if len(self._lines) > 1 else b""


def _is_batch_length(line: ExplainedSegment) -> bool:
    return line.path.endswith("].length") and line.path.count(".") == 1


def _inside(owner: str, path: str) -> bool:
    return path.startswith(f"{owner}.") and path != f"{owner}.header"


def _rows(line: ExplainedSegment, name: str) -> Iterator[str]:
    rows = [line.data[start : start + ROW].hex(" ") for start in range(0, len(line.data), ROW)] or [""]
    mark = "|" if line.inside else " "
    yield f"{line.at:>6}{mark} {rows[0]:<{3 * ROW}} {name:<34} {line.note}".rstrip()
    for index, row in enumerate(rows[1:], 1):
        yield f"{line.at + index * ROW:>6}{mark} {row}"


__all__ = ["ExplainedSegment", "Explanation", "Layer", "explain"]
