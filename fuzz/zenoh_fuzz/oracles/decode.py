"""Our decoder raises DecodeError or nothing, names a byte and a reason, and its work grows as its input does."""

from __future__ import annotations

from collections.abc import Iterable

from zenoh_conformance.codec import DecodeError
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import Finding, without_numbers
from zenoh_fuzz.oracle import Oracle
from zenoh_fuzz.seeds import message_seeds, message_words

SAMPLE = 128
"""One input in so many is counted."""


class Decode(Oracle):
    name = "decode"
    promise = "our decoder raises DecodeError or nothing, and its work grows as its input does"

    def judge(self, data: bytes) -> Iterable[Finding]:
        number, message = inputs.taken_apart(data)
        try:
            read, size = inputs.messages(number, message)
        except DecodeError as refusal:
            self.behaviour = refusal.path, refusal.why[:12]
            if not 0 <= refusal.at <= len(message):
                yield self.found(
                    "a-refusal-points-at-a-byte", refusal.path, f"byte {refusal.at} of {len(message)}", data
                )
            if not refusal.why or not refusal.path:
                yield self.found("a-refusal-says-why", refusal.path, "a refusal without path or reason", data)
        else:
            self.behaviour = tuple(sorted({each.kind for one in read for each in one.diagnostics}))
            yield from self._read(data, message, read, size)
        if self.thorough or inputs.sampled(data, SAMPLE):
            yield from self._counted(data, number, message)

    def _read(self, data: bytes, message: bytes, read: list[inputs.Decoded], size: int) -> Iterable[Finding]:
        if not 0 < size <= len(message):
            yield self.found("no-byte-is-invented", "size", f"{size} of {len(message)} bytes are used", data)
        for one in read:
            for each in one.diagnostics:
                if not 0 <= each.at <= len(message):
                    why = f"a remark at byte {each.at} of {len(message)}"
                    yield self.found("a-remark-points-at-a-byte", without_numbers(each.path), why, data)

    def _counted(self, data: bytes, number: int, message: bytes) -> Iterable[Finding]:
        if much := steps.excess(lambda: inputs.messages(number, message), len(message)):
            yield self.found("work-grows-as-the-input", inputs.LAYERS[number], much, data)

    def seeds(self) -> Iterable[bytes]:
        return message_seeds()

    def words(self) -> Iterable[bytes]:
        return message_words()


ORACLE = Decode
