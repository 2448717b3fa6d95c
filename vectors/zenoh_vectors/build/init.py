"""INIT, from the diagram and tables of the session establishment page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, lying, named, truncations
from zenoh_vectors.build.octets import le16, nibble, printed, vle
from zenoh_vectors.build.parts import (
    Ext,
    Message,
    Segment,
    chain,
    message,
    opaque,
    run,
    unit,
    z64,
    zbuf,
    zid_segments,
)
from zenoh_vectors.build.samples import ROLES, ZID
from zenoh_vectors.build.vector import (
    BAD_UTF8,
    ILLEGAL_VALUE,
    OUT_OF_RANGE,
    TRAILING,
    TRUNCATED,
    WITH_CHAIN,
    Vector,
    accept,
    refuse,
    refuse_at,
)

COOKIE = bytes.fromhex("a1a2a3")
RESOLUTIONS = {0: "8 bit", 1: "16 bit", 2: "32 bit", 3: "64 bit"}


def init(
    exts: Sequence[Ext] = (),
    *,
    ack: bool = False,
    size: tuple[int, int] | None = None,
    version: int = 9,
    role: int = 2,
    zid: bytes = ZID,
    cookie: bytes = COOKIE,
) -> Message:
    """INIT: `size` is resolution and batch size, which S announces; the cookie is there when A is set."""
    header = 0x01 | (0x20 if ack else 0) | (0x40 if size else 0)
    body = [Segment("version", bytes((version,)), str(version)), *zid_segments(zid, role, ROLES.get(role, "illegal"))]
    fields = {"ack": ack, "version": version, "whatami": role, "zid": printed(zid)}
    if size:
        fields |= {"resolution": size[0], "batch_size": size[1]}
        body += [
            Segment(
                "resolution", bytes((size[0],)), f"FSN {RESOLUTIONS[size[0] & 3]}, RID {RESOLUTIONS[size[0] >> 2 & 3]}"
            ),
            Segment("batch_size", le16(size[1]), f"{size[1]}, low byte first"),
        ]
    if ack:
        fields["cookie"] = cookie.hex()
        body += run("cookie", cookie)
    body += chain(exts)
    note = "INIT" + (", A" if ack else "") + (", S" if size else "")
    return message("Init", "init", "transport", header, note, body, fields, exts)


def region(name: bytes) -> Ext:
    """RegionName: UTF-8, 1 to 32 bytes."""
    return zbuf("RegionName", "region_name", 0x48, (Segment("name", name),), {"name": name.decode("utf-8", "replace")})


INIT_EXTS = (
    unit("QoS", "qos", 0x01),
    opaque("Shm", "shm", 0x42, b"\x51\x52"),
    opaque("Auth", "auth", 0x43, b"\x61\x62\x63"),
    opaque("MultiLink", "multi_link", 0x44, b"\x71"),
    unit("LowLatency", "low_latency", 0x05),
    unit("Compression", "compression", 0x06),
    z64("Patch", "patch", 0x27, 1),
    region(b"eu-1"),
)
QOS_LINK = z64("QoSLink", "qos_link", 0x21, 0x81823, "range 4 to 3, reliable")
INIT_SOURCE = "session-establishment, INIT"


def init_vectors() -> Iterator[Vector]:
    yield from _init_shapes()
    yield from _init_packed()
    yield from _init_zids()
    yield from _init_sizes()
    yield from _init_cookies()
    yield from _init_extensions()
    yield from _init_invalid()


def _init_shapes() -> Iterator[Vector]:
    for ack, size in product((False, True), (None, (0x0A, 2048))):
        name = ("ack" if ack else "syn") + ("-with-size" if size else "")
        yield accept(
            f"init/{name}",
            f"{'InitAck' if ack else 'InitSyn'}, {'S' if size else 'no S'}, no extension",
            init(ack=ack, size=size),
            source=INIT_SOURCE + " diagram",
        )
        yield accept(
            f"init/{name}-with-extension",
            WITH_CHAIN,
            init([INIT_EXTS[0]], ack=ack, size=size),
            source=INIT_SOURCE + " flag table",
        )
    for version in (0, 8, 9, 10, 127, 128, 255):
        yield accept(
            f"init/version-{version}",
            f"Version byte {version}: a fixed byte, judged by the session and not here",
            init(version=version),
            source=INIT_SOURCE + " diagram",
        )


def _init_packed() -> Iterator[Vector]:
    for role, name in ROLES.items():
        yield accept(f"init/whatami-{name}", f"WhatAmI {role} is {name}", init(role=role), source="packed byte table")
    yield refuse(
        "init/whatami-unassigned",
        "WhatAmI 3 must not be used",
        init(role=3),
        ILLEGAL_VALUE,
        "init.packed",
        source="packed byte table",
    )
    for size in (1, 2, 3, 4, 7, 8, 15, 16):
        zid = bytes(range(0xA0, 0xA0 + size))
        yield accept(
            f"init/zid-{size}-bytes",
            f"zid_len {size - 1}: a ZenohID of {size} bytes",
            init(zid=zid),
            source="packed byte table",
        )
        yield accept(
            f"init/zid-{size}-bytes-ack",
            f"In InitAck {size} bytes of ZenohID move all that follows: resolution, batch size, cookie",
            init(zid=zid, ack=True, size=(10, 2048)),
            source="packed byte table",
        )
    for bits in (0x04, 0x08, 0x0C):
        odd = init().put("packed", nibble(ZID, 2 | bits), f"reserved bits {bits:#04x}")
        yield accept(
            f"init/packed-reserved-{bits >> 2}",
            "Bits 3:2 of the packed byte are reserved: zero on write",
            odd,
            source="packed byte table",
            canonical=False,
            remarks=[("reserved-bit", "init.packed")],
        )


def _init_zids() -> Iterator[Vector]:
    for size in (1, 16):
        yield refuse(
            f"init/zid-zero-{size}-bytes",
            "A ZenohID of zero names nobody",
            init(zid=bytes(size)),
            ILLEGAL_VALUE,
            "init.zid",
            source="errata",
            errata=[Reading("ZD-17")],
        )
    yield accept(
        "init/zid-trailing-zeros",
        "Leading zeros of the number: accepted, not what a writer sends",
        init(zid=b"\x01\x00\x00"),
        source="errata",
        canonical=False,
        errata=[Reading("ZD-17", open=True)],
        also=[init(zid=b"\x01")],
        remarks=[("non-canonical", "init.zid")],
    )
    long = init(zid=bytes(range(1, 17)))
    for claimed in (5, 15):
        odd = init(zid=b"\x01\x02\x03\x04").put("packed", bytes((claimed << 4 | 2,)), f"claims {claimed + 1} bytes")
        yield refuse_at(
            f"init/zid-len-lies-{claimed + 1}",
            "zid_len claims more bytes than there are",
            "transport",
            odd.segments,
            TRUNCATED,
            len(odd.data),
            "init.zid",
            source="packed byte table",
        )
    yield refuse_at(
        "init/zid-len-too-short",
        "zid_len claims 15 of 16 bytes: one is left over",
        "transport",
        long.put("packed", b"\xe2", "claims 15 bytes").segments,
        TRAILING,
        len(long.data) - 1,
        "init",
        source="packed byte table",
    )


def _init_sizes() -> Iterator[Vector]:
    for fsn, rid in product(range(4), repeat=2):
        yield accept(
            f"init/resolution-fsn-{fsn}-rid-{rid}",
            f"FSN {RESOLUTIONS[fsn]}, RID {RESOLUTIONS[rid]}",
            init(size=(rid << 2 | fsn, 65535)),
            source="resolution byte table",
        )
    for bit in range(4, 8):
        odd = init(size=(0x0A | 1 << bit, 65535))
        yield accept(
            f"init/resolution-reserved-bit-{bit}",
            "Bits 7:4 of the resolution byte must be zero",
            odd,
            source="resolution byte table",
            canonical=False,
            errata=[Reading("ZD-25")],
            remarks=[("reserved-bit", "init.resolution")],
        )
    for batch in (0, 1, 2, 255, 256, 2048, 0x1234, 0x3412, 65534, 65535):
        for ack in (False, True):
            yield accept(
                f"init/batch-size-{batch}{'-ack' if ack else ''}",
                f"Batch size {batch}, low byte first",
                init(size=(0x0A, batch), ack=ack),
                source="batch size",
            )


def _init_cookies() -> Iterator[Vector]:
    for size in (0, 1, 2, 32, 127, 128, 255, 256, 1000):
        cookie = bytes(position % 251 for position in range(size))
        yield accept(
            f"init/cookie-{size}-bytes",
            f"A cookie of {size} bytes",
            init(ack=True, cookie=cookie),
            source=INIT_SOURCE + " diagram",
        )
    base = init(ack=True)
    yield lying(
        "init/cookie-length-lies",
        "The cookie's length promises more bytes than there are",
        base,
        "cookie.length",
        9,
        source=INIT_SOURCE + " diagram",
    )
    short = base.put("cookie.length", vle(2), "2, but 3 follow")
    yield refuse_at(
        "init/cookie-length-too-short",
        "The cookie's length leaves one byte over",
        "transport",
        short.segments,
        TRAILING,
        len(short.data) - 1,
        "init",
        source=INIT_SOURCE + " diagram",
    )
    yield refuse(
        "init/cookie-length-over-u16",
        "An InitAck cookie's length above 65535",
        base.put("cookie.length", vle(65536), "65536"),
        OUT_OF_RANGE,
        "init.cookie.length",
        source="errata",
        errata=[Reading("ZD-43")],
    )
    for size in (2, 9):
        long = base.put(
            "cookie.length", bytes(0x83 if n == 0 else 0x80 for n in range(size - 1)) + b"\x00", f"3 in {size} bytes"
        )
        yield accept(
            f"init/cookie-length-overlong-{size}",
            f"The cookie's length in {size} bytes",
            long,
            source="errata",
            canonical=False,
            errata=[Reading("ZD-02")],
            remarks=[("overlong-vle", "init.cookie.length")],
        )


def _init_extensions() -> Iterator[Vector]:
    syn = lambda exts: init(exts)  # noqa: E731
    ack = lambda exts: init(exts, ack=True, size=(0x0A, 2048))  # noqa: E731
    for stem, make in (("init/syn", syn), ("init/ack", ack)):
        yield from extensions(stem, make, (*INIT_EXTS, QOS_LINK), together=INIT_EXTS, source="INIT extension table")
        about = "All defined extensions but that of shared memory"
        few = [ext for ext in INIT_EXTS if ext.name != "Shm"]
        yield accept(f"{stem}-ext-all-without-shm", about, make(few), source="INIT extension table")  # type: ignore[no-untyped-call]
    yield accept(
        "init/syn-ext-all-with-qos-link",
        "All, with QoSLink in the place of QoS",
        init([QOS_LINK, *INIT_EXTS[1:]]),
        source="INIT extension table",
    )
    yield accept(
        "init/syn-ext-qos-and-qos-link",
        "QoS and QoSLink share an id and differ by ENC",
        init([INIT_EXTS[0], QOS_LINK]),
        source="INIT extension table",
    )
    for value in (0, 1, 2, 3, 127, 128, 255):
        yield accept(
            f"init/patch-{value}", f"Patch {value}", init([z64("Patch", "patch", 0x27, value)]), source="patch values"
        )
    for value, note in (
        (0, "neither range nor reliability"),
        (1 | 0 << 3 | 7 << 11, "range 0 to 7"),
        (2, "best effort"),
        (2 | 1 << 19, "reliable"),
        (3 | 2 << 3 | 5 << 11 | 1 << 19, "range 2 to 5, reliable"),
    ):
        yield accept(
            f"init/qos-link-{value}",
            f"QoSLink: {note}",
            init([z64("QoSLink", "qos_link", 0x21, value, note)]),
            source="INIT extension table",
        )
    for name in (b"x", b"r" * 32, "région".encode()):
        yield accept(
            f"init/region-name-{len(name)}-bytes",
            "RegionName is UTF-8",
            init([region(name)]),
            source="INIT extension table",
        )
    for slug_, ext in (("shm", 0x42), ("auth", 0x43), ("multi-link", 0x44)):
        title = {"shm": "Shm", "auth": "Auth", "multi-link": "MultiLink"}[slug_]
        for size in (0, 1, 127, 128, 300):
            payload = bytes(position % 251 for position in range(size))
            yield accept(
                f"init/{slug_}-{size}-bytes",
                f"{title} of {size} bytes",
                init([opaque(title, slug_.replace("-", "_"), ext, payload)]),
                source="INIT extension table",
            )


def _init_invalid() -> Iterator[Vector]:
    full = init(INIT_EXTS[:3], ack=True, size=(0x0A, 65535))
    yield from truncations("init/ack", full, source=INIT_SOURCE + " diagram")
    yield from truncations("init/syn", init(size=(0x0A, 65535)), source=INIT_SOURCE + " diagram")
    odd = init().then(Segment("rest", b"\x00", "not part of it"))
    yield refuse("init/trailing-byte", "A byte after InitSyn", odd, TRAILING, "rest", source=INIT_SOURCE + " diagram")
    base = init([INIT_EXTS[6]])
    bad = base.put("exts.patch.header", b"\xa7", "Patch, Z but nothing follows")
    yield refuse_at(
        "init/chain-without-end",
        "Z announces an extension that is not there",
        "transport",
        bad.segments,
        TRUNCATED,
        len(bad.data),
        "init.exts",
        source="extension rules",
    )
    for name in (b"\xff\xfe", b"\xc3"):
        yield refuse(
            f"init/region-name-bad-utf8-{name.hex()}",
            "RegionName is not UTF-8",
            init([region(name)]),
            BAD_UTF8,
            "init.exts.region_name.name",
            source="INIT extension table",
            errata=[Reading("region-name-unchecked")],
        )
    for claimed in (4, 127, 2**32 - 1):
        yield lying(
            f"init/ext-length-lies-{named(claimed)}",
            "An extension's length promises more bytes than there are",
            init([INIT_EXTS[2]]),
            "exts.auth.length",
            claimed,
            source="extension rules",
        )


