# ruff: noqa: E501 - a table: a fault a line
"""Faults that people make, and those that break what a requirement tells of no message in particular."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mutation.engine import DELETED, Change, Entry, Mutant, Text
from mutation.facts import DELETED_READER, HELPERS, extension, rebuilt
from zenoh_conformance import messages as m
from zenoh_conformance.messages import init as init_exts
from zenoh_conformance.messages import join as join_exts
from zenoh_conformance.messages import network
from zenoh_conformance.primitives import Timestamp, ZenohID, keyexpr, payload
from zenoh_conformance.primitives import zid as zids
from zenoh_conformance.reading import batch, codec
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.wire import extensions, registry, vle
from zenoh_conformance.wire.errors import DecodeError

Fault = tuple[str, str, tuple[Change, ...]]
"""What it is, the requirement that it breaks (or none), and the changes."""


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for family in (ids, integers, strings, identities, keys, chains, bodies, values, framings, layouts, writers):
        for name, requirement, changes in family():
            yield Mutant(f"{requirement or family.__name__}: {name}", changes, requirement, _messages_of(changes))


def _messages_of(changes: tuple[Change, ...]) -> tuple[str, ...]:
    """Beginnings of the ids of vectors of the messages whose readers are changed."""
    changed = {change.function for change in changes if isinstance(change, Text)}
    owners = (registry.of(cls) for cls in registry.MESSAGES)
    of_keys = ("keyexpr/",) if any(one.__module__ == keyexpr.__name__ for one in changed) else ()
    return (*of_keys, *(f"{owner.path.replace('_', '-')}/" for owner in owners if _readers_of(owner) & changed))


def _readers_of(owner: Any) -> set[Callable[..., Any]]:
    """The readers of a message and of its extensions."""
    return {owner.read, *(registry.of(ext).read for ext in owner.extensions or ())}


def reader(cls: type) -> Callable[..., Any]:
    return registry.of(cls).read


def writer(cls: type) -> Callable[..., Any]:
    return registry.of(cls).write


def names(function: Callable[..., Any]) -> dict[str, Any]:
    """Its namespace."""
    return function.__globals__


def read(cls: type, old: str, new: str, nth: int | None = None) -> tuple[Change, ...]:
    """The reader with other text."""
    helpers = {**HELPERS, "DecodeError": DecodeError}
    return (*(Entry(names(reader(cls)), name, helpers[name]) for name in helpers if name in new), Text(reader(cls), old, new, nth))


def write(cls: type, old: str, new: str, nth: int | None = None) -> tuple[Change, ...]:
    """The writer with other text."""
    return (Text(writer(cls), old, new, nth),)


def table(cls: type, name: str = "EXTENSIONS") -> Any:
    """A table of the reader."""
    return names(reader(cls))[name]


def carried(carrier: type, body: type) -> tuple[Change, ...]:
    """A carrier that takes one more body."""
    return (Entry(table(carrier, "CHILDREN"), registry.of(body).id, reader(body)),
            Entry(names(writer(carrier))["WRITERS"], body, writer(body)))  # fmt: skip


READERS = registry.READERS
BATCHES = ConnectionDecoder._batches
"""How a node splits a stream; `batch.split` does so with one that is whole."""
SKIP_UNKNOWN, READ_UNKNOWN = extensions.skip_unknown, extensions.read_unknown

# --- which message is it ------------------------------------------------------------------------------------------------


def ids() -> Iterator[Fault]:
    transport, net, scouting = READERS["transport"], READERS["network"], READERS["scouting"]
    page = "message-reference/"
    yield "an unassigned transport id is taken", page + "transport-id-range", (Entry(transport, 0x08, transport[0x04]),)
    yield "an unassigned network id is taken", page + "network-id-range", (Entry(net, 0x18, net[0x1A]),)
    yield "a network message is taken for a transport message", page + "id-ranges-disjoint", (Entry(transport, 0x1D, net[0x1D]),)
    yield "a transport message is taken for a network message", page + "id-ranges-disjoint", (Entry(net, 0x04, transport[0x04]),)
    yield "QUERY in PUSH", page + "data-ids-scoped-to-body", carried(m.Push, m.Query)
    yield "PUT in REQUEST", page + "data-ids-scoped-to-body", carried(m.Request, m.Put)
    yield "DECLARE in DECLARE", page + "data-ids-scoped-to-body", carried(m.Declare, m.Declare)
    yield "four bits of the id", "primitives/header-id", (
        Text(codec.decode, "data[0] & 0x1F", "data[0] & 0x0F"), Text(batch.read_one, "readers[data[at] & 0x1F]", "readers[data[at] & 0x0F]"))
    yield "scouting shares the ids of the transport", "scouting/own-id-space", (Entry(scouting, 1, transport[1]), Entry(scouting, 2, transport[2]))
    yield "an unassigned scouting id is taken", "scouting/own-id-space", (Entry(scouting, 3, scouting[2]),)
    yield "flags of PUT changed over", "primitives/header-flags", read(m.Put, "header & 0x20", "header & 0x40")
    yield "Z of PUSH is never looked at", "primitives/header-z", read(m.Push, "if not header & 0x80:", "if True:")
    yield "what follows D_FINAL is passed over", "message-reference/declare-carries-one", read(m.Declare, "return item, at", "return item, end")
    yield "bytes after the message are passed over", "", read(m.Open, "return item, at", "return item, end")


# --- integers -----------------------------------------------------------------------------------------------------------


def integers() -> Iterator[Fault]:
    page = "primitives/"
    groups = "size = (stops & -stops).bit_length() >> 3"
    yield "ten bytes, as the pseudo-code has it", page + "vle-ninth-byte", (Text(vle.read, "data[at + 8] << 56", "(data[at + 8] & 0x7f) << 56"),)
    yield "the ninth byte one bit lower", page + "vle-ninth-byte", (Text(vle.read, "data[at + 8] << 56", "data[at + 8] << 55"),)
    yield "a tenth byte follows", page + "vle-ninth-byte", (Text(vle.read, "size = 9", "size = 9 + (data[at + 8] >> 7)"),)
    yield "eight bits a group", page + "vle-seven-bits", (Text(vle.read, "_gather(groups & (1 << 8 * size) - 1)", "groups & (1 << 8 * size) - 1"),)
    yield "high group first", page + "vle-seven-bits", (
        Text(vle.read, "_gather(groups & (1 << 8 * size) - 1)", '_gather(int.from_bytes((groups & (1 << 8 * size) - 1).to_bytes(size, "big"), "little"))'),)
    for width, most in (("z8", 1), ("z16", 2), ("z32", 4)):
        yield f"{width} of at most {most} bytes", f"{page}{width}-width", (
            Text(vle.read, groups, f"{groups}\n        if size > {most}: raise unexpected_end(end, path, '')"),)
    yield "nine bytes are too many", page + "z64-width", (Text(vle.read, "elif end - at > 8:", "elif False:"),)
    yield "a cut integer is what there is", page + "truncated-is-refused", (
        Text(vle.read, 'raise unexpected_end(end, path, "the rest of an integer")', "size, value = end - at, 0"),)
    yield "fixed integers high byte first", page + "little-endian", read(m.Init, "data[at] | data[at + 1] << 8", "data[at] << 8 | data[at + 1]")
    yield "JOIN's batch size high byte first", page + "little-endian", read(m.Join, "data[at] | data[at + 1] << 8", "data[at] << 8 | data[at + 1]")
    yield "the batch size is a VLE", "", read(m.Init, "batch_size = data[at] | data[at + 1] << 8\n        at += 2", "batch_size = data[at]\n        at += 1")
    yield "written a byte too long", "", (Text(vle.encode, "if value >> 56:", "if value >> 49:"),)
    yield "written eight bits a group", "", (Text(vle.encode, "_spread(value) |", "value |"),)


# --- bytes and strings ----------------------------------------------------------------------------------------------------


def strings() -> Iterator[Fault]:
    page = "primitives/"
    yield "a payload loses its last byte", page + "byte-array", read(m.Put, "payload = data[at:at + payload_size]", "payload = data[at:at + payload_size - 1]")
    yield "a cookie loses its first byte", page + "byte-array", read(m.Init, "cookie = data[at:at + cookie_size]", "cookie = data[at + 1:at + cookie_size]")
    yield "the length counts itself", page + "byte-array", read(m.Err, "at += payload_size", "at += payload_size - 1")
    yield "parameters are Latin-1", page + "string", read(m.Query, ".decode()", '.decode("latin-1")')
    yield "what is no UTF-8 is replaced", page + "strings-are-utf8", read(m.Push, ".decode()", '.decode("utf-8", "replace")')
    yield "what is no UTF-8 is escaped", page + "strings-are-utf8", read(m.Request, ".decode()", '.decode("utf-8", "backslashreplace")')
    yield "a locator is not looked at", page + "strings-are-utf8", read(m.Interest, ".decode()", '.decode("utf-8", "ignore")')
    for cls, field in ((m.Put, "payload"), (m.Init, "cookie"), (m.Open, "cookie"), (m.Err, "payload"), (m.Oam, "body"), (m.Query, "parameters")):
        yield f"{cls.__name__}: a {field} that is cut short is what there is", page + "truncated-is-refused", read(cls, f"if {field}_size > end - at:", "if False:")
    yield "an extension that is cut short is what there is", page + "truncated-is-refused", read(init_exts.Auth, "if size > end - at:", "size = min(size, end - at)\n    if False:")
    yield "an unknown extension that is cut short is what there is", page + "truncated-is-refused", (Text(SKIP_UNKNOWN, "if size > end - at:", "size = min(size, end - at)\n        if False:"),)
    yield "DEL with a payload", "", read(m.Del, "return item, at", "return item, max(at, end)")
    yield "slices without a count", "", (Text(payload.skip, "count, at = vle.read(data, at, end, path, diagnostics)", "count = 1"),)
    yield "slices without a kind", "", (Text(payload.skip, "begin = at + 1", "begin = at"),)


# --- who: ZenohIDs, roles, times ------------------------------------------------------------------------------------------


def identities() -> Iterator[Fault]:
    page = "primitives/"
    yield "the nibble is the length", page + "zid-length", read(m.Init, "(packed >> 4) + 1", "(packed >> 4)")
    yield "at most eight bytes", page + "zid-length", read(m.Join, "(packed >> 4) + 1", "(packed >> 4 & 7) + 1")
    yield "printed least significant first", page + "zid-byte-order", (Text(ZenohID.__str__, "[::-1]", ""),)
    yield "zero is somebody", "", (Text(zids.check_zeros, 'if not raw.strip(b"\\0"):', "if False:"), Text(zids.valid_bytes, 'or not zid.raw.strip(b"\\0")', ""))
    for cls in (m.Init, m.Join, m.Hello):
        yield f"{cls.__name__}: role 3 is a client", page + "whatami-3-refused", read(
            cls, f"if packed & 0x3 >= 3:\n        raise DecodeError(at - 1, '{cls.__name__.lower()}.whatami', f'WhatAmI {{packed & 0x3}} is reserved')\n    whatami = VALUES[packed & 0x3]", "whatami = VALUES[min(packed & 0x3, 2)]")  # fmt: skip
    yield "role 3 is a router", page + "whatami-3-not-used", read(
        m.Init, "if packed & 0x3 >= 3:\n        raise DecodeError(at - 1, 'init.whatami', f'WhatAmI {packed & 0x3} is reserved')\n    whatami = VALUES[packed & 0x3]", "whatami = VALUES[packed & 0x3 if packed & 0x3 < 3 else 0]")  # fmt: skip
    yield "the role is a bitmap as in SCOUT", "", read(m.Hello, "VALUES[packed & 0x3]", "VALUES[(packed & 0x3) >> 1]")
    yield "a Timestamp's time without its fraction", page + "timestamp-time", read(Timestamp, "item.time = time", "item.time = time >> 32")
    yield "a Timestamp's ZenohID behind a packed byte", page + "timestamp-zid", read(Timestamp, "(zid_size := data[at]) < 0x80", "(zid_size := (data[at] >> 4) + 1) < 0x80")
    yield "a Timestamp's ZenohID of any size", page + "timestamp-zid", (
        *read(Timestamp, "if not 1 <= zid_size <= 16:", "if not zid_size:"), Text(zids.valid_bytes, "<= 16", "<= 99"))
    stamp = registry.of(Timestamp)
    yield "a Timestamp begins with the ZenohID", page + "timestamp-field-order", rebuilt(stamp, stamp.fields[::-1], frozenset())
    yield "a Timestamp in PUT behind a length", "", read(m.Put, "if header & 0x20:\n        begin = at", "if header & 0x20:\n        at += 1\n        begin = at")


# --- keys -----------------------------------------------------------------------------------------------------------------


def keys() -> Iterator[Fault]:
    page = "primitives/"
    yield "the scope is one byte", page + "wire-expr-scope", read(m.Push, "(key_scope := data[at]) < 0x80", "(key_scope := data[at]) <= 0xff")
    yield "the suffix is always there", page + "wire-expr-suffix", read(m.Push, "if header & 0x20:", "if True:")
    yield "scope 0 has no suffix", page + "wire-expr-global-scope", read(m.DSubscriber, "key.suffix = key_suffix", "key.suffix = key_suffix if key_scope else None")
    yield "the mapping is the other side's", "", read(m.Push, "key.mapping = header & 0x40 != 0", "key.mapping = header & 0x40 == 0")
    yield "a scope of seventeen bits", "", read(m.Push, "key.scope = key_scope", "key.scope = key_scope & 0x7fff")
    yield "options N and M count without R", "interests/key-flags-need-restricted", read(m.Interest, "if options and options & 0x10:", "if options and options & 0x30:")
    yield "a final INTEREST has options", "interests/final-carries-only-id", read(m.Interest, "if mode:", "if True:")
    yield "a key may hold #", page + "key-expression-grammar", (Text(keyexpr._check_chunk, "[#?]", "[?]"),)
    yield "a key may hold ?", page + "key-expression-grammar", (Text(keyexpr._check_chunk, "[#?]", "[#]"),)
    yield "a chunk may be empty", page + "key-expression-grammar", (Text(keyexpr._check_chunk, "if not chunk:", "if False:"),)
    yield "a star may stand in a chunk", page + "key-expression-grammar", (Text(keyexpr._check_chunk, r"|(?<!\$)\*", ""),)
    yield "a lone $* is canonical", page + "key-expression-grammar", (Text(keyexpr._check_chunk, 'if chunk == "$*":', "if False:"), Text(keyexpr.canonize, '"*" if chunk == "$*" else chunk', "chunk"))
    yield "**/* stays as it is", page + "key-expression-grammar", (Text(keyexpr.canonize, '["*", "**"]', '["**", "*"]'),)


# --- chains of extensions ---------------------------------------------------------------------------------------------------


def chains() -> Iterator[Fault]:
    page = "primitives/"
    yield "three bits of the id", page + "extension-id", (Text(reader(m.Request), "EXTENSIONS.get(head & 0x7f", "EXTENSIONS.get(head & 0x77"),)
    yield "M is not looked at where a table is searched", page + "extension-mandatory-bit", (
        Text(reader(m.Push), "EXTENSIONS.get(head & 0x7f", "EXTENSIONS.get(head & 0x6f if head & 15 != 3 else head & 0x7f"),)
    yield "M of an unknown one is ignored", page + "extension-mandatory-bit", (Text(READ_UNKNOWN, "if header & MANDATORY:", "if False:"),)
    yield "every unknown one is refused", page + "unknown-optional-skipped", (Text(READ_UNKNOWN, "if header & MANDATORY:", "if True:"),)
    yield "unknown ones end the chain", page + "unknown-optional-skipped", (Text(READ_UNKNOWN, "return skip_unknown(data, at, end, diagnostics, mark, prefix)", "return skip_unknown(data, at, end, diagnostics)[0], end"),)
    yield "the encoding is not looked at", page + "extension-encoding-bits", (Text(reader(m.Push), "EXTENSIONS.get(head & 0x7f", "{key & 31: value for key, value in EXTENSIONS.items()}.get(head & 0x1f"),)
    yield "the encoding one bit lower", page + "extension-encoding-bits", (Text(SKIP_UNKNOWN, "code = header >> 5 & 3", "code = header >> 4 & 3"),)
    yield "only one extension", page + "extension-more-bit", read(m.Push, "while head & 0x80:", "while head & 0x80 and not exts:")
    yield "Z of the last one is not looked at", page + "extension-more-bit", read(m.Init, "while head & 0x80:", "while head & 0x80 and at < end:")
    yield "an unknown unit has a byte", page + "extension-unit", (Text(SKIP_UNKNOWN, "value: int | bytes | None = None", "value: int | bytes | None = None\n    at += not code"),)
    yield "an unknown integer is one byte", page + "extension-z64", (Text(SKIP_UNKNOWN, 'value, at = vle.read(data, at, end, f"{path}.value", diagnostics)', "value, at = data[at], at + 1"),)
    yield "an unknown buffer has no length", page + "extension-zbuf", (Text(SKIP_UNKNOWN, 'size, at = vle.read(data, at, end, f"{path}.length", diagnostics)', "size = end - at"),)
    yield "ENC 11 is a unit", page + "extension-encoding-3-refused", (Text(SKIP_UNKNOWN, 'raise DecodeError(at, path, "extension encoding 3 is reserved")', "code = 0"),)
    yield "ENC 11 of OAM is a unit", page + "extension-encoding-3-not-used", read(m.Oam, "ENC.get(header >> 5 & 3)", "ENC.get(header >> 5 & 3, ENC[0])")
    yield "QoSLink is QoS", "session-establishment/qos-told-from-qos-link-by-enc", (Entry(table(m.Init), 0x21, table(m.Init)[0x01]),)
    yield "QoSLink is unknown", "session-establishment/qos-told-from-qos-link-by-enc", (Entry(table(m.Init), 0x21, DELETED_READER),)
    yield "QoS under another id", "message-reference/network-qos-extension", (Entry(table(m.Declare), 0x21, DELETED_READER), Entry(table(m.Declare), 0x2C, table(m.Declare)[0x21]))
    yield "Timestamp under another id", "message-reference/network-timestamp-extension", (Entry(table(m.Push), 0x42, DELETED_READER), Entry(table(m.Push), 0x4C, table(m.Push)[0x42]))
    yield "NodeId optional", "message-reference/network-node-id-extension", (Entry(table(m.Interest), 0x33, DELETED_READER), Entry(table(m.Interest), 0x23, table(m.Interest)[0x33]))
    yield "OpenAck has OpenSyn's extensions", "", read(m.Open, "and not (not ack)", "and False")
    yield "OpenSyn has OpenAck's extensions", "", read(m.Open, "and not (ack)", "and False")
    yield "the first of two counts alone", "", (Text(reader(m.Frame), "exts.append(item)", "exts.insert(0, item)"),)
    yield "DEL's Attachment has PUT's id", "push/del-ext-attachment", (Entry(table(m.Del), 0x42, DELETED_READER), Entry(table(m.Del), 0x43, table(m.Del)[0x42]))


# --- bodies and what is in them ----------------------------------------------------------------------------------------------


def bodies() -> Iterator[Fault]:
    page = "primitives/"
    yield "an encoding's id is not shifted", page + "encoding-id", read(m.Put, "encoding.id = encoding_number >> 1", "encoding.id = encoding_number")
    yield "S is another bit", page + "encoding-schema", read(m.Put, "if encoding_number & 1:", "if encoding_number & 2:")
    yield "a schema is always there", page + "encoding-schema", read(m.Err, "if encoding_number & 1:", "if True:")
    declared = registry.of(m.Push)
    yield "the body before the extensions", "message-reference/body-is-innermost", rebuilt(declared, declared.fields, frozenset())
    info = extension(registry.of(m.DQueryable), "QueryableInfo")
    yield "the distance one bit lower, as the text has it", "declarations/queryable-info-distance", (Text(info.read, "item.value = value\n", "item.value = value & 1 | value >> 1 << 8\n"),)
    yield "JOIN's pairs the other way round", "join/qos-eight-pairs", rebuilt(registry.of(join_exts.NextSn), registry.of(join_exts.NextSn).fields[::-1], frozenset())
    yield "JOIN's pairs are seven", "join/qos-eight-pairs", read(join_exts.QoS, "sns_count = 8", "sns_count = 7")
    yield "JOIN's T is OPEN's", "", read(m.Join, "header & 0x20", "header & 0x10")
    yield "a QueryBody's payload behind a length, as the text has it", "", read(
        m.query.QueryBody, "payload = data[at:at + payload_size]", "payload = data[at + 1:at + payload_size]")
    yield "a WireExpr extension's suffix behind a length, as the text has it", "", read(
        m.declarations.WireExprExt, "suffix = data[at:at + suffix_size]", "suffix = data[at + 1:at + suffix_size]")
    yield "consolidation takes the parameters' flag", "", read(m.Query, "header & 0x20", "header & 0x40")
    yield "consolidation is never told", "", read(m.Reply, "item.consolidation = consolidation", "item.consolidation = None")
    yield "M of FRAGMENT the other way round", "", read(m.Fragment, "more = header & 0x40 != 0", "more = header & 0x40 == 0")
    yield "a RegionName of 33 bytes", "", read(init_exts.RegionName, "if not 1 <= name_size < 33:", "if not 1 <= name_size < 32:")


def values() -> Iterator[Fault]:
    page = "qos/"
    qos = network.QoS
    yield "seven priorities", page + "eight-priority-classes", read(qos, "item.value = value\n", "item.value = value if value & 7 < 7 else refuse(value, 7)\n")
    yield "D and F are one", page + "three-congestion-controls", read(qos, "item.value = value\n", "item.value = value | (value & 0x20) >> 2\n")
    yield "E is D", "", read(qos, "item.value = value\n", "item.value = value & ~0x18 | (value & 8) << 1 | (value & 16) >> 1\n")
    target = extension(registry.of(m.Request), "QueryTarget").read
    yield "a target too many", "", (Text(target, "< 0x3:", "< 0x4:"), Text(target, "item.value = value", "item.value = min(value, 2)"))
    yield "a reason is taken for a bitmap", "", read(m.Close, "item.reason = reason", "item.reason = reason & 7")
    yield "CLOSE's S is bit 6", "", read(m.Close, "header & 0x20", "header & 0x40")
    yield "the sequence number is signed", "", read(m.Frame, "item.sn = sn", "item.sn = sn & 0x7fffffff")
    yield "the lease is thirty-two bits", "", read(m.Open, "item.lease = lease\n", "item.lease = lease & 0xffffffff\n")
    yield "the version is checked by the codec", "", read(m.Init, "version = data[at]\n", "version = data[at] if data[at] == 9 else refuse(1, 1)\n")


# --- framing and layouts -------------------------------------------------------------------------------------------------------


def framings() -> Iterator[Fault]:
    yield "the length is big-endian", "message-reference/length-prefix", (
        Text(batch.split, '"little"', '"big"'), Text(BATCHES, '"little"', '"big"'))
    yield "the length counts itself", "message-reference/length-prefix", (Text(batch.split, "end = at + prefix + int.from_bytes(data[at : at + prefix]", "end = at + prefix - 2 * bool(any(data[at : at + 2])) + int.from_bytes(data[at : at + prefix]"),
        Text(BATCHES, '"little")', '"little") - 2 * any(buffer[:2])'))
    yield "the length is four bytes", "message-reference/length-prefix", (
        Text(batch.split, "batches, at = [], 0", "batches, at, prefix = [], 0, 4"), Text(BATCHES, "direction.prefix", "4"))
    yield "one message a batch", "", (Text(batch.decode_batch, "at += decoded.size", "at = len(data)"),)
    yield "FRAME takes the rest of the batch", "message-reference/frame-messages-fill-batch", read(m.Frame, "messages = tuple(messages)", "messages, at = tuple(messages), end")
    yield "FRAGMENT ends where a message begins", "", read(m.Fragment, "payload = data[at:at + payload_size]", "payload = data[at:at + payload_size].rstrip(b'\\x00')")
    yield "FRAME in a low-latency batch", "batching/low-latency-framing", (Text(batch._of_layer, "for mid in _WITHOUT_FRAME:", "for mid in (*_WITHOUT_FRAME, 5):"),)
    yield "no KEEP_ALIVE in a low-latency batch", "batching/low-latency-framing", (Text(batch._of_layer, "for mid in _WITHOUT_FRAME:", "for mid in (3,):"),)


def layouts() -> Iterator[Fault]:
    net = READERS["network"]
    for requirement, mid in (("push/push-in-frame", 0x1D), ("push/push-put-layout", 0x1D), ("query/request-in-frame", 0x1C),
                             ("query/request-query-layout", 0x1C), ("reply/response-reply-put-layout", 0x1B),
                             ("reply/final-in-own-frame", 0x1A)):  # fmt: skip
        yield f"FRAME does not take {mid:#x}", requirement, (Entry(net, mid, None),)
    yield "RESPONSE does not take ERR", "reply/response-err-layout", (Entry(table(m.Response, "CHILDREN"), 5, None),)


# --- writers -----------------------------------------------------------------------------------------------------------------------


def writers() -> Iterator[Fault]:
    yield "INIT without A", "", write(m.Init, "header |= 0x20", "header |= 0x0")
    yield "INIT without S", "", write(m.Init, "header |= 0x40", "header |= 0x0", 0)
    yield "INIT without Z", "", write(m.Init, "header |= 0x80", "header |= 0x0")
    yield "INIT's batch size high byte first", "", write(m.Init, "'little'", "'big'")
    yield "INIT's nibble is the length", "", write(m.Init, "len(zid_raw) - 1 << 4", "len(zid_raw) << 4")
    yield "INIT's chain does not end", "", write(m.Init, "0x80 if left else 0", "0x80")
    yield "INIT's chain ends at once", "", write(m.Init, "0x80 if left else 0", "0")
    yield "OPEN's T and A changed over", "", write(m.Open, "header |= 0x40", "header |= 0x20")
    yield "OPEN's cookie without its length", "", write(m.Open, "out.append(cookie_size)", "pass")
    yield "CLOSE without S", "", write(m.Close, "header |= 0x20", "header |= 0x0")
    yield "FRAME without R", "", write(m.Frame, "header |= 0x20", "header |= 0x0")
    yield "FRAME's messages last first", "", write(m.Frame, "for item in messages:", "for item in messages[::-1]:")
    yield "FRAGMENT's M and R changed over", "", write(m.Fragment, "header |= 0x40", "header |= 0x20")
    yield "FRAGMENT's bytes behind a length", "", write(m.Fragment, "out += payload", "out.append(len(payload) & 0x7f); out += payload")
    yield "JOIN's T is OPEN's", "", write(m.Join, "header |= 0x20", "header |= 0x40")
    yield "OAM's encoding one bit higher", "", write(m.Oam, "enc << 5", "enc << 6")
    yield "PUSH without N", "", write(m.Push, "header |= 0x20", "header |= 0x0")
    yield "PUSH without M", "", write(m.Push, "header |= 0x40", "header |= 0x0")
    yield "PUT's encoding is not shifted", "", write(m.Put, "encoding.id << 1", "encoding.id")
    yield "PUT's encoding without S", "", write(m.Put, "| (encoding_schema is not None)", "")
    yield "PUT's payload before its extensions", "", write(m.Put, "if exts:\n        left = len(exts)", "if exts:\n        out.append(len(payload) & 0x7f); left = len(exts)")
    yield "DEL with an empty payload", "", write(m.Del, "if exts:\n        left", "out.append(0)\n    if exts:\n        left")
    yield "REQUEST's id behind its key", "", write(m.Request, "out.append(id)", "pass")
    yield "QUERY without P", "", write(m.Query, "header |= 0x40", "header |= 0x0")
    yield "INTEREST's options in every mode", "", write(m.Interest, "if mode:", "if True:")
    yield "DECLARE without I", "", write(m.Declare, "header |= 0x20", "header |= 0x0")
    yield "SCOUT without I", "", write(m.Scout, "packed | 0x8 |", "packed |")
    yield "HELLO's locators without their count", "", write(m.Hello, "out.append(locators_count)", "pass")
    yield "NodeId without M", "", write(network.NodeId, "0x33 | more", "0x23 | more")
    yield "an extension's length counts its header", "", write(m.data.SourceInfo, "size, content, out = len(out), out, whole", "size, content, out = len(out) + 1, out, whole")
    yield "a ZenohID most significant byte first", "", (Text(zids.valid_bytes, "return zid.raw", "return zid.raw[::-1]"),)
    yield "a reserved bit of the resolution", "session-establishment/resolution-reserved-zero", write(m.Init, "out.append(resolution)", "out.append(resolution | 0x10)")


__all__ = ["DELETED", "mutants"]
