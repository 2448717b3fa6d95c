"""A program for tests that is no node: `python no_node.py HOW PORT`; quick to start, so it imports nothing of ours."""

import os
import select
import signal
import socket
import sys


def main():
    how, port = sys.argv[1], int(sys.argv[2])
    if how == "exits":
        print("cannot find my config", file=sys.stderr)
        sys.exit(4)
    if how == "daemon":
        parent = os.getpid()
        if os.fork():
            sys.exit(0)
        while os.getppid() == parent:
            select.select([], [], [], 0.01)
    if how == "nowhere":
        signal.pause()
    held = []
    with socket.create_server(("127.0.0.1", 0 if how == "elsewhere" else port)) as server:
        while True:
            sock, _ = server.accept()
            held.append(sock)
            if how == "http":
                sock.recv(1)
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


if __name__ == "__main__":
    main()
