"""Walks: every sequence of a few correct messages, one after the other in one stream, so that each costs one message and not several.

A walk is a de Bruijn sequence over messages, whose links follow a pattern. Cut into inputs that overlap, it holds every sequence of its
length in one input, on one link or on two: which of two equal links is which does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain, cycle, islice
from random import Random
from typing import Final

from . import small
from .acts import Act, Input, is_lawful

PATTERNS: Final = (("a", 3), ("aabb", 3), ("ab", 3), ("a", 4))
"""The walks in their order: the links of their messages, repeated, and the length of the sequences that each holds completely."""
STEP: Final = 60
"""Messages of an input that the one before it does not have."""


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


def shapes(pattern: str, length: int) -> int:
    """Return in how many ways the links of a pattern follow each other in sequences of a length, whatever the links are called."""
    windows = [(pattern * (length + 1))[at : at + length] for at in range(len(pattern))]
    return len({tuple(window.index(link) for link in window) for window in windows})


def walk(pattern: str, length: int, random: Random) -> Iterator[Input]:
    """Yield inputs that together hold every sequence of `length` correct messages, in an order drawn at random.

    The sequence of messages is sent once for each shape, with links that begin at the next place of the pattern.
    """
    letters = random.sample(correct_words(), len(correct_words()))
    for shift in range(shapes(pattern, length)):
        links = islice(cycle(pattern), shift, None)
        closes = (0,) * (length - 1)  # the cycle begins with the first letter, so many times
        numbers = chain(de_bruijn(len(letters), length), closes)
        acts = (replace(letters[number], link=link) for number, link in zip(numbers, links, strict=False))
        yield from _overlapping(acts, length - 1)


def _overlapping(acts: Iterator[Act], overlap: int) -> Iterator[Input]:
    """Yield acts in inputs of which each begins with the last acts of the one before it."""
    tail: Input = ()
    while step := tuple(islice(acts, STEP)):
        yield tail + step
        tail = (tail + step)[-overlap:]


def walks(seed: int) -> Iterator[tuple[str, Input]]:
    """Yield the inputs of all walks, each with the name of its walk."""
    random = Random(seed)
    for pattern, length in PATTERNS:
        for made in walk(pattern, length, random):
            yield f"walk of {length} on {pattern}", made
