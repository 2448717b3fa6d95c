"""`explain` never fails, loses no byte, tells every message that decode reads, and works in proportion to its input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from zenoh_conformance.codec import Layer
from zenoh_conformance.explain import UNEXPLAINED, Explanation, explain
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import Finding
from zenoh_fuzz.oracle import Oracle
from zenoh_fuzz.seeds import message_seeds, message_words

LAYERS: Final = (
    Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING, Layer.BATCH, Layer.LOWLATENCY, Layer.STREAM, Layer.DATAGRAM, None,
)  # fmt: skip
"""By the first byte; without a layer it guesses."""
SAMPLE: Final = 256
WORK: Final = 4
"""Times what decoding is allowed: without a layer all are tried, and each piece becomes a line."""


class Explain(Oracle):
    name = "explain"
    promise = "explain never fails, loses no byte, and its work grows as its input does"
    largest = 2048

    def judge(self, data: bytes) -> Iterable[Finding]:
        layer = LAYERS[data[0] % len(LAYERS)] if data else None
        message = data[1:]
        told = explain(message, layer)
        about = layer.value if layer else "a guess"
        self.behaviour = told.layer, told.ok, len(told.lines) > 1, told.refusal.path if told.refusal else ""
        if b"".join(line.data for line in told.lines if not line.inside) != message:
            yield self.found("no-byte-is-lost", about, "joined, the lines are not the bytes", data)
        if told.ok and any(line.path.endswith(UNEXPLAINED) for line in told.lines):
            yield self.found("ok-means-explained", about, "ok, and there are bytes that are not explained", data)
        yield from self._places(told, data, message, about)
        text = "\n".join(told.text())
        if told.refusal and "refused" not in text:
            yield self.found("a-refusal-is-told", about, f"the text does not tell of {told.refusal}", data)
        told.to_json()
        if self.thorough or inputs.sampled(data, SAMPLE):
            yield from self._counted(message, layer, data)

    def _counted(self, message: bytes, layer: Layer | None, data: bytes) -> Iterable[Finding]:
        if much := steps.excess(lambda: list(explain(message, layer).text()), WORK * len(message)):
            yield self.found("work-grows-as-the-input", layer.value if layer else "a guess", much, data)

    def _places(self, told: Explanation, data: bytes, message: bytes, about: str) -> Iterable[Finding]:
        at = 0
        for line in told.lines:
            if not line.inside and line.at != at:
                yield self.found("lines-follow-each-other", about, f"{line.path} stands at {line.at}, after {at}", data)
                return
            at += 0 if line.inside else len(line.data)

    def seeds(self) -> Iterable[bytes]:
        for seed in message_seeds():
            yield seed
            yield b"\x07" + seed[1:]
            yield b"\x05" + len(seed[1:]).to_bytes(2, "little") + seed[1:]

    def words(self) -> Iterable[bytes]:
        return message_words()


ORACLE = Explain
