"""DECLARE and its nine bodies, from the message reference and the declarations page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from zenoh_vectors.build.carriers import bodies, keys, network_extensions, z64_values
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import extensions, integers, overlongs, plain, truncations
from zenoh_vectors.build.octets import number, vle
from zenoh_vectors.build.parts import Ext, Fields, Key, Message, Segment, chain, integer, message, unknown, z64, zbuf
from zenoh_vectors.build.samples import node_id, qos, stamp
from zenoh_vectors.build.vector import BAD_UTF8, TRAILING, TRUNCATED, WITH_CHAIN, Book, Vector

DECLARE_EXTS = (qos(0x08), stamp(), node_id(7))
INFO = z64("QueryableInfo", "queryable_info", 0x21, 0x301, "complete, distance 3")
NAMED = {"subscriber": ("Subscriber", 0x02), "queryable": ("Queryable", 0x04), "token": ("Token", 0x06)}
"""What has an id, a key and a pair of bodies: the word in titles, and the id of the declaring one."""


def wire_expr(scope: int = 0, suffix: bytes = b"a/b", flags: int = 3) -> Ext:
    """The WireExpr extension of undeclarations: flags, scope, and the suffix up to its end."""
    body = [Segment("flags", bytes((flags,)), f"N={flags & 1}, M={flags >> 1 & 1}"), integer("scope", scope)]
    means: Fields = {"flags": flags, "scope": scope}
    if flags & 1:
        body.append(Segment("suffix", suffix, "the rest of the extension"))
        means["suffix"] = suffix.decode("utf-8", "replace")
    return zbuf("WireExpr", "wire_expr", 0x5F, tuple(body), means)


def keyed(word: str, *, ident: int = 4, key: Key | None = None, exts: Sequence[Ext] = ()) -> Message:
    """D_SUBSCRIBER, D_QUERYABLE, D_TOKEN: id, key, extensions."""
    title, mid = NAMED[word]
    key = key or Key()
    note = f"D_{word.upper()}" + (", N" if key.suffix is not None else "") + (", M" if key.mapping else "")
    wire = [integer("id", ident), *key.segments, *chain(exts)]
    return message(f"D{title}", f"d_{word}", "network", mid | key.flags, note, wire, {"id": ident, "key": key.means}, exts)


def unkeyed(word: str, exts: Sequence[Ext] = (), *, ident: int = 4) -> Message:
    """U_SUBSCRIBER, U_QUERYABLE, U_TOKEN: id, extensions."""
    title, mid = NAMED[word]
    wire = [integer("id", ident), *chain(exts)]
    return message(f"U{title}", f"u_{word}", "network", mid + 1, f"U_{word.upper()}", wire, {"id": ident}, exts)


def d_keyexpr(*, ident: int = 4, key: Key | None = None, exts: Sequence[Ext] = ()) -> Message:
    """D_KEYEXPR: the number, then what it stands for; no M, the scope is always the sender's."""
    key = key or Key()
    note = "D_KEYEXPR" + (", N" if key.suffix is not None else "")
    wire = [integer("expr_id", ident), *key.segments, *chain(exts)]
    return message("DKeyExpr", "d_key_expr", "network", key.flags & 0x20, note, wire, {"expr_id": ident, "key": key.means}, exts)


def u_keyexpr(*, ident: int = 4, exts: Sequence[Ext] = ()) -> Message:
    """U_KEYEXPR: the number that is free again."""
    return message("UKeyExpr", "u_key_expr", "network", 0x01, "U_KEYEXPR", [integer("expr_id", ident), *chain(exts)], {"expr_id": ident}, exts)


def d_final(exts: Sequence[Ext] = ()) -> Message:
    """D_FINAL: nothing but its header."""
    return message("DFinal", "d_final", "network", 0x1A, "D_FINAL", chain(exts), {}, exts)


def declare(body: Message | None = None, exts: Sequence[Ext] = (), *, interest: int | None = None) -> Message:
    """DECLARE: id of the interest it answers, extensions, one declaration."""
    inner = body or d_final()
    head = [] if interest is None else [integer("interest_id", interest)]
    fields: Fields = {} if interest is None else {"interest_id": interest}
    header = 0x1E | (0 if interest is None else 0x20)
    note = "DECLARE" + ("" if interest is None else ", I")
    wire = [*head, *chain(exts), *inner.segments]
    return message("Declare", "declare", "network", header, note, wire, {**fields, "body": inner.means}, exts)


def in_declare(body: Message) -> Message:
    """A declaration in DECLARE."""
    return declare(body).inside(body.name, "body", body.kind)


