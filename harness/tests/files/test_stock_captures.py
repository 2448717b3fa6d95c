"""Captures of stock nodes of zenoh-rust (1.10.0; `peers` 1.10.2) on loopback, without machine data: read, explained, and clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.connection import Decoders
from zenoh_harness.cli import invoke
from zenoh_harness.files import captures

CAPTURES = sorted((Path(__file__).parent / "captures").glob("*.pcapng"))
KINDS = {
    "compression": {"init", "open", "frame", "push", "put", "request", "response", "declare", "fragment", "close"},
    "scouting": {"scout", "hello"},
    "multicast": {"join"},
    "multicast-talk": {"join", "frame", "push"},
    "multicast-lanes": {"join", "frame", "push"},
    "peers": {"scout", "hello", "init", "open", "declare", "push", "request", "response", "network_oam", "close"},
}
"""What is in each, at least."""


def test_all_are_there():
    assert {path.stem for path in CAPTURES} == set(KINDS)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_capture_of_stock_nodes_is_read_and_clean(path, capsys):
    conversation = captures.read(path).conversation
    decoders = Decoders(conversation)
    seen = {seen.kind for event in conversation for seen in decoders.feed(event)}

    assert seen >= KINDS[path.stem]
    assert "undecodable" not in seen
    assert invoke(["audit", str(path), "--known", "zenoh-rust"]) in (Exit.CONFORMING, Exit.NOTHING_JUDGED)
    assert invoke(["explain", str(path)]) == 0
    assert "refused" not in capsys.readouterr().out
