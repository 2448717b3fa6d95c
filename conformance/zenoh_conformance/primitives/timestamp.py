"""Timestamp: a time, and the node whose clock gave it."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.wire import Vle, composite
from zenoh_conformance.wire.notes import instant

from .zid import ZidSized


@composite(ref="primitives#timestamp")
class Timestamp:
    """An instant of a hybrid logical clock."""

    time: Annotated[int, Vle(64, says=instant)]
    """High 32 bits: seconds since 1970; low 32: their fraction, with a logical counter in the lowest bits."""

    zid: ZidSized
    """The node whose clock it is."""