def all_bodies() -> dict[str, Message]:
    """One of each."""
    out = {"d-keyexpr": d_keyexpr(), "u-keyexpr": u_keyexpr(), "d-final": d_final()}
    for word in NAMED:
        out |= {f"d-{word}": keyed(word), f"u-{word}": unkeyed(word, [wire_expr()])}
    return out


def declare_vectors() -> Iterator[Vector]:
    book = Book("declare", "message-reference, DECLARE")
    for name, body in all_bodies().items():
        yield book.ok(f"carries-{name}", f"DECLARE with {body.segments[0].note}", declare(body))
        yield book.ok(f"carries-{name}-with-interest", "I set: the id of the interest that it answers stands before the declaration", declare(body, interest=6))
        yield book.ok(f"carries-{name}-with-extension", WITH_CHAIN, declare(body, [qos(0x08)]))
        yield book.ok(f"carries-{name}-with-interest-and-extension", "I and Z set: first the id of the interest, then the extension, then the declaration", declare(body, [qos(0x08)], interest=6))
        yield from truncations(f"declare/{name}", declare(body, [node_id(300)], interest=300), source=book.source)
    odd = declare().flip(0x40, "DECLARE, bit 6 set")
    yield book.ok("reserved-bit-6", "Bit 6 is reserved in DECLARE", odd, ("reserved-bit", "declare.header"))
    yield from integers("declare", declare(interest=6), "interest_id", 32, plain("interest_id"), source=book.source)
    yield from extensions("declare", lambda exts: declare(exts=exts), DECLARE_EXTS, source="DECLARE extension table")
    yield from network_extensions("declare", lambda exts: declare(exts=exts), DECLARE_EXTS)
    yield from bodies("declare", declare(), "d_final.header", (*range(8), 0x1A), book.source, at="body")
    hello = declare(d_final(), [qos(0x08)], interest=0)
    yield book.ok("initial-final", "What a router says when its first declarations are told", hello)


def declaration_vectors() -> Iterator[Vector]:
    yield from _key_exprs()
    for word in NAMED:
        yield from _keyed(word)
        yield from _unkeyed(word)
    yield from _infos()
    book = Book("d-final", "declarations, D_FINAL")
    yield from _reserved(book, in_declare(d_final()), (0x20, 0x40))
    yield from extensions("d-final", lambda exts: in_declare(d_final(exts)), (), source="extension rules")
    yield book.bad("trailing-byte", "A byte after the message", in_declare(d_final()).then(Segment("rest", b"\x00")), TRAILING, "rest")


def _reserved(book: Book, whole: Message, bits: Sequence[int]) -> Iterator[Vector]:
    for bit in bits:
        odd = whole.flip(bit, f"reserved bit {bit:#04x} set")
        yield book.ok(f"reserved-bit-{bit.bit_length() - 1}", "A bit of the header that has no name", odd,
                      ("reserved-bit", odd.path("header")))


def _key_exprs() -> Iterator[Vector]:
    book = Book("d-keyexpr", "declarations, D_KEYEXPR")
    yield from keys("d-keyexpr", lambda key: in_declare(d_keyexpr(key=key)), book.source, mapped=False)
    yield from integers("d-keyexpr", in_declare(d_keyexpr()), "expr_id", 16, plain("expr_id"), source=book.source)
    yield from _reserved(book, in_declare(d_keyexpr()), (0x40,))
    yield from truncations("d-keyexpr/full", in_declare(d_keyexpr(ident=300, key=Key(300, "ab"))), source=book.source)
    yield from extensions("d-keyexpr", lambda exts: in_declare(d_keyexpr(exts=exts)), (), source="extension rules")
    book = Book("u-keyexpr", "declarations, U_KEYEXPR")
    yield from integers("u-keyexpr", in_declare(u_keyexpr()), "expr_id", 16, plain("expr_id"), source=book.source)
    yield from _reserved(book, in_declare(u_keyexpr()), (0x20, 0x40))
    yield from truncations("u-keyexpr/full", in_declare(u_keyexpr(ident=300)), source=book.source)
    yield from extensions("u-keyexpr", lambda exts: in_declare(u_keyexpr(exts=exts)), (), source="extension rules")


def _keyed(word: str) -> Iterator[Vector]:
    source = f"declarations, D_{word.upper()}"
    make: Callable[[Key], Message] = lambda key: in_declare(keyed(word, key=key))  # noqa: E731
    yield from keys(f"d-{word}", make, source)
    yield from integers(f"d-{word}", in_declare(keyed(word)), "id", 32, plain("id"), source=source)
    yield from truncations(f"d-{word}/full", in_declare(keyed(word, ident=300, key=Key(300, "ab", True))), source=source)
    table = (INFO,) if word == "queryable" else ()
    yield from extensions(f"d-{word}", lambda exts: in_declare(keyed(word, exts=exts)), table, source=source + " extensions")


