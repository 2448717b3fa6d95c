"""A node for tests: `python misbehaving_node.py HOW PORT`; it misbehaves in the way that HOW names."""

import contextlib
import itertools
import os
import select
import socket
import sys
import threading

from zenoh_conformance.messages import Frame, Push, Request, ResponseFinal, sane
from zenoh_conformance.reading.batch import decode_batch
from zenoh_conformance.reading.codec import decode, encode

SNS = itertools.count(1)


def read_batch(sock):
    head = sock.recv(2, socket.MSG_WAITALL)
    return sock.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)


def write(sock, message):
    data = encode(message)
    sock.sendall(len(data).to_bytes(2, "little") + data)


def handshake(sock, answers_open=True):
    syn = decode(read_batch(sock)).message
    write(sock, sane.init_ack(syn, b"\x99\x01", cookie=b"cookie"))
    read_batch(sock)
    if answers_open:
        write(sock, sane.open_ack())


def half_work(how, sock, others):
    """Finishes every query; passes pushes on only when HOW says so."""
    others.append(sock)
    while batch := read_batch(sock):
        for found in decode_batch(batch):
            for message in getattr(found.message, "messages", ()):
                if isinstance(message, Request):
                    write(sock, Frame(reliable=True, sn=next(SNS), messages=(ResponseFinal(id=message.id),)))
                elif isinstance(message, Push) and how == "passes-pushes-only":
                    for other in others:
                        if other is not sock:
                            with contextlib.suppress(OSError):
                                write(other, Frame(reliable=True, sn=next(SNS), messages=(message,)))


def serve(how, sock, others=()):
    handshake(sock, answers_open=how != "stalls-at-open")
    if how == "closes-after-open":
        sock.close()
    elif how == "says-close":
        write(sock, sane.close(0))
    elif how in ("finishes-queries-only", "passes-pushes-only"):
        threading.Thread(target=half_work, args=(how, sock, others), daemon=True).start()


def main():
    how, port = sys.argv[1], int(sys.argv[2])
    if how == "late":
        select.select([], [], [], 0.4)
    held, others = [], []
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            sock, _ = server.accept()
            held.append(sock)
            if how == "dies" and len(held) > 1:
                print("one\ntwo", flush=True)
                print("last words", file=sys.stderr, flush=True)
                os.abort()
            try:
                serve(how, sock, others)
            except (OSError, IndexError, ValueError):
                sock.close()


if __name__ == "__main__":
    main()
