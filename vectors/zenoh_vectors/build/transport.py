"""OAM, CLOSE, KEEP_ALIVE, FRAME and FRAGMENT, from the message reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import MANY, extensions, integers, long_unknowns, overlongs, plain, truncations
from zenoh_vectors.build.octets import number, vle
from zenoh_vectors.build.parts import (
    ENC_NAMES,
    UNIT,
    Z64,
    ZBUF,
    Ext,
    Message,
    Segment,
    chain,
    integer,
    message,
    run,
    under,
    unit,
    unknown,
)
from zenoh_vectors.build.push import push, put
from zenoh_vectors.build.samples import SIZES, filler, qos
from zenoh_vectors.build.vector import BAD_ENC, TRAILING, TRUNCATED, UNKNOWN_ID, WITH_CHAIN, Book, Vector

TRANSPORT_QOS = qos(3, 0x31)
REASONS = ("generic", "unsupported", "invalid", "max-sessions", "max-links", "expired", "unresponsive",
           "connection-to-self")  # fmt: skip


# --- OAM, both of them -----------------------------------------------------------------------------------------------


def oam(exts: Sequence[Ext] = (), *, ident: int = 1, enc: int = ZBUF, body: int | bytes = b"\xb1\xb2",
        network: bool = False) -> Message:
    """OAM: bits 6:5 of the header tell how the body is written."""
    kind, name, mid, layer = ("NetworkOam", "network_oam", 0x1F, "network") if network else ("Oam", "oam", 0x00, "transport")
    fields: dict[str, object] = {"id": ident, "enc": ENC_NAMES.get(enc, "zbuf")}
    tail: tuple[Segment, ...] = ()
    if enc == Z64:
        tail, fields["body"] = (integer("body", int(body)),), number(int(body))
    elif enc == ZBUF:
        payload = body if isinstance(body, bytes) else b""
        tail, fields["body"] = run("body", payload), payload.hex()
    note = f"{'network ' if network else ''}OAM, {ENC_NAMES.get(enc, 'ENC 11')}"
    return message(kind, name, layer, mid | enc, note, [integer("id", ident), *chain(exts), *tail], fields, exts)


def oam_vectors(network: bool = False) -> Iterator[Vector]:
    stem = "network-oam" if network else "oam"
    book = Book(stem, "message-reference, OAM")
    for enc, word in ENC_NAMES.items():
        body = 300 if enc == Z64 else b"\xb1\xb2"
        plain_oam = oam(enc=enc, body=body, network=network)
        yield book.ok(f"body-{word}", f"OAM whose body is {word}", plain_oam)
        yield book.ok(f"body-{word}-with-extension", WITH_CHAIN, oam([_oam_qos(network)], enc=enc, body=body, network=network))
        yield from truncations(f"{stem}/body-{word}", oam([_oam_qos(network)], ident=300, enc=enc, body=body, network=network),
                               source=book.source)
    yield book.bad("enc-11", "Bits 6:5 of the header are 11", oam(enc=UNIT | 0x60, network=network), BAD_ENC,
                   f"{'network_' if network else ''}oam.header")
    unit_oam = oam(enc=UNIT, network=network)
    yield from integers(stem, unit_oam, "id", 16, plain("id"), source=book.source)
    value = oam(enc=Z64, body=5, network=network)
    yield from integers(stem, value, "body", 64, plain("body"), source=book.source)
    for size in SIZES:
        yield book.ok(f"body-of-{size}-bytes", f"A body of {size} bytes", oam(body=filler(size), network=network))
    for claimed in (3, 128, 2**31):
        lies = oam(network=network).put("body.length", vle(claimed), f"{claimed}, but 2 follow")
        yield book.bad(f"body-length-lies-{claimed}", "The body's length promises more bytes than there are", lies, TRUNCATED,
                       lies.path("body.length"))
    table = [_oam_qos(network)] + ([_stamp()] if network else [])
    yield from extensions(stem, lambda exts: oam(exts, network=network), table, source="OAM extension table")


def _oam_qos(network: bool) -> Ext:
    return qos(3) if network else TRANSPORT_QOS


def _stamp() -> Ext:
    from zenoh_vectors.build.samples import stamp

    return stamp()


# --- CLOSE and KEEP_ALIVE --------------------------------------------------------------------------------------------


def close(exts: Sequence[Ext] = (), *, session: bool = False, reason: int = 0) -> Message:
    """CLOSE: S ends the session, else this link only."""
    name = REASONS[reason] if reason < len(REASONS) else "unassigned"
    body = [Segment("reason", bytes((reason,)), name), *chain(exts)]
    fields = {"session": session, "reason": reason}
    header = 0x03 | (0x20 if session else 0)
    return message("Close", "close", "transport", header, "CLOSE" + (", S" if session else ""), body, fields, exts)


def close_vectors() -> Iterator[Vector]:
    book = Book("close", "message-reference, CLOSE")
    for session in (False, True):
        scope = "session" if session else "link"
        for reason, name in enumerate(REASONS):
            yield book.ok(f"{scope}-{name}", f"Reason {reason} is {name}", close(session=session, reason=reason))
        for reason in (8, 127, 128, 255):
            yield book.ok(f"{scope}-unassigned-{reason}", f"Reason {reason} has no name, and is a fixed byte all the same",
                          close(session=session, reason=reason))
        yield from truncations(f"close/{scope}", close([unknown(0x0D, UNIT)], session=session), source=book.source)
    odd = close().flip(0x40, "CLOSE, bit 6 set")
    yield book.ok("reserved-bit-6", "Bit 6 is reserved", odd, ("reserved-bit", "close.header"))
    yield book.ok("reserved-bit-6-with-session", "Bit 6 is reserved, and S is bit 5", close(session=True).flip(0x40, "CLOSE, S, bit 6 set"),
                  ("reserved-bit", "close.header"))
    yield book.bad("trailing-byte", "A byte after the message", close().then(Segment("rest", b"\x05")), TRAILING, "rest")
    yield from extensions("close", lambda exts: close(exts), (), source="extension rules")


def keep_alive(exts: Sequence[Ext] = ()) -> Message:
    """KEEP_ALIVE: nothing but the header."""
    return message("KeepAlive", "keep_alive", "transport", 0x04, "KEEP_ALIVE", chain(exts), {}, exts)


def keep_alive_vectors() -> Iterator[Vector]:
    book = Book("keep-alive", "message-reference, KEEP_ALIVE")
    yield book.ok("plain", "The shortest message: one byte", keep_alive())
    for bits in (0x20, 0x40, 0x60):
        yield book.ok(f"reserved-bits-{bits:02x}", "Bits 5 and 6 are reserved",
                      keep_alive().flip(bits, f"KEEP_ALIVE, reserved bits {bits:#04x}"), ("reserved-bit", "keep_alive.header"))
    yield from extensions("keep-alive", keep_alive, (), source="extension rules")
    yield from long_unknowns("keep-alive", keep_alive, source="extension rules")
    none = keep_alive().flip(0x80, "KEEP_ALIVE, Z but nothing follows")
    yield book.bad_at("chain-without-end", "Z announces an extension that is not there", none, TRUNCATED, 1, "keep_alive.exts")
    yield book.bad("trailing-byte", "A byte after the message", keep_alive().then(Segment("rest", b"\x00")), TRAILING, "rest")


# --- FRAME -----------------------------------------------------------------------------------------------------------


def frame(messages: Sequence[Message] = (), exts: Sequence[Ext] = (), *, reliable: bool = True, sn: int = 7) -> Message:
    """FRAME: network messages back to back, up to the end of the batch."""
    body = [integer("sn", sn), *chain(exts)]
    for position, inner in enumerate(messages):
        body += under(f"messages[{position}]", inner.segments)
    fields = {"reliable": reliable, "sn": sn, "messages": [inner.means for inner in messages]}
    header = 0x05 | (0x20 if reliable else 0)
    return message("Frame", "frame", "transport", header, "FRAME" + (", R" if reliable else ""), body, fields, exts)


def frame_vectors() -> Iterator[Vector]:
    book = Book("frame", "message-reference, FRAME")
    one = [push(put(payload=b"hi"))]
    for reliable in (False, True):
        name = "reliable" if reliable else "best-effort"
        yield book.ok(name, f"FRAME, {name}, with one PUSH", frame(one, reliable=reliable))
        yield book.ok(f"{name}-with-extension", WITH_CHAIN, frame(one, [TRANSPORT_QOS], reliable=reliable))
        yield book.ok(f"{name}-without-messages", "FRAME that holds nothing", frame(reliable=reliable))
    odd = frame(one).flip(0x40, "FRAME, R, bit 6 set")
    yield book.ok("reserved-bit-6", "Bit 6 is reserved in FRAME", odd, ("reserved-bit", "frame.header"))
    yield from integers("frame", frame(one), "sn", 32, plain("sn"), source=book.source)
    yield from extensions("frame", lambda exts: frame(one, exts), [TRANSPORT_QOS], source="FRAME extension table")
    yield from transport_priorities("frame", lambda exts: frame(one, exts))
    for count in (2, 3, 10, *MANY):
        many = [push(put(payload=bytes((position,)))) for position in range(count)]
        yield book.ok(f"{count}-messages", f"{count} messages in one FRAME", frame(many))
    yield from truncations("frame/header", frame(exts=[TRANSPORT_QOS], sn=70_000), source=book.source)


def transport_priorities(stem: str, make: object) -> Iterator[Vector]:
    """Every priority, and the reserved bits above it."""
    book = Book(stem, f"{stem} QoS extension")
    for value in range(8):
        yield book.ok(f"priority-{value}", f"Priority {value}", make([qos(value, 0x31)]))  # type: ignore[operator]
    for bit in range(3, 8):
        odd = make([qos(5 | 1 << bit, 0x31)])  # type: ignore[operator]
        yield book.ok(f"priority-reserved-bit-{bit}", "Bits 7:3 of the QoS value are reserved", odd,
                      ("reserved-bit", f"{odd.name}.exts.qos.value"))
    yield from overlongs(f"{stem}/priority", make([qos(5, 0x31)]), "exts.qos.value", lambda value: {}, source=book.source)  # type: ignore[operator]


# --- FRAGMENT --------------------------------------------------------------------------------------------------------

FIRST, DROP = unit("First", "first", 0x02), unit("Drop", "drop", 0x03)


def fragment(payload: bytes = b"\xf1\xf2", exts: Sequence[Ext] = (), *, reliable: bool = True, more: bool = True,
             sn: int = 7) -> Message:
    """FRAGMENT: the rest of the batch is a piece of a network message."""
    body = [integer("sn", sn), *chain(exts), Segment("payload", payload, "the rest of the batch")]
    fields = {"reliable": reliable, "more": more, "sn": sn, "payload": payload.hex()}
    header = 0x06 | (0x20 if reliable else 0) | (0x40 if more else 0)
    note = "FRAGMENT" + (", R" if reliable else "") + (", M" if more else "")
    return message("Fragment", "fragment", "transport", header, note, body, fields, exts)


def fragment_vectors() -> Iterator[Vector]:
    book = Book("fragment", "message-reference, FRAGMENT")
    for reliable in (False, True):
        for more in (False, True):
            name = ("reliable" if reliable else "best-effort") + ("-more" if more else "-last")
            yield book.ok(name, f"FRAGMENT, R={int(reliable)}, M={int(more)}", fragment(reliable=reliable, more=more))
            yield book.ok(f"{name}-with-extension", WITH_CHAIN, fragment(exts=[FIRST], reliable=reliable, more=more))
    yield from integers("fragment", fragment(), "sn", 32, plain("sn"), source=book.source)
    for size in SIZES:
        yield book.ok(f"payload-{size}-bytes", f"A piece of {size} bytes", fragment(filler(size)))
    table = [TRANSPORT_QOS, FIRST, DROP]
    yield from extensions("fragment", lambda exts: fragment(exts=exts), table, source="FRAGMENT extension table")
    yield book.ok("first-and-qos", "First with QoS, more to come", fragment(exts=[TRANSPORT_QOS, FIRST]))
    yield book.ok("drop-and-last", "Drop with M=0", fragment(b"", exts=[DROP], more=False))
    yield from transport_priorities("fragment", lambda exts: fragment(exts=exts))
    yield from truncations("fragment/header", fragment(exts=[TRANSPORT_QOS, FIRST], sn=70_000), source=book.source, stop=["payload"])
    yield book.ok("looks-like-messages", "What stands in a piece is not read as messages", fragment(b"\x04\x04\x03\x00"))


def ids_vectors() -> Iterator[Vector]:
    """Ids that no transport message has, and bytes that are none."""
    book = Book("transport-ids", "message-reference, message ids")
    nothing = Message("", "transport", (), {}, "transport")
    yield book.bad_at("empty", "No bytes at all", nothing, TRUNCATED, 0, "transport")
    for ident in (*range(0x08, 0x19), 0x1C, 0x1D, 0x1E, 0x1F):
        odd = Message("", "transport", (Segment("transport.header", bytes((ident,)), f"id {ident:#04x}"),
                                        Segment("transport.rest", bytes(8))), {}, "transport")  # fmt: skip
        word = "unassigned" if ident < 0x19 else "network"
        yield book.bad(f"{word}-id-{ident:02x}", f"{ident:#04x} is no transport message", odd, UNKNOWN_ID, "transport.header")
    for ident in (*range(0x08), *range(0x08, 0x19)):
        odd = Message("", "network", (Segment("network.header", bytes((ident,)), f"id {ident:#04x}"),
                                      Segment("network.rest", bytes(8))), {}, "network")  # fmt: skip
        word = "unassigned" if ident >= 0x08 else "transport"
        yield book.bad(f"no-network-{word}-id-{ident:02x}", f"{ident:#04x} is no network message", odd, UNKNOWN_ID, "network.header")


__all__ = ["Reading", "close", "fragment", "frame", "keep_alive", "oam"]
