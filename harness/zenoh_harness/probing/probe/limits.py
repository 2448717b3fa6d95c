"""Measure the limits of keys, payloads and fragments, and the rates of handshakes and queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Fragment, Push, Put, sane
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.fragments import fragment
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import exts
from zenoh_harness.probing.probe.asker import Asker, ProbeFacts

RATE: Final = 0.3
"""Seconds for which each rate is measured."""

SIZES: Final = (64, 256, 1024, 8192, 32768, 48000)
BIG_SIZES: Final = (100_000, 1_000_000)
KEYS: Final = (16, 128, 256, 1024, 8192, 32768)


def _pair(ask: Asker, key: str) -> tuple[Dialogue, Dialogue] | None:
    near, far = ask.session(), ask.session()
    if near is None or far is None:
        return None
    try:
        near.subscribe(key)
        near.fence()
    except Deviation:
        return None
    return near, far


def forwarded_push(ask: Asker, key: str, payload: bytes) -> Push | None:
    """Return the push that one of our sessions receives from another one; None if it does not arrive."""
    pair = _pair(ask, "zconform/probe/**")
    if pair is None:
        return None
    near, far = pair
    try:
        far.publish(key, payload, block=True)
        far.fence()
        return near.expect(Push, within=ask.unit)
    except Deviation:
        return None


def _forwards_fragments(ask: Asker, size: int) -> bool:
    """Whether a push that we send in fragments arrives, in fragments again."""
    pair = _pair(ask, "zconform/probe/**")
    if pair is None:
        return False
    near, far = pair
    key = WireExpr(scope=0, suffix="zconform/probe/big", mapping=True)
    message = encode(Push(key=key, exts=exts(QoS(value=sane.BLOCK)), body=Put(payload=bytes(size))))
    try:
        for piece in fragment(message, sn=far.next_sn(), size=16384):
            far.send(piece)
        arrived = 0
        while arrived < size:
            arrived += len(near.expect(Fragment).payload)
    except Deviation:
        return False
    return True


def _largest(sizes: Iterable[int], passes: Callable[[int], bool], ask: Asker) -> int | None:
    best = None
    for size in sizes:
        works = passes(size)
        ask.leave()
        if not works:
            break
        best = size
    return best


def limits_and_rates(ask: Asker, facts: ProbeFacts) -> None:
    prefix = "zconform/probe/"
    room = facts.seen["batch size"] - 128

    def key_passes(size: int) -> bool:
        return forwarded_push(ask, prefix + "k" * (size - len(prefix)), b"x") is not None

    def payload_passes(size: int) -> bool:
        return forwarded_push(ask, prefix + "p", bytes(size)) is not None

    facts.note("key of bytes passes", _largest([s for s in KEYS if s <= room], key_passes, ask))
    facts.note("payload of bytes passes in one batch", _largest([s for s in SIZES if s <= room], payload_passes, ask))
    facts.note(
        "payload of bytes passes in fragments", _largest(BIG_SIZES, lambda size: _forwards_fragments(ask, size), ask)
    )
    facts.note("handshakes per second", _rate(lambda: ask.session(), ask))
    if (session := ask.session()) is not None:
        facts.note("queries per second", _rate(session.fence, ask))
    ask.leave()


def _rate(act: Callable[[], object], ask: Asker) -> int | None:
    """Return how often `act` succeeds per second, rounded to two digits; None if it fails."""
    began, times = time.monotonic(), 0
    try:
        while (spent := time.monotonic() - began) < RATE:
            if act() is None:
                return None
            times += 1
    except Deviation:
        return None
    finally:
        ask.leave()
    return int(float(f"{times / spent:.1e}"))
