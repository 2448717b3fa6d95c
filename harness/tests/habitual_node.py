"""A node for tests with one habit: `python habitual_node.py HOW HOST PORT`. It comes to us, unless HOW says that it listens.

exits     its program ends with 255 when its session cannot be opened; it comes back at once after CLOSE, 0.8 s after FIN or RST
never     it comes once, and never again; its program goes on
mute      it answers no query and no interest, and says nothing
lingers   the same, and it ends its link 10 s after our CLOSE
leaves    it says CLOSE by itself once its session is open, and its program ends with 0
hurries   it finishes one query, says CLOSE by itself, and its program ends with 0
segv      its program dies of SIGSEGV when its InitSyn is refused
panics    it writes a panic to its log when its InitSyn is refused, and comes again
version   it proposes protocol version 8, and takes no other
tires     it comes back at once sixteen times, and once after seven seconds
one       it listens, serves one handshake at a time, and answers 0.3 s late
brief     it listens for one link, and its program ends after it with 1
once      it listens, answers one InitSyn with version 0 as a client, and takes no further link
garbled   it listens, and announces an extension in its InitAck that does not come, unless a patch is proposed
"""

import contextlib
import itertools
import os
import signal
import socket
import sys
import time
from dataclasses import replace

from zenoh_conformance.messages import Close, Frame, Init, Open, Request, ResponseFinal, sane
from zenoh_conformance.messages.init import Patch, QoS
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.codec import decode, encode
from zenoh_conformance.wire.extensions import exts

HOW, HOST, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
ZID = b"\x99\x01"


def read_batch(sock):
    head = sock.recv(2, socket.MSG_WAITALL)
    return sock.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL) if head else b""


def write(sock, data):
    data = data if isinstance(data, bytes) else encode(data)
    sock.sendall(len(data).to_bytes(2, "little") + data)


def work(sock, serves=True):
    """Finish every query until the link ends; whether CLOSE ended it."""
    sn = 0
    while batch := read_batch(sock):
        message = decode(batch).message
        if isinstance(message, Close):
            return True
        for inner in getattr(message, "messages", ()) if serves else ():
            if isinstance(inner, Request):
                write(sock, Frame(reliable=True, sn=sn, messages=(ResponseFinal(id=inner.id),)))
                sn += 1
                if HOW == "hurries":
                    write(sock, sane.close())
                    sys.exit(0)
    return False


def session(sock):
    """As initiator: whether it was open, and whether CLOSE ended it."""
    write(sock, replace(sane.init_syn(ZID), version=8 if HOW == "version" else sane.VERSION))
    ack = decode(read_batch(sock) or encode(sane.close())).message
    if not isinstance(ack, Init) or (HOW == "version" and ack.version != 8):
        return False, isinstance(ack, Close)
    write(sock, sane.open_syn(ack))
    if not isinstance(decode(read_batch(sock) or encode(sane.close())).message, Open):
        return False, True
    if HOW == "leaves":
        write(sock, sane.close())
        sys.exit(0)
    by_close = False
    with contextlib.suppress(OSError):
        by_close = work(sock, serves=HOW not in ("mute", "lingers"))
        if HOW == "lingers" and by_close:
            sock.settimeout(10)
            sock.recv(1)
    return True, by_close


def refused():
    if HOW == "exits":
        sys.exit(255)
    if HOW == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if HOW == "panics":
        print("thread 'main' panicked at src/lib.rs:1:2:", file=sys.stderr, flush=True)


def comes():
    for times in itertools.count():
        if HOW == "tires" and times == 16:
            time.sleep(7)
        was_open, by_close = False, False
        with contextlib.suppress(OSError), socket.create_connection((HOST, PORT)) as sock:
            was_open, by_close = session(sock)
        if HOW == "never":
            signal.pause()
        if not was_open:
            refused()
        elif HOW == "exits" and not by_close:
            time.sleep(0.8)


def answer(sock):
    syn = decode(read_batch(sock)).message
    patched = syn.exts.get(Patch) is not None
    if HOW == "garbled" and not patched:
        data = encode(sane.init_ack(syn, ZID, b"cookie", exts=exts()))
        write(sock, bytes([data[0] | 0x80]) + data[1:])
    else:
        offers = tuple(ext for ext in syn.exts if isinstance(ext, QoS | Patch))
        changes = {"version": 0, "whatami": WhatAmI.CLIENT} if HOW == "once" else {}
        write(sock, sane.init_ack(syn, ZID, b"cookie", exts=exts(*offers), **changes))
    if isinstance(decode(read_batch(sock) or encode(sane.close())).message, Open):
        write(sock, sane.open_ack())
        work(sock)


def listens():
    with socket.create_server((HOST, PORT)) as server:
        while True:
            sock, _ = server.accept()
            with contextlib.suppress(OSError, AttributeError), sock:
                time.sleep(0.3 if HOW == "one" else 0)
                sock.settimeout(5.0)
                answer(sock)
            if HOW == "brief":
                sys.exit(1)
            if HOW == "once":
                server.close()
                signal.pause()


(listens if HOW in ("one", "garbled", "brief", "once") else comes)()
