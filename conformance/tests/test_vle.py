"""VLE: nine bytes at most, the ninth whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zenoh_conformance.primitives import vle
from zenoh_conformance.wire.errors import DecodeError, EncodeError

KNOWN = {
    0: "00",
    127: "7f",
    128: "8001",
    300: "ac02",
    16383: "ff7f",
    16384: "808001",
    2**21 - 1: "ffff7f",
    2**28: "8080808001",
    2**35 - 1: "ffffffff7f",
    2**56 - 1: "ff" * 7 + "7f",
    2**56: "80" * 8 + "01",
    2**63: "80" * 9,
    2**64 - 1: "ff" * 9,
}


@pytest.mark.parametrize(("value", "text"), KNOWN.items())
def test_known_values(value, text):
    assert vle.encode(value).hex() == text
    assert vle.decode(bytes.fromhex(text)) == (value, len(text) // 2)


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_round_trip_with_a_tail(value, tail):
    data = vle.encode(value)
    assert vle.decode(data + tail) == (value, len(data))


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_every_proper_prefix_is_refused_at_its_end(value):
    data = vle.encode(value)
    for size in range(len(data)):
        with pytest.raises(DecodeError) as refused:
            vle.decode(data[:size])
        assert refused.value.at == size


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(1, 9))
def test_overlong_forms_are_read_and_told(value, size):
    if size < len(vle.encode(value)):
        with pytest.raises(EncodeError):
            vle.overlong(value, size)
        return
    data, found = vle.overlong(value, size), []
    assert len(data) == size
    assert vle.read(data, 0, size, "vle", found) == (value, size)
    assert [each.kind for each in found] == ["overlong-vle"] * (size > len(vle.encode(value)))


def test_a_tenth_byte_is_not_part_of_it():
    assert vle.decode(bytes.fromhex("ff" * 9 + "01")) == (2**64 - 1, 9)


@pytest.mark.parametrize("value", [-1, 2**64])
def test_what_does_not_fit_is_refused(value):
    with pytest.raises(EncodeError):
        vle.encode(value)
