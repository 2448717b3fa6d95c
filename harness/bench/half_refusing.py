"""A router that refuses every node whose ZenohID begins with an odd byte: half of what a run draws.

python half_refusing.py PORT
"""

from __future__ import annotations

import sys

from zenoh_conformance.messages import Open
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Refused
from zenoh_harness.reference.configured import config_of
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.serve import Server

INVALID = 2


class HalfRefusing(Reference):
    """Sane, to half of the world."""

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        if link.theirs is not None and link.theirs.zid.raw[0] & 1:
            raise Refused(INVALID)


if __name__ == "__main__":
    server = Server(HalfRefusing(config_of("default")))
    server.listen("127.0.0.1", int(sys.argv[1]))
    server.serve()
