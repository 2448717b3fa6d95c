"""What holds for every message that is declared, drawn from strategies that are derived from the declarations."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zenoh_conformance import strategies
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import DecodeError
from zenoh_conformance.wire import registry

LOSES = {"overlong-vle", "reserved-bit", "non-canonical"}
"""Diagnostics of what is written otherwise when it is written again."""

OPEN_ENDED = {"Frame", "Fragment"}
"""These take what is left, so that a prefix or a tail makes another one of them."""

few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
every_message = pytest.mark.parametrize("cls", registry.MESSAGES, ids=lambda cls: cls.__name__)
LAYERS = list(registry.LAYERS)


def read(data, layer):
    """What the bytes mean, or the refusal; anything else that is raised is a fault."""
    try:
        return codec.decode(data, layer)
    except DecodeError as why:
        refusal = why
    assert 0 <= refusal.at <= len(data)
    assert refusal.path
    assert refusal.why
    return refusal


def judge(data, layer):
    """Whatever the bytes are: told cleanly, twice the same, and written again as they were or as they should be."""
    text, traced = read(data, layer), codec.trace(data, layer)
    assert traced.segments.join() == data[: traced.size]
    if isinstance(text, DecodeError):
        assert traced.message is None
        assert traced.refusal.args == text.args
        return text
    assert (traced.message, traced.diagnostics, traced.size) == (text.message, text.diagnostics, text.size)
    again = codec.encode(text.message)
    assert codec.decode_whole(again, layer).message == text.message
    if not LOSES & {each.kind for each in text.diagnostics}:
        assert again == data[: text.size]
    for each in text.diagnostics:
        assert 0 <= each.at < len(data)
        assert any(path.startswith(each.path) for path in traced.segments.paths()), each
    return text


@every_message
@few
@given(data=st.data())
def test_round_trip(cls, data):
    layer, message = registry.of(cls).layer, data.draw(strategies.of(cls))
    text = judge(codec.encode(message), layer)
    assert text.message == message
    assert {each.kind for each in text.diagnostics} <= {"unknown-extension"}
    assert codec.segments(message).join() == codec.encode(message)
    assert codec.from_json(codec.to_json(message), layer) == message


@every_message
@few
@given(data=st.data())
def test_every_proper_prefix_is_refused(cls, data):
    layer = registry.of(cls).layer
    whole = codec.encode(data.draw(strategies.of(cls)))
    for size in range(len(whole)):
        text = judge(whole[:size], layer)
        if isinstance(text, DecodeError):
            assert text.at <= size
        else:
            assert cls.__name__ in OPEN_ENDED


@every_message
@few
@given(data=st.data(), tail=st.binary(min_size=1, max_size=4))
def test_a_tail_is_left_alone(cls, data, tail):
    layer, message = registry.of(cls).layer, data.draw(strategies.of(cls))
    whole = codec.encode(message)
    if cls.__name__ not in OPEN_ENDED:
        assert codec.decode(whole + tail, layer)[:1] == (message,)
        with pytest.raises(DecodeError) as refused:
            codec.decode_whole(whole + tail, layer)
        assert refused.value.at == len(whole)


@every_message
@few
@given(data=st.data(), value=st.integers(0, 255))
def test_one_byte_changed(cls, data, value):
    layer = registry.of(cls).layer
    whole = bytearray(codec.encode(data.draw(strategies.of(cls))))
    whole[data.draw(st.integers(0, len(whole) - 1))] = value
    judge(bytes(whole), layer)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(LAYERS), st.binary(max_size=40))
def test_random_bytes(layer, data):
    judge(data, layer)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_two_bytes(layer):
    for first in range(256):
        for second in range(0, 256, 5):
            judge(bytes([first, second, 0x01, 0x01]), layer)


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("raises another error", lambda data, layer: data[99]),
        ("points behind the bytes", lambda data, layer: (_ for _ in ()).throw(DecodeError(99, "x", "y"))),
        ("forgets the diagnostics", lambda data, layer: codec.Decoded(DECODED.message, (), DECODED.size)),
        ("reads another message", lambda data, layer: codec.Decoded(OTHER.message, (), OTHER.size)),
    ],
)
def test_the_judge_notices(monkeypatch, fault, broken):
    monkeypatch.setattr(codec, "decode", broken)
    with pytest.raises((AssertionError, IndexError)):
        judge(b"\x43\x02", codec.Layer.TRANSPORT)


DECODED = codec.decode(b"\x43\x02")
OTHER = codec.decode(b"\x04")
