"""What every codec target is to the rest of the harness: bytes in, an answer out, whatever stands behind it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from zenoh_harness.identity import Identity


class AnswerKind(enum.Enum):
    """What became of one request."""

    DECODED = "decoded"
    ENCODED = "encoded"
    RELATED = "related"
    REFUSED = "refused"
    """These bytes are no message, or this meaning has no bytes."""
    UNIMPLEMENTED = "unimplemented"
    """The codec does not do this at all, which is no failure."""
    CRASH = "crash"
    """It broke at this request: it said so and lives on, or it ended."""
    HANG = "hang"
    """No answer in time."""
    GARBAGE = "garbage"
    """It wrote something that is no answer."""
    DISORDER = "out of order"
    """It answered this request before an older one."""
    UNASKED = "not asked"
    """It had been started again too often when this request's turn came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question."""

    command: str
    """decode, encode or relate."""
    layer: str = ""
    data: bytes = b""
    """What to decode."""
    means: Mapping[str, Any] = field(default_factory=dict)
    """What to encode, as `{"Kind": {field: value}}`."""
    pair: tuple[str, str] = ("", "")
    """Which key expressions to relate."""

    @classmethod
    def decode(cls, layer: str, data: bytes) -> Request:
        """What do these bytes mean?"""
        return cls(command="decode", layer=layer, data=data)

    @classmethod
    def encode(cls, layer: str, means: Mapping[str, Any]) -> Request:
        """Which bytes mean this?"""
        return cls(command="encode", layer=layer, means=means)

    def line(self, seq: int) -> dict[str, Any]:
        """The request as the stdio codec protocol writes it."""
        head: dict[str, Any] = {"cmd": self.command, "seq": seq}
        if self.command == "relate":
            return head | {"left": self.pair[0], "right": self.pair[1]}
        if self.command == "encode":
            return head | {"layer": self.layer, "means": dict(self.means)}
        return head | {"layer": self.layer, "bytes": self.data.hex()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, or what stands for it."""

    kind: AnswerKind
    means: Mapping[str, Any] | None = None
    """DECODED: the meaning; RELATED: `{"intersects": ..., "includes": ...}`."""
    size: int = 0
    """DECODED: bytes used."""
    data: bytes | None = None
    """ENCODED: the bytes. DECODED: what the message encodes to again, when the codec says."""
    why: str = ""
    """Why refused, unimplemented; what was seen of a crash, of garbage."""
    at: int | None = None
    """REFUSED: the byte at fault, as well as the codec knows."""
    debug: str = ""
    """DECODED: the message in the codec's own words."""
    allocated: int | None = None
    """Bytes asked of the allocator while reading, where the codec counts them."""
    largest: int | None = None
    """The largest single request among them."""


class Codec(Protocol):
    """A codec that can be asked. A subclass needs `ask`; the rest has a default."""

    identity: Identity
    layers: frozenset[str]
    capabilities: frozenset[str]

    def ask(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """One answer a request, in their order; never raises for what the codec does wrong."""

    def decode(self, layer: str, data: bytes) -> Answer:
        """Ask what these bytes mean."""
        return next(iter(self.ask([Request.decode(layer, data)])))

    def encode(self, layer: str, means: Mapping[str, Any]) -> Answer:
        """Ask which bytes mean this."""
        return next(iter(self.ask([Request.encode(layer, means)])))

    def decode_many(self, layer: str, inputs: Sequence[bytes]) -> list[Answer]:
        """As many answers, without meaning and debug text where the codec is faster so."""
        return list(self.ask(Request.decode(layer, data) for data in inputs))

    def close(self) -> None:
        """End all that it began; idempotent. By default that is nothing."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answer_of(line: Mapping[str, Any]) -> Answer:
    """The answer that a line of the stdio codec protocol carries.  Raises ValueError for a line that is none."""
    if line.get("unimplemented") is True:
        return Answer(kind=AnswerKind.UNIMPLEMENTED, why=_text(line, "why"))
    if "crash" in line:
        return Answer(kind=AnswerKind.CRASH, why=_text(line, "crash"))
    if line.get("ok") is False:
        return Answer(kind=AnswerKind.REFUSED, why=_text(line, "why"), at=_offset(line, "at"))
    if line.get("ok") is not True:
        raise ValueError("it has neither ok nor unimplemented nor crash")
    if "bytes" in line:
        return Answer(kind=AnswerKind.ENCODED, data=bytes.fromhex(_text(line, "bytes")))
    means = line.get("means")
    if means is not None and not isinstance(means, Mapping):
        raise ValueError("means is no object")
    if means is not None and means.keys() == {"intersects", "includes"}:
        return Answer(kind=AnswerKind.RELATED, means=means)
    return _decode_answer(line, means)


def _decode_answer(line: Mapping[str, Any], means: Mapping[str, Any] | None) -> Answer:
    size = _offset(line, "size")
    if size is None:
        raise ValueError("size is missing")
    encoded = line.get("encoded")
    return Answer(
        kind=AnswerKind.DECODED, means=means, size=size, debug=str(line.get("debug") or ""),
        data=None if encoded is None else bytes.fromhex(_text(line, "encoded")), allocated=_offset(line, "allocated"),
    )  # fmt: skip


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is no string")
    return value


def _offset(line: Mapping[str, Any], name: str) -> int | None:
    value = line.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{name} is no offset")
    return value
