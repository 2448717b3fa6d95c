"""The encoder writes what the decoder reads; segments, trace, explain and the connection decoder agree with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zenoh_conformance.reading.batch import LOWLATENCY_PREFIX, STREAM_PREFIX, frame_batch, split
from zenoh_conformance.reading.codec import Decoded, DecodeError, Layer, encode, from_json, segments, to_json, trace
from zenoh_conformance.reading.connection import ConnectionDecoder, is_of_the_other_side
from zenoh_conformance.reading.conversation import SIDES, Connection, Event, Framing, Happened, Side
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire import registry, vle
from zenoh_fuzz import inputs
from zenoh_fuzz.finding import FuzzFinding
from zenoh_fuzz.oracle import Oracle

SAMPLE = 16
"""One input of this many is also read by explain, by the connection decoder and as JSON."""


class Roundtrip(Oracle):
    name = "roundtrip"
    promise = "what our decoder reads our encoder writes, and all our readers read the same"

    def judge(self, data: bytes) -> Iterable[FuzzFinding]:
        number, message = inputs.split_input(data)
        try:
            read, size = inputs.messages(number, message)
        except DecodeError as refusal:
            self.behaviour = refusal.path
            if number < inputs.BATCH:
                yield from self._check_refusal(data, number, message, refusal)
            return
        if number == inputs.VLE:
            if vle.decode(vle.encode(read[0].message))[0] != read[0].message:
                yield self.finding("meaning-survives", "vle", f"{read[0].message} is lost", data)
            return
        self.behaviour = tuple(registry.kind_of(one.message) for one in read)[:3]
        layer = _layer(number)
        for one in read:
            yield from self._check_encoding(data, one, message[one.at : one.at + one.size], _layer_of(one, layer))
        if self.thorough or inputs.is_sampled(data, SAMPLE):
            yield from self._check_other_readers(data, number, message, read, size)

    def _check_refusal(self, data: bytes, number: int, message: bytes, refusal: DecodeError) -> Iterable[FuzzFinding]:
        traced = trace(message, inputs.MESSAGE_LAYERS[number]).refusal
        if traced is None or (traced.at, traced.path, traced.why) != (refusal.at, refusal.path, refusal.why):
            yield self.finding("trace-is-decode", refusal.path, f"decode says {refusal}, trace {traced}", data)

    def _check_encoding(self, data: bytes, one: Decoded, raw: bytes, layer: Layer) -> Iterable[FuzzFinding]:
        kind = registry.kind_of(one.message)
        again = encode(one.message)
        second, _ = inputs.messages(inputs.MESSAGE_LAYERS.index(layer), again)
        if second[0].message != one.message:
            yield self.finding("meaning-survives", kind, f"{one.message} comes back as {second[0].message}"[:300], data)
        if not one.diagnostics and again != raw:
            yield self.finding("canonical-bytes-survive", kind, f"{raw.hex()} comes back as {again.hex()}"[:300], data)
        traced = trace(raw, layer)
        if traced.message != one.message or len(traced.diagnostics) != len(one.diagnostics) or traced.size != one.size:
            yield self.finding("trace-is-decode", kind, f"trace reads {traced.message}"[:300], data)
        if traced.segments.join() != raw:
            yield self.finding(
                "segments-are-the-bytes", kind, f"joined they are {traced.segments.join().hex()}"[:300], data
            )
        if any(one.path.endswith(".slices") and not are_slices(one.data) for one in traced.segments):
            yield self.finding(
                "slices-are-whole", kind, "what is read as slices is not a count and as many slices", data
            )
        if segments(one.message).join() != again:
            yield self.finding("segments-are-the-bytes", f"{kind}, written", "segments differ from encode", data)

    def _check_other_readers(
        self, data: bytes, number: int, message: bytes, read: list[Decoded], size: int
    ) -> Iterable[FuzzFinding]:
        layer = _layer(number)
        for one in read:
            if from_json(to_json(one.message), _layer_of(one, layer)) != one.message:
                yield self.finding(
                    "json-keeps-the-meaning", registry.kind_of(one.message), f"{one.message}"[:300], data
                )
        if number == inputs.LOWLATENCY:
            return
        text = explain(message, layer)
        if text.messages[: len(read)] != [one.message for one in read]:  # it goes on where network messages follow
            yield self.finding("explain-is-decode", layer.value, f"explain reads {len(text.messages)} messages", data)
        if b"".join(line.data for line in text.lines if not line.inside) != message:
            yield self.finding("explain-loses-no-byte", layer.value, "joined its lines are not the bytes", data)
        yield from self._check_framing(data, message)
        for sender in SIDES if number == inputs.BATCH else ():
            ends = 1 if is_of_the_other_side(read[0].message, sender) else None
            if _connection(message, sender) != [one.message for one in read[:ends]]:
                why = f"the connection decoder reads other messages of the {sender.value}"
                yield self.finding("connection-is-decode", layer.value, why, data)

    def _check_framing(self, data: bytes, message: bytes) -> Iterable[FuzzFinding]:
        """Check that a batch is found after its length, written here by hand, and that an incomplete one waits."""
        for prefix in (STREAM_PREFIX, LOWLATENCY_PREFIX):
            size = len(message).to_bytes(prefix, "little")
            begun = size + message[:-1]
            if split(size + message + begun, prefix) != ([message], begun):
                yield self.finding(
                    "a-stream-is-its-batches", f"prefix of {prefix} bytes", "the batch is not found", data
                )


def are_slices(data: bytes) -> bool:
    """Whether the bytes are a count and that many slices (kind, length, bytes), decoded here independently."""
    try:
        count, at = vle.decode(data)
        for _ in range(count):
            size, used = vle.decode(data[at + 1 :])
            at += 1 + used + size
            if at > len(data):
                return False
    except DecodeError:
        return False
    return at == len(data)


def _layer(number: int) -> Layer:
    return inputs.MESSAGE_LAYERS[number] if number < inputs.BATCH else Layer(inputs.LAYERS[number])


def _layer_of(one: Decoded, layer: Layer) -> Layer:
    """Return the layer whose ids a message in a batch uses."""
    if layer not in (Layer.BATCH, Layer.LOWLATENCY):
        return layer
    return registry.of(type(one.message)).layer or layer


def _connection(message: bytes, sender: Side) -> list[Any]:
    """Decode as a stream, since a datagram that could be a HELLO or an OPEN is taken for a HELLO."""
    decoder = ConnectionDecoder(Connection("c", framing=Framing.STREAM))
    framed = frame_batch(message, Framing.STREAM.value)
    event = Event(time=0.0, connection="c", sender=sender, kind=Happened.BYTES, data=framed)
    return [seen.message for seen in decoder.feed(event) if seen.kind != "batch" and not seen.around]


ORACLE = Roundtrip
