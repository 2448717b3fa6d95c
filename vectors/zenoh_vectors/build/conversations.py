"""Whole conversations: handshakes, publications, queries, fragment chains; each step is the bytes of one side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from zenoh_vectors.build.batches import batch, dropped, fragment_chain, stream
from zenoh_vectors.build.carriers import strangers
from zenoh_vectors.build.declare import d_final, d_keyexpr, declare, keyed, u_keyexpr, unkeyed, wire_expr
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.init import init
from zenoh_vectors.build.interest import K, R, S, interest
from zenoh_vectors.build.join import PATCH as JOIN_PATCH
from zenoh_vectors.build.join import join, lanes
from zenoh_vectors.build.open import open_
from zenoh_vectors.build.parts import Ext, Key, Message, Segment, opaque, unit, z64
from zenoh_vectors.build.push import PUSH_EXTS, PUT_ATTACHMENT, STAMP, delete, push, put
from zenoh_vectors.build.query import QUERY_EXTS, REQUEST_EXTS, query, request, target
from zenoh_vectors.build.reply import FINAL_EXTS, RESPONSE_EXTS, err, final, reply, response
from zenoh_vectors.build.samples import OTHER, ZID, node_id, qos, source_info
from zenoh_vectors.build.scouting import hello, scout
from zenoh_vectors.build.transport import close, fragment, frame, keep_alive, oam
from zenoh_vectors.build.vector import UNKNOWN_ID, Book, Vector, accept

Side = Literal["initiator", "responder"]
US: Side = "initiator"
THEM: Side = "responder"
PATCH = z64("Patch", "patch", 0x27, 1)
QOS, LOW, COMPRESSED = unit("QoS", "qos", 0x01), unit("LowLatency", "low_latency", 0x05), unit("Compression", "compression", 0x06)


def step(who: Side, about: str, *messages: Message, layer: str = "stream") -> tuple[str, Vector]:
    """The bytes that one side sends at once: a batch with its length, or what `layer` says."""
    whole = stream(messages) if layer == "stream" else batch(*messages, layer=layer) if layer != "scouting" else messages[0]
    return who, accept("step", about, whole, source="conversation")


def conversation(ident: str, about: str, source: str, *steps: tuple[str, Vector], errata: Sequence[Reading] = ()) -> Vector:
    """Steps in their order."""
    return Vector(ident, about, "conversation", (), source, errata=tuple(errata), steps=steps)


# --- handshakes ------------------------------------------------------------------------------------------------------


def handshake(ident: str, about: str, *rest: tuple[str, Vector], syn: Sequence[Ext] = (), ack: Sequence[Ext] | None = None,
              opens: tuple[Sequence[Ext], Sequence[Ext]] = ((), ()), size: tuple[int, int] | None = None,
              ack_size: tuple[int, int] | None = None, errata: Sequence[Reading] = ()) -> Vector:
    """The four messages, then `rest`."""
    cookie = bytes(range(0x40, 0x60))
    answer = ack_size or size
    four = (
        step(US, "InitSyn proposes", init(syn, size=size)),
        step(THEM, "InitAck answers with a cookie", init(syn if ack is None else ack, ack=True, size=answer, role=0, zid=OTHER, cookie=cookie)),
        step(US, "OpenSyn returns the cookie", open_(opens[0], cookie=cookie, sn=100)),
        step(THEM, "OpenAck: the session is live", open_(opens[1], ack=True, sn=200)),
    )
    return conversation(f"handshake/{ident}", about, "session-establishment, handshake flow", *four, *rest, errata=errata)


def handshake_vectors() -> Iterator[Vector]:
    one = push(put(payload=b"1"))
    yield handshake("plain", "Four messages, no extension")
    yield handshake("with-size", "Resolution and batch size told by both", size=(0x0A, 65535))
    yield handshake("lower-resolution", "The responder lowers resolution and batch size", size=(0x0A, 65535), ack_size=(0x05, 2048))
    yield handshake("responder-silent-about-size", "InitAck without S: the defaults, not what was proposed", size=(0x05, 2048),
                    ack_size=None, errata=[Reading("ZD-53")])
    yield handshake("eight-bit", "Sequence numbers and request ids of 8 bits", size=(0x00, 1024))
    yield handshake("patch", "Patch 1 on both sides", syn=[PATCH])
    yield handshake("qos", "Priorities on both sides, and a FRAME with one", step(US, "a FRAME of priority 2", frame([one], [qos(2, 0x31)], sn=100)),
                    syn=[QOS, PATCH])
    yield handshake("qos-confirmed-in-open", "As the text has it: OPEN confirms QoS", syn=[QOS], opens=([QOS], [QOS]),
                    errata=[Reading("ZD-60", "as written")])
    yield handshake("qos-refused", "The responder leaves QoS out", syn=[QOS, PATCH], ack=[PATCH])
    yield handshake("low-latency", "Low latency: network messages without FRAME",
                    step(US, "a PUSH by itself", one, layer="lowlatency"), step(THEM, "a KEEP_ALIVE by itself", keep_alive(), layer="lowlatency"),
                    syn=[LOW], errata=[Reading("ZD-09")])
    yield handshake("compression", "Compression on both sides", syn=[COMPRESSED, PATCH])
    yield handshake("multilink", "A second link proves that it belongs to the session", syn=[opaque("MultiLink", "multi_link", 0x44, b"\x71\x72")],
                    opens=([opaque("MultiLinkSyn", "multi_link_syn", 0x44, b"\x73")], [unit("MultiLinkAck", "multi_link_ack", 0x04)]))
    yield handshake("auth", "User and password: opaque steps", syn=[opaque("Auth", "auth", 0x43, b"\x01")],
                    ack=[opaque("Auth", "auth", 0x43, b"\x21\x2a")],
                    opens=([opaque("Auth", "auth", 0x43, b"\x41\x04user")], [opaque("Auth", "auth", 0x43, b"\x01")]))
    yield from _ends()


def _ends() -> Iterator[Vector]:
    source = "session-establishment, handshake flow"
    yield conversation("handshake/version-refused", "The responder does not speak that version", source,
                       step(US, "InitSyn of version 8", init(version=8)), step(THEM, "CLOSE, unsupported", close(reason=1)))
    yield conversation("handshake/cookie-refused", "The cookie that comes back is another one", source,
                       step(US, "InitSyn", init()), step(THEM, "InitAck", init(ack=True, role=0, zid=OTHER, cookie=b"\x01\x02")),
                       step(US, "OpenSyn, one bit flipped", open_(cookie=b"\x01\x03")), step(THEM, "CLOSE, invalid", close(reason=2)))
    yield conversation("handshake/own-zid", "A node connects to itself", source, step(US, "InitSyn", init(zid=ZID)),
                       step(THEM, "CLOSE, connection to self", close(reason=7)))
    yield handshake("until-close", "A session from its first byte to its last",
                    step(THEM, "the first declarations are told", frame([declare(d_final(), [qos(0x08)], interest=0)], sn=200)),
                    step(US, "nothing to say", keep_alive()), step(US, "the end", close(session=True)))
    yield conversation("handshake/multicast", "No handshake: JOIN, then messages", "message-reference, JOIN",
                       step(US, "JOIN", join(seconds=True), layer="batch"), step(THEM, "JOIN", join([lanes(), JOIN_PATCH], zid=OTHER), layer="batch"),
                       step(US, "a PUSH", frame([push()], sn=8, reliable=False), layer="batch"))
    yield conversation("handshake/scouting", "SCOUT and the HELLO that answers it", "scouting", step(US, "SCOUT", scout(what=3), layer="scouting"),
                       step(THEM, "HELLO", hello(zid=OTHER, locators=["tcp/10.0.0.1:7447"]), layer="scouting"))


# --- publications ----------------------------------------------------------------------------------------------------


def push_vectors() -> Iterator[Vector]:
    source = "push, message layering"
    subscribe = step(THEM, "a subscriber is declared", frame([declare(keyed("subscriber", key=Key(0, "a/**", True)), [qos(8)])], sn=200))
    yield conversation("publication/put", "A subscriber, then a value", source, subscribe, step(US, "a PUT", frame([push(key=Key(0, "a/b", True))])))
    yield conversation("publication/del", "A subscriber, then a deletion", source, subscribe,
                       step(US, "a DEL", frame([push(delete(), key=Key(0, "a/b", True))])))
    yield conversation("publication/by-number", "The key gets a number, and loses it", source,
                       step(US, "7 stands for a/b", frame([declare(d_keyexpr(ident=7, key=Key(0, "a/b")))], sn=7)),
                       step(US, "a PUT to 7", frame([push(key=Key(7, None, True))], sn=8)),
                       step(US, "a PUT to 7 and more", frame([push(key=Key(7, "/c", True))], sn=9)),
                       step(US, "7 is free again", frame([declare(u_keyexpr(ident=7))], sn=10)))
    yield conversation("publication/subscriber-leaves", "A subscriber comes and goes", source, subscribe,
                       step(THEM, "it goes", frame([declare(unkeyed("subscriber", [wire_expr(0, b"a/**")]))], sn=201)))
    yield conversation("publication/packed", "Three values in one FRAME", source, subscribe,
                       step(US, "three PUTs", frame([push(put(payload=bytes((n,)))) for n in range(3)])))
    yield conversation("publication/interest", "Current and future subscribers", "interests",
                       step(US, "an interest", frame([interest(ident=5, mode=3, options=K | S, key=Key(0, "a/**", True))])),
                       step(THEM, "what there is", frame([declare(keyed("subscriber"), interest=5)], sn=200)),
                       step(THEM, "that is all", frame([declare(d_final(), interest=5)], sn=201)),
                       step(THEM, "something new", frame([declare(keyed("subscriber", ident=6))], sn=202)),
                       step(US, "enough", frame([interest(ident=5, mode=0)], sn=8)))
    yield from _fragments()


def _fragments() -> Iterator[Vector]:
    for count in (1, 2, 3, 10):
        whole, chain = fragment_chain(count)
        steps = [step(US, f"piece {place + 1} of {len(chain)}", piece) for place, piece in enumerate(chain)]
        yield conversation(f"fragments/{count}", f"A PUSH in {len(chain)} fragments", "fragmentation", *steps, errata=[Reading("ZD-67")])
        yield accept(f"fragments/{count}-together", "The message that they hold, reassembled", whole, source="fragmentation")
    yield conversation("fragments/dropped", "The sender gives the chain up", "fragmentation",
                       *[step(US, f"piece {place + 1}", piece) for place, piece in enumerate(dropped())])
    _, chain = fragment_chain(2)
    yield conversation("fragments/together-in-a-batch", "Other messages may stand before a fragment, none after", "fragmentation",
                       step(US, "a KEEP_ALIVE and the first piece", keep_alive(), chain[0]), step(US, "the last piece", chain[1]),
                       errata=[Reading("ZD-07")])


# --- queries ---------------------------------------------------------------------------------------------------------


def query_vectors() -> Iterator[Vector]:
    source = "query, request/response flow"
    ask = step(US, "a question", frame([request(query(parameters="a=1"), [qos(0x0D), target(1)], ident=3, key=Key(0, "k/**", True))]))
    serve = step(THEM, "a queryable serves k/**", frame([declare(keyed("queryable", key=Key(0, "k/**", True)), [qos(8)])], sn=200))
    answers = [step(THEM, f"answer {n}", frame([response(reply(put(payload=bytes((n,)))), ident=3, key=Key(0, f"k/{n}", True))], sn=200 + n))
               for n in (1, 2)]  # fmt: skip
    end = step(THEM, "no more", frame([final(ident=3)], sn=210))
    yield conversation("conversation/one-reply", "A question, an answer, the end", source, serve, ask, answers[0], end)
    yield conversation("conversation/two-replies", "Two answers", source, serve, ask, *answers, end)
    yield conversation("conversation/no-reply", "Nobody answers", source, ask, end)
    yield conversation("conversation/reply-del", "The answer is a deletion", source, ask,
                       step(THEM, "gone", frame([response(reply(delete(stamped=STAMP)), ident=3)], sn=200)), end)
    yield conversation("conversation/error", "The answer is an error", source, ask,
                       step(THEM, "no", frame([response(err(encoded=(4, None)), ident=3)], sn=200)), end)
    yield conversation("conversation/answer-and-end-together", "Answer and end in one FRAME", source, ask,
                       step(THEM, "both", frame([response(ident=3), final(ident=3)], sn=200)))
    yield conversation("conversation/two-questions", "Two questions at once, told by their ids", source, ask,
                       step(US, "another", frame([request(ident=4)], sn=8)), step(THEM, "to the second", frame([response(ident=4)], sn=200)),
                       step(THEM, "its end", frame([final(ident=4)], sn=201)), answers[0], end)
    yield conversation("conversation/low-latency", "Low latency is settled: the messages of a query stand without FRAME", source, step(US, "a question", request(ident=3), layer="lowlatency"),
                       step(THEM, "an answer", response(ident=3), layer="lowlatency"), step(THEM, "the end", final(ident=3), layer="lowlatency"),
                       errata=[Reading("ZD-09")])
    yield conversation("conversation/queryable-leaves", "A queryable is undeclared", source, serve,
                       step(THEM, "it goes", frame([declare(unkeyed("queryable", [wire_expr(0, b"k/**")]))], sn=201)))


# --- the layouts that the pages draw in full -------------------------------------------------------------------------


def layout_vectors() -> Iterator[Vector]:
    frame_qos = [qos(5, 0x31)]
    full_put = put((source_info(), PUT_ATTACHMENT), stamped=STAMP, encoded=(4, b"utf-8"), payload=b"payload")
    key = Key(3, "/suffix", True)
    samples = {
        "push-put": ("push", push(full_put, PUSH_EXTS, key=key), push(key=Key(0, None))),
        "push-del": ("push", push(delete((source_info(),), stamped=STAMP), PUSH_EXTS, key=key), push(delete(), key=Key(0, None))),
        "request-query": ("query", request(query(QUERY_EXTS, consolidation=3, parameters="a=1"), REQUEST_EXTS, key=key),
                          request(key=Key(0, None))),
        "response-reply-put": ("reply", response(reply(full_put, consolidation=1), RESPONSE_EXTS, key=key), response(key=Key(0, None))),
        "response-err": ("reply", response(err((source_info(),), encoded=(4, b"utf-8")), RESPONSE_EXTS, key=key), response(err(), key=Key(0, None))),
        "response-final": ("reply", final(FINAL_EXTS), final()),
    }
    for name, (page, full, bare) in samples.items():
        book = Book("layout", f"{page}, complete wire layout")
        yield book.ok(f"{name}-full", "Everything that the drawing has", stream([frame([full], frame_qos)]))
        yield book.ok(f"{name}-bare", "Nothing that is optional", stream([frame([bare])]))
    book = Book("layout", "reply, complete wire layout")
    yield book.ok("reply-then-final", "RESPONSE_FINAL in a FRAME of its own",
                  stream([frame([samples["response-reply-put"][1]], frame_qos)], [frame([final(FINAL_EXTS)], sn=8)]))


def stranger_vectors() -> Iterator[Vector]:
    """Whole messages where another kind is expected."""
    put_, del_, query_, reply_, err_ = put(), delete(), query(), reply(), err()
    groups = ((push, "push", (query_, reply_, err_)), (request, "request", (put_, del_, reply_, err_)),
              (response, "response", (put_, del_, query_)), (lambda body: declare(body), "declare", (declare(), push(), interest())))  # fmt: skip
    for carry, stem, bodies in groups:
        yield from strangers(stem, [carry(body) for body in bodies], bodies, f"{stem}, body")
    inner = [response(reply(body)).inside("reply", "body", "Reply") for body in (query_, reply_, err_)]
    yield from strangers("reply", inner, (query_, reply_, err_), "reply, body")
    yield from _wrong_layers()


def _wrong_layers() -> Iterator[Vector]:
    book = Book("transport-ids", "message-reference, message ids")
    for whole in (push(), request(), response(), final(), declare(), interest()):
        there = replace(whole, layer="transport")
        yield book.bad(f"whole-{whole.name.replace('_', '-')}", f"A whole {whole.kind} is no transport message", there, UNKNOWN_ID,
                       f"{whole.name}.header")
    for whole in (init(), open_(), close(), keep_alive(), frame([push()])):
        there = replace(whole, layer="network")
        yield book.bad(f"no-network-whole-{whole.name.replace('_', '-')}", f"A whole {whole.kind} is no network message", there, UNKNOWN_ID,
                       f"{whole.name}.header")
    for layer, known in (("transport", range(8)), ("network", range(0x19, 0x20))):
        for ident in range(32):
            if ident not in known:
                bare = Message("", layer, (Segment(f"{layer}.header", bytes((ident,)), f"id {ident:#04x}"),), {}, layer)
                yield book.bad(f"{layer}-bare-id-{ident:02x}", "One byte, an id that this layer does not have", bare, UNKNOWN_ID, f"{layer}.header")
    yield from _neighbours(book, (push(), request(), response(), final(), declare(), interest(), oam(network=True)))
    yield from _neighbours(book, (keep_alive(), close(), frame([push()]), fragment(), oam()))
    book = Book("scouting-ids", "scouting, message ids")
    for like in (scout(), hello(), hello(locators=["tcp/h:1"])):
        for ident in (0x00, 0x03, 0x04, 0x1D):
            head = like.segments[0].data[0] & 0xE0 | ident
            odd = like.put("header", bytes((head,)), f"id {ident:#04x}")
            name = like.name + ("-with-locators" if "locators" in like.fields else "")
            yield book.bad(f"{name}-with-id-{ident:02x}", f"Like {like.name.upper()}, under another id", odd, UNKNOWN_ID, f"{like.name}.header")


def _neighbours(book: Book, messages: Sequence[Message]) -> Iterator[Vector]:
    """Each message under the ids in neither range that differ from its own in one bit."""
    for whole in messages:
        header, stem = whole.segments[0].data[0], "no-network-" if whole.layer == "network" else ""
        for ident in (header & 0x1F ^ 1 << bit for bit in range(5)):
            if 0x08 <= ident <= 0x18:
                odd = whole.put("header", bytes((header & 0xE0 | ident,)), f"id {ident:#04x}")
                yield book.bad(f"{stem}{whole.name.replace('_', '-')}-with-id-{ident:02x}", f"Like {whole.name.upper()}, under another id",
                               odd, UNKNOWN_ID, f"{whole.name}.header")


__all__ = ["R", "node_id"]
