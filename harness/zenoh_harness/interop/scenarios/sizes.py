"""Sizes: from nothing to a megabyte, across the border where a message no longer fits one batch."""

from __future__ import annotations

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk

BATCH = 65_535
"""Bytes of the largest batch: headers take a few dozen of them."""
_BORDER = range(BATCH - 100, BATCH + 2, 6)


def payload_of(size: int) -> bytes:
    """That many bytes, of which no two neighbours in a batch are alike."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@scenario(size=(0, 1, 127, 128, 16_383, 16_384, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 100_000, 1_000_000))
def a_payload_of_any_size_arrives(talk: Talk, size: int) -> None:
    """Whole, as it was sent."""
    talk.carries(talk.listens(), payload_of(size))


@scenario()
def payloads_around_the_border_arrive(talk: Talk) -> None:
    """One after the other, from what fits a batch to what does not, with the border somewhere between."""
    ear = talk.listens()
    for size in _BORDER:
        talk.carries(ear, payload_of(size))


@scenario(priority=(1, 7))
def small_ones_pass_between_large_ones(talk: Talk, priority: int) -> None:
    """Fragments of one priority and whole messages of another: each priority is in order for itself."""
    large, small = (talk.there.declare("subscriber", f"{talk.key}/{name}") for name in ("large", "small"))
    talk.settle()
    for number in range(3):
        talk.here.put(f"{talk.key}/large", payload_of(200_000 + number), priority=5)
        talk.here.put(f"{talk.key}/small", bytes([number]), priority=priority)
    for number in range(3):
        talk.expect(large, payload=payload_of(200_000 + number), priority=5)
        talk.expect(small, payload=bytes([number]), priority=priority)


@scenario(size=(0, 1, BATCH, 200_000))
def questions_and_answers_may_be_large(talk: Talk, size: int) -> None:
    """A query with a payload of that size is answered with one of that size."""
    ear = talk.serves({"reply": payload_of(size).hex()})
    asked = talk.here.get(talk.key, payload=payload_of(size).hex())
    talk.expect(ear, "query", payload=payload_of(size))
    talk.same("replies", [payload_of(size).hex()], talk.payloads(asked))
