"""What a node's log says of a message, as our own JSON tells meanings.

The log shows structs: absent and default are the same, extensions stand at names, times are durations.
`zenoh_harness.codecs.meaning.told` brings our meanings to that form; `told_of` here brings the log's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from zenoh_conformance import messages
from zenoh_conformance.wire.describe import describe
from zenoh_harness.foreign.live.debug import Text, Tree, Unreadable, Value

SAFE: Final = 2**53 - 1
PRIORITIES: Final = (
    "Control", "RealTime", "InteractiveHigh", "InteractiveLow", "DataHigh", "Data", "DataLow", "Background",
)  # fmt: skip
CONGESTION: Final = {"Drop": 0, "Block": 0x08, "BlockFirst": 0x20}
ROLES: Final = ("Router", "Peer", "Client")
TARGETS: Final = ("BestMatching", "All", "AllComplete")
CONSOLIDATIONS: Final = ("Auto", "None", "Monotonic", "Latest")
MODES: Final = ("Final", "Current", "Future", "CurrentFuture")
BOUNDS: Final = ("North", "South")
INTERESTS: Final = {"K": 0x01, "S": 0x02, "Q": 0x04, "T": 0x08, "A": 0x80}
RESTRICTED, NAMED, MAPPING = 0x10, 0x20, 0x40
UNITS: Final = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1000}

Ext = tuple[str, Any]
Convert = Callable[[Any], Any]


def integer(atom: str) -> int | str:
    """As JSON has it: decimal text where it is large."""
    number = int(atom)
    return number if number <= SAFE else str(number)


def octets(value: Value) -> str:
    """Hex of `[0b, ad]` or of a ZBuf's slices, which are one payload whatever their cut."""
    if isinstance(value, Tree):
        return "".join(octets(each) for each in value.fields["slices"])
    return "".join(value)


def decimals(value: Sequence[str]) -> str:
    """Hex of `[176, 249]`."""
    return bytes(map(int, value)).hex()


def milliseconds(atom: str) -> int:
    """Of `10s`, `2.5s`, `100ms`."""
    found = re.fullmatch(r"([\d.]+)(ns|µs|ms|s)", atom)
    if found is None:
        raise Unreadable(f"{atom!r} is no duration")
    return round(float(found[1]) * UNITS[found[2]])


def timestamp(atom: str) -> dict[str, Any]:
    """Of `7710598414586876135/c1`."""
    time, _, zid = atom.partition("/")
    return {"time": integer(time), "zid": zid}


def encoding(tree: Tree) -> dict[str, Any]:
    """Of `Encoding { id, schema }`."""
    schema = some(tree.fields["schema"])
    return {"id": int(tree.fields["id"])} | ({} if schema is None else {"schema": octets(schema)})


def key(tree: Tree) -> dict[str, Any]:
    """Of `WireExpr { scope, suffix, mapping }`."""
    suffix = tree.fields["suffix"].text
    events = {"scope": int(tree.fields["scope"]), "mapping": tree.fields["mapping"] == "Sender"}
    return events | ({"suffix": suffix} if suffix else {})


def some(value: Value) -> Value:
    """What is in `Some(...)`; None for `None`."""
    if value == "None":
        return None
    return value.items[0] if isinstance(value, Tree) and value.name == "Some" else value


def entity(tree: Tree) -> dict[str, Any]:
    """Of a ZenohID and the number of an entity."""
    return {"zid": tree.fields["zid"], "eid": int(tree.fields["eid"])}


def quality(tree: Tree) -> dict[str, Any]:
    """Of the extension QoS: network messages name its parts, transport messages the number."""
    if "inner" in tree.fields:
        return {"value": int(tree.fields["inner"])}
    value = PRIORITIES.index(tree.fields["priority"]) | CONGESTION[tree.fields["congestion"]]
    return {"value": value | 0x10 * (tree.fields["express"] == "true")}


def source(tree: Tree) -> dict[str, Any]:
    """Of the extension SourceInfo."""
    return entity(tree.fields["id"]) | {"sn": int(tree.fields["sn"])}


def stack(tree: Tree) -> dict[str, Any]:
    """Of the extension TsStack."""
    inner = tree.fields["ts_stack"].fields
    entries = [{"flags": int(e.fields["flags"]), "stamp": decimals(e.fields["timestamp"])} for e in inner["stack"]]
    return {"conf_flags": int(inner["conf_flags"]), "entries": entries}


def wire_expr(tree: Tree) -> dict[str, Any]:
    """Of the extension WireExpr."""
    found = key(tree.fields["wire_expr"])
    flags = ("suffix" in found) | found["mapping"] << 1
    return {"flags": flags, "scope": found["scope"]} | ({"suffix": found["suffix"]} if "suffix" in found else {})


