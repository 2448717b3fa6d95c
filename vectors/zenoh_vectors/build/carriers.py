"""What several carriers have in common: keys, network extensions, and bodies that they may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import integers, lying, overlongs
from zenoh_vectors.build.octets import number, overlong, printed, vle
from zenoh_vectors.build.parts import Ext, Fields, Key, Message, timestamp, timestamp_means
from zenoh_vectors.build.samples import OTHER, TIME, ZID_SIZES, node_id, qos, resized, stamp, ts_stack, zid_of
from zenoh_vectors.build.vector import BAD_UTF8, ILLEGAL_VALUE, OUT_OF_RANGE, TRUNCATED, WRONG_BODY, Book, Vector

MakeExts = Callable[[Sequence[Ext]], Message]

# --- keys ------------------------------------------------------------------------------------------------------------

SUFFIXES = {"empty": "", "one-letter": "k", "chunks": "a/b/c", "wild": "a/**/b*", "verbatim": "@a/b", "accents": "é/ü/日本",
            "127-bytes": "k" * 127, "128-bytes": "k" * 128, "300-bytes": "key/" * 75}  # fmt: skip
BROKEN = {"lone-continuation": (b"a\x80b", 1), "overlong-slash": (b"a\xc0\xafb", 1), "surrogate": (b"\xed\xa0\x80", 0),
          "cut-short": (b"ab\xc3", 2), "ff": (b"\xff", 0), "beyond-unicode": (b"a\xf4\x90\x80\x80", 1)}  # fmt: skip
"""Bytes that are no UTF-8, and where they stop being it."""


def keys(stem: str, make: Callable[[Key], Message], source: str, *, mapped: bool = True) -> Iterator[Vector]:
    """A WireExpr behind N and M: flags, scope, suffix; `mapped`: the carrier has a bit M."""
    book = Book(stem, source)
    sides = (False, True) if mapped else (False,)
    for suffix, mapping, scope in product((None, "a"), sides, (0, 5)):
        flags = ("n" if suffix else "") + ("m" if mapping else "") or "none"
        yield book.ok(f"key-flags-{flags}-scope-{scope}", f"Key with flags {flags}, scope {scope}", make(Key(scope, suffix, mapping)))
    for name, suffix in SUFFIXES.items():
        yield book.ok(f"key-suffix-{name}", f"Suffix: {name}", make(Key(3, suffix)))
    base = make(Key(3, "ab"))
    yield from integers(stem, base, "key.scope", 16, lambda scope: {"key": {**Key(0, "ab").means, "scope": scope}},
                        source=source, over="refuses")
    yield from _suffix_faults(book, base)


def _suffix_faults(book: Book, base: Message) -> Iterator[Vector]:
    for name, (data, bad) in BROKEN.items():
        wrong = base.put("key.suffix.length", vle(len(data)), str(len(data))).put("key.suffix.bytes", data, "no UTF-8")
        yield book.bad_at(f"key-suffix-bad-utf8-{name}", "The suffix is not UTF-8", wrong, BAD_UTF8,
                          wrong.at("key.suffix.bytes") + bad, base.path("key.suffix.bytes"))
    for claimed in (128, 65535):
        yield lying(f"{book.stem}/key-suffix-length-lies-{claimed}", "The suffix's length promises more bytes than there are", base,
                    "key.suffix.length", claimed, source=book.source)
    yield book.bad("key-suffix-length-over-u16", "The suffix's length needs more than 16 bits",
                   base.put("key.suffix.length", vle(65536), "65536"), OUT_OF_RANGE, base.path("key.suffix.length"),
                   errata=[Reading("ZD-03")])
    yield book.ok("key-suffix-length-overlong-2", "The suffix's length in two bytes",
                  base.put("key.suffix.length", overlong(2, 2), "2 in 2 bytes"), ("overlong-vle", base.path("key.suffix.length")),
                  errata=[Reading("ZD-02")])


# --- extensions of network messages ----------------------------------------------------------------------------------


def network_extensions(stem: str, make: MakeExts, table: Iterable[Ext]) -> Iterator[Vector]:
    """Values of the extensions that several network messages share, as far as `table` has them."""
    names = {ext.name for ext in table}
    families = {"QoS": qos_values, "Timestamp": stamps, "NodeId": node_ids, "TsStack": ts_stacks}
    for name, family in families.items():
        if name in names:
            yield from family(stem, make)


def qos_values(stem: str, make: MakeExts) -> Iterator[Vector]:
    """Every priority, D and F in all combinations, E, the reserved bits, and more than a byte."""
    book = Book(stem, "QoS extension, sub-field table")
    for priority in range(8):
        yield book.ok(f"qos-priority-{priority}", f"Priority {priority}, Drop", make([qos(priority)]))
    for first, express, block in product((0, 1), repeat=3):
        value = 5 | block << 3 | express << 4 | first << 5
        yield book.ok(f"qos-f{first}-e{express}-d{block}", f"F={first}, E={express}, D={block}, priority Data", make([qos(value)]))
    for bit in (6, 7):
        odd = make([qos(5 | 1 << bit)])
        yield book.ok(f"qos-reserved-bit-{bit}", f"Bit {bit} of the QoS byte is reserved", odd,
                      ("reserved-bit", odd.path("exts.qos.value")))
    yield from overlongs(f"{stem}/qos", make([qos(5)]), "exts.qos.value", lambda value: {}, source=book.source)
    wide = make([qos(0x105)])
    narrow = wide.meaning(exts=[{"QoS": {"value": 5}}])
    yield book.ok("qos-over-u8", "A QoS value of nine bits: the baseline keeps eight", narrow,
                  ("truncated-value", wide.path("exts.qos.value")), errata=[Reading("ZD-03", means=wide.means)])


def stamps(stem: str, make: MakeExts) -> Iterator[Vector]:
    """The Timestamp extension: times at the edges, every size of ZenohID, lengths that lie."""
    book = Book(stem, "Timestamp extension")
    for time in (0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1):
        yield book.ok(f"timestamp-time-{time}", f"NTP64 time {time}", make([stamp(time)]))
    for size in ZID_SIZES:
        yield book.ok(f"timestamp-zid-{size}-bytes", f"A clock whose ZenohID has {size} bytes", make([stamp(TIME, zid_of(size))]))
    for size in (0, 17):
        zid = bytes(range(1, size + 1))
        wrong = make([resized(stamp(), timestamp(TIME, zid), timestamp=timestamp_means(TIME, zid or b"\x00"))])
        yield book.bad(f"timestamp-zid-{size}-bytes-illegal", f"A ZenohID of {size} bytes", wrong, ILLEGAL_VALUE,
                       wrong.path("exts.timestamp.timestamp.zid.length"))
    zero = make([stamp(TIME, b"\x00\x00")])
    yield book.bad("timestamp-zid-zero", "A ZenohID of zero names nobody", zero, ILLEGAL_VALUE,
                   zero.path("exts.timestamp.timestamp.zid.bytes"), errata=[Reading("ZD-17")])
    base = make([stamp(TIME, OTHER)])
    yield book.bad("timestamp-length-lies", "The extension's length promises more bytes than there are",
                   base.put("exts.timestamp.length", vle(2**31), "2^31"), TRUNCATED, base.path("exts.timestamp.length"),
                   errata=[Reading("extension-length-ignored")])


def node_ids(stem: str, make: MakeExts) -> Iterator[Vector]:
    """NodeId at the edges of 16 bits."""
    base = make([node_id(5)])
    yield from integers(f"{stem}/node-id", base, "exts.node_id.value", 16, _only("NodeId"), source="NodeId extension")


def ts_stacks(stem: str, make: MakeExts) -> Iterator[Vector]:
    """TsStack, which the text does not have yet."""
    book = Book(stem, "wire of zenoh-rust 1.10")
    whole = bytes((*vle(TIME), 2, *OTHER))
    samples = {"empty": ts_stack(7, ()), "one": ts_stack(1, ((0x01, whole),)), "custom": ts_stack(2, ((0x80, b"mine"),)),
               "two": ts_stack(7, ((0x01, whole), (0x02, whole)))}  # fmt: skip
    for name, ext in samples.items():
        yield book.ok(f"ts-stack-{name}", f"TsStack: {name}", make([ext]), errata=[Reading("ZD-38")])


def _only(name: str) -> Callable[[int], Fields]:
    return lambda value: {"exts": [{name: {"value": number(value)}}]}


def z64_values(stem: str, make: MakeExts, ext: Ext, bits: int, *, source: str, over: str = "truncates", low: int = 0
               ) -> Iterator[Vector]:
    """A z64 extension at the edges of what it holds."""
    tail = f"exts.{ext.slug}.value"
    yield from integers(stem, make([ext]), tail, bits, _only(ext.name), source=source, over=over, low=low)


# --- bodies ----------------------------------------------------------------------------------------------------------


def strangers(stem: str, wholes: Sequence[Message], bodies_: Sequence[Message], source: str) -> Iterator[Vector]:
    """Whole bodies of other carriers: nothing but their id is wrong.  `wholes` carry `bodies_`, one each."""
    book = Book(stem, source)
    for whole, body in zip(wholes, bodies_, strict=True):
        yield book.bad(f"body-whole-{body.name.replace('_', '-')}", f"A whole {body.kind} does not belong here", whole, WRONG_BODY,
                       whole.path(f"{body.name}.header"))


def bodies(stem: str, whole: Message, header: str, allowed: Sequence[int], source: str, *, at: str = "") -> Iterator[Vector]:
    """Every id of five bits where a body begins: those that this carrier does not hold are refused; `at`: the place's own name."""
    book = Book(stem, source)
    for ident in range(32):
        if ident not in allowed:
            wrong = renamed(whole.put(header, bytes((ident,)), f"id {ident:#04x}"), header, at or header)
            yield book.bad(f"body-id-{ident:02x}", f"A body with id {ident:#04x} does not belong here", wrong, WRONG_BODY,
                           whole.path(at or header))


def renamed(whole: Message, tail: str, to: str) -> Message:
    """The same bytes, one segment under another path: what stands there is not what the path said."""
    segments = (each._replace(path=whole.path(to)) if each.path == whole.path(tail) else each for each in whole.segments)
    return replace(whole, segments=tuple(segments))


__all__ = ["bodies", "keys", "network_extensions", "printed", "z64_values"]
