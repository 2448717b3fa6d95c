"""What the tap adds to a message: a ping-pong of two processes, straight and through a recording tap in a third."""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Recording, Tap

ROUNDS = 1000
PASSES = 3
"""The quietest counts: what others do on the machine is not the tap's."""
MOST = 100.0
"""Microseconds that a message of ordinary size may cost more."""


def echo():
    """Says its port, then sends back whatever comes."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        print(door.getsockname()[1], flush=True)
        while True:
            link, _ = door.accept()
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with link:
                while data := link.recv(65536):
                    link.sendall(data)


def tap(port):
    """Says its port, then passes on and records."""
    with tempfile.TemporaryDirectory() as folder:
        passing = Tap(
            Locator.tcp("127.0.0.1", 0), Locator.tcp("127.0.0.1", port), Recording(Path(folder, "talk.jsonl"))
        )
        print(passing.locator.port, flush=True)
        passing.serve()


def quietest(port, size):
    """Seconds of one message there and back."""
    return min(round_trip(port, size) for _ in range(PASSES))


def round_trip(port, size):
    """Median seconds of one message there and back, of one pass."""
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        message, times = bytes(size), []
        for _ in range(ROUNDS):
            began, left = time.perf_counter(), size
            link.sendall(message)
            while left:
                left -= len(link.recv(65536))
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def beside(*words):
    """This file as another process, and the port that it says."""
    other = subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True)
    return other, int(other.stdout.readline())


def main():
    """The exit code says whether a message of up to 1400 bytes costs more than it may."""
    far, port = beside("echo")
    near, tapped = beside("tap", str(port))
    worst = 0.0
    try:
        for size in (20, 200, 1400, 16000):
            straight, through = quietest(port, size), quietest(tapped, size)
            added = (through - straight) / 2 * 1e6
            worst = max(worst, added if size <= 1400 else 0.0)
            print(
                f"{size:6} bytes: the tap adds {added:5.0f} us a message, {through / straight:4.1f} times the way there"
            )
    finally:
        near.kill()
        far.kill()
    return 0 if worst < MOST else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["echo"]:
        echo()
    elif sys.argv[1:2] == ["tap"]:
        tap(int(sys.argv[2]))
    else:
        sys.exit(main())