def _unkeyed(word: str) -> Iterator[Vector]:
    book = Book(f"u-{word}", f"declarations, U_{word.upper()}")
    yield book.ok("with-wire-expr", "The key of what ends, as the text requires", in_declare(unkeyed(word, [wire_expr()])))
    yield book.ok("without-wire-expr", "The baseline takes it without the key", in_declare(unkeyed(word)), canonical=False,
                  errata=[Reading("ZD-34", refuses={"why": "illegal-value", "at": 1, "path": f"declare.u_{word}.exts"})])
    yield book.ok("with-empty-wire-expr", "What the baseline sends for a key that it does not tell",
                  in_declare(unkeyed(word, [wire_expr(flags=0)])), canonical=False, errata=[Reading("ZD-34")])
    yield from integers(f"u-{word}", in_declare(unkeyed(word, [wire_expr()])), "id", 32, plain("id"), source=book.source)
    yield from _reserved(book, in_declare(unkeyed(word, [wire_expr()])), (0x20, 0x40))
    yield from _wire_exprs(word, book)
    yield from truncations(f"u-{word}/full", in_declare(unkeyed(word, [wire_expr(scope=300)], ident=300)), source=book.source)
    yield from extensions(f"u-{word}", lambda exts: in_declare(unkeyed(word, exts)), (wire_expr(),), source="WireExpr extension")


def _wire_exprs(word: str, book: Book) -> Iterator[Vector]:
    for flags in range(4):
        ext = wire_expr(5, flags=flags)
        yield book.ok(f"wire-expr-n{flags & 1}-m{flags >> 1}", f"WireExpr with N={flags & 1}, M={flags >> 1}",
                      in_declare(unkeyed(word, [ext])), canonical=bool(flags & 1))
    for suffix in (b"", b"k", b"k" * 126, "é/ü".encode()):
        yield book.ok(f"wire-expr-suffix-{len(suffix)}-bytes", "The suffix is the rest of the extension, without a length",
                      in_declare(unkeyed(word, [wire_expr(suffix=suffix)])),
                      errata=[Reading("ZD-33") if suffix else Reading("empty-wire-expr-suffix")])
    base = in_declare(unkeyed(word, [wire_expr(5, b"ab")]))
    text = {"flags": 3, "suffix": "ab"}
    yield from integers(f"u-{word}/wire-expr", base, "exts.wire_expr.scope", 16,
                        lambda scope: {"exts": [{"WireExpr": {**text, "scope": number(scope)}}]}, source=book.source)
    inner = in_declare(unkeyed(word, [wire_expr(suffix=b"\x02ab")]))
    as_written = in_declare(unkeyed(word, [wire_expr(suffix=b"ab")]))
    yield book.ok("wire-expr-with-inner-length", "A length before the suffix, as the text has it, is part of the suffix", inner,
                  errata=[Reading("ZD-33", means=as_written.means)])
    bad = in_declare(unkeyed(word, [wire_expr(suffix=b"a\xff")]))
    yield book.bad_at("wire-expr-bad-utf8", "The suffix is not UTF-8", bad, BAD_UTF8, bad.at("exts.wire_expr.suffix") + 1,
                      bad.path("exts.wire_expr.suffix"))
    lies = base.put("exts.wire_expr.length", vle(200), "200")
    yield book.bad("wire-expr-length-lies", "The extension's length promises more bytes than there are", lies, TRUNCATED,
                   lies.path("exts.wire_expr.length"))


def _infos() -> Iterator[Vector]:
    book = Book("d-queryable", "QueryableInfo extension")
    for complete in (0, 1):
        for distance in (0, 1, 255, 256, 65535):
            value = complete | distance << 8
            ext = z64("QueryableInfo", "queryable_info", 0x21, value, f"complete={complete}, distance {distance}")
            yield book.ok(f"info-complete-{complete}-distance-{distance}", f"QueryableInfo: complete={complete}, distance {distance}",
                          in_declare(keyed("queryable", exts=[ext])), canonical=value > 0, errata=[Reading("ZD-32")])
    def make(exts: Sequence[Ext]) -> Message:
        return in_declare(keyed("queryable", exts=exts))

    yield from z64_values("d-queryable/info", make, INFO, 64, source=book.source)
    yield from overlongs("d-queryable/info", make([z64("QueryableInfo", "queryable_info", 0x21, 5)]), "exts.queryable_info.value",
                         lambda value: {}, source=book.source)


__all__ = ["declare", "unknown"]
