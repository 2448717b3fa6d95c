"""Declarations: a newcomer's message in one short file, and mistakes told when it is declared."""

import dataclasses
import subprocess
import sys
import textwrap

import pytest

from zenoh_conformance.messages import Close, Frame, Init, Interest, InterestMode, Open, Push, Put, Query
from zenoh_conformance.primitives import WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import EncodeError, Layer
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.describe import describe
from zenoh_conformance.wire.extensions import exts
from zenoh_conformance.wire.nested import Messages

NEWCOMER = '''
"""PING: how far away the other side is."""

from __future__ import annotations

from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, flag, given, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.types import BytesZ8, Z64


@extension(0x1, "z64", ref="ping#extensions")
class Hops:
    """Counts the nodes on the way."""

    value: Z64
    """How many so far."""


@message(0x08, "Z|D|A", layer=Layer.TRANSPORT, ref="ping#ping")
class Ping:
    """Sent by whoever wants to know (A=0), returned by the other side (A=1)."""

    ack: bool = flag("A")
    """A: this is the answer."""

    stamp: Z64
    """Of the clock of whoever asked."""

    data: BytesZ8 | None = given("D", default=None)
    """Makes it longer."""

    exts: Exts[Hops] = NO_EXTS
'''

USED = """
import sys; sys.path.insert(0, {folder!r})
import ping
from hypothesis import given, settings
from zenoh_conformance import codec, strategies
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire.describe import describe

@settings(max_examples=40, deadline=None, database=None)
@given(strategies.of(ping.Ping))
def check(message):
    told = codec.encode(message)
    assert codec.decode_whole(told).message == message
    assert codec.from_json(codec.to_json(message)) == message
    assert explain(told).ok

check()
assert all(field.doc for field in describe(ping.Ping).fields)
print(*codec.segments(ping.Ping(ack=True, stamp=300, payload=b"x")).paths())
"""


def test_a_newcomers_message(tmp_path):
    source = NEWCOMER.replace("data: BytesZ8", "payload: BytesZ8")
    assert len(source.strip().splitlines()) < 40
    (tmp_path / "ping.py").write_text(source)
    ran = subprocess.run([sys.executable, "-c", USED.format(folder=str(tmp_path))], capture_output=True, text=True)
    assert ran.stdout.split() == ["ping.header", "ping.stamp", "ping.payload.length", "ping.payload.bytes"], ran.stderr


MISTAKES = {
    "an id that is taken": ("0x08", "0x04", "is taken"),
    "a cell that is not there": ('"Z|D|A"', '"Z|X|A"', "no header cell 'D'"),
    "a name that generated lines use": ("payload: BytesZ8", "data: BytesZ8", "cannot be called data"),
    "no wire type": ("stamp: Z64", "stamp: int", "no wire type"),
}


