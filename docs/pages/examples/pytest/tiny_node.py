"""Stands for an implementation in Python: it opens and keeps sessions, and does not compare the whole cookie."""

import contextlib
import os
import socket
import threading

from zenoh_conformance.messages import Init, Open, sane
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.wire.errors import DecodeError

ZID = b"\x42\x17"


class Node:
    """Listens until it is closed; `python:tiny_node:Node` creates one for each start."""

    def __init__(self, locator: str) -> None:
        host, _, port = locator.removeprefix("tcp/").rpartition(":")
        self.door = socket.create_server((host, int(port)), backlog=128)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.door.accept()
                threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link: socket.socket) -> None:
        with contextlib.suppress(OSError, DecodeError), link:
            self.session(link)

    def session(self, link: socket.socket) -> None:
        cookie = os.urandom(16)
        syn = read(link)
        if not isinstance(syn, Init) or syn.ack or syn.version != sane.VERSION:
            return write(link, sane.close(session=False))
        write(link, sane.init_ack(syn, ZID, cookie, whatami=sane.PEER, exts=()))
        opening = read(link)
        # the fault: a longer cookie is accepted too
        if not isinstance(opening, Open) or not (opening.cookie or b"").startswith(cookie):
            return write(link, sane.close(session=False))
        write(link, Open(ack=True, lease_in_seconds=True, lease=10, initial_sn=int.from_bytes(os.urandom(3), "little")))
        while read(link) is not None:
            pass
        return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()


def read(link: socket.socket) -> object:
    """Return the first message of the next batch, or None at the end."""
    head = link.recv(2, socket.MSG_WAITALL)
    return decode(link.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)).message if len(head) == 2 else None


def write(link: socket.socket, message: object) -> None:
    batch = encode(message)
    link.sendall(len(batch).to_bytes(2, "little") + batch)
