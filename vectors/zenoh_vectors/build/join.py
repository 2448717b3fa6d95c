"""JOIN, from the message reference and the page on multicast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, integers, plain, truncations
from zenoh_vectors.build.octets import le16, nibble, number, printed
from zenoh_vectors.build.parts import Ext, Message, Segment, chain, integer, message, opaque, z64, zbuf, zid_segments
from zenoh_vectors.build.samples import ROLES, ZID, ZID_SIZES, zid_of
from zenoh_vectors.build.vector import ILLEGAL_VALUE, TRAILING, TRUNCATED, WITH_CHAIN, Book, Vector

PATCH = z64("Patch", "patch", 0x27, 1)
PAIRS = tuple((priority * 1000, priority * 1000 + 500) for priority in range(8))


def lanes(pairs: Sequence[tuple[int, int]] = PAIRS) -> Ext:
    """QoS of JOIN: for each priority the next reliable and the next best-effort sequence number."""
    body: list[Segment] = []
    for priority, (reliable, best_effort) in enumerate(pairs):
        body += [integer(f"sns[{priority}].reliable", reliable), integer(f"sns[{priority}].best_effort", best_effort)]
    return zbuf("QoS", "qos", 0x51, tuple(body), {"sns": [[number(sn) for sn in pair] for pair in pairs]})


def join(exts: Sequence[Ext] = (), *, size: tuple[int, int] | None = None, seconds: bool = True, lease: int = 10,
         reliable: int = 7, best_effort: int = 8, role: int = 1, zid: bytes = ZID, version: int = 9) -> Message:
    """JOIN: what INIT and OPEN settle, in one message; T is bit 5 here."""
    body = [Segment("version", bytes((version,)), str(version)), *zid_segments(zid, role, ROLES.get(role, "illegal"))]
    fields: dict[str, object] = {"version": version, "whatami": role, "zid": printed(zid)}
    if size:
        body += [Segment("resolution", bytes((size[0],))), Segment("batch_size", le16(size[1]), str(size[1]))]
        fields |= {"resolution": size[0], "batch_size": size[1]}
    body += [integer("lease", lease, f"{lease} {'s' if seconds else 'ms'}"), integer("next_sn_reliable", reliable),
             integer("next_sn_best_effort", best_effort), *chain(exts)]  # fmt: skip
    fields |= {"lease_in_seconds": seconds, "lease": number(lease), "next_sn_reliable": reliable, "next_sn_best_effort": best_effort}
    header = 0x07 | (0x20 if seconds else 0) | (0x40 if size else 0)
    note = "JOIN" + (", T" if seconds else "") + (", S" if size else "")
    return message("Join", "join", "transport", header, note, body, fields, exts)


def join_vectors() -> Iterator[Vector]:
    book = Book("join", "message-reference, JOIN")
    for seconds, size in product((False, True), (None, (0x0A, 8192))):
        name = ("seconds" if seconds else "milliseconds") + ("-with-size" if size else "")
        yield book.ok(name, f"JOIN, lease in {name}", join(seconds=seconds, size=size, lease=10 if seconds else 2500))
        yield book.ok(f"{name}-with-extension", WITH_CHAIN, join([PATCH], seconds=seconds, size=size, lease=10))
    for version in (0, 8, 10, 255):
        yield book.ok(f"version-{version}", f"Version byte {version}", join(version=version))
    for count in ZID_SIZES:
        yield book.ok(f"zid-{count}-bytes", f"A ZenohID of {count} bytes", join(zid=zid_of(count)))
    for role, name in ROLES.items():
        yield book.ok(f"whatami-{name}", f"WhatAmI {role} is {name}", join(role=role))
    yield book.bad("whatami-unassigned", "WhatAmI 3 must not be used", join(role=3), ILLEGAL_VALUE, "join.packed")
    yield book.bad("zid-zero", "A ZenohID of zero names nobody", join(zid=bytes(4)), ILLEGAL_VALUE, "join.zid", errata=[Reading("ZD-17")])
    for bits in (0x04, 0x08):
        odd = join().put("packed", nibble(ZID, 1 | bits), f"reserved bits {bits:#04x}")
        yield book.ok(f"packed-reserved-bit-{bits.bit_length() - 1}", "Bits 3:2 of the packed byte are reserved", odd,
                      ("reserved-bit", "join.packed"))
    yield from _values(book)
    yield from extensions("join", lambda exts: join(exts), (lanes(), opaque("Shm", "shm", 0x52, b"\x51"), PATCH), source="JOIN extension table")
    yield from _lanes(book)
    yield from truncations("join/full", join([PATCH], size=(0x0A, 8192), lease=300, reliable=70_000, best_effort=300), source=book.source)
    yield book.bad("trailing-byte", "A byte after the message", join().then(Segment("rest", b"\x00")), TRAILING, "rest")


def _values(book: Book) -> Iterator[Vector]:
    for fsn, rid in product(range(4), repeat=2):
        yield book.ok(f"resolution-fsn-{fsn}-rid-{rid}", f"Resolution codes {fsn} and {rid}", join(size=(rid << 2 | fsn, 8192)))
    for batch in (0, 255, 256, 0x1234, 65535):
        yield book.ok(f"batch-size-{batch}", f"Batch size {batch}, low byte first", join(size=(0x0A, batch)))
    odd = join(size=(0x1A, 8192))
    yield book.ok("resolution-reserved-bit-4", "Bits 7:4 of the resolution byte must be zero", odd, ("reserved-bit", "join.resolution"),
                  errata=[Reading("ZD-25")])
    yield from integers("join", join(), "lease", 64, plain("lease"), source=book.source)
    yield from integers("join", join(), "next_sn_reliable", 32, plain("next_sn_reliable"), source=book.source)
    yield from integers("join", join(), "next_sn_best_effort", 32, plain("next_sn_best_effort"), source=book.source)


def _lanes(book: Book) -> Iterator[Vector]:
    for value in (0, 127, 128, 2**28 - 1, 2**32 - 1):
        yield book.ok(f"qos-all-{value}", f"Sixteen times {value}", join([lanes([(value, value)] * 8)]))
    for count in (0, 7):
        few = join([lanes(PAIRS[:count])])
        missing = few.path(f"exts.qos.sns[{count}].reliable")
        yield book.bad_at(f"qos-{count}-pairs", f"{count} pairs of sequence numbers in the place of eight", few, TRUNCATED, len(few.data),
                          missing)
    lies = join([lanes()]).put("exts.qos.length", b"\x7f", "127")
    yield book.bad("qos-length-lies", "The extension's length promises more bytes than there are", lies, TRUNCATED, "join.exts.qos.length",
                   errata=[Reading("extension-length-ignored")])
