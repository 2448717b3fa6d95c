"""Values that many vectors share, so that a reader recognises them."""

from __future__ import annotations

from zenoh_vectors.build.octets import nibble, number, printed, vle
from zenoh_vectors.build.parts import (
    Ext,
    Fields,
    Segment,
    Segments,
    integer,
    timestamp,
    timestamp_means,
    under,
    z64,
    zbuf,
    zid_segments,
)

ZID = bytes.fromhex("c4c3c2c1")
"""The sender in most vectors: printed c1c2c3c4."""
OTHER = bytes.fromhex("0b0a")
"""Another node's ZenohID: printed 0a0b."""
TIME = 0x6553F100_40000000
"""In November 2023, and a quarter of a second."""
ROLES = {0: "router", 1: "peer", 2: "client"}
LONG_ZID = bytes(range(0xA0, 0xB0))
ZID_SIZES = (1, 2, 3, 8, 15, 16)
SIZES = (0, 1, 127, 128, 255, 256, 300)
"""Of opaque bytes: none, one, the last with a length of one byte, the first with two, the same of a count in a byte, and more."""


def filler(size: int) -> bytes:
    """Bytes that show when something was cut, doubled or shifted."""
    return bytes(position % 251 for position in range(size))


def zid_of(size: int) -> bytes:
    """A ZenohID of this many bytes."""
    return LONG_ZID[:size]


def qos(value: int, header: int = 0x21) -> Ext:
    """Network QoS; `header` 0x31 for FRAME, FRAGMENT and OAM."""
    notes = [f"priority {value & 7}"] + [name for bit, name in ((8, "D"), (16, "E"), (32, "F")) if value & bit]
    return z64("QoS", "qos", header, value, ", ".join(notes))


def stamp(time: int = TIME, zid: bytes = OTHER) -> Ext:
    """Extension 0x2 of network messages: a Timestamp behind the extension's length."""
    return zbuf("Timestamp", "timestamp", 0x42, timestamp(time, zid), {"timestamp": timestamp_means(time, zid)})


def node_id(value: int) -> Ext:
    """Extension 0x3 of PUSH, REQUEST, DECLARE and INTEREST."""
    return z64("NodeId", "node_id", 0x33, value)


def ts_stack(conf: int = 1, entries: tuple[tuple[int, bytes], ...] = ((0x01, b"\x05\x01\x0b"),)) -> Ext:
    """Extension 0x7, newer than the text: flags, count, and a flag byte with stamp bytes an entry."""
    body = [Segment("conf_flags", bytes((conf,))), Segment("entries.count", vle(len(entries)), str(len(entries)))]
    for position, (flags, data) in enumerate(entries):
        body += [Segment(f"entries[{position}].flags", bytes((flags,))),
                 Segment(f"entries[{position}].stamp.length", vle(len(data)), str(len(data))),
                 Segment(f"entries[{position}].stamp.bytes", data)]  # fmt: skip
    text = [{"flags": flags, "stamp": data.hex()} for flags, data in entries]
    return zbuf("TsStack", "ts_stack", 0x47, tuple(body), {"conf_flags": conf, "entries": text})


def _origin(zid: bytes) -> Segments:
    return zid_segments(zid, 0, "low bits zero")


def source_info(zid: bytes = OTHER, eid: int = 3, sn: int = 9) -> Ext:
    """Extension 0x1 of data messages."""
    body = (*_origin(zid), integer("eid", eid), integer("sn", sn))
    return zbuf("SourceInfo", "source_info", 0x41, body, {"zid": printed(zid), "eid": eid, "sn": sn})


def responder_id(zid: bytes = OTHER, eid: int = 3) -> Ext:
    """Extension 0x3 of RESPONSE."""
    body = (*_origin(zid), integer("eid", eid))
    return zbuf("ResponderId", "responder_id", 0x43, body, {"zid": printed(zid), "eid": eid})


def resized(ext: Ext, segments: Segments, **means: object) -> Ext:
    """The same extension with other content, its length made to fit."""
    return zbuf(ext.name, ext.slug, ext.header, segments, {**ext.means, **means})


__all__ = [
    "LONG_ZID",
    "OTHER",
    "ROLES",
    "SIZES",
    "TIME",
    "ZID",
    "ZID_SIZES",
    "Fields",
    "filler",
    "nibble",
    "node_id",
    "number",
    "qos",
    "resized",
    "responder_id",
    "source_info",
    "stamp",
    "ts_stack",
    "under",
    "zid_of",
]  # fmt: skip
