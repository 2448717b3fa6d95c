"""Bytes as annotated lines: what each of them is, as far as it can be told; none is lost."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from . import batch, opened
from .messages import Init, Oam, Open, init
from .wire import notes, registry
from .wire.errors import DecodeError, Diagnostic
from .wire.extensions import NO_EXTS, Exts
from .wire.layer import Layer

UNEXPLAINED = "unexplained"
"""The last component of the path of bytes that nothing is known about."""

ROW = 12
"""Bytes on one line."""

GUESSES = (
    Layer.STREAM, Layer.BATCH, Layer.NETWORK, Layer.SCOUTING, Layer.LOWLATENCY, Layer.DATA, Layer.DECLARATION,
)  # fmt: skip
"""The layers that a guess tries; of equally good ones the first."""

INSIDE = 2
"""How many of them, the last, are of messages that stand in others: a byte alone is hardly one of those."""

VERSION = 9
"""Of the protocol: a message that names another is hardly what was meant."""


class Line(NamedTuple):
    """One segment, and where it stands."""

    at: int
    """Offset of its first byte, in the bytes given or, with `inside`, in what they expand to."""

    data: bytes
    path: str
    note: str
    inside: bool = False
    """It is part of what a compressed block expands to."""


@dataclass(slots=True)
class Explanation:
    """What is known about some bytes."""

    layer: Layer
    """As given, or as guessed."""

    lines: list[Line] = field(default_factory=list)
    """Every byte, in order; what a block expands to follows the block."""

    messages: list[Any] = field(default_factory=list)
    """What was read, in order."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    """What was read, and is not what a careful sender writes."""

    refusal: DecodeError | None = None
    """The first reason why something could not be read."""

    @property
    def ok(self) -> bool:
        """Every byte is explained."""
        return self.refusal is None

    @property
    def explained(self) -> int:
        """How many bytes are."""
        return sum(len(line.data) for line in self.lines if not line.inside and not line.path.endswith(UNEXPLAINED))

    @property
    def odd(self) -> int:
        """How much in it nobody says, though it can be read: empty batches, OAM, other versions. Zeros read as these."""
        empty = sum(
            1 for line in self.lines if not any(line.data) and line.path.startswith("batch[") and _is_length(line)
        )
        versions = sum(1 for each in self.messages if getattr(each, "version", VERSION) != VERSION)
        return empty + versions + sum(1 for each in self.messages if isinstance(each, Oam))

    @property
    def merit(self) -> tuple[bool, bool, int, int]:
        """How well it explains: of several readings the one that is largest here is meant."""
        return self.ok, not self.odd, self.explained, -len(self.diagnostics)

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        text: dict[str, Any] = {
            "layer": self.layer.value,
            "ok": self.ok,
            "segments": [
                {"at": line.at, "path": line.path, "bytes": line.data.hex(), "note": line.note}
                | ({"inside": True} if line.inside else {})
                for line in self.lines
            ],
            "diagnostics": [each._asdict() for each in self.diagnostics],
        }
        if self.refusal:
            text["refusal"] = {"at": self.refusal.at, "path": self.refusal.path, "why": self.refusal.why}
        return text

    def text(self) -> Iterator[str]:
        """Lines for people: offset, bytes, name, meaning; diagnostics under what they are about, the refusal last."""
        said: set[Diagnostic] = set()
        about = sorted(self.diagnostics, key=attrgetter("at"))
        places = [each.at for each in about]
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
            for each in about[bisect_left(places, line.at) : bisect_left(places, line.at + len(line.data))]:
                if each not in said:
                    said.add(each)
                    yield f"{'':>6}  {'':<{3 * ROW}} ! {each.kind}: {each.why}"
        if self.refusal:
            yield f"refused at byte {self.refusal.at}, {self.refusal.path}: {self.refusal.why}"


def explain(data: bytes, layer: Layer | None = None) -> Explanation:
    """What `data` is, read as `layer`; without one, as the layer that explains most of it.  Never raises."""
    data = bytes(data)
    if layer is not None:
        return READINGS[layer](data)
    best: Explanation | None = None
    for each in GUESSES if len(data) > 1 else GUESSES[:-INSIDE]:
        told = READINGS[each](data)
        if told.ok and not told.diagnostics and not told.odd:
            return told  # nothing explains it better
        if best is None or told.merit > best.merit:
            best = told
    assert best is not None
    return best


def explain_batch(data: bytes, layer: Layer = Layer.TRANSPORT, *, compressed: bool = False) -> Explanation:
    """What a batch is, without its length, as a session reads it: `layer` TRANSPORT, LOWLATENCY or SCOUTING. Never raises.

    An empty batch is explained: it holds nothing.
    """
    if layer is Layer.SCOUTING:
        return READINGS[layer](data)
    text = Explanation(Layer.LOWLATENCY if layer is Layer.LOWLATENCY else Layer.BATCH)
    if data:
        _in_batch(text, data, 0, len(data), "", Form(0, layer, compressed), guess=False)
    return text


def _one(layer: Layer) -> Callable[[bytes], Explanation]:
    def read(data: bytes) -> Explanation:
        text = Explanation(layer)
        size = _message(text, data, 0, len(data), "", layer, registry.TRACERS[layer]) if data else 0
        if size < len(data) or not data:
            why = f"{notes.size(len(data) - size)} after the message" if data else "there are no bytes"
            _unexplained(text, data, size, len(data), "", DecodeError(size, layer, why))
        return text

    return read


def _several(data: bytes) -> Explanation:
    """Network messages back to back, as FRAME holds them."""
    text = Explanation(Layer.NETWORK)
    _messages(text, data, 0, len(data), "", Layer.NETWORK)
    return text


def _batch(data: bytes) -> Explanation:
    text = Explanation(Layer.BATCH)
    _messages(text, data, 0, len(data), "", Layer.TRANSPORT)
    return text


def _stream(data: bytes) -> Explanation:
    """One direction of a link: what its INIT offers may change, once its OPEN went by, how it goes on."""
    followed = _framed(Layer.STREAM, data, follow=True)
    if followed.ok:
        return followed
    return max(followed, _framed(Layer.STREAM, data, follow=False), key=lambda each: (each.ok, each.explained))


def _framed(layer: Layer, data: bytes, *, follow: bool) -> Explanation:
    text, at, noted = Explanation(layer), 0, 0
    form = LOWLATENCY if layer is Layer.LOWLATENCY else STREAM
    offers: Exts[Any] | None = None
    for index in itertools.count():
        if at >= len(data):
            break
        if form is LOWLATENCY and not form.fits(data, at) and STREAM.fits(data, at):
            form = STREAM  # the baseline ends a low-latency session so
        size, name = form.size(data, at), f"batch[{index}]"
        begin, at = at, at + form.prefix + size
        if at > len(data):
            why = f"a batch of {size} bytes where {max(0, len(data) - begin - form.prefix)} are left"
            _unexplained(text, data, begin, len(data), f"{name}.", DecodeError(begin, f"{name}.length", why))
            break
        text.lines.append(Line(begin, data[begin : begin + form.prefix], f"{name}.length", notes.size(size)))
        _in_batch(text, data, begin + form.prefix, at, f"{name}.", form)
        for message in text.messages[noted:] if follow else ():
            if isinstance(message, Init) and offers is None:
                offers = message.exts
            elif isinstance(message, Open):
                form = _form_after(NO_EXTS if offers is None else offers)
        noted = len(text.messages)
    if not data:
        _unexplained(text, data, 0, 0, "", DecodeError(0, layer, "there are no bytes"))
    return text


class Form(NamedTuple):
    """How batches stand on a stream."""

    prefix: int
    layer: Layer
    compressed: bool

    def size(self, data: bytes, at: int) -> int:
        """What the length at `at` says."""
        return int.from_bytes(data[at : at + self.prefix], "little")

    def fits(self, data: bytes, at: int) -> bool:
        """Whether there is as much as it says."""
        return at + self.prefix + self.size(data, at) <= len(data)


STREAM = Form(batch.STREAM_PREFIX, Layer.TRANSPORT, False)
LOWLATENCY = Form(batch.LOWLATENCY_PREFIX, Layer.LOWLATENCY, False)


def _form_after(offers: Exts[Any]) -> Form:
    """What the handshake, in which one side offered this, makes of the stream, if the other side agrees."""
    if offers.get(init.LowLatency):
        return LOWLATENCY
    return STREAM._replace(compressed=offers.get(init.Compression) is not None)


def _datagram(data: bytes) -> Explanation:
    tried = [_one(Layer.SCOUTING)(data), _batch(data)]
    text = max(tried, key=lambda each: (each.ok, each.explained))
    text.layer = Layer.DATAGRAM
    return text


READINGS: dict[Layer, Callable[[bytes], Explanation]] = {
    **{layer: _one(layer) for layer in registry.LAYERS},
    Layer.NETWORK: _several,
    Layer.BATCH: _batch,
    Layer.STREAM: _stream,
    Layer.LOWLATENCY: partial(_framed, Layer.LOWLATENCY, follow=False),
    Layer.DATAGRAM: _datagram,
}
"""How each layer is read."""


def _in_batch(
    text: Explanation, data: bytes, at: int, end: int, prefix: str, form: Form, *, guess: bool = True
) -> None:
    """The messages from `at` to `end`; with `guess`, where they cannot be read as they should stand, the other way."""
    ways = [_compressed, _plain] if form.compressed else [_plain, _compressed]
    if not guess or form.layer is Layer.LOWLATENCY or at == end:
        ways = ways[:1]
    found = [way(form.layer, data, at, end, prefix) for way in ways[:1]]
    if not found[0].ok:
        found += [way(form.layer, data, at, end, prefix) for way in ways[1:]]
    best = next((each for each in found if each.ok), found[0])
    text.lines += best.lines
    text.messages += best.messages
    text.diagnostics += best.diagnostics
    text.refusal = text.refusal or best.refusal


def _plain(layer: Layer, data: bytes, at: int, end: int, prefix: str) -> Explanation:
    text = Explanation(layer)
    _messages(text, data, at, end, prefix, layer)
    return text


def _compressed(layer: Layer, data: bytes, at: int, end: int, prefix: str) -> Explanation:
    text = Explanation(layer)
    if at == end:
        _unexplained(text, data, at, end, prefix, DecodeError(at, f"{prefix}compression", "no header byte"))
        return text
    if not data[at] & batch.COMPRESSED:
        text.lines.append(Line(at, data[at : at + 1], f"{prefix}compression", "not compressed"))
        _messages(text, data, at + 1, end, prefix, layer)
        return text
    try:
        content = batch.decompress(data[at:end])
    except DecodeError as why:
        _unexplained(text, data, at, end, prefix, DecodeError(at + why.at, f"{prefix}{why.path}", why.why))
        return text
    text.lines.append(Line(at, data[at : at + 1], f"{prefix}compression", "LZ4 block"))
    text.lines.append(Line(at + 1, data[at + 1 : end], f"{prefix}block", f"expands to {notes.size(len(content))}"))
    inner = Explanation(layer)
    _messages(inner, content, 0, len(content), f"{prefix}block.", layer)
    text.lines += [Line(line.at, line.data, line.path, line.note, inside=True) for line in inner.lines]
    text.diagnostics += [each._replace(at=at + 1, why=f"{each.why} (expanded)") for each in inner.diagnostics]
    text.messages = inner.messages
    text.refusal = inner.refusal
    return text


def _messages(text: Explanation, data: bytes, at: int, end: int, prefix: str, layer: Layer) -> None:
    tracers = batch.tracers_of(layer)
    if at == end:
        text.refusal = text.refusal or (None if prefix else DecodeError(at, layer, "there are no bytes"))
    while at < end:
        after = _message(text, data, at, end, prefix, layer, tracers)
        if not text.ok:
            return
        at = after


def _message(
    text: Explanation, data: bytes, at: int, end: int, prefix: str, layer: Layer,
    tracers: list[Callable[..., Any] | None],
) -> int:  # fmt: skip
    """Add the message at `at`; the offset after it, or the end, for after a refusal nothing is known."""
    reader = tracers[data[at] & 0x1F]
    found: list[Diagnostic] = []
    marks = _Marks(text.lines, data, at)
    refusal = None
    after = end
    if reader is None:
        refusal = DecodeError(at, layer, f"no {layer} message has the id {data[at] & 0x1F:#04x}")
    else:
        try:
            message, after = reader(data, at, end, found, marks.mark, prefix)
            text.messages.append(message)
        except DecodeError as why:
            why.within(prefix)
            refusal = why.with_traceback(None)  # whose frames would keep all that was read
    text.diagnostics += [each._replace(path=prefix + each.path) for each in found] if prefix else found
    if refusal:
        _unexplained(text, data, marks.at, end, prefix, refusal)
    return after


class _Marks:
    """Receives the marks of one reading as lines, and nothing beside them: a chain of thousands costs by what is kept."""

    def __init__(self, lines: list[Line], data: bytes, at: int) -> None:
        self._lines, self._data, self.at = lines, data, at

    def mark(self, path: str, at: int, note: str = "", _measure: object = None) -> None:
        """The piece at `path` ends at `at`."""
        data = self._data[self.at : at]
        found = opened.parts(path, data, self._before)
        if not found:
            self._lines.append(Line(self.at, data, path, note))
        for part in found:
            below = path + ("" if part.path[:1] in ("", "[") else ".") + part.path
            self._lines.append(Line(self.at, self._data[self.at : self.at + part.size], below, part.note))
            self.at += part.size
        self.at = at

    def _before(self) -> bytes:
        """The last line but one: what a length in between may depend on."""
        return self._lines[-2].data if len(self._lines) > 1 else b""


def _unexplained(text: Explanation, data: bytes, at: int, end: int, prefix: str, why: DecodeError) -> None:
    text.refusal = text.refusal or why
    if at < end:
        text.lines.append(Line(at, data[at:end], prefix + UNEXPLAINED, why.why))


def _is_length(line: Line) -> bool:
    return line.path.endswith("].length") and line.path.count(".") == 1


def _inside(owner: str, path: str) -> bool:
    return path.startswith(f"{owner}.") and path != f"{owner}.header"


def _rows(line: Line, name: str) -> Iterator[str]:
    rows = [line.data[start : start + ROW].hex(" ") for start in range(0, len(line.data), ROW)] or [""]
    mark = "|" if line.inside else " "
    yield f"{line.at:>6}{mark} {rows[0]:<{3 * ROW}} {name:<34} {line.note}".rstrip()
    for index, row in enumerate(rows[1:], 1):
        yield f"{line.at + index * ROW:>6}{mark} {row}"


__all__ = ["Explanation", "Layer", "Line", "explain"]
