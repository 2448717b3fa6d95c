"""Sane messages: what a well-behaved node says, to begin from; a case changes one thing in them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from .messages import Close, Init, Open
from .messages.fragment import First
from .messages.frame import QoS as Lane
from .messages.init import Compression, LowLatency, Patch
from .messages.init import QoS as InitQoS
from .messages.network import QoS
from .primitives import ZenohID
from .wire.extensions import Exts

VERSION = 0x09
"""Protocol version (message-reference#init)."""
DEFAULT_RESOLUTION = 0x0A
"""FSN and RID both 32 bit (session-establishment#resolution-byte)."""
DEFAULT_BATCH = 65535
CLIENT, PEER, ROUTER = 2, 1, 0
LEASE_MS = 10_000
DEFAULT_PRIORITY = 5
"""Data (message-reference#priority-values): what an absent QoS extension means."""

DECLARE_QOS = 0x08
"""Control priority, block: what the baseline sends declarations with (erratum qos-wire-default)."""

OUR_DECLARE_QOS = DECLARE_QOS | DEFAULT_PRIORITY
"""What ours are sent with: in the lane of what is asked after them, since lanes are in no order among each other."""

BLOCK = 0x0D
"""The QoS byte of priority Data, not to be dropped."""

SURELY = (QoS(value=BLOCK),)
"""The extension of what must come however busy the node is: it may drop what may be dropped."""

OFFERS = (InitQoS(),)
"""What our INIT offers unless told otherwise: the baseline's own default."""


def init_syn(zid: bytes, *, exts: Sequence[Any] = OFFERS, **changes: Any) -> Init:
    """InitSyn as a client would send it; `changes` replace fields."""
    fields: dict[str, Any] = {
        "ack": False, "version": VERSION, "whatami": CLIENT, "zid": ZenohID(zid),
        "resolution": DEFAULT_RESOLUTION, "batch_size": DEFAULT_BATCH, "exts": Exts(exts),
    }  # fmt: skip
    return Init(**(fields | changes))


def init_ack(syn: Init, zid: bytes, cookie: bytes, **changes: Any) -> Init:
    """InitAck that accepts a proposal as it stands: the same values, and the offered extensions that we do."""
    fields: dict[str, Any] = {
        "ack": True, "version": VERSION, "whatami": ROUTER, "zid": ZenohID(zid),
        "resolution": DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution,
        "batch_size": DEFAULT_BATCH if syn.batch_size is None else syn.batch_size, "cookie": cookie,
        "exts": Exts(ext for ext in syn.exts if isinstance(ext, InitQoS)),
    }  # fmt: skip
    return Init(**(fields | changes))


def open_syn(ack: Init, *, initial_sn: int = 0, **changes: Any) -> Open:
    """OpenSyn that answers an InitAck with its cookie."""
    fields: dict[str, Any] = {
        "ack": False, "lease_in_seconds": True, "lease": LEASE_MS // 1000, "initial_sn": initial_sn,
        "cookie": ack.cookie or b"",
    }  # fmt: skip
    return Open(**(fields | changes))


def open_ack(*, initial_sn: int = 0, **changes: Any) -> Open:
    """OpenAck that activates the session."""
    fields: dict[str, Any] = {
        "ack": True, "lease_in_seconds": True, "lease": LEASE_MS // 1000, "initial_sn": initial_sn,
    }  # fmt: skip
    return Open(**(fields | changes))


def lease_of(stated: Open | None) -> float:
    """The lease that an OPEN states, in seconds; without end where there is none (session-establishment#open)."""
    if stated is None:
        return inf
    return stated.lease if stated.lease_in_seconds else stated.lease / 1000


def close(reason: int = 0, *, session: bool = True) -> Close:
    """CLOSE of the whole session, or of this link only."""
    return Close(session=session, reason=reason)


def lane(priority: int) -> Lane:
    """The QoS extension of a FRAME for a priority class."""
    return Lane(value=priority)


def first() -> First:
    """The mark of a message's first fragment."""
    return First()


def qos(value: int) -> QoS:
    """The QoS extension of a network message."""
    return QoS(value=value)


def offers(*names: str, patch: int = 0) -> Exts[Any]:
    """INIT extensions by name: QoS, LowLatency, Compression; and the patch, unless it is 0."""
    modes = {"QoS": InitQoS, "LowLatency": LowLatency, "Compression": Compression}
    return Exts((*(modes[name]() for name in names), *((Patch(value=patch),) if patch else ())))
