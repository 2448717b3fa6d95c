"""The codecs that ours is compared with: called in this process where they are libraries, asked in batches where not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

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
    load,
    tried,
)  # fmt: skip
from zenoh_harness.errors import UsageError
from zenoh_harness.foreign.confirm.codec import without_folders
from zenoh_harness.identity import Identity
from zenoh_harness.targets.adapters.library import path_of
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import open_codec

from .inputs import LAYERS

BROKEN: Final = frozenset({"crashes", "hangs", "answers garbage"})
BATCH: Final = 64
"""Inputs that a codec in another process is asked at once."""


class Theirs(NamedTuple):
    """What a codec said of one input."""

    verdict: str
    """accepts, refuses, does not do this; or one of BROKEN."""
    size: int = 0
    """Bytes used; where it was refused, -1 for nowhere."""
    largest: int = -1
    """The largest request to its allocator, -1 when it does not count."""
    encoded: bytes | None = None
    text: str = ""
    """Why; the place of a crash."""
    plain: bool = False
    """It read from a plain run of bytes."""


class FuzzTarget(Protocol):
    """A codec as oracles use it."""

    identity: Identity
    plain: bool
    """Whether it has a second kind of reader."""

    @property
    def name(self) -> str:
        """As in `zenoh-codec 1.10.2`."""

    def does(self, number: int) -> bool:
        """Whether it has the layer of that number."""

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> Theirs:
        """What it says of one input, now."""

    def means(self, number: int, data: bytes) -> Any:
        """The meaning as JSON, None when it tells none."""

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        """Whether two keys intersect and whether the first includes the second; why not; None when it does not do this."""

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, Theirs]]:
        """Take an input, and give what is known by now of this and earlier ones."""

    def rest(self) -> Iterator[tuple[int, bytes, Theirs]]:
        """What is still owed."""

    def close(self) -> None:
        """End all that it began."""


class LibraryTarget:
    """A library in this process."""

    def __init__(self, codec: LibraryCodec) -> None:
        self.codec, self.identity = codec, codec.identity
        self.name = f"{codec.identity.name} {codec.identity.version}".strip()
        self.plain = "plain" in codec.capabilities
        self._layers = tuple(layer in codec.layers for layer in (*LAYERS, "keyexpr"))

    def does(self, number: int) -> bool:
        """Whether it has the layer of that number."""
        return self._layers[number]

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> Theirs:
        """What it says of one input."""
        raw = self.codec.raw(number, data, WANT_ENCODED | WANT_PLAIN if plain else WANT_ENCODED)
        largest = -1 if raw.largest == NOWHERE else raw.largest
        if raw.status == DECODED:
            return Theirs("accepts", raw.size, largest, raw.data, "", plain)
        if raw.status == REFUSED:
            return Theirs("refuses", -1 if raw.size == NOWHERE else raw.size, largest, None, "", plain)
        text = without_folders(raw.text.decode(errors="replace"))
        if raw.status == UNIMPLEMENTED:
            return Theirs("does not do this", text=text)
        verdict = "crashes" if raw.status == CRASHED else "answers garbage"
        return Theirs(verdict, -1, largest, None, text or f"status {raw.status}", plain)

    def means(self, number: int, data: bytes) -> Any:
        """The meaning as JSON."""
        raw = self.codec.raw(number, data, WANT_MEANING)
        return json.loads(raw.text) if raw.status == DECODED and raw.text else None

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        """How two keys relate; why they do not."""
        if "relate" not in self.codec.capabilities:
            return None
        raw = self.codec.related(left.encode(), right.encode())
        if raw.status in (REFUSED, CRASHED):
            return f"{'refuses' if raw.status == REFUSED else 'crashes'}: {raw.text.decode(errors='replace')}"
        text = json.loads(raw.text or b"{}")
        return bool(text.get("intersects")), bool(text.get("includes"))

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, Theirs]]:
        """The answer at once."""
        yield number, data, self.ask(number, data)

    def rest(self) -> Iterator[tuple[int, bytes, Theirs]]:
        """Nothing is owed."""
        return iter(())

    def close(self) -> None:
        """Nothing was begun."""


_VERDICTS: Final = {
    AnswerKind.DECODED: "accepts", AnswerKind.REFUSED: "refuses", AnswerKind.UNIMPLEMENTED: "does not do this",
    AnswerKind.CRASH: "crashes", AnswerKind.HANG: "hangs",
}  # fmt: skip


class ProcessTarget:
    """A codec in another process, asked in batches."""

    plain = False

    def __init__(self, codec: Codec) -> None:
        self.codec, self.identity = codec, codec.identity
        self.name = f"{codec.identity.name} {codec.identity.version}".strip()
        self._waiting: dict[int, list[bytes]] = {}

    def does(self, number: int) -> bool:
        """Whether it has the layer of that number."""
        return (*LAYERS, "keyexpr")[number] in self.codec.layers

    def ask(self, number: int, data: bytes, *, plain: bool = False) -> Theirs:
        """What it says of one input."""
        return _theirs(self.codec.decode((*LAYERS, "keyexpr")[number], data))

    def means(self, number: int, data: bytes) -> Any:
        """The meaning as JSON."""
        return self.codec.decode((*LAYERS, "keyexpr")[number], data).means

    def relate(self, left: str, right: str) -> tuple[bool, bool] | str | None:
        """How two keys relate; why they do not."""
        from zenoh_harness.codecs.codec import Request

        [answer] = self.codec.ask([Request(command="relate", pair=(left, right))])
        if answer.kind is AnswerKind.UNIMPLEMENTED:
            return None
        if answer.kind is not AnswerKind.RELATED or answer.means is None:
            return f"{_VERDICTS.get(answer.kind, 'answers garbage')}: {answer.why}"
        return bool(answer.means.get("intersects")), bool(answer.means.get("includes"))

    def later(self, number: int, data: bytes) -> Iterator[tuple[int, bytes, Theirs]]:
        """Answers to this and earlier inputs, once enough of them wait."""
        waiting = self._waiting.setdefault(number, [])
        waiting.append(data)
        if len(waiting) >= BATCH:
            yield from self._asked(number)

    def rest(self) -> Iterator[tuple[int, bytes, Theirs]]:
        """Answers to all that waits."""
        for number in list(self._waiting):
            yield from self._asked(number)

    def _asked(self, number: int) -> Iterator[tuple[int, bytes, Theirs]]:
        inputs, self._waiting[number] = self._waiting[number], []
        answers = self.codec.decode_many(LAYERS[number], inputs)
        for data, answer in zip(inputs, answers, strict=True):
            yield number, data, _theirs(answer)

    def close(self) -> None:
        """End it."""
        self.codec.close()


def _theirs(answer: Answer) -> Theirs:
    verdict = _VERDICTS.get(answer.kind, "answers garbage")
    largest = -1 if answer.largest is None else answer.largest
    size = answer.size if answer.kind is AnswerKind.DECODED else -1 if answer.at is None else answer.at
    return Theirs(verdict, size, largest, answer.data, without_folders(answer.why))


def library_of(text: str, *, coverage: bool) -> Path | None:
    """The file behind a `lib:` target, None for every other; `coverage`: of a release, the build that counts edges."""
    reach = find(text)
    return path_of(reach.rest, coverage=coverage) if reach.kind == "lib" else None


def opened(
    texts: Sequence[str], *, coverage: bool = False, env: Mapping[str, str] | None = None
) -> tuple[FuzzTarget, ...]:
    """The codecs behind target strings; `reference` is ours and left out.  HarnessError says what cannot be had.

    `env` is the environment in which a library is first tried.
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
                raise UsageError(f"{text} is no codec target", step="fuzz codec")
            found.append(ProcessTarget(codec))  # type: ignore[arg-type]
    return tuple(found)


def identities(texts: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Name to version of the codecs behind target strings; none is brought into this process.  HarnessError as `opened`."""
    found: dict[str, str] = {}
    for text in texts:
        reach = find(text)
        path = library_of(text, coverage=False)
        if path is not None:
            counts = counts_coverage(path)
            who = tried(path, name=reach.options.get("name", ""), env=env if counts else None)
        elif reach.kind == "reference":
            continue
        else:
            [target] = opened([text])
            who = target.identity
            target.close()
        found[f"{who.name} {who.version}".strip()] = who.version
    return found
