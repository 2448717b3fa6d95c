"""Handshakes a second through our link and dialogue, beside a bare socket that sends the same bytes; ratios of one run.

python harness/bench/bench_handshake.py [REACH]      the target is `reference` unless named
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.wires import Recorder
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

ROUNDS, EACH = 5, 60


def ours(node) -> Callable[[int], None]:
    def one(number: int) -> None:
        recorder = Recorder()
        wire = recorder.wire(node, "us", Deadline.after(5))
        Dialogue(wire, zid=zid(number), unit=1.0, requirement="session-establishment/init-syn-first").open()
        wire.shut()

    return one


def bare(node) -> Callable[[int], None]:
    address = (node.locator.host, node.locator.port)

    def batch(link: socket.socket) -> bytes:
        size = int.from_bytes(whole(link, 2), "little")
        return whole(link, size)

    def one(number: int) -> None:
        with socket.create_connection(address) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            syn = encode(sane.init_syn(zid(number)))
            link.sendall(len(syn).to_bytes(2, "little") + syn)
            ack = decode(batch(link)).message
            open_ = encode(sane.open_syn(ack))
            link.sendall(len(open_).to_bytes(2, "little") + open_)
            batch(link)

    return one


def whole(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise ConnectionError("the target shut the link")
        data += more
    return data


def zid(number: int) -> bytes:
    return (number + 1).to_bytes(7, "little") + b"\x5a"


def timed(one: Callable[[int], None], first: int) -> float:
    began = time.perf_counter()
    for number in range(first, first + EACH):
        one(number)
    return EACH / (time.perf_counter() - began)


def main() -> None:
    reach = sys.argv[1] if len(sys.argv) > 1 else "reference"
    with open_target(parse(reach)).start() as node:
        number, rates = 0, {"bare socket": [], "link and dialogue": []}
        for _ in range(ROUNDS):
            for name, one in (("bare socket", bare(node)), ("link and dialogue", ours(node))):
                rates[name].append(timed(one, number))
                number += EACH
    middle = {name: sorted(found)[ROUNDS // 2] for name, found in rates.items()}
    for name, rate in middle.items():
        print(f"{name:20} {rate:8.0f} handshakes/s")
    print(
        f"{'ratio':20} {middle['link and dialogue'] / middle['bare socket']:8.2f} of the bare socket's, against {reach}"
    )


if __name__ == "__main__":
    main()
