"""The id spaces of messages, and the forms in which bytes arrive."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Layer(StrEnum):
    """What a run of bytes is read as."""

    TRANSPORT = "transport"
    NETWORK = "network"
    DATA = "data"
    DECLARATION = "declaration"
    SCOUTING = "scouting"
    BATCH = "batch"
    """Transport messages back to back, without prefix."""
    STREAM = "stream"
    """Batches, each after its u16 length."""
    LOWLATENCY = "lowlatency"
    """Network messages, KEEP_ALIVE and CLOSE, each batch after its u32 length."""
    DATAGRAM = "datagram"
    """One datagram: a batch, or a scouting message."""


class Enc(IntEnum):
    """How the value of an extension, or of an OAM, is written; code 3 is refused."""

    UNIT = 0
    Z64 = 1
    ZBUF = 2

    @property
    def word(self) -> str:
        """As told in JSON: unit, z64, zbuf."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Enc:
        """The one that `word` tells.  Raises KeyError for no such word."""
        return cls[word.upper()]
