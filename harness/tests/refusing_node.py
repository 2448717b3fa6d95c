"""A node that answers whatever comes with Close(INVALID): `refusing_node.py PORT`."""

import socketserver
import sys


class Refuse(socketserver.BaseRequestHandler):
    """One link."""

    def handle(self) -> None:
        """A batch of two bytes: CLOSE with S, reason INVALID."""
        if self.request.recv(65536):
            self.request.sendall(b"\x02\x00\x23\x02")


socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Refuse).serve_forever()
