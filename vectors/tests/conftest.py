"""What the tests of the vectors stand on: our codec, asked as anybody's would be."""

from __future__ import annotations

import pytest

from zenoh_harness.codecs import AnswerKind
from zenoh_harness.own_codec import OwnCodec
from zenoh_vectors import load
from zenoh_vectors.judge import Outcome

OURS = OwnCodec()


def decode(layer, data):
    answer = OURS.decode(layer, data)
    assert answer.kind in (AnswerKind.DECODED, AnswerKind.REFUSED), answer.why
    if answer.kind is AnswerKind.REFUSED:
        return Outcome(None, answer.why, answer.at)
    return Outcome(answer.means, size=answer.size)


def encode(layer, means):
    answer = OURS.encode(layer, means)
    if answer.kind is not AnswerKind.ENCODED:
        raise ValueError(answer.why)
    return answer.data


@pytest.fixture(scope="session")
def vectors():
    """All golden vectors."""
    return load()


@pytest.fixture(scope="session")
def ours():
    """Our codec: a decoder and an encoder."""
    return decode, encode
