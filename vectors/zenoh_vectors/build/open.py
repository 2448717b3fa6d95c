"""OPEN, from the diagram and tables of the session establishment page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import Make, extensions, integers, lying, named, overlongs, plain, truncations
from zenoh_vectors.build.octets import number
from zenoh_vectors.build.parts import (
    Ext,
    Message,
    Segment,
    chain,
    integer,
    message,
    opaque,
    run,
    unit,
    z64,
)
from zenoh_vectors.build.vector import TRAILING, TRUNCATED, WITH_CHAIN, Vector, accept, refuse, refuse_at

COOKIE = bytes.fromhex("a1a2a3")


def open_(
    exts: Sequence[Ext] = (),
    *,
    ack: bool = False,
    seconds: bool = True,
    lease: int = 10,
    sn: int = 7,
    cookie: bytes = COOKIE,
) -> Message:
    """OPEN: the cookie is there when A is clear."""
    header = 0x02 | (0x20 if ack else 0) | (0x40 if seconds else 0)
    body = [integer("lease", lease, f"{lease} {'s' if seconds else 'ms'}"), integer("initial_sn", sn)]
    fields = {"ack": ack, "lease_in_seconds": seconds, "lease": number(lease), "initial_sn": sn}
    if not ack:
        fields["cookie"] = cookie.hex()
        body += run("cookie", cookie)
    body += chain(exts)
    note = "OPEN" + (", A" if ack else "") + (", T" if seconds else "")
    return message("Open", "open", "transport", header, note, body, fields, exts)


OPEN_COMMON = (
    unit("QoS", "qos", 0x01),
    z64("Shm", "shm", 0x22, 77),
    opaque("Auth", "auth", 0x43, b"\x61\x62\x63"),
)
OPEN_TAIL = (
    unit("LowLatency", "low_latency", 0x05),
    unit("Compression", "compression", 0x06),
    z64("RemoteBound", "remote_bound", 0x27, 1, "south"),
)
SHM_ANSWER = opaque("ShmAnswer", "shm_answer", 0x42, b"\x51")
"""What the baseline sends in the place of Shm since 1.10; no page has it."""
OPEN_SYN_EXTS = (*OPEN_COMMON, opaque("MultiLinkSyn", "multi_link_syn", 0x44, b"\x71\x72"), *OPEN_TAIL)
OPEN_ACK_EXTS = (*OPEN_COMMON, unit("MultiLinkAck", "multi_link_ack", 0x04), *OPEN_TAIL)
OPEN_SOURCE = "session-establishment, OPEN"


def open_vectors() -> Iterator[Vector]:
    for ack, seconds in product((False, True), repeat=2):
        name = ("ack" if ack else "syn") + ("-in-seconds" if seconds else "-in-milliseconds")
        lease = 10 if seconds else 10_001
        yield accept(
            f"open/{name}",
            f"{'OpenAck' if ack else 'OpenSyn'}, lease {lease} {'s' if seconds else 'ms'}",
            open_(ack=ack, seconds=seconds, lease=lease),
            source=OPEN_SOURCE + " flag table",
        )
        yield accept(
            f"open/{name}-with-extension",
            WITH_CHAIN,
            open_([OPEN_COMMON[0]], ack=ack, seconds=seconds, lease=lease),
            source=OPEN_SOURCE + " flag table",
        )
    for seconds in (False, True):
        unit_name = "seconds" if seconds else "milliseconds"
        yield from integers(
            f"open/syn-{unit_name}", open_(seconds=seconds), "lease", 64, plain("lease"), source=OPEN_SOURCE
        )
    for kind, ack in (("syn", False), ("ack", True)):
        yield from integers(f"open/{kind}", open_(ack=ack), "initial_sn", 32, plain("initial_sn"), source=OPEN_SOURCE)
    yield from _open_cookies()
    yield from _open_extensions("open/syn", lambda exts: open_(exts), OPEN_SYN_EXTS, "OpenSyn extension table")
    yield from _open_extensions("open/ack", lambda exts: open_(exts, ack=True), OPEN_ACK_EXTS, "OpenAck extension table")
    yield from _open_ext_values()
    yield from _open_invalid()


def _open_extensions(stem: str, make: Make, table: Sequence[Ext], source: str) -> Iterator[Vector]:
    for vector in extensions(stem, make, (*table, SHM_ANSWER), together=table, source=source):
        if "-shm-answer-" in vector.id:
            vector = replace(vector, errata=(Reading("open-shm-answer-is-bytes"), *vector.errata))
        yield vector


def _open_cookies() -> Iterator[Vector]:
    for size in (0, 1, 2, 32, 127, 128, 255, 256, 1000):
        cookie = bytes(position % 251 for position in range(size))
        yield accept(f"open/cookie-{size}-bytes", f"A cookie of {size} bytes", open_(cookie=cookie), source=OPEN_SOURCE)
    base = open_()
    for claimed, errata in ((4, []), (2**63, [Reading("ZD-43")])):
        yield lying(
            f"open/cookie-length-lies-{named(claimed)}",
            f"The cookie's length promises {claimed} bytes",
            base,
            "cookie.length",
            claimed,
            source=OPEN_SOURCE,
            errata=errata,
        )
    long = base.put("cookie.length", b"\x83\x00", "3 in 2 bytes")
    yield accept(
        "open/cookie-length-overlong-2",
        "The cookie's length in 2 bytes",
        long,
        source="errata",
        canonical=False,
        errata=[Reading("ZD-02")],
        remarks=[("overlong-vle", "open.cookie.length")],
    )
    odd = open_(ack=True).then(
        Segment("rest.length", b"\x03"), Segment("rest.bytes", COOKIE, "a cookie where none belongs")
    )
    yield refuse(
        "open/ack-with-cookie", "OpenAck carries no cookie", odd, TRAILING, "rest", source=OPEN_SOURCE + " diagram"
    )


def _open_ext_values() -> Iterator[Vector]:
    for kind, ack in (("syn", False), ("ack", True)):
        for name, title, header in (("shm", "Shm", 0x22), ("remote_bound", "RemoteBound", 0x27)):
            for value in (0, 1, 127, 128, 255):
                yield accept(
                    f"open/{kind}-{name.replace('_', '-')}-{named(value)}",
                    f"{title} {value}",
                    open_([z64(title, name, header, value)], ack=ack),
                    source="OPEN extension tables",
                )
            base = open_([z64(title, name, header, 5)], ack=ack)
            yield from overlongs(
                f"open/{kind}-{name.replace('_', '-')}",
                base,
                f"exts.{name}.value",
                lambda value: {},
                source="OPEN extension tables",
            )
        for size in (0, 1, 128):
            yield accept(
                f"open/{kind}-auth-{size}-bytes",
                f"Auth of {size} bytes",
                open_([opaque("Auth", "auth", 0x43, b"k" * size)], ack=ack),
                source="OPEN extension tables",
            )


def _open_invalid() -> Iterator[Vector]:
    yield from truncations("open/syn", open_(OPEN_SYN_EXTS[:4], lease=300, sn=70_000), source=OPEN_SOURCE + " diagram")
    yield from truncations(
        "open/ack", open_(OPEN_ACK_EXTS[:4], ack=True, lease=300, sn=70_000), source=OPEN_SOURCE + " diagram"
    )
    for kind, ack in (("syn", False), ("ack", True)):
        odd = open_(ack=ack).then(Segment("rest", b"\x00", "not part of it"))
        yield refuse(
            f"open/{kind}-trailing-byte", "A byte after the message", odd, TRAILING, "rest", source=OPEN_SOURCE
        )
        base = open_([OPEN_TAIL[0]], ack=ack)
        bad = base.put("exts.low_latency.header", b"\x85", "LowLatency, Z but nothing follows")
        yield refuse_at(
            f"open/{kind}-chain-without-end",
            "Z announces an extension that is not there",
            "transport",
            bad.segments,
            TRUNCATED,
            len(bad.data),
            "open.exts",
            source="extension rules",
        )
