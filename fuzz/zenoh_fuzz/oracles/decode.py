"""The decoder raises only DecodeError, which names a byte and a reason; its work grows with the input."""

from __future__ import annotations

from collections.abc import Iterable

from zenoh_conformance.reading.codec import DecodeError
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import FuzzFinding, without_numbers
from zenoh_fuzz.oracle import Oracle

SAMPLE = 128
"""One input of this many is measured."""


class Decode(Oracle):
    name = "decode"
    promise = "our decoder raises DecodeError or nothing, and its work grows as its input does"

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        number, message = inputs.split_input(data)
        try:
            read, size = inputs.messages(number, message)
        except DecodeError as refusal:
            self.behaviour = refusal.path, refusal.why[:12]
            if not 0 <= refusal.at <= len(message):
                yield self.finding(
                    "a-refusal-points-at-a-byte", refusal.path, f"byte {refusal.at} of {len(message)}", data
                )
            if not refusal.why or not refusal.path:
                yield self.finding("a-refusal-says-why", refusal.path, "a refusal without path or reason", data)
        else:
            self.behaviour = tuple(sorted({each.kind for one in read for each in one.diagnostics}))
            yield from self._check_positions(data, message, read, size)
        if self.thorough or inputs.is_sampled(data, SAMPLE):
            yield from self._check_work(data, number, message)

    def _check_positions(
        self, data: bytes, message: bytes, read: list[inputs.Decoded], size: int
    ) -> Iterable[FuzzFinding]:
        if not 0 < size <= len(message):
            yield self.finding("no-byte-is-invented", "size", f"{size} of {len(message)} bytes are used", data)
        for one in read:
            for each in one.diagnostics:
                if not 0 <= each.at <= len(message):
                    why = f"a remark at byte {each.at} of {len(message)}"
                    yield self.finding("a-remark-points-at-a-byte", without_numbers(each.path), why, data)

    def _check_work(self, data: bytes, number: int, message: bytes) -> Iterable[FuzzFinding]:
        if much := steps.excess(lambda: inputs.messages(number, message), len(message)):
            yield self.finding("work-grows-as-the-input", inputs.LAYERS[number], much, data)


ORACLE = Decode
