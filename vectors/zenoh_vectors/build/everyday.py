"""Chains of extensions as nodes send them every day: small, and in the order in which they stand on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.init import INIT_EXTS, init
from zenoh_vectors.build.interest import interest
from zenoh_vectors.build.open import OPEN_ACK_EXTS, OPEN_SYN_EXTS, SHM_ANSWER, open_
from zenoh_vectors.build.parts import Ext, Key
from zenoh_vectors.build.push import in_push, push, put
from zenoh_vectors.build.query import TIMEOUT, query, request, target
from zenoh_vectors.build.reply import response
from zenoh_vectors.build.samples import qos, responder_id
from zenoh_vectors.build.vector import Book, Vector, slug

INIT = {ext.slug.replace("_", "-"): ext for ext in INIT_EXTS}
INIT_CHAINS = (("qos", "patch"), ("qos", "shm", "patch"), ("qos", "auth", "patch"), ("qos", "multi-link", "patch"),
               ("qos", "compression", "patch"), ("low-latency", "patch"))  # fmt: skip
"""What stock nodes propose and answer: plain, with shared memory, a password, several links, compression, low latency."""
OPTIONS = (0x39, 0x53, 0x55, 0x59, 0x75, 0x79, 0xD3)
"""What applications ask for: one kind of declaration or two, on one key, by number and by name."""
QOS = (0x0A, 0x11, 0x13, 0x19, 0x1A, 0x1C, 0x1E)
"""Priorities beside Data, with Block and with express, as applications set them."""


def everyday_vectors() -> Iterator[Vector]:
    yield from _handshakes()
    yield from _queries()
    yield from _values()


def _handshakes() -> Iterator[Vector]:
    book = Book("everyday", "INIT and OPEN as stock nodes send them")
    for names in INIT_CHAINS:
        exts, title = [INIT[name] for name in names], " and ".join(INIT[name].name for name in names)
        for word, ack in (("syn", False), ("ack", True)):
            yield book.ok(f"init-{word}-{'-'.join(names)}", f"Init{word.title()} with {title}: only the last of the chain has Z clear",
                          init(exts, ack=ack, size=(0x0A, 65535)))
    for word, ack, table in (("syn", False, OPEN_SYN_EXTS), ("ack", True, OPEN_ACK_EXTS)):
        auth, link = _of(table, "Auth"), next(ext for ext in table if ext.name.startswith("MultiLink"))
        for other in (auth, link):
            yield book.ok(f"open-{word}-shm-answer-{slug(other.slug)}", f"Open{word.title()} of a node with shared memory, and {other.name}",
                          open_([SHM_ANSWER, other], ack=ack), errata=[Reading("open-shm-answer-is-bytes")])


def _of(table: Sequence[Ext], name: str) -> Ext:
    return next(ext for ext in table if ext.name == name)


def _queries() -> Iterator[Vector]:
    book = Book("everyday", "REQUEST, RESPONSE and INTEREST as stock nodes send them")
    yield book.ok("request-qos-timeout", "A get: QoS, then the Timeout that every get has", request(query(), [qos(0x0D), TIMEOUT]))
    yield book.ok("request-qos-target-timeout", "A get of all: the mandatory QueryTarget between two optional ones",
                  request(query(), [qos(0x0D), target(1), TIMEOUT]))
    yield book.ok("response-qos-responder-id", "An answer: QoS, then who answers", response(exts=[qos(0x0D), responder_id()]))
    for options in OPTIONS:
        key = Key(5 if options & 0x40 else 0, "a" if options & 0x20 else None, bool(options & 0x40))
        restricted = options & 0x10
        yield book.ok(f"interest-options-{options:02x}", f"Options {options:#04x}: what is wanted, and whether a key follows",
                      interest(options=options & 0x8F, key=key) if restricted else interest(options=options))


def _values() -> Iterator[Vector]:
    book = Book("everyday", "PUSH as applications send it")
    for value in QOS:
        flags = [name for bit, name in ((8, "D"), (16, "E")) if value & bit]
        yield book.ok(f"push-qos-{value:02x}", f"QoS byte {value:#04x}: priority {value & 7} with {' and '.join(flags)} in one byte",
                      push(put(), [qos(value)]))
    for ident in (1, 3, 5, 6, 7, 14):
        yield book.ok(f"put-encoding-{ident}", f"Encoding {ident} without schema: the id is shifted by one, and bit 0 is clear",
                      in_push(put(payload=b"hi", encoded=(ident, None))))
