"""Captures of a fleet that never was: nodes that keep sessions with routers and publish, written as a pcap file.

    python reports/bench/fleet.py OUT.pcap --nodes 20 --frames 100000 --payload 64

Headers are made once a session and patched, checksums are left out: what is measured is the reader, not this.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from zenoh_conformance.messages import Frame, KeepAlive, Push, Put, sane
from zenoh_conformance.primitives import WireExpr, ZenohID
from zenoh_conformance.primitives.timestamp import Timestamp
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import vle

START = 1_767_225_600 * 10**9
"""2026-01-01, in nanoseconds."""
STAMP = 1_767_225_600 << 32
PLACEHOLDER = vle.encode(STAMP)
HOUR = 3600 * 10**9
SYN, FIN, ACK, PSH = 2, 1, 16, 8
Say = Callable[[bool, bytes], None]


@dataclass
class Link:
    """One TCP connection between two hosts of 10.0.0.0/8."""

    client: int
    server: int
    port: int
    seq: list[int] = field(default_factory=lambda: [1000, 2000])

    def packet(self, to_server: bool, flags: int, data: bytes = b"") -> bytes:
        """An IPv4 packet without checksums."""
        mine, other = (0, 1) if to_server else (1, 0)
        ends = [(self.client, self.port), (self.server, 7447)]
        (source, from_), (target, to) = ends[mine], ends[other]
        head = struct.pack(
            ">BBHHHBBHIIHHIIBBHHH", 0x45, 0, 40 + len(data), 0, 0x4000, 64, 6, 0, source, target, from_, to,
            self.seq[mine] & 0xFFFFFFFF, self.seq[other] & 0xFFFFFFFF if flags & ACK else 0, 0x50, flags, 65535, 0, 0,
        )  # fmt: skip
        self.seq[mine] += len(data) + bool(flags & (SYN | FIN))
        return head + data


@dataclass
class Session:
    """A session that is opened, used and closed; `handshake` may be replaced, to plant a violation."""

    link: Link
    random: Random
    sn: list[int] = field(default_factory=lambda: [0, 0])

    def opening(self, change: Callable[[list[tuple[bool, object]]], None] | None = None) -> Iterator[bytes]:
        """TCP's handshake and Zenoh's."""
        yield self.link.packet(True, SYN)
        yield self.link.packet(False, SYN | ACK)
        yield self.link.packet(True, ACK)
        zids = self.link.client.to_bytes(4, "big") + b"\x01", self.link.server.to_bytes(4, "big") + b"\x02"
        syn = sane.init_syn(zids[0])
        ack = sane.init_ack(syn, zids[1], self.random.randbytes(16))
        self.sn = [self.random.randrange(1 << 20), self.random.randrange(1 << 20)]
        steps: list[tuple[bool, object]] = [
            (True, syn), (False, ack), (True, sane.open_syn(ack, initial_sn=self.sn[0])),
            (False, sane.open_ack(initial_sn=self.sn[1])),
        ]  # fmt: skip
        if change is not None:
            change(steps)
        for to_server, message in steps:
            raw = message if isinstance(message, bytes) else encode(message)
            yield self.link.packet(to_server, PSH | ACK, frame_batch(raw))

    def publish(self, body: bytes, to_server: bool, stamp: bytes = b"") -> bytes:
        """A FRAME that holds what was encoded before, with `stamp` as the time of each timestamp in it."""
        body = body.replace(PLACEHOLDER, stamp) if stamp else body
        side = 0 if to_server else 1
        batch = b"\x25" + vle.encode(self.sn[side]) + body
        self.sn[side] = (self.sn[side] + 1) & 0x0FFFFFFF
        return self.link.packet(to_server, PSH | ACK, len(batch).to_bytes(2, "little") + batch)

    def closing(self) -> Iterator[bytes]:
        """CLOSE, and the end of both directions."""
        yield self.link.packet(True, PSH | ACK, frame_batch(encode(sane.close(0))))
        yield self.link.packet(True, FIN | ACK)
        yield self.link.packet(False, FIN | ACK)


def body_of(payload: int, messages: int) -> bytes:
    """What stands in a FRAME: so many PUSHes with PUTs of that size."""
    stamp = Timestamp(time=STAMP, zid=ZenohID(b"\x07"))
    push = Push(key=WireExpr(0, "fleet/sensor/value", mapping=True), body=Put(timestamp=stamp, payload=bytes(payload)))
    assert encode(Frame(sn=0, messages=(push,)))[0] == 0x25
    return encode(push) * messages


def fleet(
    *, nodes: int = 20, frames: int = 1000, payload: int = 64, messages: int = 1, seed: int = 1, routers: int = 4, net: int = 0,
    alike: bool = True, plant: Callable[[int, list[tuple[bool, object]]], None] | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Packets of the whole fleet, in order: all open, publish in turn, and close. `plant(index, steps)` may edit a handshake.

    Unless all publications are `alike`, those of each turn have a timestamp of their own.
    """
    random = Random(seed)
    sessions = [
        Session(
            Link((net << 16) + 0x0A000100 + index, (net << 16) + 0x0A000001 + index % routers, 40_000 + index), random
        )
        for index in range(nodes)
    ]
    for index, session in enumerate(sessions):
        yield from session.opening(None if plant is None else lambda steps, index=index: plant(index, steps))
    body = body_of(payload, messages)
    alive = frame_batch(encode(KeepAlive()))
    for turn in range(frames // nodes):
        for index, session in enumerate(sessions):
            stamp = b"" if alike else vle.encode(STAMP + turn * nodes + index)
            yield session.publish(body, (turn + index) % 4 != 0, stamp)
        if turn % 50 == 49:
            for session in sessions:
                yield session.link.packet(False, PSH | ACK, alive)
    for session in sessions:
        yield from session.closing()


def with_checksum(packet: bytes) -> bytes:
    """The IPv4 packet with the checksum of its TCP segment (RFC 9293, 3.1)."""
    segment = packet[20:36] + bytes(2) + packet[38:]
    whole = packet[12:20] + bytes((0, 6)) + len(segment).to_bytes(2, "big") + segment + bytes(len(segment) % 2)
    return packet[:36] + (0xFFFF - int.from_bytes(whole, "big") % 0xFFFF).to_bytes(2, "big") + packet[38:]


def write(packets: Iterator[bytes], path: Path, *, count: int, over: int = HOUR) -> int:
    """A pcap (nanoseconds, raw IP) of packets spread over a time; how many."""
    step = max(1, over // max(1, count))
    written = 0
    with path.open("wb", buffering=1 << 20) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101))
        for written, data in enumerate(packets, 1):
            seconds, fraction = divmod(START + written * step, 10**9)
            out.write(struct.pack("<IIII", seconds, fraction, len(data), len(data)) + data)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--alike", action="store_true", help="all publications are alike, with one timestamp")
    parser.add_argument("--checksums", action="store_true", help="with the checksums of TCP")
    for name, default in (("nodes", 20), ("frames", 100_000), ("payload", 64), ("messages", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    size = {name: getattr(given, name) for name in ("nodes", "frames", "payload", "messages", "alike")}
    packets: Iterator[bytes] = fleet(**size)
    packets = map(with_checksum, packets) if given.checksums else packets
    print(write(packets, given.out, count=given.frames), "packets")


if __name__ == "__main__":
    main()
