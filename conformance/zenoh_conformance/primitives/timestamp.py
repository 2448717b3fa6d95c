"""Timestamp: when, and by whose clock."""

from __future__ import annotations

from zenoh_conformance.wire.declare import composite
from zenoh_conformance.wire.types import Z64

from .zid import ZidSized


@composite(ref="primitives#timestamp")
class Timestamp:
    """An instant of a hybrid logical clock."""

    time: Z64
    """High 32 bits: seconds since 1970; low 32: the fraction, a logical counter in its lowest bits."""

    zid: ZidSized
    """The node whose clock it is."""
