"""How fast the codec is beside others, in one run: ratios, since absolute times are the machine's.

python conformance/bench/bench_codec.py [--seconds 0.3]
"""

from __future__ import annotations

import argparse
import sys
import time

import by_hand
import with_construct

from zenoh_conformance.messages import Frame, Init, Push, Put, init, network
from zenoh_conformance.messages.data import SourceInfo
from zenoh_conformance.messages.put import PutAttachment
from zenoh_conformance.primitives import Encoding, Timestamp, WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.wire.extensions import exts

ZID = ZenohID(bytes(range(1, 17)))
STAMP = Timestamp(time=0x0068_1F2A_3344_5566, zid=ZID)
INIT = Init(
    ack=False,
    whatami=WhatAmI.PEER,
    zid=ZID,
    resolution=0x0A,
    batch_size=2048,
    exts=exts(init.QoS(), init.Patch(value=1)),
)
PUSH = Push(
    key=WireExpr(3, "/sensor/12/temperature", True),
    exts=exts(network.QoS(value=0x0D), network.TimestampExt(timestamp=STAMP)),
    body=Put(
        timestamp=STAMP,
        encoding=Encoding(4, b"utf8"),
        exts=exts(SourceInfo(zid=ZID, eid=7, sn=300), PutAttachment(payload=b"attached")),
        payload=b"21.5 degrees",
    ),
)
FRAME = Frame(sn=70000, messages=(Push(key=WireExpr(3, "/x"), body=Put(payload=b"hello world")),) * 10)
SAMPLES = {"INIT": (INIT, Layer.TRANSPORT), "PUSH": (PUSH, Layer.NETWORK), "FRAME": (FRAME, Layer.TRANSPORT)}

AIMS = {"construct": 8.0, "construct compiled": 1.0, "by hand": 0.5}
"""How many times as fast as each the codec should at least be."""


ROUNDS = 7


def rivals(name: str, data: bytes) -> dict[str, tuple]:
    """By name: what decodes and what encodes the sample, None for what cannot."""
    message, _ = SAMPLES[name]
    plain = with_construct.FORMATS[name]
    compiled = plain.compile()
    read = plain.parse(data)
    return {
        "construct": (lambda: plain.parse(data), lambda: plain.build(read)),
        "construct compiled": (lambda: compiled.parse(data), lambda: compiled.build(read)),
        "by hand": (lambda: by_hand.read(name, data), lambda: by_hand.write(name, message)),
    }


def check(name: str, data: bytes) -> None:
    """All of them read and write the same."""
    message, layer = SAMPLES[name]
    assert codec.decode_whole(data, layer)[:2] == by_hand.read(name, data) == (message, ())
    assert by_hand.write(name, message) == data
    for rival, (_, encode) in rivals(name, data).items():
        assert encode is None or encode() == data, rival


def took(works, seconds: float) -> list[float]:
    """CPU seconds for one go of each, the least of several rounds, which take turns: what disturbs one disturbs all."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for index, work in enumerate(works):
            begin = time.process_time()
            work()
            count = max(1, int(seconds / ROUNDS / max(time.process_time() - begin, 1e-6)))
            begin = time.process_time()
            for _ in range(count):
                work()
            best[index] = min(best[index], (time.process_time() - begin) / count)
    return best


def report(name: str, word: str, ours, others: dict, seconds: float) -> int:
    """Print what one direction of one sample takes, and how often each of the others takes it; count missed aims."""
    mine, *theirs = took([ours, *others.values()], seconds)
    print(f"{name:5} {word}  {mine * 1e6:7.2f} us")
    missed = 0
    for rival, other in zip(others, theirs, strict=True):
        ratio, aim = other / mine, AIMS[rival]
        missed += ratio < aim
        print(f"      {ratio:7.2f} x {rival:20} aim {aim}{'' if ratio >= aim else '  MISSED'}")
    return missed


def main() -> int:
    """Print a table for each sample and direction; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each measurement")
    seconds = parser.parse_args().seconds
    missed = 0
    for name, (message, layer) in SAMPLES.items():
        data = codec.encode(message)
        check(name, data)
        others = rivals(name, data)
        readers = {rival: read for rival, (read, _) in others.items()}
        writers = {rival: write for rival, (_, write) in others.items() if write is not None}
        missed += report(name, "decode", lambda data=data, layer=layer: codec.decode(data, layer), readers, seconds)
        missed += report(name, "encode", lambda message=message: codec.encode(message), writers, seconds)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
