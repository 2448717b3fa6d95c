"""The reference, but for what it loses: `losing_node.py PORT EVERY [comes]`; with `comes` it connects to the port, and else listens.

Of the queries that come first in a session, as in the segment of our OPEN, it loses one in EVERY, and goes on.
"""

import sys

from zenoh_harness.links.locators import Locator
from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.serve import Server

EVERY, COMES = int(sys.argv[2]), sys.argv[3:] == ["comes"]


class Losing(Reference):
    """Reads on behind the first query of a session, once in a while without having read it."""

    early, fresh = 0, frozenset()

    def on_live(self, link):
        super().on_live(link)
        self.fresh |= {link.name}

    def on_request(self, link, request):
        if link.name in self.fresh:
            self.fresh -= {link.name}
            self.early += 1
            if self.early % EVERY == 0:
                return
        super().on_request(link, request)


server = Server(Losing(Config()))
address = "127.0.0.1", int(sys.argv[1])
if COMES:
    server.serve(Locator.tcp(*address))
else:
    server.listen(*address)
    server.serve()
