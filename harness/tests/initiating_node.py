"""A node for tests that listens nowhere: `python initiating_node.py HOST PORT ZID [PATIENCE [TIMES]]`.

It comes to us again and again, TIMES at once, and gives up on whoever does not answer for PATIENCE seconds.
"""

import socket
import sys
import threading

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import decode, encode


def read_batch(sock):
    head = sock.recv(2, socket.MSG_WAITALL)
    return sock.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL) if head else b""


def write(sock, message):
    data = encode(message)
    sock.sendall(len(data).to_bytes(2, "little") + data)


def session(address, zid):
    with socket.create_connection(address) as sock:
        sock.settimeout(float(sys.argv[4]) if len(sys.argv) > 4 else None)
        write(sock, sane.init_syn(zid))
        ack = read_batch(sock)
        if ack:
            write(sock, sane.open_syn(decode(ack).message))
        while read_batch(sock):
            pass


def main():
    for _ in range(1, int(sys.argv[5]) if len(sys.argv) > 5 else 1):
        threading.Thread(target=comes_again, daemon=True).start()
    comes_again()


def comes_again():
    host, port, zid = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])[::-1]
    while True:
        try:
            session((host, port), zid)
        except (ConnectionResetError, TimeoutError):
            continue
        except ConnectionRefusedError:
            return


if __name__ == "__main__":
    main()
