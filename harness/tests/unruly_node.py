"""The reference with bad manners: `unruly_node.py PORT FILE`: it prints megabytes, forks, ignores SIGTERM.

The process ids of what it forked go to FILE.
"""

import os
import signal
import sys
from pathlib import Path

from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.serve import Server

signal.signal(signal.SIGTERM, signal.SIG_IGN)
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        os.setsid()
        signal.pause()
    children.append(child)
Path(sys.argv[2]).write_text(" ".join(map(str, [os.getpid(), *children])))
for out in (sys.stdout, sys.stderr):
    out.write("all is well\n" * 500_000)
    out.flush()
server = Server(Reference(Config()))
server.listen("127.0.0.1", int(sys.argv[1]))
server.serve()
