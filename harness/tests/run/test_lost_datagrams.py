"""What this machine drops is not the target's fault: over datagrams nothing red counts that was seen meanwhile."""

import itertools
import json
import socket
import threading

import pytest

from zenoh_conformance.judging.finding import LOST_ON_THE_WAY
from zenoh_harness.cli import invoke
from zenoh_harness.links.datagrams import lost_datagrams
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.run.attempt import attempt

CHECK = "push-delivery/each-session-gets-it-once"
COUNT, SIZE = 600, 1000


@pytest.mark.parametrize(("link", "verdict"), [("udp", "not-observed"), ("tcp", "fail")])
def test_what_is_lost_convicts_nobody(link, verdict, monkeypatch, tmp_path):
    monkeypatch.setattr(attempt, "lost_datagrams", itertools.count().__next__)
    invoke(["run", f"faulty:publishes-to-two?link={link}&role=router", "--only", CHECK, "--out", str(tmp_path)])
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    judged = {row["check"]: row for row in rows if row["type"] == "judgement"}
    assert judged[CHECK]["verdict"] == verdict
    assert (judged[CHECK]["cause"] == LOST_ON_THE_WAY) == (link == "udp")


def test_a_peer_that_reads_late_loses_nothing_of_a_burst():
    before, came = lost_datagrams(), []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        with connect(Locator.of("udp", *peer.getsockname()), Deadline.after(5)) as link:
            reader = threading.Thread(target=lambda: came.extend(peer.recv(2 * SIZE) for _ in range(COUNT)))
            link.send(bytes(SIZE), Deadline.after(5))
            threading.Timer(0.1, reader.start).start()
            for _ in range(COUNT - 1):
                link.send(bytes(SIZE), Deadline.after(5))
            reader.join(10)
    assert len(came) == COUNT
    assert lost_datagrams() >= before
