"""Bytes that nobody should send: refused at a byte, or read with a diagnostic, in time and memory that are bounded."""

import time
import tracemalloc

import pytest

from zenoh_conformance.primitives import vle
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import DecodeError, Layer

HUGE = vle.encode(2**62).hex()

REFUSED = {  # what, layer, bytes, where, path
    "nothing": ("transport", "", 0, "transport"),
    "an id that no message has": ("transport", "08", 0, "transport"),
    "a network id among transport messages": ("transport", "1d00", 0, "transport"),
    "no version": ("transport", "01", 1, "init.version"),
    "WhatAmI 3": ("transport", "010903aa", 2, "init.whatami"),
    "a ZenohID of zero": ("transport", "01090100", 3, "init.zid"),
    "a ZenohID that is cut": ("transport", "0109f1aabb", 5, "init.zid"),
    "a cookie beyond the end": ("transport", "21090101" + "05aabb", 4, "init.cookie.length"),
    "a cookie of 2^62 bytes": ("transport", "020001" + HUGE, 3, "open.cookie.length"),
    "an InitAck cookie length beyond u16": ("transport", "21090101" + "80800400", 4, "init.cookie.length"),
    "ENC 11": ("transport", "8460", 1, "keep_alive.exts.unknown_0"),
    "an unknown mandatory extension": ("transport", "8419", 1, "keep_alive.exts.unknown_9"),
    "a chain that breaks off": ("transport", "8489", 2, "keep_alive.exts"),
    "an extension of 2^62 bytes": ("transport", "8449" + HUGE, 2, "keep_alive.exts.unknown_9.length"),
    "an extension length beyond u32": ("transport", "8109010143" + HUGE, 5, "init.exts.auth.length"),
    "a region name of no byte": ("transport", "8109010148" + "00", 6, "init.exts.region_name.name"),
    "OAM with ENC 11": ("transport", "6001", 0, "oam.header"),
    "2^62 bytes of OAM": ("transport", "4001" + HUGE, 2, "oam.body.length"),
    "a scope beyond u16": ("network", "1d8580040200", 1, "push.key.scope"),
    "a suffix beyond the end": ("network", "3d000561", 2, "push.key.suffix.length"),
    "a suffix that is not UTF-8": ("network", "3d0003612fff02", 5, "push.key.suffix.bytes"),
    "no body": ("network", "1d00", 2, "push.body"),
    "a body of another carrier": ("network", "1d0003", 2, "push.body"),
    "a request id beyond u32": ("network", "1c808080801000", 1, "request.id"),
    "query target 3": ("network", "9c01003403" + "03", 4, "request.exts.query_target.value"),
    "a declaration id that does not exist": ("network", "1e08", 1, "declare.body"),
    "a Timestamp without ZenohID": ("network", "1d00210500", 4, "push.put.timestamp.zid.length"),
    "a ZenohID of 17 bytes in a Timestamp": ("network", "1d00210511" + "aa" * 17, 4, "push.put.timestamp.zid.length"),
    "a payload of 2^62 bytes": ("network", "1d0001" + HUGE, 3, "push.put.payload.length"),
    "an encoding beyond u32": ("network", "1d0041808080801000", 3, "push.put.encoding.id"),
    "a schema of 256 bytes": ("network", "1d0041038002" + "aa" * 256, 4, "push.put.encoding.schema.length"),
    "SourceInfo longer than its extension": (
        "network",
        "1d0081410210aa0101" + "00",
        7,
        "push.put.exts.source_info.zid",
    ),
    "SourceInfo of length 0": ("network", "1d00814100" + "00", 5, "push.put.exts.source_info.packed"),
    "a slice of no known kind": ("network", "1d0081120102", 5, "push.put.payload.slices"),
    "2^62 slices": ("network", "1d008112" + HUGE, 13, "push.put.payload.slices"),
    "2^62 locators": ("scouting", "220910aabb" + HUGE, 14, "hello.locators[0].length"),
    "a TsStack that nobody stamps": ("network", "9d014702" + "0000" + "02", 4, "push.exts.ts_stack.conf_flags"),
    "256 stamps": ("network", "9d014705" + "018002aabb" + "02", 5, "push.exts.ts_stack.entries.count"),
    "a bad message deep inside": ("transport", "2507" + "1d000100" + "1d0007", 8, "frame.messages[1].push.body"),
}


@pytest.mark.parametrize(("layer", "text", "at", "path"), REFUSED.values(), ids=REFUSED)
def test_refused_at_the_byte(layer, text, at, path):
    with pytest.raises(DecodeError) as refused:
        codec.decode(bytes.fromhex(text), Layer(layer))
    assert (refused.value.at, refused.value.path) == (at, path), refused.value


