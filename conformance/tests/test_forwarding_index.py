"""Origins found by index are those that comparing a message with all of them finds; what is remembered has a bound of bytes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.laws import forwarding
from zenoh_conformance.laws.forwarding import FORWARDED
from zenoh_conformance.laws.origins import OBJECTS, Origins, differing, is_equal
from zenoh_conformance.messages import Del, Err, Frame, Push, Put, PutAttachment, Query, Reply, Request, Response, sane
from zenoh_conformance.messages.network import QoS, TimestampExt
from zenoh_conformance.primitives import Encoding, Timestamp, WireExpr, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_conformance.wire import Exts

NODES = [b"\x01", b"\x02", b"\x03"]
ROUTER = b"\x09"
STAMPS = [None, *(Timestamp(time=time, zid=ZenohID(zid)) for time in (5, 6) for zid in (b"\x01", b"\x02"))]


def data(draw):
    """A PUT or DEL of few values, so that many are alike."""
    if draw.random() < 0.2:
        return Del(timestamp=draw.choice(STAMPS))
    exts = Exts((PutAttachment(payload=b"a"),)) if draw.random() < 0.2 else Exts()
    return Put(
        timestamp=draw.choice(STAMPS), encoding=draw.choice([None, Encoding(4)]), payload=draw.choice([b"x", b"y"]), exts=exts
    )  # fmt: skip


def message(draw, key):
    """A network message of any kind that is paired."""
    kind = draw.choice(["push", "push", "request", "response"])
    exts = draw.choice(
        [Exts(), Exts(), Exts((QoS(value=draw.choice([5, 13, 0x25])),)), Exts((TimestampExt(timestamp=STAMPS[1]),))]
    )
    if kind == "push":
        return Push(key=key, body=data(draw), exts=exts)
    if kind == "request":
        return Request(id=draw.choice([1, 2]), key=key, body=Query(parameters=draw.choice(["", "a=1"])))
    body = Reply(body=data(draw)) if draw.random() < 0.7 else Err(payload=draw.choice([b"x", b"y"]))
    return Response(id=draw.choice([1, 2]), key=key, body=body)


def traffic(seed, root):
    """What three nodes and their router say: some is forwarded, some of it changed, some is the router's own."""
    draw = Random(seed)
    links = {f"c{n}": Connection(f"c{n}") for n in range(len(NODES))}
    said = []
    for name, node in zip(links, NODES, strict=True):
        syn = sane.init_syn(node, whatami=sane.CLIENT)
        ack = sane.init_ack(syn, ROUTER, b"cookie", whatami=sane.ROUTER)
        said += [(name, Side.INITIATOR, syn), (name, Side.RESPONDER, ack)]
        said += [(name, Side.INITIATOR, sane.open_syn(ack)), (name, Side.RESPONDER, sane.open_ack())]
    past = []
    for number in range(300):
        name, side = draw.choice(list(links)), draw.choice(list(Side))
        fresh = message(draw, WireExpr(0, f"{root}{draw.choice('kl')}", mapping=True))
        if side is Side.RESPONDER and past and draw.random() < 0.7:
            fresh = draw.choice(past)
            if draw.random() < 0.3 and isinstance(fresh, Push):
                fresh = replace(fresh, body=data(draw))
        elif side is Side.INITIATOR:
            past.append(fresh)
        said.append((name, side, Frame(sn=number, messages=(fresh,))))
    events = [
        Event(at / 100, name, side, Happened.BYTES, frame_batch(encode(each)))
        for at, (name, side, each) in enumerate(said)
    ]
    return Conversation(links, events)


def from_all(self, copy, receiver):
    """The same as `Origins.whole`, by comparing all."""
    open_ = [each for each in self.of if each.open_to(receiver)]
    equal = [each for each in open_ if each.chain == copy.chain and is_equal(each, copy)]
    return iter(equal or [each for each in open_ if not differing(each, copy)])


@pytest.mark.parametrize("root", ["", f"zconform/{'01' * 8}/"], ids=["anywhere", "in a scene"])
def test_the_index_finds_what_comparing_all_finds(root, monkeypatch):
    found = 0
    for seed in range(12):
        one = traffic(seed, root)
        by_index = judge(one, FORWARDED)
        with monkeypatch.context() as all_:
            all_.setattr(Origins, "whole", from_all)
            all_.setattr(Origins, "may_hold", lambda self, copy: True)
            assert judge(one, FORWARDED) == by_index, seed
        assert any(judged.subjects for judged in by_index)
        found += sum(len(judged.findings) for judged in by_index)
    assert found


def held(node):
    """The bytes of the origins that a node remembers, counted anew."""
    return sum(origin.size for origins in node.places.values() for origin in origins.of)


def test_what_is_remembered_of_all_nodes_has_a_bound(monkeypatch):
    monkeypatch.setattr(forwarding, "MOST_HELD", 40 * OBJECTS)
    kept, remember = [], forwarding.Forwarding.remember

    def watched(self, *arguments):
        remember(self, *arguments)
        kept.append(self)

    monkeypatch.setattr(forwarding.Forwarding, "remember", watched)
    judge(traffic(1, ""), FORWARDED)

    nodes = kept[-1].nodes.values()
    assert all(node.held == held(node) for node in nodes)
    assert 0 < sum(node.held for node in nodes) <= forwarding.MOST_HELD
    assert kept[-1].count * OBJECTS > 2 * forwarding.MOST_HELD
