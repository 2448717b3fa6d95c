"""VLE integers, timestamps, encodings and key expressions: what the messages are made of."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import EDGES, integers, lying, named, overlongs
from zenoh_vectors.build.octets import number, overlong, printed, vle
from zenoh_vectors.build.parts import Fields, Key, Message, Segment, timestamp_means
from zenoh_vectors.build.push import STAMP, delete, in_push, push, put
from zenoh_vectors.build.samples import OTHER, TIME, ZID_SIZES, zid_of
from zenoh_vectors.build.vector import BAD_KEY, BAD_UTF8, ILLEGAL_VALUE, OUT_OF_RANGE, TRAILING, TRUNCATED, Book, Vector

# --- VLE -------------------------------------------------------------------------------------------------------------


def integer_alone(value: int, data: bytes | None = None) -> Message:
    """A VLE and nothing else."""
    wire = vle(value) if data is None else data
    return Message("Vle", "vle", (Segment("vle", wire, str(value)),), {"value": number(value)}, "vle")


def vle_vectors() -> Iterator[Vector]:
    book = Book("vle", "primitives, VLE")
    for value in sorted({*EDGES, 2, 126, 129, 300, 16385, 2**64 - 2, 0x0102030405060708, 0xFEDCBA9876543210, 2**57, 2**62}):
        errata = [Reading("ZD-01")] if value >= 2**56 else []
        yield book.ok(f"value-{named(value)}", f"{value} in {len(vle(value))} bytes", integer_alone(value), errata=errata)
    for value in (0, 1, 5, 127, 300):
        for size in range(len(vle(value)) + 1, 10):
            yield book.ok(f"value-{value}-in-{size}-bytes", f"{value} in {size} bytes, more than it needs",
                          integer_alone(value, overlong(value, size)), ("overlong-vle", "vle"), errata=[Reading("ZD-02")])
    for size in range(1, 9):
        cut = integer_alone(0, b"\xff" * size)
        yield book.bad_at(f"cut-after-{size}-bytes", "Another byte is announced and does not come", cut, TRUNCATED, size, "vle")
    yield book.bad_at("empty", "No byte at all", integer_alone(0, b""), TRUNCATED, 0, "vle")
    nine = integer_alone(2**64 - 1, b"\xff" * 9 + b"\x01")
    yield book.bad_at("tenth-byte", "There is no tenth byte: the ninth is whole", nine, TRAILING, 9, "vle",
                      errata=[Reading("ZD-01", means={"Vle": {"value": str(2**64 - 1)}})])
    plain = integer_alone(2**63, b"\x80" * 9)
    yield book.ok("ninth-byte-raw", "Bit 7 of the ninth byte is data", plain, errata=[Reading("ZD-01")])


# --- Timestamp, bare in PUT and DEL ----------------------------------------------------------------------------------


def timestamp_vectors() -> Iterator[Vector]:
    book = Book("timestamp", "primitives, Timestamp")
    for carrier in (put, delete):
        base = in_push(carrier(stamped=(5, OTHER)))
        told = timestamp_means(5, OTHER)
        yield from integers(f"timestamp/{base.name.rpartition('.')[2]}", base, "timestamp.time", 64,
                            lambda time, told=told: {"timestamp": {**told, "time": number(time)}}, source=book.source)  # type: ignore[misc]
        for size in range(1, 17):
            yield book.ok(f"{base.name.rpartition('.')[2]}-zid-{size}-bytes", f"A clock whose ZenohID has {size} bytes",
                          in_push(carrier(stamped=(TIME, zid_of(size)))), errata=[Reading("ZD-16")])
        for size in (0, 17, 128):
            wrong = in_push(carrier(stamped=(TIME, b"\x01" * size or b"")))
            yield book.bad(f"{base.name.rpartition('.')[2]}-zid-{size}-bytes-illegal", f"A ZenohID of {size} bytes", wrong, ILLEGAL_VALUE,
                           wrong.path("timestamp.zid.length"))
        zero = in_push(carrier(stamped=(TIME, b"\x00\x00")))
        yield book.bad(f"{base.name.rpartition('.')[2]}-zid-zero", "A ZenohID of zero names nobody", zero, ILLEGAL_VALUE,
                       zero.path("timestamp.zid.bytes"), errata=[Reading("ZD-17")])
    yield from _timestamp_readings(book)


def _timestamp_readings(book: Book) -> Iterator[Vector]:
    meant = in_push(put(stamped=(0, OTHER)))
    outer = in_push(put(stamped=(4, b""))).put("timestamp.zid.length", b"\x00", "as written: time 0")
    outer = outer.then(Segment("rest", b"\x02\x0b\x0a\x01v", "as written: ZenohID, payload"))
    yield book.bad("with-outer-length", "A Timestamp stands bare; a length before it, as the text draws it, is taken for the time", outer,
                   ILLEGAL_VALUE, outer.path("timestamp.zid.length"), errata=[Reading("ZD-19", means=meant.means)])
    packed = in_push(delete(stamped=(5, OTHER)))
    odd = packed.put("timestamp.zid.length", b"\x10", "as written: a packed byte that says 2")
    yield book.bad("with-packed-byte", "The ZenohID of a Timestamp stands behind its plain length", odd, TRUNCATED,
                   odd.path("timestamp.zid.length"), errata=[Reading("ZD-16", means=packed.means)])
    zeros = in_push(delete(stamped=(TIME, b"\x0b\x00")))
    yield book.ok("zid-trailing-zero", "Leading zeros of the number: accepted, not what a writer sends", zeros,
                  ("non-canonical", zeros.path("timestamp.zid.bytes")),
                  errata=[Reading("ZD-17", open=True)], also=[zeros.meaning(timestamp=timestamp_means(TIME, b"\x0b"))])


# --- Encoding, in PUT ------------------------------------------------------------------------------------------------

ENCODINGS = ["zenoh/bytes", "zenoh/string", "zenoh/serialized", "application/octet-stream", "text/plain", "application/json", "text/json", "application/cdr", "application/cbor", "application/yaml", "text/yaml", "text/json5", "application/python-serialized-object", "application/protobuf", "application/java-serialized-object", "application/openmetrics-text", "image/png", "image/jpeg", "image/gif", "image/bmp", "image/webp", "application/xml", "application/x-www-form-urlencoded", "text/html", "text/xml", "text/css", "text/javascript", "text/markdown", "text/csv", "application/sql", "application/coap-payload", "application/json-patch+json", "application/json-seq", "application/jsonpath", "application/jwt", "application/mp4", "application/soap+xml", "application/yang", "audio/aac", "audio/flac", "audio/mp4", "audio/ogg", "audio/vorbis", "video/h261", "video/h263", "video/h264", "video/h265", "video/h266", "video/mp4", "video/ogg", "video/raw", "video/vp8", "video/vp9"]
"""The registry, by number."""


def encoding_vectors() -> Iterator[Vector]:
    book = Book("encoding", "primitives, Encoding; registry of zenoh-rust")
    for ident, name in enumerate(ENCODINGS):
        yield book.ok(f"id-{ident}", f"{ident} is {name}", in_push(put(encoded=(ident, None))), canonical=ident > 0, errata=[Reading("ZD-21")])
    for ident in (53, 63, 64, 127, 128, 1023, 1024, 8191, 8192, 32767, 32768, 65534, 65535):
        yield book.ok(f"id-{ident}", f"{ident} has no name", in_push(put(encoded=(ident, None))))
    for size in (0, 1, 5, 127, 128, 255):
        for ident in (0, 4, 65535):
            yield book.ok(f"id-{ident}-schema-{size}-bytes", f"Encoding {ident} with a schema of {size} bytes",
                          in_push(put(encoded=(ident, b"s" * size))), canonical=size > 0 or ident > 0)
    yield from _encoding_edges(book)


def _encoding_edges(book: Book) -> Iterator[Vector]:
    base = in_push(put(encoded=(4, None)))
    for ident in (65536, 65537, 2**31 - 1):
        wide = base.put("encoding.id", vle(ident << 1), f"id {ident}, S=0").meaning(encoding={"id": ident & 0xFFFF})
        whole = wide.meaning(encoding={"id": ident})
        yield book.ok(f"id-{ident}", f"{ident} needs more than 16 bits: the baseline keeps the low ones", wide,
                      ("truncated-value", wide.path("encoding.id")), errata=[Reading("ZD-21", means=whole.means, open=True)])
    yield book.bad("id-over-z32", "Number and S need more than 32 bits", base.put("encoding.id", vle(2**32), "2^32"), OUT_OF_RANGE,
                   base.path("encoding.id"), errata=[Reading("ZD-03")])
    yield from overlongs("encoding/id", base, "encoding.id", lambda value: {"encoding": {"id": value >> 1}}, source=book.source, value=8)
    named_ = in_push(put(encoded=(4, b"utf-8"), payload=b""))
    yield lying("encoding/schema-length-lies", "The schema's length promises more bytes than there are", named_, "encoding.schema.length",
                200, source=book.source)
    yield book.bad("schema-length-over-u8", "The schema's length needs more than 8 bits",
                   named_.put("encoding.schema.length", vle(256), "256"), OUT_OF_RANGE, named_.path("encoding.schema.length"),
                   errata=[Reading("ZD-03")])
    absent = in_push(put())
    yield book.ok("absent", "No encoding is zenoh/bytes", absent, errata=[Reading("ZD-22")])


# --- key expressions -------------------------------------------------------------------------------------------------

KEYS = {"one-chunk": "a", "two-chunks": "a/b", "many-chunks": "a/b/c/d/e", "star": "*", "double-star": "**", "star-last": "a/*",
        "double-star-last": "a/**", "star-before-double": "*/**", "double-star-inside": "a/**/b", "star-inside": "a/*/b",
        "dollar-star": "a$*", "dollar-star-inside": "a$*b", "dollar-star-first": "$*a", "several-dollar-stars": "a$*b$*c",
        "verbatim": "@a/b", "verbatim-double-star": "@a/**", "at-inside": "a@b", "accents": "é/日本", "space": "a b", "percent": "a%2Fb",
        "dash": "-", "dots": "a/./..", "colon": "a:b", "long": "x" * 300, "two-double-stars": "**/a/**", "plus": "a+b",
        "braces": "a{b}", "brackets": "a[b]"}  # fmt: skip
LOOSE = {"double-double-star": ("**/**", "**"), "star-after-double": ("**/*", "*/**"), "lone-dollar-star": ("$*", "*"),
         "lone-dollar-star-inside": ("a/$*/b", "a/*/b"), "three": ("**/*/**", "*/**")}  # fmt: skip
"""What is no canonical key expression, and can be made one."""
WRONG = {"empty": ("", 0), "slash": ("/", 0), "leading-slash": ("/a", 0), "trailing-slash": ("a/", 2), "empty-chunk": ("a//b", 2),
         "hash": ("a#b", 1), "question-mark": ("a?b", 1), "dollar": ("a$b", 1), "dollar-alone": ("$", 0), "dollar-last": ("a$", 1),
         "star-in-chunk": ("a*", 1), "star-first-in-chunk": ("*a", 0), "double-star-in-chunk": ("a**", 1), "triple-star": ("***", 0),
         "double-dollar": ("a$$*", 1)}  # fmt: skip


def key(text: str, canonical: str) -> Message:
    """A key expression as its UTF-8."""
    fields: Fields = {"text": text, "valid": text == canonical, "canonical": canonical}
    return Message("KeyExpr", "keyexpr", (Segment("keyexpr", text.encode(), text if len(text) < 40 else "long"),), fields, "keyexpr")


def keyexpr_vectors() -> Iterator[Vector]:
    book = Book("keyexpr", "key expressions, as zenoh-rust enforces them")
    for name, text in KEYS.items():
        yield book.ok(name, f"{name}: a key expression", key(text, text), errata=[Reading("ZD-26")])
    for name, (text, canonical) in LOOSE.items():
        yield book.ok(name, f"{name}: not in canonical form, which is {canonical}", key(text, canonical), canonical=False,
                      errata=[Reading("ZD-26")])
    for name, (text, at) in WRONG.items():
        yield book.bad_at(name, f"{name}: no key expression", key(text, text), BAD_KEY, at, "keyexpr", errata=[Reading("ZD-26")])
    bad = Message("KeyExpr", "keyexpr", (Segment("keyexpr", b"a/\xff", "no UTF-8"),), {}, "keyexpr")
    yield book.bad_at("bad-utf8", "A key expression is UTF-8", bad, BAD_UTF8, 2, "keyexpr")


def zid_vectors() -> Iterator[Vector]:
    """Bytes to print and back: most significant byte first."""
    from zenoh_vectors.build.init import init

    book = Book("zid", "primitives, ZenohID")
    samples = {"one": b"\x01", "coffee": bytes.fromhex("eeffc0"), "high-bit": b"\x00\x80", "ascending": zid_of(16), "all-ones": b"\xff" * 16,
               "ends-in-one": bytes(15) + b"\x01", "starts-in-one": b"\x01" + b"\x10"}  # fmt: skip
    for name, zid in samples.items():
        yield book.ok(name, f"On the wire {zid.hex()}, printed {printed(zid)}", init(zid=zid))


__all__ = ["STAMP", "ZID_SIZES", "Key", "push"]
