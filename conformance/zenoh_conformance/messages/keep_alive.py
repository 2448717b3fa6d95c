"""KEEP_ALIVE: shows that the sender is alive."""

from __future__ import annotations

from zenoh_conformance.wire import NO_EXTS, Exts, Layer, Unknown, message


@message(0x04, "Z|X|X", layer=Layer.TRANSPORT, ref="message-reference#keep-alive")
class KeepAlive:
    """Renews the lease when the sender has sent nothing else.

     7 6 5 4 3 2 1 0
    |Z|X|X|  0x04   |
    """

    exts: Exts[Unknown] = NO_EXTS
