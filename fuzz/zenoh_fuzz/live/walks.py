"""Walks: every sequence of a few correct messages, one after the other in one stream, so that each costs one message and not several.

A walk is a de Bruijn sequence over letters, a letter being a link and a message. Cut into inputs that overlap, it holds every
sequence of its length in one input.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from random import Random
from typing import Final

from . import small
from .acts import Act, Input, is_lawful

LENGTHS: Final = ((("a",), 3), (("a", "b"), 3), (("a",), 4))
"""The walks in their order: links, and the length of the sequences that each holds completely."""
STEP: Final = 20
"""Letters of an input that the one before it does not have."""


@cache
def correct_words() -> tuple[Act, ...]:
    """Return the messages of which walks are made: those of `small.words` that are lawful wherever they stand."""
    return tuple(act for one in small.words() if is_lawful((act := Act(segments=one),)))


def de_bruijn(letters: int, length: int) -> Iterator[int]:
    """Yield the cyclic sequence over `letters` numbers that holds each sequence of `length` once (Fredricksen, Kessler, Maiorana)."""
    word = [-1]
    while word:
        word[-1] += 1
        size = len(word)
        if length % size == 0:
            yield from word
        while len(word) < length:
            word.append(word[-size])
        while word and word[-1] == letters - 1:
            word.pop()


def walk(links: tuple[str, ...], length: int, random: Random) -> Iterator[Input]:
    """Yield inputs that together hold every sequence of `length` correct messages on some links, in an order drawn at random."""
    letters = [Act(link=link, segments=act.segments) for link, act in product(links, correct_words())]
    random.shuffle(letters)
    numbers = de_bruijn(len(letters), length)
    tail: Input = ()
    while step := tuple(letters[number] for number in islice(numbers, STEP)):
        yield tail + step
        tail = (tail + step)[1 - length :]
    yield tail + (letters[0],) * (length - 1)  # the cycle closes: it begins with the first letter, `length` times


def walks(seed: int) -> Iterator[tuple[str, Input]]:
    """Yield the inputs of all walks, each with the name of its walk."""
    random = Random(seed)
    for links, length in LENGTHS:
        for made in walk(links, length, random):
            yield f"walk of {length} on {len(links)} {'link' if len(links) == 1 else 'links'}", made