def about_queryable(tree: Tree) -> dict[str, Any]:
    """Of the extension QueryableInfo."""
    return {"value": int(tree.fields["distance"]) << 8 | (tree.fields["complete"] == "true")}


def query_body(tree: Tree) -> dict[str, Any]:
    """Of the extension QueryBody."""
    return {"encoding": encoding(tree.fields["encoding"]), "payload": octets(tree.fields["payload"])}


EXTENSIONS: Final[Mapping[str, tuple[str, Convert]]] = {
    "ext_qos": ("QoS", quality),
    "ext_tstamp": ("Timestamp", lambda tree: {"timestamp": timestamp(tree.fields["timestamp"])}),
    "ext_nodeid": ("NodeId", lambda tree: {"value": int(tree.fields["node_id"])}),
    "ext_target": ("QueryTarget", lambda atom: {"value": TARGETS.index(atom)}),
    "ext_budget": ("Budget", lambda atom: {"value": int(atom)}),
    "ext_timeout": ("Timeout", lambda atom: {"value": milliseconds(atom)}),
    "ext_respid": ("ResponderId", entity),
    "ext_ts_stack": ("TsStack", stack),
    "ext_sinfo": ("SourceInfo", source),
    "ext_attachment": ("Attachment", lambda tree: {"payload": octets(tree.fields["buffer"])}),
    "ext_body": ("QueryBody", query_body),
    "ext_info": ("QueryableInfo", about_queryable),
    "ext_wire_expr": ("WireExpr", wire_expr),
    "ext_patch": ("Patch", lambda tree: {"value": int(tree.items[0])}),
    "ext_remote_bound": ("RemoteBound", lambda atom: {"value": BOUNDS.index(atom)}),
    "ext_region_name": ("RegionName", lambda value: {"name": value.text if isinstance(value, Text) else value}),
}
"""Fields of the log that are extensions: ours, and how to read them."""


def opaque(kind: str, tree: Tree) -> Ext:
    """An extension that the log shows as it is, by id and encoding."""
    number, code = int(tree.fields["Id"]), tree.fields["Encoding"].text.lower()
    table = describe(getattr(messages, kind)).extensions
    facts = next((each for each in table if (each.id, each.enc.word) == (number, code)), None)
    if facts is None:
        raise Unreadable(f"{kind} has no extension {number} {code}")
    if not facts.fields:
        return facts.name, {}
    value = tree.fields["Value"]
    return facts.name, {facts.fields[0].name: octets(value) if isinstance(value, Tree) else integer(value)}


def extensions(kind: str, tree: Tree) -> list[dict[str, Any]]:
    """The extensions of a struct."""
    found: list[Ext] = []
    for name, value in tree.fields.items():
        if not name.startswith("ext_") or (value := some(value)) is None or name == "ext_unknown":
            continue
        if isinstance(value, Tree) and value.name.startswith("ZExt"):
            found.append(opaque(kind, value))
        elif name in EXTENSIONS:
            called, convert = EXTENSIONS[name]
            found.append((called, convert(value)))
        else:
            raise Unreadable(f"the log has {name} in {kind}")
    return [{name: fields} for name, fields in found]


def plain(name: str, convert: Convert) -> tuple[str, Convert]:
    """A field that we call so."""
    return name, convert


def same(value: Any) -> Any:
    """As it is."""
    return value


def truth(atom: str) -> bool:
    """`true`."""
    return atom == "true"


INIT: Final = {
    "version": plain("version", int), "whatami": plain("whatami", ROLES.index), "zid": plain("zid", same),
    "resolution": plain("resolution", lambda tree: int(tree.items[0])), "batch_size": plain("batch_size", int),
    "cookie": plain("cookie", octets),
}  # fmt: skip
OPEN: Final = {
    "lease": plain("lease", milliseconds), "initial_sn": plain("initial_sn", int), "cookie": plain("cookie", octets),
}  # fmt: skip
IDENTIFIED: Final = {"id": plain("id", int), "wire_expr": plain("key", key)}
NUMBERED: Final = {"id": plain("expr_id", int)}

