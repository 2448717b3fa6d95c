"""The layers of messages, each with its own ids, and the encodings of extension values."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Layer(StrEnum):
    """How a run of bytes is read: as one message of a layer, or as several in a framing."""

    TRANSPORT = "transport"
    NETWORK = "network"
    DATA = "data"
    DECLARATION = "declaration"
    SCOUTING = "scouting"
    BATCH = "batch"
    """Transport messages back to back, without a length."""
    STREAM = "stream"
    """Batches, each after its u16 length."""
    LOWLATENCY = "lowlatency"
    """Network messages, KEEP_ALIVE and CLOSE, each batch after its u32 length."""
    DATAGRAM = "datagram"
    """One datagram: a batch, or a scouting message."""


class Enc(IntEnum):
    """The encoding of the value of an extension or OAM; code 3 is refused."""

    UNIT = 0
    Z64 = 1
    ZBUF = 2

    @property
    def word(self) -> str:
        """The name in JSON: unit, z64, zbuf."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Enc:
        """The encoding with this name.  Raises KeyError."""
        return cls[word.upper()]
