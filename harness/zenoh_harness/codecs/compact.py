"""The compact part of the stdio codec protocol: many inputs and many answers in one go, without hexadecimal."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from zenoh_harness.codecs.codec import Answer, AnswerKind

LARGEST: Final = 64 << 20
"""Bytes of one batch of inputs, as the schema has it."""

_COUNT: Final = 4096
_BYTES: Final = 4 << 20
_HEAD: Final = struct.Struct("<BII")
_LENGTH: Final = struct.Struct("<I")
_NOWHERE: Final = 0xFFFFFFFF
_KINDS: Final = (AnswerKind.DECODED, AnswerKind.REFUSED, AnswerKind.UNIMPLEMENTED, AnswerKind.CRASH)


def pieces(inputs: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The inputs in batches of a sane size: 4096 of them and 4 MiB at most (one larger input goes alone)."""
    begin = size = 0
    for index, data in enumerate(inputs):
        if index > begin and (index - begin >= _COUNT or size + len(data) > _BYTES):
            yield inputs[begin:index]
            begin, size = index, 0
        size += len(data) + _LENGTH.size
    if begin < len(inputs):
        yield inputs[begin:]


def request_bytes(inputs: Sequence[bytes]) -> bytes:
    """What follows the line of a batch request."""
    return b"".join(part for data in inputs for part in (_LENGTH.pack(len(data)), data))


def split(raw: bytes) -> list[bytes]:
    """The inputs of a batch request.  Raises ValueError when a length points past the end."""
    inputs, at = [], 0
    while at < len(raw):
        if at + _LENGTH.size > len(raw) or at + _LENGTH.size + _LENGTH.unpack_from(raw, at)[0] > len(raw):
            raise ValueError(f"the length at byte {at} points past the end")
        begin = at + _LENGTH.size
        at = begin + _LENGTH.unpack_from(raw, at)[0]
        inputs.append(raw[begin:at])
    return inputs


def record(answer: Answer) -> bytes:
    """One answer as a record."""
    kind = answer.kind if answer.kind in _KINDS else AnswerKind.CRASH
    number = answer.size if kind is AnswerKind.DECODED else _NOWHERE if answer.at is None else answer.at
    body = answer.data or b"" if kind is AnswerKind.DECODED else answer.why.encode()
    return _HEAD.pack(_KINDS.index(kind), number, len(body)) + body


def records(raw: bytes, count: int) -> list[Answer]:
    """As many answers.  Raises ValueError when they are fewer, more, or cut."""
    answers, at = [], 0
    while at < len(raw):
        if at + _HEAD.size > len(raw):
            raise ValueError("a record is cut")
        status, number, length = _HEAD.unpack_from(raw, at)
        begin = at + _HEAD.size
        at = begin + length
        if status >= len(_KINDS) or at > len(raw):
            raise ValueError("a record is no record")
        answers.append(_answer(_KINDS[status], number, raw[begin:at]))
    if len(answers) != count:
        raise ValueError(f"{len(answers)} records for {count} inputs")
    return answers


def _answer(kind: AnswerKind, number: int, body: bytes) -> Answer:
    if kind is AnswerKind.DECODED:
        return Answer(kind=kind, size=number, data=body or None)  # nothing encodes to no bytes
    return _other(kind, number, body)


@lru_cache(maxsize=1024)
def _other(kind: AnswerKind, number: int, body: bytes) -> Answer:
    """An answer that decoded nothing: there are few, and most of a fuzzer's inputs get one of them."""
    return Answer(kind=kind, why=body.decode(errors="replace"), at=None if number == _NOWHERE else number)
