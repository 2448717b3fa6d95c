"""PUSH with PUT and DEL, from the push page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from zenoh_vectors.build.carriers import bodies, keys, network_extensions
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, integers, long_unknowns, lying, truncations
from zenoh_vectors.build.octets import nibble, number, overlong, vle
from zenoh_vectors.build.parts import (
    Ext,
    Fields,
    Key,
    Message,
    Segment,
    chain,
    encoding,
    encoding_means,
    message,
    opaque,
    run,
    timestamp,
    timestamp_means,
    unit,
)
from zenoh_vectors.build.samples import (
    OTHER,
    SIZES,
    TIME,
    ZID_SIZES,
    filler,
    node_id,
    qos,
    source_info,
    stamp,
    ts_stack,
    zid_of,
)
from zenoh_vectors.build.vector import ILLEGAL_VALUE, OUT_OF_RANGE, TRAILING, WITH_CHAIN, Book, Vector

Stamp = tuple[int, bytes]
Enc = tuple[int, bytes | None]
STAMP: Stamp = (TIME, OTHER)
SHM = unit("Shm", "shm", 0x12)
PUT_ATTACHMENT = opaque("Attachment", "attachment", 0x43, b"\xa7\xa8")
DEL_ATTACHMENT = opaque("Attachment", "attachment", 0x42, b"\xa7\xa8")


def _stamped(stamped: Stamp | None) -> tuple[tuple[Segment, ...], Fields]:
    return (timestamp(*stamped), {"timestamp": timestamp_means(*stamped)}) if stamped else ((), {})


def _encoded(encoded: Enc | None) -> tuple[tuple[Segment, ...], Fields]:
    return (encoding(*encoded), {"encoding": encoding_means(*encoded)}) if encoded else ((), {})


def put(exts: Sequence[Ext] = (), *, stamped: Stamp | None = None, encoded: Enc | None = None, payload: bytes = b"v",
        sliced: bool = False) -> Message:
    """PUT: timestamp, encoding, extensions, payload, in this order; `sliced`: the payload is a count and slices."""
    (time, timed), (enc, named) = _stamped(stamped), _encoded(encoded)
    last = (Segment("payload.slices", payload, "count, then kind, length, bytes a slice"),) if sliced else run("payload", payload)
    fields = {**timed, **named, "payload": payload.hex()}
    header = 0x01 | (0x20 if stamped else 0) | (0x40 if encoded else 0)
    note = "PUT" + (", T" if stamped else "") + (", E" if encoded else "")
    return message("Put", "put", "network", header, note, [*time, *enc, *chain(exts), *last], fields, exts)


def delete(exts: Sequence[Ext] = (), *, stamped: Stamp | None = None) -> Message:
    """DEL: timestamp and extensions, no payload."""
    time, timed = _stamped(stamped)
    header = 0x02 | (0x20 if stamped else 0)
    return message("Del", "del", "network", header, "DEL" + (", T" if stamped else ""), [*time, *chain(exts)], timed, exts)


def push(body: Message | None = None, exts: Sequence[Ext] = (), *, key: Key | None = None) -> Message:
    """PUSH: key, extensions, PUT or DEL."""
    inner, key = body or put(), key or Key()
    note = "PUSH" + (", N" if key.suffix is not None else "") + (", M" if key.mapping else "")
    fields = {"key": key.means, "body": inner.means}
    return message("Push", "push", "network", 0x1D | key.flags, note, [*key.segments, *chain(exts), *inner.segments], fields, exts)


PUSH_EXTS = (qos(0x0D), stamp(), node_id(7), ts_stack())


def push_vectors() -> Iterator[Vector]:
    book = Book("push", "push, PUSH")
    yield from keys("push", lambda key: push(key=key), "push, PUSH")
    for name, body in (("put", put()), ("del", delete())):
        yield book.ok(f"carries-{name}", f"PUSH carries {name.upper()}", push(body))
        yield book.ok(f"carries-{name}-with-extension", WITH_CHAIN, push(body, [qos(0x0D)]))
        yield from truncations(f"push/{name}", push(body, [node_id(300)], key=Key(300, "ab", True)), source=book.source)
    yield from extensions("push", lambda exts: push(exts=exts), PUSH_EXTS, source="PUSH extension table")
    yield from network_extensions("push", lambda exts: push(exts=exts), PUSH_EXTS)
    yield from bodies("push", push(), "put.header", (1, 2), book.source)


Carry = Callable[[Message], Message]
"""Puts a data message into its carrier, and looks at it from inside."""


def in_push(body: Message) -> Message:
    """In PUSH."""
    return push(body).inside(body.name, "body", body.kind)


def put_vectors(stem: str = "put", carry: Carry = in_push, source: str = "push, PUT") -> Iterator[Vector]:
    """PUT in a carrier."""
    book = Book(stem, source)
    for stamped, encoded, exts in product((None, STAMP), (None, (4, b"utf-8")), ((), (PUT_ATTACHMENT,))):
        flags = "".join(letter for letter, there in (("t", stamped), ("e", encoded), ("z", exts)) if there) or "none"
        yield book.ok(f"flags-{flags}", f"PUT, flags {flags}", carry(put(exts, stamped=stamped, encoded=encoded)))
    for size in (*SIZES, 16383, 16384, *((65536,) if stem == "put" else ())):
        yield book.ok(f"payload-{size}-bytes", f"A payload of {size} bytes", carry(put(payload=filler(size))))
    table = (source_info(), PUT_ATTACHMENT)
    if stem == "put":
        yield from long_unknowns(stem, lambda exts: carry(put(exts)), source="extension rules")
    yield from extensions(stem, lambda exts: carry(put(exts)), table, source="PUT extension table")
    full = carry(put(table, stamped=STAMP, encoded=(4, b"utf-8"), payload=b"payload"))
    yield from truncations(f"{stem}/full", full, source=source)
    yield from payload_lengths(book, carry(put(payload=b"vw")))
    yield from source_infos(book, lambda ext: carry(put([ext])))
    yield from opaque_sizes(book, "Attachment", 0x43, lambda ext: carry(put([ext])))
    yield from _shm(book, carry)


def payload_lengths(book: Book, base: Message) -> Iterator[Vector]:
    """The length before the payload, which ends the message: too long, too short, overlong. `base` has two bytes."""
    for claimed in (3, 128, 65536, 2**32 - 1):
        yield lying(f"{book.stem}/payload-length-lies-{claimed}", "The payload's length promises more bytes than there are", base,
                    "payload.length", claimed, source=book.source)
    yield book.bad("payload-length-over-u32", "The payload's length needs more than 32 bits",
                   base.put("payload.length", vle(2**32), "2^32"), OUT_OF_RANGE, base.path("payload.length"), errata=[Reading("ZD-03")])
    short = base.put("payload.length", b"\x01", "1, but 2 follow")
    yield book.bad_at("payload-length-too-short", "The payload's length leaves one byte over", short, TRAILING,
                      len(short.data) - 1, base.name)
    for size in (2, 9):
        long = base.put("payload.length", overlong(2, size), f"2 in {size} bytes")
        yield book.ok(f"payload-length-overlong-{size}", f"The payload's length in {size} bytes", long,
                      ("overlong-vle", base.path("payload.length")), errata=[Reading("ZD-02")])


def source_infos(book: Book, make: Callable[[Ext], Message]) -> Iterator[Vector]:
    """SourceInfo: every size of ZenohID, integers at their edges, and lengths that lie."""
    for size in ZID_SIZES:
        yield book.ok(f"source-info-zid-{size}-bytes", f"SourceInfo of a node with {size} bytes", make(source_info(zid_of(size))))
    whole = make(source_info(eid=5, sn=5))
    for tail in ("eid", "sn"):
        text = {"zid": "0a0b", "eid": 5, "sn": 5}
        yield from integers(f"{book.stem}/source-info", whole, f"exts.source_info.{tail}", 32,
                            _in_ext("SourceInfo", text, tail), source="SourceInfo diagram")
    odd = make(source_info()).put("exts.source_info.packed", nibble(OTHER, 0x0F), "low bits set")
    yield book.ok("source-info-reserved-bits", "Bits 3:0 of SourceInfo's first byte are reserved", odd,
                  ("reserved-bit", odd.path("exts.source_info.packed")))
    zero = make(source_info(zid=b"\x00\x00"))
    yield book.bad("source-info-zid-zero", "A ZenohID of zero names nobody", zero, ILLEGAL_VALUE,
                   zero.path("exts.source_info.zid"), errata=[Reading("ZD-17")])


def _in_ext(name: str, fields: Fields, field: str) -> Callable[[int], Fields]:
    return lambda value: {"exts": [{name: {**fields, field: number(value)}}]}


def opaque_sizes(book: Book, name: str, header: int, make: Callable[[Ext], Message]) -> Iterator[Vector]:
    """An extension of bytes that the protocol does not look into: sizes, and a length that lies."""
    for size in SIZES:
        ext = opaque(name, name.lower(), header, filler(size))
        yield book.ok(f"{name.lower()}-{size}-bytes", f"{name} of {size} bytes", make(ext))
    base = make(opaque(name, name.lower(), header, b"ab"))
    yield book.ok(f"{name.lower()}-length-overlong-2", f"{name}'s length in two bytes",
                  base.put(f"exts.{name.lower()}.length", b"\x82\x00", "2 in 2 bytes"),
                  ("overlong-vle", base.path(f"exts.{name.lower()}.length")), errata=[Reading("ZD-02")])
    yield lying(f"{book.stem}/{name.lower()}-length-lies", f"{name}'s length promises more bytes than there are", base,
                f"exts.{name.lower()}.length", 2**31, source=book.source)


def _shm(book: Book, carry: Carry) -> Iterator[Vector]:
    """Under the marker the payload is a count of slices: kind, length, bytes."""
    layouts = {"no": b"\x00", "one-raw": b"\x01\x00\x02hi", "two-raw": b"\x02\x00\x01h\x00\x01i"}
    for name, payload in layouts.items():
        yield book.ok(f"shm-{name}-slice", "Under the Shm marker the payload is in slices",
                      carry(put([SHM], payload=payload, sliced=True)), errata=[Reading("ZD-44")])
    after = carry(put([source_info(), SHM, PUT_ATTACHMENT], payload=b"\x01\x00\x02hi", sliced=True))
    yield book.ok("ext-all-with-shm", "All extensions of PUT", after, errata=[Reading("ZD-44")])


def del_vectors(stem: str = "del", carry: Carry = in_push, source: str = "push, DEL") -> Iterator[Vector]:
    """DEL in a carrier."""
    book = Book(stem, source)
    for stamped, exts in product((None, STAMP), ((), (DEL_ATTACHMENT,))):
        flags = "".join(letter for letter, there in (("t", stamped), ("z", exts)) if there) or "none"
        yield book.ok(f"flags-{flags}", f"DEL, flags {flags}", carry(delete(exts, stamped=stamped)))
    odd = carry(delete()).flip(0x40, "DEL, bit 6 set")
    yield book.ok("reserved-bit-6", "Bit 6 is reserved in DEL: there is no encoding", odd, ("reserved-bit", odd.path("header")))
    table = (source_info(), DEL_ATTACHMENT)
    yield from extensions(stem, lambda exts: carry(delete(exts)), table, source="DEL extension table")
    yield from truncations(f"{stem}/full", carry(delete(table, stamped=STAMP)), source=source)
    yield from opaque_sizes(book, "Attachment", 0x42, lambda ext: carry(delete([ext])))
    yield from source_infos(book, lambda ext: carry(delete([ext])))
    more = carry(delete()).then(Segment("rest", b"\x01v", "a payload where none belongs"))
    yield book.bad("with-payload", "DEL has no payload", more, TRAILING, "rest")
