"""Sessions between real nodes, recorded as they happen: whatever they say is read, written again and explained."""

from collections import Counter

import pytest

from zenoh_conformance import codec
from zenoh_conformance.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_conformance.messages import Close, KeepAlive
from zenoh_harness.live.recount import Recount
from zenoh_harness.live.scenes import SCENES, SHORT, record

EVERY_SCENE = {
    "init", "open", "close", "frame", "declare", "d_key_expr", "d_subscriber", "u_subscriber", "d_queryable",
    "u_queryable", "d_token", "u_token", "d_final", "interest", "push", "put", "del", "request", "query", "response",
    "reply", "err", "response_final",
}  # fmt: skip
"""Kinds that the short form shows, beside FRAGMENT, KEEP_ALIVE and the OAM of routers."""

NEVER = {"join", "oam", "scout", "hello", "u_key_expr"}
"""What no application causes on a link of two nodes; the baseline lets its key expressions go with the session."""


def counted(names):
    """All recordings in one recount."""
    recount = Recount()
    for name in names:
        recount.add(record(name).conversation)
    print("\n".join(recount.lines()))
    return recount


def hold(recount, kinds):
    assert recount.faults == []
    assert recount.odd == Counter()
    assert kinds <= set(recount.kinds), kinds - set(recount.kinds)
    assert not NEVER & set(recount.kinds)
    assert recount.whole["Push"] >= 2


def test_what_live_nodes_say_is_read_written_again_and_explained():
    recount = counted(SHORT)
    hold(recount, EVERY_SCENE | {"fragment", "keep_alive", "network_oam"})
    assert recount.kinds["put"] > 200
    assert recount.kinds["reply"] > 200


@pytest.mark.soak
@pytest.mark.parametrize("round_", range(3))
def test_so_they_are_in_every_profile(round_):
    hold(counted(SCENES), EVERY_SCENE | {"fragment", "keep_alive", "network_oam"})


def told(*batches):
    """A conversation of these batches."""
    framed = b"".join(len(batch).to_bytes(2, "little") + batch for batch in batches)
    events = [Event(0.0, "a", Side.INITIATOR, Happened.OPEN), Event(0.1, "a", Side.INITIATOR, Happened.BYTES, framed)]
    return Conversation({"a": Connection("a")}, events)


def recount_of(*batches):
    recount = Recount()
    recount.add(told(*batches))
    return recount


def test_a_recount_of_what_is_in_order_has_no_fault():
    recount = recount_of(codec.encode(KeepAlive()), codec.encode(Close(session=True, reason=0)))
    assert recount.faults == []
    assert recount.kinds == {"keep_alive": 1, "close": 1}


def test_a_recount_tells_what_is_refused_and_unexplained():
    recount = recount_of(b"\x04", b"\x1f")
    assert len(recount.refused) == 1
    assert len(recount.unexplained) == 1


def test_a_recount_tells_what_is_odd():
    recount = recount_of(b"\x44")
    assert recount.faults == []
    assert sum(recount.odd.values()) == 1


def test_a_recount_tells_what_is_written_otherwise(monkeypatch):
    monkeypatch.setattr("zenoh_harness.live.recount.codec.encode", lambda message: b"\x04\x04")
    assert recount_of(b"\x04").changed == ["04 becomes 0404"]
