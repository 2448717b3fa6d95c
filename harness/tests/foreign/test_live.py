"""Sessions between real nodes, recorded as they happen: whatever they say is read, written again and explained.

The nodes' own logs say the same of each message.
"""

from collections import Counter
from dataclasses import replace

import pytest

from zenoh_conformance.messages import Close, KeepAlive
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_harness.foreign.live.agree import Agreement
from zenoh_harness.foreign.live.debug import Text, Tree, Unreadable, parse
from zenoh_harness.foreign.live.logged import told_of
from zenoh_harness.foreign.live.recount import Recount
from zenoh_harness.foreign.live.scenes import SCENES, SHORT, record

EVERY_SCENE = {
    "init", "open", "close", "frame", "declare", "d_key_expr", "d_subscriber", "u_subscriber", "d_queryable",
    "u_queryable", "d_token", "u_token", "d_final", "interest", "push", "put", "del", "request", "query", "response",
    "reply", "err", "response_final", "fragment", "keep_alive", "network_oam",
}  # fmt: skip
"""Kinds that each form shows."""

NEVER = {"join", "oam", "scout", "hello", "u_key_expr"}
"""What no application causes on a link of two nodes; the baseline lets its key expressions go with the session."""


@pytest.fixture(scope="module")
def recordings():
    """The scenes of the short form."""
    return {name: record(name) for name in SHORT}


def hold(recordings):
    """Nothing is refused, odd, unexplained; and the logs agree."""
    recount, agreement = Recount(), Agreement()
    for recorded in recordings:
        recount.add(recorded.conversation)
        agreement.add(recorded)
    print("\n".join([*recount.lines(), *agreement.lines()]))
    assert recount.faults == []
    assert recount.odd == Counter()
    assert recount.kinds.keys() >= EVERY_SCENE, EVERY_SCENE - set(recount.kinds)
    assert not NEVER & set(recount.kinds)
    assert recount.whole["Push"] >= 2
    assert agreement.differ == []
    assert agreement.unread == Counter()
    # A node that leaves reads neither the other's CLOSE nor what was sent right before it; its sender's log witnesses those.
    assert set(agreement.unwitnessed) <= {"Close", "Frame", "KeepAlive"}
    assert max(agreement.unwitnessed.values(), default=0) <= agreement.unwitnessed["Close"]
    assert agreement.dropped.total() < agreement.agreed.total() / 100
    return recount, agreement


def test_what_live_nodes_say_is_read_written_again_explained_and_means_what_their_logs_say(recordings):
    recount, agreement = hold(recordings.values())
    assert recount.kinds["put"] > 200
    assert recount.kinds["reply"] > 200
    assert min(agreement.agreed[kind] for kind in ("Init", "Open", "Fragment", "Declare", "Interest", "Push")) > 7


@pytest.mark.soak
@pytest.mark.parametrize("round_", range(3))
def test_so_it_is_in_every_profile(round_):
    hold(record(name) for name in SCENES)


@pytest.mark.parametrize(
    ("said", "lie", "where"),
    [
        ("initial_sn: ", "initial_sn: 1", "initial_sn"),
        ('suffix: "q/one"', 'suffix: "q/two"', "key.suffix"),
        ("priority: DataHigh", "priority: DataLow", "exts"),
        ("consolidation: Monotonic", "consolidation: Latest", "consolidation"),
        ("slices: [[70, 61, 79, 65]]", "slices: [[70, 61, 79]]", "payload"),
        ("mode: CurrentFuture", "mode: Future", "mode"),
    ],
)
def test_a_log_that_says_something_else_is_told(recordings, said, lie, where):
    recorded = recordings["clients"]
    log = recorded.logs["c1"]
    assert said in log
    agreement = Agreement()
    agreement.add(replace(recorded, logs={"c1": log.replace(said, lie, 1)}))
    assert len(agreement.differ) == 1
    assert where in agreement.differ[0]


def test_debug_text_is_a_tree():
    assert parse('A(B { c: Some(1), d: [0b, ad], e: "x\\"{,", f: () })') == Tree(
        "A", items=(Tree("B", {"c": Tree("Some", items=("1",)), "d": ["0b", "ad"], "e": Text('x"{,'), "f": Tree("")}),)
    )
    assert parse("I { K:Y, N:N }") == Tree("I", {"K": "Y", "N": "N"})
    assert parse("[[61], []]") == [["61"], []]


@pytest.mark.parametrize("text", ["A {", "A(B", "[1", "A { b }", "A B", "", "{}", '"x'])
def test_what_is_no_debug_text_is_refused(text):
    with pytest.raises(Unreadable):
        parse(text)


def test_a_struct_that_is_not_known_is_told():
    with pytest.raises(Unreadable, match="Unheard"):
        told_of(parse("TransportMessage { body: Unheard(Unheard { of: 1 }) }"))


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
    monkeypatch.setattr("zenoh_harness.foreign.live.recount.codec.encode", lambda message: b"\x04\x04")
    assert recount_of(b"\x04").changed == ["04 becomes 0404"]
