"""Correct messages, as a well-behaved node sends them; a case changes one thing in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.wire import Exts

from . import Close, Init, Open
from .fragment import First
from .frame import QoS as Lane
from .init import Compression, LowLatency, Patch
from .init import QoS as InitQoS
from .network import QoS

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
"""The QoS of our declarations: the priority of the queries after them, since messages of two priorities have no order."""

BLOCK = 0x0D
"""The QoS byte of priority Data with D: not dropped under congestion."""

SURELY = (QoS(value=BLOCK),)
"""The extension of a message that a case depends on: a busy node may drop messages without D."""

PERIOD = 251
"""Bytes after which a large payload begins again: a prime, so that no batch or fragment looks like another."""

OFFERS = (InitQoS(),)
"""The default offers of our INIT: those of the baseline."""


def payload(size: int) -> bytes:
    """A payload of so many bytes."""
    return (bytes(range(PERIOD)) * (size // PERIOD + 1))[:size]


def init_syn(zid: bytes, *, exts: Sequence[Any] = OFFERS, **changes: Any) -> Init:
    """InitSyn as a client would send it; `changes` replace fields."""
    syn = Init(
        ack=False,
        whatami=WhatAmI.CLIENT,
        zid=ZenohID(zid),
        resolution=DEFAULT_RESOLUTION,
        batch_size=DEFAULT_BATCH,
        exts=Exts(exts),
    )
    return replace(syn, **changes)


def init_ack(syn: Init, zid: bytes, cookie: bytes, **changes: Any) -> Init:
    """InitAck that accepts a proposal unchanged: the same values, and QoS where it was offered."""
    ack = Init(
        ack=True,
        whatami=WhatAmI.ROUTER,
        zid=ZenohID(zid),
        resolution=DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution,
        batch_size=DEFAULT_BATCH if syn.batch_size is None else syn.batch_size,
        cookie=cookie,
        exts=Exts(ext for ext in syn.exts if isinstance(ext, InitQoS)),
    )
    return replace(ack, **changes)


def within(syn: Init, **terms: Any) -> dict[str, Any]:
    """What an InitAck may have of the terms that an InitSyn of ours would propose: no extension that theirs lacks, no larger number."""
    found = {name: value for name, value in terms.items() if value is not None}
    if "exts" in found:
        offered = {type(ext) for ext in syn.exts}
        found["exts"] = Exts(ext for ext in found["exts"] if type(ext) in offered)
    if "batch_size" in found:
        found["batch_size"] = min(found["batch_size"], DEFAULT_BATCH if syn.batch_size is None else syn.batch_size)
    if "resolution" in found:
        theirs = DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
        found["resolution"] = sum(min(found["resolution"] & bits, theirs & bits) for bits in (0b0011, 0b1100))
    return found


def open_syn(ack: Init, *, initial_sn: int = 0, **changes: Any) -> Open:
    """OpenSyn that answers an InitAck with its cookie."""
    lease = LEASE_MS // 1000
    syn = Open(ack=False, lease_in_seconds=True, lease=lease, initial_sn=initial_sn, cookie=ack.cookie or b"")
    return replace(syn, **changes)


def open_ack(*, initial_sn: int = 0, **changes: Any) -> Open:
    """OpenAck that activates the session."""
    ack = Open(ack=True, lease_in_seconds=True, lease=LEASE_MS // 1000, initial_sn=initial_sn)
    return replace(ack, **changes)


def lease_of(stated: Open | None) -> float:
    """The lease that an OPEN states, in seconds; infinite without an OPEN (session-establishment#open)."""
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
    """The extension that marks a message's first fragment."""
    return First()


def qos(value: int) -> QoS:
    """The QoS extension of a network message."""
    return QoS(value=value)


def offers(*names: str, patch: int = 0) -> Exts[Any]:
    """INIT extensions by name: QoS, LowLatency, Compression; and the patch, unless it is 0."""
    modes = {"QoS": InitQoS, "LowLatency": LowLatency, "Compression": Compression}
    return Exts((*(modes[name]() for name in names), *((Patch(value=patch),) if patch else ())))
