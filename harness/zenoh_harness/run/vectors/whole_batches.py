"""Vectors that are whole batches: those of the layer `batch`, the streams, and the chains of FRAGMENTs that one side sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from zenoh_conformance.messages import Fragment, Frame
from zenoh_conformance.reading import batch
from zenoh_conformance.reading.codec import CodecError, Layer, decode
from zenoh_conformance.wire import DecodeError
from zenoh_vectors.loader import Vector

MODES: Final = {Layer.LOWLATENCY: "LowLatency"}
"""The layers of batches that only a session has which is settled so, with the extension of INIT."""


def of(vector: Vector) -> tuple[bytes, ...] | None:
    """The batches of a vector; None if it is of another kind, or a stream that is cut."""
    if vector.layer in ("batch", Layer.LOWLATENCY):
        return (vector.data,)
    steps = vector.steps or ((("initiator", vector),) if vector.refuses is None else ())
    if not steps or any(sender != "initiator" or one.layer != "stream" for sender, one in steps):
        return None
    batches, rest = batch.split(b"".join(one.data for _, one in steps))
    return None if rest else tuple(batches)


def messages_of(batches: Sequence[bytes], layer: Layer) -> list[Any]:
    """The messages of batches that are well-formed."""
    read = (one for each in batches for one in batch.decode_batch(each, layer))
    return [one.message for one in read if not isinstance(one, DecodeError)]


def network_messages(messages: Sequence[Any]) -> Iterator[Any]:
    """What FRAMEs hold and FRAGMENTs are reassembled to, and the other transport messages; a chain without an end as its last piece."""
    chain: list[Fragment] = []
    for message in messages:
        if not isinstance(message, Fragment):
            yield from message.messages if isinstance(message, Frame) else (message,)
            continue
        chain.append(message)
        if not message.more:
            yield from _reassemble(chain)
            chain = []
    yield from chain[-1:]


def _reassemble(chain: Sequence[Fragment]) -> Iterator[Any]:
    try:
        yield decode(b"".join(one.payload for one in chain), Layer.NETWORK).message
    except CodecError:
        yield chain[-1]
