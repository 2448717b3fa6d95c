"""What the laws of the handshake read: the four messages as they went by. No law of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zenoh_conformance.judging.law import Law, Per, Record
from zenoh_conformance.messages import Init, Open, sane
from zenoh_conformance.reading.connection import Seen


class Handshake(Record):
    """INIT and OPEN of both sides of one link, the first of each kind."""

    per, name = Per.CONNECTION, "link"

    init_syn: Init | None = None
    init_ack: Init | None = None
    open_syn: Open | None = None
    open_ack: Open | None = None
    last: Seen | None = None
    """The last handshake message, of either side."""
    resolution: int | None = None
    """The negotiated resolution byte (bits 3:0); None while INIT has not settled it."""
    common: frozenset[str] = frozenset()
    """The extensions that the INITs so far have in common."""
    batch_size: int | None = None
    """The negotiated batch size; None while INIT has not settled it."""

    def on_init(self, seen: Seen, init: Init) -> None:
        """Keep it, and what it settles."""
        self.last = seen
        if init.ack:
            self.init_ack = self.init_ack or init
        else:
            self.init_syn = self.init_syn or init
        settled = terms(self.init_syn, self.init_ack)
        self.resolution, self.batch_size, self.common = settled.resolution, settled.batch_size, settled.common

    def on_open(self, seen: Seen, open_: Open) -> None:
        """Keep it."""
        self.last = seen
        if open_.ack:
            self.open_ack = self.open_ack or open_
        else:
            self.open_syn = self.open_syn or open_

    def agreed(self, name: str) -> bool:
        """Whether both INITs carried the extension of that name."""
        return self.init_syn is not None and self.init_ack is not None and name in self.common

    @property
    def is_open(self) -> bool:
        """Whether both OPENs were seen."""
        return self.open_syn is not None and self.open_ack is not None


class HandshakeLaw(Law):
    """A law that reads the handshake of its link."""

    reads = (Handshake,)
    link: Handshake


@dataclass(frozen=True, slots=True)
class Terms:
    """What the INITs of two sides settle, as far as they were seen."""

    resolution: int | None
    batch_size: int | None
    common: frozenset[str]
    """The extensions that they have in common."""


def terms(syn: Init | None, ack: Init | None) -> Terms:
    """What both settle."""
    inits = [init for init in (syn, ack) if init is not None]
    carried = [frozenset(type(ext).__name__ for ext in init.exts) for init in inits]
    return Terms(*_sizes(syn, ack), frozenset.intersection(*carried) if carried else frozenset())


def _sizes(syn: Init | None, ack: Init | None) -> tuple[int | None, int | None]:
    """Resolution and batch size as both INITs settle them.

    An InitAck without S means the proposal as written and the defaults as erratum (init-ack-without-size-means-defaults);
    the smaller of both is the one that no reading forbids.
    """
    if syn is None or ack is None:
        return None, None
    bytes_ = [sane.DEFAULT_RESOLUTION if init.resolution is None else init.resolution for init in (syn, ack)]
    sizes = [sane.DEFAULT_BATCH if init.batch_size is None else init.batch_size for init in (syn, ack)]
    return min(byte & 3 for byte in bytes_) | min(byte & 12 for byte in bytes_), min(sizes)


def carries(message: Any, name: str) -> bool:
    """Whether a message carries the extension of that name."""
    return any(type(ext).__name__ == name for ext in message.exts)
