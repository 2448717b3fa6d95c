"""Whatever decodes encodes to the same meaning; whatever does not says why, and at which byte."""

from __future__ import annotations

from zenoh_conformance.codec import DecodeError, Layer, decode, encode

LAYERS = (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING)
"""The first byte of an input chooses."""


def one_input(data: bytes) -> None:
    """One input: a byte for the layer, then the message."""
    if not data:
        return
    layer, message = LAYERS[data[0] % len(LAYERS)], data[1:]
    try:
        first = decode(message, layer)
    except DecodeError as refusal:
        assert 0 <= refusal.at <= len(message), f"refused at byte {refusal.at} of {len(message)}: {refusal}"
        assert refusal.why, "a refusal without a reason"
        return
    assert first.size <= len(message), f"used {first.size} of {len(message)} bytes"
    again = encode(first.message)
    second = decode(again, layer)
    assert second.message == first.message, f"{first.message} came back as {second.message}"
    canonical = not first.diagnostics
    assert not canonical or again == message[: first.size], (
        f"canonical {message[: first.size].hex()} came back as {again.hex()}"
    )