@pytest.mark.parametrize(("old", "new", "why"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told_when_declared(tmp_path, old, new, why):
    source = NEWCOMER.replace("data: BytesZ8", "payload: BytesZ8")
    assert old in source
    (tmp_path / "ping.py").write_text(source.replace(old, new))
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import zenoh_conformance.reading.codec; import ping"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode
    assert why in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "cls", [*registry.MESSAGES, *registry.EXTENSIONS], ids=lambda cls: f"{cls.__module__}.{cls.__name__}"
)
def test_everything_is_documented(cls):
    facts = describe(cls)
    assert facts.ref
    assert facts.doc
    assert "#" in facts.ref
    for field in facts.fields:
        assert field.doc, field.name
        assert field.wire != "?"


def test_facts_of_a_message():
    facts = describe(Init)
    assert (facts.title, facts.id, facts.cells, facts.layer) == ("INIT", 1, ("Z", "S", "A"), Layer.TRANSPORT)
    assert [(field.name, field.wire, field.cell, field.when) for field in facts.fields][-3:] == [
        ("resolution", "u8", "S", None), ("batch_size", "u16 LE", "S", None), ("cookie", "<u8;z16>", None, "ack")
    ]  # fmt: skip
    assert [f"{each.header:02x}" for each in facts.extensions] == ["01", "21", "42", "43", "44", "05", "06", "27", "48"]


def test_headers_as_the_tables_have_them():
    text = {cls.__name__: [f"{each.header:02x}" for each in describe(cls).extensions] for cls in registry.MESSAGES}
    assert text["Push"] == ["21", "42", "33", "47"]
    assert text["Request"] == ["21", "42", "33", "34", "25", "26", "47"]
    assert text["Put"] == ["41", "12", "43"]
    assert text["Del"] == ["41", "42"]
    assert text["Query"] == ["41", "43", "04", "45"]
    assert text["Join"] == ["51", "52", "27"]
    assert text["Fragment"] == ["31", "02", "03"]


ZID = ZenohID.parse("0a")
UNFIT = {
    "a cookie in an InitSyn": Init(ack=False, whatami=WhatAmI.PEER, zid=ZID, cookie=b"x"),
    "no cookie in an OpenSyn": Open(ack=False, lease=1, initial_sn=1),
    "a resolution without batch size": Init(ack=False, whatami=WhatAmI.PEER, zid=ZID, resolution=10),
    "a ZenohID of zero": Init(ack=False, whatami=WhatAmI.PEER, zid=ZenohID(b"\0")),
    "a reason beyond a byte": Close(reason=256),
    "a negative sequence number": Frame(sn=-1, messages=()),
    "a scope beyond u16": Push(key=WireExpr(1 << 16), body=None),
    "a body of another carrier": Push(key=WireExpr(1), body=Query()),
    "options that contradict the key": Interest(id=1, mode=InterestMode.CURRENT, options=0x10, key=WireExpr(0, "a")),
    "options in a FINAL": Interest(id=1, mode=InterestMode.FINAL, options=1),
    "an extension of another message": Close(reason=0, exts=exts(Query())),
    "text that is no UTF-8": Push(key=WireExpr(0, "\ud800"), body=Query()),
    "no message": WireExpr(),
}


@pytest.mark.parametrize("message", UNFIT.values(), ids=UNFIT)
def test_what_has_no_place_on_the_wire(message):
    with pytest.raises(EncodeError):
        codec.encode(message)


def test_values_of_another_type():
    for message in (Close(reason="x"), Put(payload=None), Put(payload="text"), Push(key=None, body=Put(payload=b""))):
        with pytest.raises(EncodeError):
            codec.encode(message)


TOLD = [
    {}, {"Close": {}}, {"Close": {"session": False, "reason": 0, "more": 1}}, {"Nobody": {}}, {"Close": []}, {"Close": 7},
    {"Init": {"ack": False, "whatami": 7, "zid": "0a"}}, {"Init": {"ack": False, "whatami": 1, "zid": "no"}},
    {"Push": {"key": {}, "body": {"Del": {}}}}, {"Push": {"key": {"scope": 0}, "body": {"Query": {}}}},
    {"Close": {"reason": 0, "exts": [{"QoS": {}}]}}, {"Close": {"reason": 0, "exts": [{"Unknown": {"id": 1}}]}},
]  # fmt: skip


@pytest.mark.parametrize("text", TOLD, ids=str)
def test_json_that_means_nothing(text):
    with pytest.raises(EncodeError):
        codec.from_json(text)


def test_no_message_can_hold_its_like():
    def below(cls, above):
        assert cls not in above
        for field in registry.of(cls).fields:
            inside = registry.WRITERS[field.wire.layer] if isinstance(field.wire, Messages) else ()
            for each in getattr(field.wire, "kinds", inside):
                below(each, (*above, cls))

    for cls in registry.MESSAGES:
        below(cls, ())


def test_messages_are_frozen_slotted_and_keyword_only():
    close = Close(reason=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        close.reason = 2
    assert not hasattr(close, "__dict__")
    with pytest.raises(TypeError):
        Close(1)


@pytest.mark.needs("mypy")
def test_types_are_inferred(tmp_path):
    code = """
        from zenoh_conformance.messages import Open, init
        from zenoh_conformance.messages.open import RemoteBound
        from zenoh_conformance.wire.extensions import exts
        o = Open(ack=False, lease=1, initial_sn=2, exts=exts(init.QoS(), RemoteBound(value=1)))
        reveal_type(o.cookie)
        reveal_type(o.ack)
        reveal_type(o.exts.get(RemoteBound))
        Open(False, lease=1, initial_sn=2)
        Open(ack=False, lease="1", initial_sn=2)
        Open(ack=False, initial_sn=2)
    """
    from mypy import api

    file = tmp_path / "use.py"
    file.write_text(textwrap.dedent(code))
    text, _, _ = api.run(["--strict", "--no-incremental", "--cache-dir=/dev/null", str(file)])
    for each in (
        '"bytes | None"',
        '"bool"',
        "RemoteBound | None",
        "Too many positional",
        '"lease" to "Open" has',
        'Missing named argument "lease"',
    ):
        assert each in text, text
    assert text.count(" error: ") == 3, text
