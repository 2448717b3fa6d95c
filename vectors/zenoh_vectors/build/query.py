"""REQUEST with QUERY, from the query page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from zenoh_vectors.build.carriers import bodies, keys, network_extensions, z64_values
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, integers, lying, overlongs, plain, truncations
from zenoh_vectors.build.octets import overlong, vle
from zenoh_vectors.build.parts import (
    Ext,
    Fields,
    Key,
    Message,
    Segment,
    Segments,
    chain,
    encoding,
    encoding_means,
    integer,
    message,
    opaque,
    text,
    unit,
    z64,
    zbuf,
)
from zenoh_vectors.build.push import Carry, opaque_sizes, source_infos
from zenoh_vectors.build.samples import SIZES, filler, node_id, qos, source_info, stamp, ts_stack
from zenoh_vectors.build.vector import BAD_UTF8, ILLEGAL_VALUE, WITH_CHAIN, Book, Vector

MODES = ("auto", "none", "monotonic", "latest")
TARGETS = ("best-matching", "all", "all-complete")
ATTACHMENT = opaque("Attachment", "attachment", 0x45, b"\xa7\xa8")
BODY_SHM = unit("BodyShm", "body_shm", 0x04)


def query_body(payload: bytes = b"hi", number: int = 4, schema: bytes | None = None) -> Ext:
    """QueryBody: an encoding, and the payload up to the end of the extension."""
    body: Segments = (*encoding(number, schema), Segment("payload", payload, "the rest of the extension"))
    return zbuf("QueryBody", "query_body", 0x43, body, {"encoding": encoding_means(number, schema), "payload": payload.hex()})


def target(value: int) -> Ext:
    """QueryTarget: mandatory."""
    return z64("QueryTarget", "query_target", 0x34, value, TARGETS[value] if value < 3 else "unassigned")


BUDGET = z64("Budget", "budget", 0x25, 5)
TIMEOUT = z64("Timeout", "timeout", 0x26, 10_000, "10 s")
REQUEST_EXTS = (qos(0x0D), stamp(), target(1), BUDGET, TIMEOUT, node_id(7), ts_stack())
QUERY_EXTS = (source_info(), query_body(), ATTACHMENT)


def query(exts: Sequence[Ext] = (), *, consolidation: int | None = None, parameters: str | None = None) -> Message:
    """QUERY: consolidation, parameters, extensions."""
    body: list[Segment] = []
    fields: Fields = {}
    if consolidation is not None:
        name = MODES[consolidation] if consolidation < 4 else "unassigned"
        body.append(integer("consolidation", consolidation, name))
        fields["consolidation"] = consolidation
    if parameters is not None:
        body += text("parameters", parameters)
        fields["parameters"] = parameters
    header = 0x03 | (0x20 if consolidation is not None else 0) | (0x40 if parameters is not None else 0)
    note = "QUERY" + (", C" if consolidation is not None else "") + (", P" if parameters is not None else "")
    return message("Query", "query", "network", header, note, [*body, *chain(exts)], fields, exts)


def request(body: Message | None = None, exts: Sequence[Ext] = (), *, ident: int = 9, key: Key | None = None) -> Message:
    """REQUEST: id, key, extensions, QUERY."""
    inner, key = body or query(), key or Key()
    note = "REQUEST" + (", N" if key.suffix is not None else "") + (", M" if key.mapping else "")
    fields = {"id": ident, "key": key.means, "body": inner.means}
    wire = [integer("id", ident), *key.segments, *chain(exts), *inner.segments]
    return message("Request", "request", "network", 0x1C | key.flags, note, wire, fields, exts)


def in_request(body: Message) -> Message:
    """A QUERY in REQUEST."""
    return request(body).inside(body.name, "body", body.kind)


def request_vectors() -> Iterator[Vector]:
    book = Book("request", "query, REQUEST")
    def make(exts: Sequence[Ext]) -> Message:
        return request(exts=exts)

    yield book.ok("plain", "REQUEST with a bare QUERY", request())
    yield book.ok("with-extension", WITH_CHAIN, request(exts=[qos(0x0D)]))
    yield from integers("request", request(), "id", 32, plain("id"), source=book.source, over="refuses")
    yield from keys("request", lambda key: request(key=key), book.source)
    yield from extensions("request", make, REQUEST_EXTS, source="REQUEST extension table")
    yield from network_extensions("request", make, REQUEST_EXTS)
    yield from _targets(make)
    yield from z64_values("request/budget", make, BUDGET, 32, source="Budget extension", low=1)
    yield book.ok("budget-zero", "A budget of zero: the text says non-zero, the baseline takes it for none",
                  make([z64("Budget", "budget", 0x25, 0)]), canonical=False)
    yield from z64_values("request/timeout", make, TIMEOUT, 64, source="Timeout extension")
    yield from truncations("request/full", request(query([ATTACHMENT], consolidation=1, parameters="x"), REQUEST_EXTS[2:4],
                                                   ident=300, key=Key(300, "ab", True)), source=book.source)
    yield from bodies("request", request(), "query.header", (3,), book.source)


def _targets(make: Callable[[Sequence[Ext]], Message]) -> Iterator[Vector]:
    book = Book("request", "QueryTarget extension")
    for value, name in enumerate(TARGETS):
        yield book.ok(f"target-{name}", f"Target {value} is {name}", make([target(value)]))
    for value in (3, 127, 128, 256):
        wrong = make([target(value)])
        yield book.bad(f"target-unassigned-{value}", f"Target {value} has no meaning", wrong, ILLEGAL_VALUE,
                       wrong.path("exts.query_target.value"))
    yield from overlongs("request/target", make([target(1)]), "exts.query_target.value", lambda value: {}, source=book.source, value=1)


def query_vectors(stem: str = "query", carry: Carry = in_request) -> Iterator[Vector]:
    book = Book(stem, "query, QUERY")
    for mode, parameters, exts in product((None, 1), (None, "a=1"), ((), (ATTACHMENT,))):
        flags = "".join(letter for letter, there in (("c", mode), ("p", parameters), ("z", exts)) if there) or "none"
        yield book.ok(f"flags-{flags}", f"QUERY, flags {flags}", carry(query(exts, consolidation=mode, parameters=parameters)))
    yield from consolidations(stem, lambda value: carry(query(consolidation=value)), "query, ConsolidationMode values")
    yield from _parameters(book, carry)
    yield from extensions(stem, lambda exts: carry(query(exts)), QUERY_EXTS, source="QUERY extension table")
    yield from truncations(f"{stem}/full", carry(query(QUERY_EXTS, consolidation=2, parameters="a=1")), source=book.source)
    yield from _query_bodies(book, carry)
    yield from opaque_sizes(book, "Attachment", 0x45, lambda ext: carry(query([ext])))
    yield from source_infos(book, lambda ext: carry(query([ext])))


def consolidations(stem: str, make: Callable[[int], Message], source: str) -> Iterator[Vector]:
    """The four modes, explicit; the first unassigned ones; overlong."""
    book = Book(stem, source)
    for value, name in enumerate(MODES):
        yield book.ok(f"consolidation-{name}", f"Consolidation {value} is {name}", make(value))
    for value in (4, 127, 128, 255):
        odd = make(value)
        auto = odd.meaning(consolidation=0)
        yield book.ok(f"consolidation-unassigned-{value}", f"Consolidation {value} has no meaning; the baseline takes it for auto",
                      odd, ("unknown-value", odd.path("consolidation")), errata=[Reading("ZD-35", "as written", means=auto.means)])
    yield from overlongs(stem + "/consolidation", make(1), "consolidation", lambda value: {}, source=source, value=1)


def _parameters(book: Book, carry: Carry) -> Iterator[Vector]:
    samples = {"empty": "", "one-letter": "x", "pairs": "a=1&b=2", "semicolons": "a=1;b=2", "accents": "é=日本", "nul": "a\x00b",
               "127-bytes": "p" * 127, "128-bytes": "p" * 128, "300-bytes": "abc" * 100}  # fmt: skip
    for name, value in samples.items():
        yield book.ok(f"parameters-{name}", f"Parameters: {name}", carry(query(parameters=value)))
    base = carry(query(parameters="ab"))
    for name, data, bad in (("ff", b"\xffa", 0), ("cut-short", b"a\xc3", 1)):
        wrong = base.put("parameters.bytes", data, "no UTF-8")
        yield book.bad_at(f"parameters-bad-utf8-{name}", "The parameters are not UTF-8", wrong, BAD_UTF8,
                          wrong.at("parameters.bytes") + bad, base.path("parameters.bytes"))
    for claimed in (3, 128, 2**63):
        yield lying(f"{book.stem}/parameters-length-lies-{claimed}", "The parameters' length promises more bytes than there are",
                    base, "parameters.length", claimed, source=book.source)
    yield book.ok("parameters-length-overlong-2", "The parameters' length in two bytes",
                  base.put("parameters.length", overlong(2, 2), "2 in 2 bytes"), ("overlong-vle", base.path("parameters.length")),
                  errata=[Reading("ZD-02")])


def _query_bodies(book: Book, carry: Carry) -> Iterator[Vector]:
    for size in SIZES:
        yield book.ok(f"body-{size}-bytes", f"A QueryBody of {size} bytes", carry(query([query_body(filler(size))])))
    for number, schema in ((0, None), (0, b""), (10, b"x"), (65535, b"mine/own")):
        name = f"body-encoding-{number}" + ("" if schema is None else f"-schema-{len(schema)}")
        yield book.ok(name, f"QueryBody with encoding {number}", carry(query([query_body(b"hi", number, schema)])))
    as_written = carry(query([query_body(b"hi")]))
    inner = carry(query([query_body(b"\x02hi")]))
    yield book.ok("body-with-inner-length", "The payload is the rest of the extension: a length before it, as the text draws it, is payload",
                  inner, errata=[Reading("ZD-30", means=as_written.means)])
    empty = inner.put("exts.query_body.length", vle(0), "0")
    yield book.bad_at("body-length-zero", "A QueryBody needs an encoding", carry(query([_nothing()])), "truncated",
                      empty.at("exts.query_body.length") + 1, inner.path("exts.query_body.encoding.id"))
    sliced = query_body(b"\x01\x00\x02hi")
    yield book.ok("body-with-shm", "The marker is an extension of its own, right before QueryBody", carry(query([BODY_SHM, sliced])),
                  errata=[Reading("ZD-31")])
    yield book.ok("ext-all-with-body-shm", "All extensions of QUERY", carry(query([QUERY_EXTS[0], BODY_SHM, sliced, ATTACHMENT])),
                  errata=[Reading("ZD-31")])


def _nothing() -> Ext:
    return zbuf("QueryBody", "query_body", 0x43, (), {})
