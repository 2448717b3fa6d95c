"""INTEREST, from the message reference and the interests page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zenoh_vectors.build.carriers import BROKEN, SUFFIXES, network_extensions
from zenoh_vectors.build.faults import extensions, integers, lying, plain, truncations
from zenoh_vectors.build.octets import vle
from zenoh_vectors.build.parts import Ext, Fields, Key, Message, Segment, chain, integer, message
from zenoh_vectors.build.samples import node_id, qos, stamp
from zenoh_vectors.build.vector import BAD_UTF8, TRAILING, WITH_CHAIN, Book, Vector

MODES = ("final", "current", "future", "current-future")
K, S, Q, T, R, N, M, A = (1 << bit for bit in range(8))
INTEREST_EXTS = (qos(0x08), stamp(), node_id(7))


def letters(options: int) -> str:
    """The names of the bits that are set."""
    return "".join(letter for bit, letter in enumerate("KSQTRNMA") if options >> bit & 1) or "none"


def interest(exts: Sequence[Ext] = (), *, ident: int = 6, mode: int = 3, options: int = K | S, key: Key | None = None) -> Message:
    """INTEREST: id; unless final an options byte, and when that says R a key whose N and M are options too."""
    body: list[Segment] = [integer("id", ident)]
    fields: Fields = {"id": ident, "mode": mode}
    if mode:
        if key is not None:
            options |= R | key.flags  # N and M stand in the same bits here as in a header
        body.append(Segment("options", bytes((options,)), letters(options)))
        fields["options"] = options
        if key is not None:
            body += key.segments
            fields["key"] = key.means
    note = f"INTEREST, {MODES[mode]}"
    return message("Interest", "interest", "network", 0x19 | mode << 5, note, [*body, *chain(exts)], fields, exts)


def interest_vectors() -> Iterator[Vector]:
    book = Book("interest", "message-reference, INTEREST")
    for mode, name in enumerate(MODES):
        yield book.ok(f"mode-{name}", f"Mode {mode} is {name}", interest(mode=mode))
        yield book.ok(f"mode-{name}-with-extension", WITH_CHAIN, interest([qos(0x08)], mode=mode))
        yield from truncations(f"interest/{name}", interest(INTEREST_EXTS[2:], ident=300, mode=mode, key=Key(300, "ab", True)),
                               source=book.source)
    for options in range(256):
        if not options & R:
            yield book.ok(f"options-{options:02x}", f"Options {letters(options)}, not restricted: no key follows",
                          interest(options=options))
    for kinds in (0, K, S, Q, T, K | S | Q | T):
        for more in (0, A):
            for key in (Key(5, None), Key(0, "a"), Key(5, None, True), Key(5, "a", True)):
                whole = interest(options=kinds | more, key=key)
                yield book.ok(f"options-{kinds | more | R | key.flags:02x}", f"Options {letters(kinds | more | R | key.flags)}", whole)
    yield from integers("interest", interest(), "id", 32, plain("id"), source=book.source)
    yield from _keys(book)
    yield from extensions("interest", lambda exts: interest(exts), INTEREST_EXTS, source="INTEREST extension table")
    yield from extensions("interest/final", lambda exts: interest(exts, mode=0), INTEREST_EXTS[:1], source="INTEREST extension table")
    yield from network_extensions("interest", lambda exts: interest(exts), INTEREST_EXTS)
    final = interest(mode=0).then(Segment("rest", b"\x03", "options where none belong"))
    yield book.bad("final-with-options", "The final mode has no options byte", final, TRAILING, "rest")


def _keys(book: Book) -> Iterator[Vector]:
    for name, suffix in SUFFIXES.items():
        yield book.ok(f"key-suffix-{name}", f"Suffix: {name}", interest(key=Key(3, suffix)))
    base = interest(key=Key(3, "ab"))
    yield from integers("interest", base, "key.scope", 16, lambda scope: {"key": {**Key(0, "ab").means, "scope": scope}},
                        source=book.source, over="refuses")
    for name, (data, bad) in BROKEN.items():
        wrong = base.put("key.suffix.length", vle(len(data)), str(len(data))).put("key.suffix.bytes", data, "no UTF-8")
        yield book.bad_at(f"key-suffix-bad-utf8-{name}", "The suffix is not UTF-8", wrong, BAD_UTF8,
                          wrong.at("key.suffix.bytes") + bad, wrong.path("key.suffix.bytes"))
    yield lying("interest/key-suffix-length-lies", "The suffix's length promises more bytes than there are", base,
                "key.suffix.length", 128, source=book.source)
