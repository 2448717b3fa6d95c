"""`explain` never fails, loses no byte, shows every message that decode reads, and works in proportion to its input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.explain import UNEXPLAINED, Explanation, explain
from zenoh_fuzz import inputs, steps
from zenoh_fuzz.finding import FuzzFinding
from zenoh_fuzz.inputs.seeds import message_seeds
from zenoh_fuzz.oracle import Oracle

LAYERS: Final = (
    Layer.TRANSPORT,
    Layer.NETWORK,
    Layer.SCOUTING,
    Layer.BATCH,
    Layer.LOWLATENCY,
    Layer.STREAM,
    Layer.DATAGRAM,
    None,
)
"""The layer by the first byte of an input; None lets `explain` guess."""
SAMPLE: Final = 256
WORK: Final = 4
"""Factor on the work of decoding: without a layer all are tried, and each piece becomes a line."""


class Explain(Oracle):
    name = "explain"
    promise = "explain never fails, loses no byte, and its work grows as its input does"
    largest = 2048

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        layer = LAYERS[data[0] % len(LAYERS)] if data else None
        message = data[1:]
        explanation = explain(message, layer)
        about = layer.value if layer else "a guess"
        refused_at = explanation.refusal.path if explanation.refusal else ""
        self.behaviour = explanation.layer, explanation.ok, len(explanation.lines) > 1, refused_at
        if b"".join(line.data for line in explanation.lines if not line.inside) != message:
            yield self.finding("no-byte-is-lost", about, "joined, the lines are not the bytes", data)
        if explanation.ok and any(line.path.endswith(UNEXPLAINED) for line in explanation.lines):
            yield self.finding("ok-means-explained", about, "ok, and there are bytes that are not explained", data)
        yield from self._check_positions(explanation, data, message, about)
        text = "\n".join(explanation.text())
        if explanation.refusal and "refused" not in text:
            yield self.finding(
                "a-refusal-is-explanation", about, f"the text does not tell of {explanation.refusal}", data
            )
        explanation.to_json()
        if self.thorough or inputs.is_sampled(data, SAMPLE):
            yield from self._check_work(message, layer, data)

    def _check_work(self, message: bytes, layer: Layer | None, data: bytes) -> Iterable[FuzzFinding]:
        if much := steps.excess(lambda: list(explain(message, layer).text()), WORK * len(message)):
            yield self.finding("work-grows-as-the-input", layer.value if layer else "a guess", much, data)

    def _check_positions(
        self, explanation: Explanation, data: bytes, message: bytes, about: str
    ) -> Iterable[FuzzFinding]:
        at = 0
        for line in explanation.lines:
            if not line.inside and line.at != at:
                yield self.finding(
                    "lines-follow-each-other", about, f"{line.path} stands at {line.at}, after {at}", data
                )
                return
            at += 0 if line.inside else len(line.data)

    def seeds(self) -> Iterable[bytes]:
        for seed in message_seeds():
            yield seed
            yield b"\x07" + seed[1:]
            if len(seed) <= 1 << 16:
                yield b"\x05" + len(seed[1:]).to_bytes(2, "little") + seed[1:]


ORACLE = Explain
