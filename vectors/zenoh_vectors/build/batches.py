"""Several messages together: batches, streams of batches, low-latency batches, fragment chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zenoh_vectors.build.declare import declare, keyed
from zenoh_vectors.build.errata import Reading
from zenoh_vectors.build.faults import MANY
from zenoh_vectors.build.init import init
from zenoh_vectors.build.octets import le16
from zenoh_vectors.build.open import open_
from zenoh_vectors.build.parts import Message, Segment, under
from zenoh_vectors.build.push import push, put
from zenoh_vectors.build.query import request
from zenoh_vectors.build.reply import final
from zenoh_vectors.build.samples import filler, qos
from zenoh_vectors.build.transport import DROP, FIRST, close, fragment, frame, keep_alive, oam
from zenoh_vectors.build.vector import TRUNCATED, UNKNOWN_ID, Book, Vector


def batch(*messages: Message, layer: str = "batch") -> Message:
    """Messages back to back."""
    segments: list[Segment] = []
    for position, one in enumerate(messages):
        segments += under(f"messages[{position}]", one.segments)
    return Message("Batch", "messages", tuple(segments), {"messages": [one.means for one in messages]}, layer)


def stream(*batches: Sequence[Message]) -> Message:
    """Batches, each behind its length in two bytes."""
    segments: list[Segment] = []
    text = []
    for position, messages in enumerate(batches):
        inner = batch(*messages)
        size = len(inner.data)
        segments.append(Segment(f"batches[{position}].length", le16(size), f"{size} bytes, low byte first"))
        segments += under(f"batches[{position}]", inner.segments)
        text.append(inner.fields)
    return Message("Stream", "batches", tuple(segments), {"batches": text}, "stream")


def batch_vectors() -> Iterator[Vector]:
    book = Book("batch", "frame format and batching")
    one, two = push(put(payload=b"1")), push(put(payload=b"2"))
    several = [Reading("ZD-07")]
    samples = {
        "one-keep-alive": batch(keep_alive()),
        "one-frame": batch(frame([one])),
        "two-keep-alives": batch(keep_alive(), keep_alive()),
        "frame-then-keep-alive": batch(frame([one]), keep_alive()),
        "two-frames": batch(frame([one], sn=7), frame([two], sn=8)),
        "both-channels": batch(frame([one], sn=7), frame([two], sn=3, reliable=False)),
        "two-priorities": batch(frame([one], [qos(1, 0x31)]), frame([two], [qos(6, 0x31)])),
        "frame-then-close": batch(frame([one]), close(session=True)),
        "empty-frame-then-frame": batch(frame(), frame([one])),
        "frame-of-three-then-oam": batch(frame([one, request(), final()]), oam()),
        "oam-then-frame": batch(oam(enc=0x00), frame([one])),
        "keep-alive-then-fragment": batch(keep_alive(), fragment(b"\x04\x04")),
        "frame-then-fragment": batch(frame([one]), fragment(filler(40), sn=8)),
        **{f"{count}-messages": batch(*[oam(ident=position, enc=0x00) for position in range(count)]) for count in MANY},
        "every-kind": batch(keep_alive(), oam(), frame([one, declare(keyed("subscriber"))]), frame([two], sn=8), close()),
    }
    for name, whole in samples.items():
        errata = several if len(whole.fields["messages"]) > 1 else []
        yield book.ok(name, f"A batch: {name.replace('-', ' ')}", whole, errata=errata)
    yield book.bad_at("empty", "A batch of no bytes", batch(), TRUNCATED, 0, "messages", errata=[Reading("ZD-05")])
    yield from _batch_faults(book, one)


def _batch_faults(book: Book, one: Message) -> Iterator[Vector]:
    garbage = batch(frame([one])).then(Segment("messages[1]", b"\x18\x00", "no id of either layer"))
    yield book.bad("frame-then-unassigned-id", "What is no network message ends the FRAME, and must be a transport message", garbage,
                   UNKNOWN_ID, "messages[1]", errata=[Reading("ZD-08")])
    alone = batch(keep_alive()).then(Segment("messages[1]", b"\x1d\x00\x01", "a network message"))
    yield book.bad("network-message-without-frame", "A network message outside of FRAME", alone, UNKNOWN_ID, "messages[1]")
    behind = batch(frame(), keep_alive()).then(Segment("messages[2]", one.data, "PUSH"))
    yield book.bad("network-message-behind-keep-alive", "KEEP_ALIVE is no network message: it ends the FRAME", behind, UNKNOWN_ID,
                   "messages[2]", errata=[Reading("ZD-08")])
    short = batch(keep_alive(), close())
    cut = Message("Batch", "messages", short.segments[:-1], {}, "batch")
    yield book.bad_at("second-message-cut", "The second message is cut short", cut, TRUNCATED, len(cut.data), "messages[1].close.reason")
    inner = batch(frame([push(put(payload=b"12345"))]))
    cut = Message("Batch", "messages", inner.segments[:-1], {}, "batch")
    path = "messages[0].frame.messages[0].push.put.payload.length"
    yield book.bad("message-in-frame-cut", "A message inside of FRAME is cut short", cut, TRUNCATED, path)
    odd = batch(keep_alive()).then(Segment("messages[1]", b"\x1f\x01", "network OAM"))
    yield book.bad("network-oam-without-frame", "Both OAMs differ by id", odd, UNKNOWN_ID, "messages[1]")


def stream_vectors() -> Iterator[Vector]:
    book = Book("stream", "frame format, stream framing")
    one = push(put(payload=b"1"))
    samples = {
        "one-batch": stream([keep_alive()]),
        "two-batches": stream([keep_alive()], [frame([one])]),
        "several-messages-in-a-batch": stream([frame([one]), keep_alive()]),
        "length-of-255": stream([fragment(filler(253))]),
        "length-of-256": stream([fragment(filler(254))]),
        "length-of-4660": stream([fragment(filler(0x1234 - 2))]),
    }
    for name, whole in samples.items():
        yield book.ok(name, f"A stream: {name.replace('-', ' ')}", whole, errata=[Reading("ZD-06")])
    yield book.ok("empty-batch", "A length of zero", stream([]), errata=[Reading("ZD-05")])
    cut = stream([frame([one])])
    for name, size in (("cut-in-length", 1), ("cut-after-length", 2), ("cut-in-batch", len(cut.data) - 1)):
        data = cut.data[:size]
        short = Message("Stream", "batches", (Segment("batches[0].length", data[:2]), Segment("batches[0].rest", data[2:])), {}, "stream")
        yield book.bad_at(name, "The stream ends inside of a batch", short, TRUNCATED, size, "batches[0]")
    big = stream([close()]).put_first(b"\x00\x02", "512: the length high byte first")
    yield book.bad_at("length-high-byte-first", "The length is little-endian", big, TRUNCATED, len(big.data), "batches[0]")


def lowlatency_vectors() -> Iterator[Vector]:
    book = Book("lowlatency", "frame format, low latency")
    one = push(put(payload=b"1"))
    samples = {
        "push": batch(one, layer="lowlatency"),
        "two-messages": batch(one, final(), layer="lowlatency"),
        "keep-alive": batch(keep_alive(), layer="lowlatency"),
        "close": batch(close(session=True), layer="lowlatency"),
        "request": batch(request(), layer="lowlatency"),
        "declare": batch(declare(keyed("subscriber")), layer="lowlatency"),
    }
    for name, whole in samples.items():
        yield book.ok(name, f"After a low-latency handshake: {name.replace('-', ' ')}", whole, errata=[Reading("ZD-09")])
    framed = Message("Batch", "messages", (Segment("messages[0]", frame([one]).data, "FRAME"),), {}, "lowlatency")
    yield book.bad("frame", "There is no FRAME in a low-latency session", framed, UNKNOWN_ID, "messages[0]")
    wrong = Message("Batch", "messages", (Segment("messages[0]", open_().data, "OPEN"),), {}, "lowlatency")
    yield book.bad("open", "There is no OPEN in a low-latency session", wrong, UNKNOWN_ID, "messages[0]")
    wrong = Message("Batch", "messages", (Segment("messages[0]", init().data, "INIT"),), {}, "lowlatency")
    yield book.bad("init", "There is no INIT in a low-latency session", wrong, UNKNOWN_ID, "messages[0]")


def pieces(whole: Message, size: int, *, sn: int = 7, marked: bool = True, reliable: bool = True) -> list[Message]:
    """A network message cut into fragments of `size` bytes; `marked`: the first one says so."""
    data = whole.data
    cuts = [data[at : at + size] for at in range(0, len(data), size)]
    return [fragment(piece, [FIRST] if marked and not place else [], reliable=reliable, more=place < len(cuts) - 1, sn=sn + place)
            for place, piece in enumerate(cuts)]  # fmt: skip


def fragment_chain(count: int) -> tuple[Message, list[Message]]:
    """A PUSH, and the `count` fragments that carry it."""
    whole = push(put(payload=filler(90)))
    return whole, pieces(whole, -(-len(whole.data) // count))


def dropped() -> list[Message]:
    """A chain that its sender gives up."""
    _, chain = fragment_chain(3)
    return [chain[0], fragment(b"", [DROP], more=False, sn=8)]
