"""Sessions and inputs a second against a healthy node, beside loops over bare sockets that send and await the same.

python fuzz/bench/bench_live_rates.py [TARGET]

The loops take turns, so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Final

from zenoh_conformance.messages import Init, sane
from zenoh_conformance.reading.codec import decode, encode
from zenoh_fuzz.live import small
from zenoh_fuzz.live.acts import Act
from zenoh_fuzz.live.input_scripts import Numbers, key_of, segments_of_network
from zenoh_fuzz.live.sessions import OurSessions
from zenoh_fuzz.live.trial import Trial
from zenoh_harness.targets.lookup import open_checked

TURN: Final = 1.0
"""Seconds of a turn of one loop."""
TURNS: Final = 8
BATCH: Final = 32
"""Inputs between two looks at the target's health, as in a campaign."""
_ZIDS = count(1)


class Bare:
    """A session over a bare socket."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(encode(sane.init_syn(b"\x55" + next(_ZIDS).to_bytes(7, "big"))))
        ack = decode(self.read()).message
        assert isinstance(ack, Init)
        self.send(encode(sane.open_syn(ack, initial_sn=0)))
        self.read()

    def send(self, batch: bytes) -> None:
        """Send a batch."""
        self.socket.sendall(len(batch).to_bytes(2, "little") + batch)

    def read(self) -> bytes:
        """Wait for the next batch."""
        size = int.from_bytes(self._exactly(2), "little")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.socket.recv(size - len(data))
        return data

    def until_final(self, request: int) -> None:
        """Wait for the RESPONSE_FINAL of a request."""
        final = b"\x1a" + bytes([request & 0x7F | 0x80, request >> 7])
        while final not in self.read():
            pass


def measure(loops: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Return how often each loop did its work a second; a loop returns how often one call does it."""
    done, spent = dict.fromkeys(loops, 0), dict.fromkeys(loops, 0.0)
    for _ in range(TURNS):
        for name, loop in loops.items():
            began = time.monotonic()
            while time.monotonic() < began + TURN:
                done[name] += loop()
            spent[name] += time.monotonic() - began
    return {name: done[name] / spent[name] for name in loops}


def show(ours: float, bare: float, what: str) -> None:
    """Print both rates and their quotient."""
    print(f"{what}: {ours:.0f} a second, bare sockets {bare:.0f}: {ours / bare:.0%}", flush=True)


def main(target: str) -> None:
    """Print three lines."""
    trial = Trial(open_checked(target))
    node = trial.node
    address = (node.locator.host, node.locator.port)
    put = next(Act(segments=one) for one in small.words() if any(".put." in piece.path for piece in one))
    sessions, bare, numbers, ids = OurSessions(node), Bare(address), Numbers(), count(128)

    def our_session() -> int:
        OurSessions(node).session("a").leave()
        return 1

    def bare_session() -> int:
        Bare(address).socket.close()
        return 1

    def our_input() -> int:
        assert trial._perform(sessions, (put,), brief=False) is None
        return 1

    def bare_input() -> int:
        request = 128 + next(ids) % 16000
        fence = Act(segments=segments_of_network(_request(request)))
        bare.send(put.batch(numbers.on("a")) + fence.batch(numbers.on("a")))
        bare.until_final(request)
        return 1

    def our_batch() -> int:
        return trial.run([(put,)] * BATCH).performed

    rates = measure(
        {
            "session": our_session,
            "bare session": bare_session,
            "input": our_input,
            "bare input": bare_input,
            "batch": our_batch,
        }
    )
    show(rates["session"], rates["bare session"], "sessions")
    show(rates["input"], rates["bare input"], "inputs with a fence")
    show(rates["batch"], rates["bare input"], "the same with bystanders and health")
    sessions.leave()
    trial.stop()


def _request(number: int) -> object:
    from zenoh_conformance.messages import Query, Request

    return Request(id=number, key=key_of(f"zconform/bare/{number}"), body=Query())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "wheel:1.10.2")
