"""SCOUT and HELLO, from the pages on scouting; an id space of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import head_of, lying, truncations, unknown_samples
from zenoh_vectors.build.octets import nibble, overlong, printed, vle
from zenoh_vectors.build.parts import (
    ILLEGAL,
    Ext,
    Fields,
    Message,
    Segment,
    chain,
    message,
    text,
    unknown,
    zid_segments,
)
from zenoh_vectors.build.samples import ROLES, ZID, ZID_SIZES, zid_of
from zenoh_vectors.build.vector import (
    BAD_ENC,
    BAD_UTF8,
    ILLEGAL_VALUE,
    MANDATORY_UNKNOWN,
    TRAILING,
    TRUNCATED,
    UNKNOWN_ID,
    Book,
    Vector,
)


def scout(exts: Sequence[Ext] = (), *, what: int = 3, zid: bytes | None = None, version: int = 9) -> Message:
    """SCOUT: version, packed byte whose bit 3 says that a ZenohID follows."""
    roles = "+".join(name for bit, name in ROLES.items() if what >> bit & 1) or "nobody"
    fields: Fields = {"version": version, "what": what}
    body = [Segment("version", bytes((version,)), str(version))]
    if zid is None:
        body.append(Segment("packed", bytes((what,)), f"no I, {roles}"))
    else:
        body += zid_segments(zid, 0x08 | what, f"I, {roles}")
        fields["zid"] = printed(zid)
    return message("Scout", "scout", "scouting", 0x01, "SCOUT", [*body, *chain(exts)], fields, exts)


def hello(exts: Sequence[Ext] = (), *, role: int = 0, zid: bytes = ZID, locators: Sequence[str] | None = None, version: int = 9) -> Message:
    """HELLO: version, packed byte, ZenohID, and with L the locators."""
    body = [Segment("version", bytes((version,)), str(version)), *zid_segments(zid, role, ROLES.get(role, "illegal"))]
    fields: Fields = {"version": version, "whatami": role, "zid": printed(zid)}
    if locators is not None:
        body.append(Segment("locators.count", vle(len(locators)), str(len(locators))))
        for position, locator in enumerate(locators):
            body += text(f"locators[{position}]", locator)
        fields["locators"] = list(locators)
    header, note = (0x02, "HELLO") if locators is None else (0x22, "HELLO, L")
    return message("Hello", "hello", "scouting", header, note, [*body, *chain(exts)], fields, exts)


def scout_vectors() -> Iterator[Vector]:
    book = Book("scout", "scouting, SCOUT")
    for what in range(8):
        for zid in (None, ZID):
            name = f"what-{what}" + ("-with-zid" if zid else "")
            errata = [Reading("ZD-40")] if zid else []
            yield book.ok(name, f"SCOUT for roles {what:03b}", scout(what=what, zid=zid), errata=errata)
    for size in ZID_SIZES:
        yield book.ok(f"zid-{size}-bytes", f"A ZenohID of {size} bytes", scout(zid=zid_of(size)), errata=[Reading("ZD-41")])
    for version in (0, 8, 10, 255):
        yield book.ok(f"version-{version}", f"Version byte {version}", scout(version=version))
    yield book.bad("zid-zero", "A ZenohID of zero names nobody", scout(zid=bytes(4)), ILLEGAL_VALUE, "scout.zid", errata=[Reading("ZD-17")])
    for bit in (0x20, 0x40):
        yield book.ok(f"reserved-bit-{bit.bit_length() - 1}", "A bit of the header that has no name",
                      scout().flip(bit, f"SCOUT, {bit:#04x} set"), ("reserved-bit", "scout.header"))
    yield from _chains(book, scout)
    yield from truncations("scout/full", scout(zid=ZID), source=book.source)
    yield book.bad("trailing-byte", "A byte after the message", scout().then(Segment("rest", b"\x00")), TRAILING, "rest")


def _chains(book: Book, make: Callable[[Sequence[Ext]], Message]) -> Iterator[Vector]:
    """No extension is defined; the baseline passes over all of them, mandatory ones too."""
    for mandatory, ext in product((False, True), range(3)):
        sample = unknown_samples(mandatory)[ext]
        whole = make([sample])
        word = "mandatory" if mandatory else "optional"
        head = head_of(whole, sample)
        refusal = {"why": MANDATORY_UNKNOWN, "at": whole.at(f"exts.{sample.slug}.header"), "path": head}
        errata = [Reading("ZD-12", refuses=refusal)] if mandatory else []
        yield book.ok(f"ext-unknown-{word}-{sample.means['enc']}", f"An unknown {word} extension", whole, ("unknown-extension", head),
                      errata=errata)
    bad = unknown(0x0D, ILLEGAL)
    yield book.bad("ext-enc-11", "ENC 11 is illegal", make([bad]), BAD_ENC, head_of(make([bad]), bad))


def hello_vectors() -> Iterator[Vector]:
    book = Book("hello", "scouting, HELLO")
    for role, locators in product(ROLES, (None, ("tcp/10.0.0.1:7447",))):
        name = ROLES[role] + ("-with-locators" if locators else "")
        yield book.ok(name, f"HELLO of a {ROLES[role]}", hello(role=role, locators=locators))
    yield book.bad("whatami-unassigned", "WhatAmI 3 must not be used", hello(role=3), ILLEGAL_VALUE, "hello.packed")
    for size in ZID_SIZES:
        yield book.ok(f"zid-{size}-bytes", f"A ZenohID of {size} bytes", hello(zid=zid_of(size)))
    yield book.bad("zid-zero", "A ZenohID of zero names nobody", hello(zid=bytes(4)), ILLEGAL_VALUE, "hello.zid", errata=[Reading("ZD-17")])
    for version in (0, 8, 10, 255):
        yield book.ok(f"version-{version}", f"Version byte {version}", hello(version=version))
    for bits in (0x04, 0x08):
        odd = hello().put("packed", nibble(ZID, bits), f"reserved bits {bits:#04x}")
        yield book.ok(f"packed-reserved-bit-{bits.bit_length() - 1}", "Bits 3:2 of the packed byte are reserved", odd,
                      ("reserved-bit", "hello.packed"))
    yield book.ok("reserved-bit-6", "A bit of the header that has no name", hello().flip(0x40, "HELLO, bit 6 set"),
                  ("reserved-bit", "hello.header"))
    yield from _locators(book)
    yield from _chains(book, hello)
    yield from truncations("hello/full", hello(locators=("tcp/[::1]:7447", "udp/h:1")), source=book.source)
    yield book.bad("trailing-byte", "A byte after the message", hello().then(Segment("rest", b"\x00")), TRAILING, "rest")


def _locators(book: Book) -> Iterator[Vector]:
    for count in (0, 1, 2, 3, 127, 128, 255, 256):
        errata = [Reading("ZD-28")] if count > 255 else []
        yield book.ok(f"{count}-locators", f"{count} locators", hello(locators=[f"tcp/h:{port}" for port in range(count)]), errata=errata)
    for size in (5, 127, 128, 255):
        yield book.ok(f"locator-{size}-bytes", f"A locator of {size} bytes", hello(locators=["tcp/" + "x" * (size - 4)]))
    base = hello(locators=["tcp/h:1"])
    for claimed in (8, 200):
        yield lying(f"hello/locator-length-lies-{claimed}", "A locator's length promises more bytes than there are", base,
                    "locators[0].length", claimed, source=book.source)
    yield book.bad("locator-length-over-u8", "A locator's length needs more than 8 bits",
                   base.put("locators[0].length", vle(256), "256"), "out-of-range", "hello.locators[0].length", errata=[Reading("ZD-03")])
    for claimed in (2, 2**32, 2**63):
        many = base.put("locators.count", vle(claimed), f"{claimed}, but one follows")
        yield book.bad_at(f"locator-count-lies-{claimed}", "The count promises more locators than there are", many, TRUNCATED, len(many.data),
                          "hello.locators[1].length", errata=[Reading("ZD-28")] if claimed > 255 else [])
    yield book.ok("locator-count-overlong-2", "The count in two bytes", base.put("locators.count", overlong(1, 2), "1 in 2 bytes"),
                  ("overlong-vle", "hello.locators.count"), errata=[Reading("ZD-02")])
    bad = base.put("locators[0].bytes", b"tcp\xffh:1", "no UTF-8")
    yield book.bad_at("locator-bad-utf8", "A locator is not UTF-8", bad, BAD_UTF8, bad.at("locators[0].bytes") + 3, "hello.locators[0].bytes")


def ids_vectors() -> Iterator[Vector]:
    """Ids that no scouting message has."""
    book = Book("scouting-ids", "scouting, message ids")
    for ident in (0, *range(3, 32)):
        odd = Message("", "scouting", (Segment("scouting.header", bytes((ident,)), f"id {ident:#04x}"),
                                       Segment("scouting.rest", bytes(8))), {}, "scouting")  # fmt: skip
        yield book.bad(f"unassigned-id-{ident:02x}", f"{ident:#04x} is no scouting message", odd, UNKNOWN_ID, "scouting.header")