READ = {  # what, layer, bytes, diagnostic, where, path, written again
    "an overlong lease": ("transport", "228a0001", "overlong-vle", 1, "open.lease", "220a01"),
    "reserved header bits": ("transport", "64", "reserved-bit", 0, "keep_alive.header", "04"),
    "reserved packed bits": ("transport", "01090daa", "reserved-bit", 2, "init.packed", "010901aa"),
    "reserved resolution bits": ("transport", "410901aa4a0008", "reserved-bit", 4, "init.resolution", "410901aa4a0008"),
    "a ZenohID with zeros at its end": ("transport", "010911aa00", "non-canonical", 3, "init.zid", "010911aa00"),
    "a sequence number beyond 32 bits": ("transport", "258080808010", "truncated-value", 1, "frame.sn", "258080808010"),
    "an unknown optional extension": ("transport", "8409", "unknown-extension", 1, "keep_alive.exts.unknown_9", "8409"),
    "an extension of another ENC": ("network", "9c010024" + "0103", "unknown-extension", 3,
                                     "request.exts.unknown_4", "9c0100240103"),
    "an extension twice": ("transport", "8109010181" + "01", "duplicate-extension", 5, "init.exts.qos", "810901018101"),
    "a consolidation without meaning": ("data", "2309", "unknown-value", 1, "query.consolidation", "2309"),
    "an extension longer than its content": ("network", "9b01004304" + "00aa0177" + "0402", "non-canonical", 8,
                                             "response.exts.responder_id", "9b01004303" + "00aa01" + "0402"),
    "a mandatory extension in SCOUT": ("scouting", "81090119", "unknown-extension", 3,
                                       "scout.exts.unknown_9", "81090119"),
    "an encoding beyond 16 bits": ("data", "4180801000", "truncated-value", 1, "put.encoding.id", "4180801000"),
}  # fmt: skip


@pytest.mark.parametrize(("layer", "text", "kind", "at", "path", "again"), READ.values(), ids=READ)
def test_read_with_a_diagnostic(layer, text, kind, at, path, again):
    decoded = codec.decode(bytes.fromhex(text), Layer(layer))
    assert [(each.kind, each.at, each.path) for each in decoded.diagnostics] == [(kind, at, path)]
    if again is not None:
        assert codec.encode(decoded.message).hex() == again


def chain(count):
    """A KEEP_ALIVE with this many unknown extensions."""
    return b"\x84" + b"\xc9\x01x" * (count - 1) + b"\x49\x01x"


def pushes(count):
    """A FRAME of this many PUSHes, each with something to say about it."""
    return b"\x25\x00" + bytes.fromhex("1d800002") * count


def locators(count):
    """A HELLO of this many locators."""
    return bytes.fromhex("220910aabb") + vle.encode(count) + b"\x01a" * count


GROWING = {"extensions": (chain, "transport"), "messages": (pushes, "transport"), "locators": (locators, "scouting")}


def test_three_hundred_extensions():
    assert len(codec.decode_whole(chain(300)).message.exts) == 300


@pytest.mark.parametrize(("make", "layer"), GROWING.values(), ids=GROWING)
def test_time_and_memory_grow_with_the_input_only(make, layer):
    small, large = make(500), make(5000)
    assert cost(codec.decode, large, layer) < 30 * cost(codec.decode, small, layer)  # ten times the bytes
    assert memory(codec.decode, large, layer) < 400 * len(large)


def test_the_measure_notices_what_is_not_linear():
    def squared(data, layer):
        for index in range(0, len(data), 16):
            bytes(data[:index]).count(b"\xff")
            sum(data[:index])

    assert cost(squared, chain(5000), "transport") > 30 * cost(squared, chain(500), "transport")


def test_what_is_claimed_is_not_allocated():
    for layer, text, _, _ in REFUSED.values():
        if HUGE in text:
            assert memory(refused, bytes.fromhex(text), layer) < 200_000


def refused(data, layer):
    """Decode what is refused."""
    with pytest.raises(DecodeError):
        codec.decode(data, Layer(layer))


def cost(work, data, layer):
    """Seconds of processor time, the least of several."""
    took = []
    for _ in range(5):
        begin = time.process_time()
        work(data, Layer(layer))
        took.append(time.process_time() - begin)
    return min(took)


def memory(work, data, layer):
    """The most bytes held at once."""
    tracemalloc.start()
    work(data, Layer(layer))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
