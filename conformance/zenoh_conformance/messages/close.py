"""CLOSE: end a session, or one of its links."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from zenoh_conformance.wire import NO_EXTS, Exts, Fixed, Layer, Unknown, flag, member_note, message


class CloseReason(IntEnum):
    """The reason codes of CLOSE; a receiver treats every other number like one of these."""

    GENERIC = 0
    UNSUPPORTED = 1
    INVALID = 2
    MAX_SESSIONS = 3
    MAX_LINKS = 4
    EXPIRED = 5
    UNRESPONSIVE = 6
    CONNECTION_TO_SELF = 7


@message(0x03, "Z|X|S", layer=Layer.TRANSPORT, ref="message-reference#close")
class Close:
    """Ends a session or one of its links; its sender sends nothing after it.

     7 6 5 4 3 2 1 0
    |Z|X|S|  0x03   |
    """

    session: bool = flag("S", default=False)
    """S: set, the whole session ends; clear, only this link."""

    reason: Annotated[int, Fixed(1, says=member_note(CloseReason))]
    """A CloseReason, or a number without a name."""

    exts: Exts[Unknown] = NO_EXTS
