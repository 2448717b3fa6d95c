"""RESPONSE with REPLY and ERR, and RESPONSE_FINAL, from the reply page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from zenoh_vectors.build.carriers import bodies, keys, network_extensions
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, integers, plain, truncations
from zenoh_vectors.build.octets import nibble, number
from zenoh_vectors.build.parts import (
    Ext,
    Fields,
    Key,
    Message,
    Segment,
    chain,
    encoding,
    encoding_means,
    integer,
    message,
    run,
    unknown,
)
from zenoh_vectors.build.push import SHM, Enc, del_vectors, delete, payload_lengths, put, put_vectors, source_infos
from zenoh_vectors.build.query import MODES, consolidations
from zenoh_vectors.build.samples import (
    OTHER,
    SIZES,
    ZID_SIZES,
    filler,
    qos,
    responder_id,
    source_info,
    stamp,
    ts_stack,
    zid_of,
)
from zenoh_vectors.build.vector import ILLEGAL_VALUE, TRAILING, TRUNCATED, WITH_CHAIN, Book, Vector

RESPONSE_EXTS = (qos(0x0D), stamp(), responder_id(), ts_stack())
FINAL_EXTS = (qos(0x0D), stamp())


def reply(body: Message | None = None, exts: Sequence[Ext] = (), *, consolidation: int | None = None) -> Message:
    """REPLY: consolidation, extensions, PUT or DEL."""
    inner = body or put()
    head: list[Segment] = []
    fields: Fields = {}
    if consolidation is not None:
        head = [integer("consolidation", consolidation, MODES[consolidation] if consolidation < 4 else "unassigned")]
        fields["consolidation"] = consolidation
    fields["body"] = inner.means
    header = 0x04 | (0x20 if consolidation is not None else 0)
    note = "REPLY" + (", C" if consolidation is not None else "")
    return message("Reply", "reply", "network", header, note, [*head, *chain(exts), *inner.segments], fields, exts)


def err(exts: Sequence[Ext] = (), *, encoded: Enc | None = None, payload: bytes = b"no", sliced: bool = False) -> Message:
    """ERR: encoding, extensions, payload."""
    head = encoding(*encoded) if encoded else ()
    fields: Fields = {"encoding": encoding_means(*encoded)} if encoded else {}
    fields["payload"] = payload.hex()
    last = (Segment("payload.slices", payload, "count, then kind, length, bytes a slice"),) if sliced else run("payload", payload)
    header = 0x05 | (0x40 if encoded else 0)
    return message("Err", "err", "network", header, "ERR" + (", E" if encoded else ""), [*head, *chain(exts), *last], fields, exts)


def response(body: Message | None = None, exts: Sequence[Ext] = (), *, ident: int = 9, key: Key | None = None) -> Message:
    """RESPONSE: id of the request, key, extensions, REPLY or ERR."""
    inner, key = body or reply(), key or Key()
    note = "RESPONSE" + (", N" if key.suffix is not None else "") + (", M" if key.mapping else "")
    fields = {"id": ident, "key": key.means, "body": inner.means}
    wire = [integer("id", ident), *key.segments, *chain(exts), *inner.segments]
    return message("Response", "response", "network", 0x1B | key.flags, note, wire, fields, exts)


def final(exts: Sequence[Ext] = (), *, ident: int = 9) -> Message:
    """RESPONSE_FINAL: id of the request, extensions."""
    return message("ResponseFinal", "response_final", "network", 0x1A, "RESPONSE_FINAL", [integer("id", ident), *chain(exts)],
                   {"id": ident}, exts)


def in_response(body: Message) -> Message:
    """A REPLY or ERR in RESPONSE."""
    return response(body).inside(body.name, "body", body.kind)


def in_reply(body: Message) -> Message:
    """A PUT or DEL in REPLY in RESPONSE."""
    return response(reply(body)).inside(f"reply.{body.name}", "body", "Reply", "body", body.kind)


def response_vectors() -> Iterator[Vector]:
    book = Book("response", "reply, RESPONSE")
    make = lambda exts: response(exts=exts)  # noqa: E731
    for name, body in (("reply-put", reply()), ("reply-del", reply(delete())), ("err", err())):
        yield book.ok(f"carries-{name}", f"RESPONSE with {name}", response(body))
        yield book.ok(f"carries-{name}-with-extension", WITH_CHAIN, response(body, [qos(0x0D)]))
        yield from truncations(f"response/{name}", response(body, RESPONSE_EXTS[:3], ident=300, key=Key(300, "ab", True)),
                               source=book.source)
    yield from integers("response", response(), "id", 32, plain("id"), source=book.source, over="refuses")
    yield from keys("response", lambda key: response(key=key), book.source)
    yield from extensions("response", make, RESPONSE_EXTS, source="RESPONSE extension table")
    yield from network_extensions("response", make, RESPONSE_EXTS)
    yield from _responders()
    yield from bodies("response", response(), "reply.header", (4, 5), book.source)


def _responders() -> Iterator[Vector]:
    book = Book("response", "ResponderId diagram")
    for size in ZID_SIZES:
        yield book.ok(f"responder-zid-{size}-bytes", f"A responder whose ZenohID has {size} bytes",
                      response(exts=[responder_id(zid_of(size))]))
    text = {"zid": "0a0b", "eid": 5}
    yield from integers("response/responder", response(exts=[responder_id(eid=5)]), "exts.responder_id.eid", 32,
                        lambda value: {"exts": [{"ResponderId": {**text, "eid": number(value)}}]}, source=book.source)
    odd = response(exts=[responder_id()]).put("exts.responder_id.packed", nibble(OTHER, 0x0F), "low bits set")
    yield book.ok("responder-reserved-bits", "Bits 3:0 of ResponderId's first byte are reserved", odd,
                  ("reserved-bit", odd.path("exts.responder_id.packed")))
    zero = response(exts=[responder_id(b"\x00")])
    yield book.bad("responder-zid-zero", "A ZenohID of zero names nobody", zero, ILLEGAL_VALUE, zero.path("exts.responder_id.zid"),
                   errata=[Reading("ZD-17")])
    lies = response(exts=[responder_id()]).put("exts.responder_id.length", b"\x7f", "127")
    yield book.bad("responder-length-lies", "The extension's length promises more bytes than there are", lies, TRUNCATED,
                   lies.path("exts.responder_id.length"), errata=[Reading("extension-length-ignored")])


def final_vectors() -> Iterator[Vector]:
    book = Book("response-final", "reply, RESPONSE_FINAL")
    yield book.ok("plain", "RESPONSE_FINAL", final())
    yield book.ok("with-extension", WITH_CHAIN, final([qos(0x0D)]))
    for bits in (0x20, 0x40, 0x60):
        yield book.ok(f"reserved-bits-{bits:02x}", "Bits 5 and 6 are reserved", final().flip(bits, f"RESPONSE_FINAL, {bits:#04x} set"),
                      ("reserved-bit", "response_final.header"))
    yield from integers("response-final", final(), "id", 32, plain("id"), source=book.source, over="refuses")
    yield from extensions("response-final", lambda exts: final(exts), FINAL_EXTS, source="RESPONSE_FINAL extension table")
    yield from network_extensions("response-final", lambda exts: final(exts), FINAL_EXTS)
    yield from truncations("response-final/full", final(FINAL_EXTS, ident=300), source=book.source)
    yield book.bad("trailing-byte", "A byte after the message", final().then(Segment("rest", b"\x00")), TRAILING, "rest")


def reply_vectors() -> Iterator[Vector]:
    book = Book("reply", "reply, REPLY")
    none = unknown(0x0D, 0x40, value=b"\x01")
    for mode, inner, exts in product((None, 1), (put(), delete()), ((), (none,))):
        flags = "".join(letter for letter, there in (("c", mode), ("z", exts)) if there) or "none"
        yield book.ok(f"flags-{flags}-{inner.name}", f"REPLY, flags {flags}, with {inner.kind.upper()}",
                      in_response(reply(inner, exts, consolidation=mode)))
    for inner in (put(), delete()):
        odd = in_response(reply(inner)).flip(0x40, "REPLY, bit 6 set")
        yield book.ok(f"reserved-bit-6-{inner.name}", "Bit 6 is reserved in REPLY", odd, ("reserved-bit", odd.path("header")))
    yield from consolidations("reply", lambda value: in_response(reply(consolidation=value)), "reply, ConsolidationMode values")
    yield from extensions("reply", lambda exts: in_response(reply(exts=exts)), (), source="extension rules")
    yield from truncations("reply/full", in_response(reply(exts=[none], consolidation=2)), source=book.source)
    yield from bodies("reply", in_response(reply()), "put.header", (1, 2), book.source)
    yield from put_vectors("reply-put", in_reply, "reply, REPLY body")
    yield from del_vectors("reply-del", in_reply, "reply, REPLY body")


def err_vectors() -> Iterator[Vector]:
    book = Book("err", "reply, ERR")
    for encoded, exts in product((None, (4, b"utf-8")), ((), (source_info(),))):
        flags = "".join(letter for letter, there in (("e", encoded), ("z", exts)) if there) or "none"
        yield book.ok(f"flags-{flags}", f"ERR, flags {flags}", in_response(err(exts, encoded=encoded)))
    odd = in_response(err()).flip(0x20, "ERR, bit 5 set")
    yield book.ok("reserved-bit-5", "Bit 5 is reserved in ERR: there is no timestamp", odd, ("reserved-bit", odd.path("header")))
    for size in (*SIZES, 16383, 16384):
        yield book.ok(f"payload-{size}-bytes", f"An error of {size} bytes", in_response(err(payload=filler(size))))
    for ident, schema in ((0, None), (4, None), (4, b""), (65535, b"mine")):
        name = f"encoding-{ident}" + ("" if schema is None else f"-schema-{len(schema)}")
        yield book.ok(name, f"ERR with encoding {ident}", in_response(err(encoded=(ident, schema))))
    yield from extensions("err", lambda exts: in_response(err(exts)), (source_info(),), source="ERR extension table")
    yield book.ok("shm-one-raw-slice", "Under the Shm marker the payload is in slices",
                  in_response(err([SHM], payload=b"\x01\x00\x02hi", sliced=True)), errata=[Reading("ZD-44")])
    yield from payload_lengths(book, in_response(err(payload=b"vw")))
    yield from source_infos(book, lambda ext: in_response(err([ext])))
    yield from truncations("err/full", in_response(err([source_info()], encoded=(4, b"utf-8"), payload=b"error")), source=book.source)
