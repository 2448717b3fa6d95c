"""What the tests of the vectors stand on: our codec, asked as anybody's would be."""

from __future__ import annotations

import pytest

from zenoh_harness.codecs.codec import AnswerKind
from zenoh_harness.codecs.own import OwnCodec
from zenoh_vectors import load
from zenoh_vectors.judge import VectorOutcome, judge, judge_written


class Ours:
    """Our codec, layer by layer."""

    def __init__(self):
        self.codec = OwnCodec()

    def decode(self, layer, data):
        """What these bytes mean, or why not."""
        answer = self.codec.decode(layer, data)
        if answer.kind is AnswerKind.DECODED:
            return VectorOutcome(answer.means, size=answer.size)
        assert answer.kind is AnswerKind.REFUSED, answer.why
        return VectorOutcome(None, answer.why, answer.at)

    def encode(self, layer, means):
        """The bytes, or None and why not."""
        answer = self.codec.encode(layer, means)
        return answer.data, answer.why

    def disagreements(self, vectors):
        """Id and cause of whatever is not as a vector says."""
        for vector in vectors:
            for part in vector.parts:
                judged = judge(part, self.decode(part.layer, part.data))
                if judged.verdict == "pass" and part.canonical:
                    judged = judge_written(part, *self.encode(part.layer, part.means))
                if judged.verdict != "pass":
                    yield vector.id, judged.cause


@pytest.fixture(scope="session")
def vectors():
    """All golden vectors."""
    return load()


@pytest.fixture(scope="session")
def ours():
    """Our codec."""
    return Ours()