STRUCTS: Final[Mapping[str, tuple[str, Mapping[str, tuple[str, Convert]], Mapping[str, Any]]]] = {
    "Close": ("Close", {"reason": plain("reason", int), "session": plain("session", truth)}, {}),
    "KeepAlive": ("KeepAlive", {}, {}),
    "FrameReader": ("Frame", {
        "reliability": plain("reliable", lambda atom: atom == "Reliable"), "sn": plain("sn", int),
        "reader": plain("messages", octets),
    }, {}),
    "Fragment": ("Fragment", {
        "reliability": plain("reliable", lambda atom: atom == "Reliable"), "more": plain("more", truth),
        "sn": plain("sn", int), "payload": plain("payload", octets),
    }, {}),
    "Push": ("Push", {"wire_expr": plain("key", key)}, {}),
    "Request": ("Request", IDENTIFIED, {}),
    "Response": ("Response", {"rid": plain("id", int), "wire_expr": plain("key", key)}, {}),
    "ResponseFinal": ("ResponseFinal", {"rid": plain("id", int)}, {}),
    "Declare": ("Declare", {"interest_id": plain("interest_id", int)}, {}),
    "Oam": ("NetworkOam", {"id": plain("id", int)}, {}),
    "Put": ("Put", {
        "timestamp": plain("timestamp", timestamp), "encoding": plain("encoding", encoding),
        "payload": plain("payload", octets),
    }, {}),
    "Del": ("Del", {"timestamp": plain("timestamp", timestamp)}, {}),
    "Query": ("Query", {
        "consolidation": plain("consolidation", CONSOLIDATIONS.index),
        "parameters": plain("parameters", lambda text: text.text),
    }, {}),
    "Reply": ("Reply", {"consolidation": plain("consolidation", CONSOLIDATIONS.index)}, {}),
    "Err": ("Err", {"encoding": plain("encoding", encoding), "payload": plain("payload", octets)}, {}),
    "DeclareKeyExpr": ("DKeyExpr", NUMBERED | {"wire_expr": plain("key", key)}, {}),
    "UndeclareKeyExpr": ("UKeyExpr", NUMBERED, {}),
    "DeclareSubscriber": ("DSubscriber", IDENTIFIED, {}),
    "UndeclareSubscriber": ("USubscriber", IDENTIFIED, {}),
    "DeclareQueryable": ("DQueryable", IDENTIFIED, {}),
    "UndeclareQueryable": ("UQueryable", IDENTIFIED, {}),
    "DeclareToken": ("DToken", IDENTIFIED, {}),
    "UndeclareToken": ("UToken", IDENTIFIED, {}),
    "DeclareFinal": ("DFinal", {}, {}),
    "InitSyn": ("Init", INIT, {"ack": False}), "InitAck": ("Init", INIT, {"ack": True}),
    "OpenSyn": ("Open", OPEN, {"ack": False}), "OpenAck": ("Open", OPEN, {"ack": True}),
}  # fmt: skip
"""Structs of the log: our kind, their fields and ours, and what the struct's name says beside."""

AROUND: Final = frozenset({
    "TransportMessage", "TransportMessageLowLatency", "TransportMessageLowLatencyRef", "NetworkMessage",
    "NetworkMessageRef",
})  # fmt: skip
"""Structs that hold a message and nothing that is on the wire."""

CONSOLIDATION: Final = "consolidation"


def told_of(value: Value) -> dict[str, Any]:
    """The meaning of a message of the log, `{"Kind": {...}}`.  Raises Unreadable for what is not known here."""
    if isinstance(value, str):  # a struct without fields
        value = Tree(value)
    if not isinstance(value, Tree):
        raise Unreadable(f"{value!r:.60} is no message")
    if value.name in AROUND:
        return told_of(value.fields["body"])
    if len(value.items) == 1:  # the variant of an enumeration, by the name of what is in it
        return told_of(value.items[0])
    if value.name == "Interest":
        return {"Interest": _interest(value)}
    if value.name not in STRUCTS:
        raise Unreadable(f"the log has a struct {value.name}")
    kind, fields, implied = STRUCTS[value.name]
    events = dict(implied)
    for name, (ours, convert) in fields.items():
        found = value.fields.get(name, "None")
        if name == CONSOLIDATION or (found := some(found)) is not None:
            events[ours] = convert(found)
    if (
        body := value.fields.get("payload" if kind in ("Push", "Request", "Response", "Reply") else "body")
    ) is not None:
        events |= _oam_body(body) if kind == "NetworkOam" else {"body": told_of(body)}
    if exts := extensions(kind, value):
        events["exts"] = exts
    return {kind: events}


def _interest(tree: Tree) -> dict[str, Any]:
    events: dict[str, Any] = {"id": int(tree.fields["id"]), "mode": MODES.index(tree.fields["mode"])}
    if events["mode"]:
        chosen = tree.fields["options"].fields
        events["options"] = sum(bit for name, bit in INTERESTS.items() if chosen[name] == "Y")
        if (wire := some(tree.fields["wire_expr"])) is not None:
            events["key"] = key(wire)
            events["options"] |= RESTRICTED | NAMED * ("suffix" in events["key"]) | MAPPING * events["key"]["mapping"]
    if exts := extensions("Interest", tree):
        events["exts"] = exts
    return events


def _oam_body(value: Value) -> dict[str, Any]:
    if isinstance(value, str):
        return {"enc": value.lower()}
    content = value.items[0]
    return {"enc": value.name.lower(), "body": octets(content) if isinstance(content, Tree) else integer(content)}
