"""A hostile node for tests: `python hostile_node.py HOW PORT`. HOW names one of the functions below."""

import contextlib
import itertools
import os
import random
import socket
import sys
import threading
import time
from dataclasses import replace

from zenoh_conformance.messages import Declare, Fragment, Frame, KeepAlive, Push, Put, ResponseFinal, sane
from zenoh_conformance.messages.declarations import DSubscriber
from zenoh_conformance.messages.init import Compression
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.wire.extensions import exts

IDS = itertools.count(1)
KEY = WireExpr(scope=0, suffix="a", mapping=True)


def read(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def read_batch(sock):
    return read(sock, int.from_bytes(read(sock, 2), "little"))


def batch(data):
    return len(data).to_bytes(2, "little") + data


def say(sock, *messages):
    sock.sendall(b"".join(batch(encode(message)) for message in messages))


def opened(sock):
    """Accept a session as it should be, and take the other side's extension for compression; return whether it is on."""
    syn = decode(read_batch(sock)).message
    ack = sane.init_ack(syn, b"\x99\x01", cookie=b"cookie")
    compression = [ext for ext in syn.exts if isinstance(ext, Compression)]
    say(sock, replace(ack, exts=exts(*compression)))
    read_batch(sock)
    say(sock, sane.open_ack())
    threading.Thread(target=drain, args=(sock,), daemon=True).start()
    return bool(compression)


def drain(sock):
    with contextlib.suppress(OSError):
        while sock.recv(1 << 16):
            pass


def for_ever(sock, made):
    """The bytes that `made` returns, again and again, in one session."""
    opened(sock)
    while True:
        sock.sendall(made())


def frame(*messages):
    return Frame(reliable=True, sn=next(IDS), messages=messages)


def keep_alives(sock):
    many = batch(encode(KeepAlive())) * 1000
    for_ever(sock, lambda: many)


def fragments(sock):
    payload = bytes(60_000)
    for_ever(sock, lambda: batch(encode(Fragment(reliable=True, more=True, sn=next(IDS), payload=payload))))


def compressed(sock):
    """60 kB of zeros in a few hundred bytes, if compression is on."""
    data = encode(frame(Push(key=KEY, body=Put(payload=bytes(60_000)))))
    if opened(sock):
        many = frame_batch(data, "stream", compressed=True) * 100
        while True:
            sock.sendall(many)


def pushes(sock):
    put = Push(key=KEY, body=Put(payload=bytes(60_000)))
    for_ever(sock, lambda: batch(encode(frame(put))))


def subscribers(sock):
    """Declarations without an end, each with an id of its own."""
    for_ever(
        sock,
        lambda: b"".join(batch(encode(frame(Declare(body=DSubscriber(id=next(IDS), key=KEY))))) for _ in range(100)),
    )


def strangers(sock):
    """Answers to queries that this session never asked."""
    for_ever(sock, lambda: b"".join(batch(encode(frame(ResponseFinal(id=next(IDS))))) for _ in range(100)))


def noise(sock):
    drawn = random.Random(7)
    while True:
        sock.sendall(drawn.randbytes(10_000))


def one_by_one(sock):
    """Its first answer comes one byte at a time."""
    answer = batch(encode(sane.init_ack(decode(read_batch(sock)).message, b"\x99\x01", cookie=b"cookie")))
    for byte in itertools.cycle(answer):
        sock.sendall(bytes([byte]))
        time.sleep(0.2)


def extensions(sock):
    """60,000 optional extensions without a body in its first answer."""
    answer = encode(sane.init_ack(decode(read_batch(sock)).message, b"\x99\x01", cookie=b"cookie"))
    sock.sendall(batch(bytes([answer[0] | 0x80]) + answer[1:] + b"\x8f" * 60_000 + b"\x0f"))
    drain(sock)


def long_cookie(sock):
    """The length of its cookie is 2^63."""
    answer = encode(sane.init_ack(decode(read_batch(sock)).message, b"\x99\x01", cookie=b"cookie"))
    sock.sendall(batch(answer.replace(b"\x06cookie", b"\x80" * 9 + b"\x01cookie")))
    drain(sock)


def one_byte(sock):
    read_batch(sock)
    sock.sendall(b"\x07")


def silent(sock):
    drain(sock)


def deaf(sock):
    """It reads nothing after the handshake."""
    say(sock, sane.init_ack(decode(read_batch(sock)).message, b"\x99\x01", cookie=b"cookie"))
    read_batch(sock)
    say(sock, sane.open_ack())
    threading.Event().wait()


def half(sock):
    """The length of a large batch, and half of the batch."""
    opened(sock)
    sock.sendall(b"\xff\xff" + bytes(30_000))
    threading.Event().wait()


def forks(sock):
    """Each connection leaves a process that nobody waits for, in a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    opened(sock)
    threading.Event().wait()


def log_flood(sock):
    opened(sock)
    while True:
        sys.stderr.write("all is well\n" * 10_000)


def serve(sock, how):
    with sock, contextlib.suppress(OSError):
        how(sock)


def main():
    how = globals()[sys.argv[1]]
    with socket.create_server(("127.0.0.1", int(sys.argv[2]))) as server:
        while True:
            threading.Thread(target=serve, args=(server.accept()[0], how), daemon=True).start()


if __name__ == "__main__":
    main()
