"""Crafted input costs in proportion to its size: steps are counted, so that no clock decides."""

from __future__ import annotations

import gc
import sys

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.reading.explain import explain

CRAFTED = {
    "a FRAME of overlong integers": lambda n: frame_batch(b"\x25\x00" + b"\x1a\x80\x00" * n),
    "a FRAME of overlong keys": lambda n: frame_batch(b"\x25\x00" + b"\x1d\x80\x00\x02" * n),
    "one chain of extensions": lambda n: frame_batch(b"\x84" + b"\x8a" * n + b"\x0a"),
    "one chain of integers": lambda n: frame_batch(b"\x84" + b"\xaa\x80\x00" * n + b"\x0a"),
    "a batch of KEEP_ALIVEs": lambda n: frame_batch(b"\x04" * n),
    "batches of a KEEP_ALIVE": lambda n: frame_batch(b"\x04") * n,
    "empty batches": lambda n: b"\0\0" * n,
    "batches that cannot be read": lambda n: frame_batch(b"\x08") * n,
    "OPEN again and again": lambda n: frame_batch(b"\x22\x01\x01") * n,
}
SMALL, LARGE = 200, 800


def steps(run, *arguments):
    """How many functions a call calls, those of C too, and how often generators go on."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        run(*arguments)
    finally:
        sys.setprofile(None)
    return count


def fed(stream):
    for _ in ConnectionDecoder().feed(Event(0.0, "a", Side.INITIATOR, Happened.BYTES, stream)):
        pass


def explained(stream):
    list(explain(stream).text())


def judged(stream):
    judge(Conversation(events=[Event(0.0, "a", Side.INITIATOR, Happened.BYTES, stream)]))


@pytest.mark.parametrize("run", [fed, explained, judged])
@pytest.mark.parametrize("name", CRAFTED)
def test_four_times_as_much_takes_four_times_the_steps(name, run):
    make = CRAFTED[name]
    run(make(10))  # what is imported or compiled once is not counted

    small, large = steps(run, make(SMALL)), steps(run, make(LARGE))

    assert large < 1.3 * LARGE / SMALL * small


def kept(data):
    """How many objects explaining leaves to the garbage collector, whose passes over them are what grows faster."""
    explain(data[:4])
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        told = explain(data)
        return len(gc.get_objects()) - before if told.lines else 0
    finally:
        gc.enable()


def test_a_chain_leaves_only_what_is_said_of_it():
    length = 2000

    each = kept(b"\x84" + b"\x8a" * length + b"\x0a") / length

    assert each < 4.5  # a line, the extension, and two diagnostics: that it is unknown, and there again


def test_the_count_sees_what_is_not_linear():
    def quadratic(data):
        for _ in data:
            sum(1 for _ in data)

    assert steps(quadratic, bytes(LARGE)) > 1.3 * LARGE / SMALL * steps(quadratic, bytes(SMALL))
