"""The bound of decompression: 65535 bytes and not one more, whatever the block promises."""

import lz4.block
import pytest

from zenoh_conformance.reading.batch import COMPRESSED, LARGEST, decompress
from zenoh_conformance.reading.codec import DecodeError

LIMIT = 65535
"""The largest batch (message-reference#batch): its length has two bytes."""


def packed(size):
    """A batch of zeros in one LZ4 block behind its header byte."""
    return bytes([COMPRESSED]) + lz4.block.compress(bytes(size), store_size=False)


def test_the_bound_is_what_two_bytes_of_length_can_say():
    assert LARGEST == LIMIT


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
def test_up_to_the_bound_it_expands(size):
    assert decompress(packed(size)) == bytes(size)


@pytest.mark.parametrize("size", [LIMIT + 1, 2 * LIMIT, 2 * LIMIT + 2, 1 << 24])
def test_beyond_the_bound_it_is_refused_at_the_block(size):
    with pytest.raises(DecodeError) as refused:
        decompress(packed(size))
    assert (refused.value.at, refused.value.path) == (1, "batch.block")


@pytest.mark.parametrize(("size", "most"), [(100, 100), (101, 100), (200, 100), (LIMIT + 1, LIMIT + 1)])
def test_a_bound_that_is_given_is_the_bound(size, most):
    if size <= most:
        assert len(decompress(packed(size), most=most)) == size
        return
    with pytest.raises(DecodeError, match=f"at most {most} bytes"):
        decompress(packed(size), most=most)
