"""The reference, but for one fault of health, in a process of its own: `dying_node.py PORT FAULT`.

dies       ends by itself (SIGABRT) when an OpenSyn brings a cookie that is not the one issued
zombie     after such a cookie it goes on answering handshakes, and does nothing else any more
hangs      after such a cookie it says nothing any more
low        dies of SIGSEGV when an InitSyn offers low latency
ends       works, and dies of SIGSEGV when it is asked to end
"""

import os
import signal
import sys

from zenoh_conformance.messages.init import LowLatency
from zenoh_conformance.reading.codec import decode
from zenoh_conformance.wire import DecodeError
from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.serve import Server

FAULT = sys.argv[2]


def segv(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def offers_low_latency(data):
    """Whether the batch is an InitSyn that offers low latency."""
    try:
        exts = getattr(decode(data[2:]).message, "exts", ())
    except DecodeError:
        return False
    return any(isinstance(ext, LowLatency) for ext in exts)


class Dying(Reference):
    """Its fault shows from the first strange cookie on."""

    struck = False

    def cookie_matches(self, link, open_):
        right = super().cookie_matches(link, open_)
        if not right and FAULT == "dies":
            os.abort()
        self.struck = self.struck or not right
        return right

    def received(self, link, data, now):
        if FAULT == "low" and offers_low_latency(data):
            segv()
        actions = super().received(link, data, now)
        if self.struck and FAULT == "hangs":
            return []
        if self.struck and FAULT == "zombie" and self.links.get(link) is not None and self.links[link].live:
            return [action for action in actions if len(action.data) > 2 and action.data[2] & 0x1F in (1, 2)]
        return actions


if FAULT == "ends":
    signal.signal(signal.SIGTERM, segv)
server = Server(Dying(Config()))
server.listen("127.0.0.1", int(sys.argv[1]))
server.serve()
