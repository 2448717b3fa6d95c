"""How much passes, and how often: keys, payloads, fragments, handshakes and queries a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from zenoh_conformance import sane
from zenoh_conformance.codec import encode
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation
from zenoh_conformance.fragments import fragment
from zenoh_conformance.messages import Fragment, Push, Put
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.probing.probe.asker import Asker, Facts

RATE: Final = 0.3
"""Seconds that each rate is measured for."""

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


def forwarded(ask: Asker, key: str, payload: bytes) -> Push | None:
    """The push that one session of ours receives of another's; None when it does not come."""
    pair = _pair(ask, "zconform/probe/**")
    if pair is None:
        return None
    near, far = pair
    try:
        far.publish(key, payload, block=True)
        far.fence()
        found = near.expect(Push, within=ask.unit)
    except Deviation:
        return None
    return found


def _fragmented(ask: Asker, size: int) -> bool:
    """Whether a push in fragments arrives, in fragments again."""
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


def limits_and_rates(ask: Asker, facts: Facts) -> None:
    prefix = "zconform/probe/"
    room = facts.seen["batch size"] - 128

    def key_passes(size: int) -> bool:
        return forwarded(ask, prefix + "k" * (size - len(prefix)), b"x") is not None

    def payload_passes(size: int) -> bool:
        return forwarded(ask, prefix + "p", bytes(size)) is not None

    facts.note("key of bytes passes", _largest([s for s in KEYS if s <= room], key_passes, ask))
    facts.note("payload of bytes passes in one batch", _largest([s for s in SIZES if s <= room], payload_passes, ask))
    facts.note("payload of bytes passes in fragments", _largest(BIG_SIZES, lambda size: _fragmented(ask, size), ask))
    facts.note("handshakes per second", _rate(lambda: ask.session(), ask))
    if (session := ask.session()) is not None:
        facts.note("queries per second", _rate(session.fence, ask))
    ask.leave()


def _rate(act: Callable[[], object], ask: Asker) -> int | None:
    """How often `act` goes in a second, a round number of two digits."""
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
