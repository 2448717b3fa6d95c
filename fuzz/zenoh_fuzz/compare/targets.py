"""The codecs that are compared with ours: libraries in this process, others in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from zenoh_fuzz.inputs import LAYERS
from zenoh_harness.codecs.codec import Answer, AnswerKind, Codec
from zenoh_harness.codecs.library import (
    CRASHED,
    DECODED,
    NOWHERE,
    REFUSED,
    UNIMPLEMENTED,
    WANT_ENCODED,
    WANT_MEANING,
    WANT_PLAIN,
    LibraryCodec,
    counts_coverage,
    identity_in_trial,
    load,
)
from zenoh_harness.errors import UsageError
from zenoh_harness.foreign.confirm.codec import without_folders
from zenoh_harness.identity import Identity
from zenoh_harness.targets.adapters.library import path_of
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import open_codec

BROKEN: Final = frozenset({"crashes", "hangs", "answers garbage"})
SANE: Final = (b"\x04", b"\x1a\x05", b"\x01\x09\x01", b"\x04", b"\x1a\x05", b"\x05")
"""By layer, a message that every codec reads: KEEP_ALIVE, RESPONSE_FINAL, SCOUT, KEEP_ALIVE, RESPONSE_FINAL, an integer."""

BATCH: Final = 64
"""Inputs per batch for a codec in another process."""


class CodecReading(NamedTuple):
    """The answer of a codec to one input."""

    verdict: str
    """accepts, refuses, does not do this, or a member of BROKEN."""
    size: int = 0
    """Bytes used; for a refusal its position, or -1."""
    largest: int = -1
    """The largest allocation in bytes, -1 if it does not count."""
    encoded: bytes | None = None
    text: str = ""
    """The reason of a refusal, or the place of a crash."""
    plain: bool = False
    """Whether it read from a plain slice of bytes."""


class FuzzTarget(Protocol):
    """A codec, as oracles use it."""

    identity: Identity
    plain: bool
    """Whether it has a second kind of reader."""

    @property
    def name(self) -> str:
        """As in `zenoh-codec 1.10.2`."""

    def does(self, number: int) -> bool:
        """Whether it has the layer of that number."""

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> CodecReading:
        """Return its answer to an input."""

    def means(self, number: int, data: bytes) -> Any:
        """Return the meaning as JSON; None if it reports none."""

    def writes(self, number: int) -> bool:
        """Whether it writes again what it decodes in the layer of that number."""

    def encode(self, number: int, means: Mapping[str, Any]) -> CodecReading:
        """Return the bytes that it encodes a meaning to, in `encoded`; None there if it does not encode."""

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        """Return whether two keys intersect and whether the first includes the second, why not, or None if it cannot."""

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, CodecReading]]:
        """Take an input, and yield the answers that are known, to this input and earlier ones."""

    def rest(self) -> Iterator[tuple[int, bytes, CodecReading]]:
        """Yield the answers that are not known yet."""

    def close(self) -> None:
        """End all that it started."""


class LibraryTarget:
    """A codec library loaded into this process."""

    def __init__(self, codec: LibraryCodec) -> None:
        self.codec, self.identity = codec, codec.identity
        self.name = f"{codec.identity.name} {codec.identity.version}".strip()
        self.plain = "plain" in codec.capabilities
        self._layers = tuple(layer in codec.layers for layer in (*LAYERS, "keyexpr"))

    def does(self, number: int) -> bool:
        return self._layers[number]

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> CodecReading:
        raw = self.codec.raw(number, data, WANT_ENCODED | WANT_PLAIN if plain else WANT_ENCODED)
        largest = -1 if raw.largest == NOWHERE else raw.largest
        if raw.status == DECODED:
            return CodecReading("accepts", raw.size, largest, raw.data, "", plain)
        if raw.status == REFUSED:
            return CodecReading("refuses", -1 if raw.size == NOWHERE else raw.size, largest, None, "", plain)
        text = without_folders(raw.text.decode(errors="replace"))
        if raw.status == UNIMPLEMENTED:
            return CodecReading("does not do this", text=text)
        verdict = "crashes" if raw.status == CRASHED else "answers garbage"
        return CodecReading(verdict, -1, largest, None, text or f"status {raw.status}", plain)

    def means(self, number: int, data: bytes) -> Any:
        raw = self.codec.raw(number, data, WANT_MEANING)
        return json.loads(raw.text) if raw.status == DECODED and raw.text else None

    def writes(self, number: int) -> bool:
        return "encode" in self.codec.capabilities or self.ask(number, SANE[number]).encoded is not None

    def encode(self, number: int, means: Mapping[str, Any]) -> CodecReading:
        return _theirs(self.codec.encode(LAYERS[number], means))

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        if "relate" not in self.codec.capabilities:
            return None
        raw = self.codec.relate(left.encode(), right.encode())
        if raw.status in (REFUSED, CRASHED):
            return f"{'refuses' if raw.status == REFUSED else 'crashes'}: {raw.text.decode(errors='replace')}"
        text = json.loads(raw.text or b"{}")
        return bool(text.get("intersects")), bool(text.get("includes"))

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, CodecReading]]:
        yield number, data, self.ask(number, data)

    def rest(self) -> Iterator[tuple[int, bytes, CodecReading]]:
        return iter(())

    def close(self) -> None:
        pass


_VERDICTS: Final = {
    AnswerKind.DECODED: "accepts",
    AnswerKind.ENCODED: "accepts",
    AnswerKind.REFUSED: "refuses",
    AnswerKind.UNIMPLEMENTED: "does not do this",
    AnswerKind.CRASH: "crashes",
    AnswerKind.HANG: "hangs",
}


class ProcessTarget:
    """A codec in another process, asked in batches."""

    plain = False

    def __init__(self, codec: Codec) -> None:
        self.codec, self.identity = codec, codec.identity
        self.name = f"{codec.identity.name} {codec.identity.version}".strip()
        self._waiting: dict[int, list[bytes]] = {}

    def does(self, number: int) -> bool:
        return (*LAYERS, "keyexpr")[number] in self.codec.layers

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> CodecReading:
        return _theirs(self.codec.decode((*LAYERS, "keyexpr")[number], data))

    def means(self, number: int, data: bytes) -> Any:
        return self.codec.decode((*LAYERS, "keyexpr")[number], data).means

    def writes(self, number: int) -> bool:
        return self.ask(number, SANE[number]).encoded is not None

    def encode(self, number: int, means: Mapping[str, Any]) -> CodecReading:
        return _theirs(self.codec.encode(LAYERS[number], means))

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        from zenoh_harness.codecs.codec import Request

        [answer] = self.codec.ask([Request(command="relate", pair=(left, right))])
        if answer.kind is AnswerKind.UNIMPLEMENTED:
            return None
        if answer.kind is not AnswerKind.RELATED or answer.means is None:
            return f"{_VERDICTS.get(answer.kind, 'answers garbage')}: {answer.why}"
        return bool(answer.means.get("intersects")), bool(answer.means.get("includes"))

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, CodecReading]]:
        """Answers to this and earlier inputs, once enough of them wait."""
        waiting = self._waiting.setdefault(number, [])
        waiting.append(data)
        if len(waiting) >= BATCH:
            yield from self._ask_batch(number)

    def rest(self) -> Iterator[tuple[int, bytes, CodecReading]]:
        for number in list(self._waiting):
            yield from self._ask_batch(number)

    def _ask_batch(self, number: int) -> Iterator[tuple[int, bytes, CodecReading]]:
        inputs, self._waiting[number] = self._waiting[number], []
        answers = self.codec.decode_many(LAYERS[number], inputs)
        for data, answer in zip(inputs, answers, strict=True):
            yield number, data, _theirs(answer)

    def close(self) -> None:
        self.codec.close()


def _theirs(answer: Answer) -> CodecReading:
    verdict = _VERDICTS.get(answer.kind, "answers garbage")
    largest = -1 if answer.largest is None else answer.largest
    size = answer.size if answer.kind is AnswerKind.DECODED else -1 if answer.at is None else answer.at
    return CodecReading(verdict, size, largest, answer.data, without_folders(answer.why))


def library_of(text: str, *, coverage: bool) -> Path | None:
    """Return the file of a `lib:` target, None for other targets; `coverage`: the build of a release that counts edges."""
    reach = find(text)
    return path_of(reach.rest, coverage=coverage) if reach.kind == "lib" else None


def open_codecs(
    texts: Sequence[str], *, coverage: bool = False, env: Mapping[str, str] | None = None
) -> tuple[FuzzTarget, ...]:
    """Open the codecs of target strings; `reference` is skipped. Raises HarnessError.

    `env` is the environment of the process that tries a library first.
    """
    found: list[FuzzTarget] = []
    for text in texts:
        reach = find(text)
        if reach.kind == "reference":
            continue
        path = library_of(text, coverage=coverage)
        if path is not None:
            found.append(LibraryTarget(load(path, name=reach.options.get("name", ""), env=env)))
        else:
            codec = open_codec(reach)
            if not hasattr(codec, "decode_many"):
                raise UsageError(f"{text} is not a codec target", step="fuzz codec")
            found.append(ProcessTarget(codec))  # type: ignore[arg-type]
    return tuple(found)


def identities(texts: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return name and version of the codecs of target strings, without loading them here. Raises HarnessError as `open_codecs`."""
    found: dict[str, str] = {}
    for text in texts:
        reach = find(text)
        path = library_of(text, coverage=False)
        if path is not None:
            counts = counts_coverage(path)
            who = identity_in_trial(path, name=reach.options.get("name", ""), env=env if counts else None)
        elif reach.kind == "reference":
            continue
        else:
            [target] = open_codecs([text])
            who = target.identity
            target.close()
        found[f"{who.name} {who.version}".strip()] = who.version
    return found
