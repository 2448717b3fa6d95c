"""For every field and extension of the declarations two messages that differ in nothing else.

A row is `put.encoding`, `put.exts.attachment` or `put.exts.attachment.payload`.  What a live node makes of the two tells
whether it understands the row.  Fields are altered by a rule of their type; what a rule cannot know stands in the tables.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.messages import Transport  # noqa: F401 - importing them fills the registry
from zenoh_conformance.reading import codec
from zenoh_conformance.wire import Layer, registry
from zenoh_conformance.wire.describe import DeclarationFacts, ExtensionFacts, describe

KEY: Final = {"scope": 0, "suffix": "effect/x", "mapping": True}
STAMP: Final = {"time": "7000000000000000000", "zid": "5eed"}
SLICED: Final = "010003616263"
"""One slice, of the kind that stands in the message, of three bytes."""
STAMPED: Final = codec.encode(codec.from_json({"Del": {"timestamp": STAMP}}, Layer.DATA))[1:].hex()
"""The same stamp as it stands on the wire."""
PUT: Final = {"Put": {"payload": "76616c7565"}}

BASES: Final[Mapping[str, dict[str, Any]]] = {
    "Init": {"ack": False, "version": 9, "whatami": 2, "zid": "c0ffee01", "resolution": 10, "batch_size": 2048},
    "Open": {"ack": False, "lease_in_seconds": True, "lease": 10, "initial_sn": 0, "cookie": "c00c1e"},
    "Close": {"session": True, "reason": 0}, "KeepAlive": {},
    "Frame": {"reliable": True, "sn": 0, "messages": [{"ResponseFinal": {"id": 77}}]},
    "Fragment": {"reliable": True, "more": True, "sn": 0, "payload": "1b4d"},
    "Join": {"version": 9, "whatami": 1, "zid": "c0ffee01", "resolution": 10, "batch_size": 8192,
             "lease_in_seconds": True, "lease": 10, "next_sn_reliable": 1, "next_sn_best_effort": 2},
    "Oam": {"id": 9, "enc": "z64", "body": 4}, "NetworkOam": {"id": 9, "enc": "z64", "body": 4},
    "Push": {"key": KEY, "body": PUT}, "Request": {"id": 7, "key": KEY, "body": {"Query": {}}},
    "Response": {"id": 7, "key": KEY, "body": {"Reply": {"body": PUT}}}, "ResponseFinal": {"id": 7},
    "Declare": {"body": {"DSubscriber": {"id": 7, "key": KEY}}},
    "Interest": {"id": 7, "mode": 3, "options": 0x72, "key": KEY},
    "Put": {"timestamp": STAMP, "encoding": {"id": 4}, "payload": "76616c7565"}, "Del": {"timestamp": STAMP},
    "Query": {"consolidation": 1, "parameters": "a=1"}, "Reply": {"consolidation": 1, "body": PUT},
    "Err": {"encoding": {"id": 4}, "payload": "626164"},
    "DKeyExpr": {"expr_id": 7, "key": KEY}, "UKeyExpr": {"expr_id": 7}, "DFinal": {},
    **{f"D{kind}": {"id": 7, "key": KEY} for kind in ("Subscriber", "Queryable", "Token")},
    **{f"U{kind}": {"id": 7} for kind in ("Subscriber", "Queryable", "Token")},
    "Scout": {"version": 9, "what": 7, "zid": "c0ffee01"},
    "Hello": {"version": 9, "whatami": 0, "zid": "c0ffee01", "locators": ["tcp/127.0.0.1:1"]},
}  # fmt: skip
"""A message of each kind, with all its optional fields and no extension."""

CONTENT: Final[Mapping[str, Any]] = {
    "value": 3, "payload": "0badcafe", "timestamp": STAMP, "zid": "5eed", "eid": 7, "sn": 9, "name": "north", "flags": 1,
    "scope": 0, "suffix": "effect/x", "encoding": {"id": 4}, "sns": [[1, 2]] * 8, "conf_flags": 1,
    "entries": [{"flags": 1, "stamp": STAMPED}],
}  # fmt: skip
"""What stands in extensions, by field."""

CHANGED: Final[Mapping[str, Any]] = {
    "id": 8, "expr_id": 8, "version": 8, "whatami": 0, "what": 2, "resolution": 9, "batch_size": 4096, "lease": 11, "reason": 3,
    "interest_id": 7, "mode": 1, "options": 0x78, "enc": "zbuf", "key": KEY | {"suffix": "effect/y"}, "zid": "c0ffee02",
    "timestamp": {"time": "7000000000000000001", "zid": "5eed"}, "encoding": {"id": 5}, "parameters": "a=2", "consolidation": 3,
    "locators": ["tcp/127.0.0.1:2"], "messages": [{"ResponseFinal": {"id": 78}}], "cookie": "c00c1f", "payload": "6f74686572",
    "initial_sn": 1, "sn": 1, "value": 2, "name": "south", "conf_flags": 2, "suffix": "effect/y", "scope": 1, "eid": 8,
    "sns": [[3, 4]] * 8, "entries": [{"flags": 2, "stamp": STAMPED}], "flags": 3, "next_sn_reliable": 3,
    "next_sn_best_effort": 4,
}  # fmt: skip
"""Another value of each field; a flag becomes its opposite."""

ALTERED: Final[Mapping[str, dict[str, Any]]] = {
    "init.ack": {"ack": True, "cookie": "c00c1e"}, "init.cookie": {"ack": True, "cookie": "c00c1f"},
    "open.ack": {"ack": True, "cookie": None}, "open.lease_in_seconds": {"lease_in_seconds": False},
    "hello.whatami": {"whatami": 1},
    "oam.body": {"body": 5}, "network_oam.body": {"body": 5},
    "oam.enc": {"enc": "zbuf", "body": "04"}, "network_oam.enc": {"enc": "zbuf", "body": "04"},
    "push.body": {"body": {"Del": {}}}, "request.body": {"body": {"Query": {"parameters": "a=2"}}},
    "response.body": {"body": {"Err": {"payload": "626164"}}},
    "reply.body": {"body": {"Del": {}}}, "declare.body": {"body": {"DToken": {"id": 7, "key": KEY}}},
    "declare.interest_id": {"interest_id": 7},
    "frame.exts.qos.value": {"value": 2}, "scout.zid": {"zid": None},
}  # fmt: skip
"""Rows that change otherwise than by the rule; None removes a field."""

BEFORE: Final[Mapping[str, dict[str, Any]]] = {
    "init.cookie": {"ack": True, "cookie": "c00c1e"},
    "query.exts.body_shm": {"exts": [{"QueryBody": {"encoding": {"id": 4}, "payload": SLICED}}]},
    "put.exts.shm": {"payload": SLICED},
    "err.exts.shm": {"payload": SLICED},
    "open.exts.multi_link_ack": {"ack": True, "cookie": None},
}
"""Rows that begin with another message."""


@dataclass(frozen=True, slots=True)
class MessagePair:
    """Two messages that differ in one row."""

    row: str
    layer: Layer
    one: dict[str, Any]
    """As JSON, inside whatever carries it."""
    other: dict[str, Any]
    doc: str
    """What the row is."""


def variants() -> Iterator[MessagePair]:
    """One a row, in the order of the declarations."""
    for cls in registry.MESSAGES:
        if cls.__module__.startswith("zenoh_conformance.messages."):
            yield from _of(describe(cls))


def _of(facts: DeclarationFacts) -> Iterator[MessagePair]:
    assert facts.layer is not None
    for field in facts.fields:
        row = f"{facts.path}.{field.name}"
        base = _base_of(facts, row)
        default = {field.name: CHANGED.get(field.name, not base.get(field.name))}
        yield _variant(facts, row, base, _with_changes(base, ALTERED.get(row, default)), field.doc)
    for ext in facts.extensions:
        row = f"{facts.path}.exts.{ext.path}"
        base = _base_of(facts, row)
        content = _content(facts, ext)
        given = base | {"exts": [{ext.name: content}, *base.get("exts", ())]}
        yield _variant(facts, row, base, given, ext.doc.splitlines()[0])
        for field in ext.fields:
            below = f"{row}.{field.name}"
            changed = _with_changes(content, ALTERED.get(below) or {field.name: _other(field.name, content)})
            yield _variant(facts, below, given, base | {"exts": [{ext.name: changed}]}, field.doc)


def _base_of(facts: DeclarationFacts, row: str) -> dict[str, Any]:
    return _with_changes(copy.deepcopy(BASES[facts.name]), BEFORE.get(row, {}))


def _with_changes(fields: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (fields | dict(change)).items() if value is not None}


def _content(facts: DeclarationFacts, ext: ExtensionFacts) -> dict[str, Any]:
    content = {field.name: copy.deepcopy(CONTENT[field.name]) for field in ext.fields}
    numbers = {"QueryTarget": 1, "RemoteBound": 1, "QoSLink": 1 | 2 << 3 | 6 << 11, "QueryableInfo": 0x0101}
    if facts.layer is Layer.NETWORK and "value" in content:
        numbers["QoS"] = 0x1A
    return content | ({"value": numbers[ext.name]} if ext.name in numbers else {})


def _other(name: str, content: Mapping[str, Any]) -> Any:
    value = content[name]
    if name == "value":
        return {1: 0, 0x1A: 0x0B, 0x0101: 0x0200, 1 | 2 << 3 | 6 << 11: 1 | 3 << 3 | 5 << 11}.get(value, CHANGED[name])
    if name == "zid":
        return "5eee"
    return CHANGED[name]


def _variant(facts: DeclarationFacts, row: str, one: dict[str, Any], other: dict[str, Any], doc: str) -> MessagePair:
    assert facts.layer is not None
    layer, first = in_carrier(facts.layer, {facts.name: one})
    return MessagePair(row, layer, first, in_carrier(facts.layer, {facts.name: other})[1], doc)


def in_carrier(layer: Layer, means: dict[str, Any]) -> tuple[Layer, dict[str, Any]]:
    """Return a message inside the one that carries it: the layer of the outer one, and its meaning."""
    [kind] = means
    if layer is Layer.DECLARATION:
        return Layer.NETWORK, {"Declare": {"body": means}}
    if layer is Layer.DATA:
        carrier = {"Query": "Request", "Reply": "Response", "Err": "Response"}.get(kind, "Push")
        return Layer.NETWORK, {carrier: BASES[carrier] | {"body": means}}
    return layer, means


def message(layer: Layer, means: Mapping[str, Any]) -> Any:
    """The message of a variant."""
    return codec.from_json(means, layer)
