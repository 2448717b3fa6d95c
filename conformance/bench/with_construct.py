"""The same messages in `construct`.  Its VarInt is plain LEB128: it agrees with VLE below 2^56 only."""

from construct import (
    Byte,
    Bytes,
    GreedyBytes,
    GreedyRange,
    If,
    Int16ul,
    Prefixed,
    RepeatUntil,
    Struct,
    Switch,
    VarInt,
    obj_,
    this,
)

BLOB = Prefixed(VarInt, GreedyBytes)
TIMESTAMP = Struct("time" / VarInt, "zid" / BLOB)
SOURCE = Struct("packed" / Byte, "zid" / Bytes((this.packed >> 4) + 1), "eid" / VarInt, "sn" / VarInt)


def chain(known):
    """An extension chain with these readers, by header; the others by their encoding."""
    cases = {}
    for header in range(128):
        enc = header >> 5
        cases[header] = known.get(header, [Bytes(0), VarInt, BLOB, Bytes(0)][enc])
    one = Struct("header" / Byte, "value" / Switch(this.header & 0x7F, cases))
    return If(this.header & 0x80, RepeatUntil(obj_.header & 0x80 == 0, one))


INIT = Struct(
    "header" / Byte,
    "version" / Byte,
    "packed" / Byte,
    "zid" / Bytes((this.packed >> 4) + 1),
    "resolution" / If(this.header & 0x40, Byte),
    "batch_size" / If(this.header & 0x40, Int16ul),
    "cookie" / If(this.header & 0x20, BLOB),
    "exts" / chain({}),
)
PUT = Struct(
    "header" / Byte,
    "timestamp" / If(this.header & 0x20, TIMESTAMP),
    "encoding" / If(this.header & 0x40, Struct("id" / VarInt, "schema" / If(this.id & 1, BLOB))),
    "exts" / chain({0x41: Prefixed(VarInt, SOURCE)}),
    "payload" / BLOB,
)
PUSH = Struct(
    "header" / Byte,
    "scope" / VarInt,
    "suffix" / If(this.header & 0x20, BLOB),
    "exts" / chain({0x42: Prefixed(VarInt, TIMESTAMP)}),
    "body" / PUT,
)
FRAME = Struct("header" / Byte, "sn" / VarInt, "exts" / chain({}), "messages" / GreedyRange(PUSH))
FORMATS = {"INIT": INIT, "PUSH": PUSH, "FRAME": FRAME}
