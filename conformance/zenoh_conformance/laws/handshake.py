"""What the laws of the handshake share: the four messages as they went by. No law of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zenoh_conformance.judging.law import Law
from zenoh_conformance.messages import Init, Open, sane
from zenoh_conformance.reading.connection import Seen


class Handshake(Law):
    """Keeps INIT and OPEN of both sides; a law that overrides a step calls it first or last, as it needs the state before or after."""

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
        """Keep it, the first of each kind."""
        self.last = seen
        if init.ack:
            self.init_ack = self.init_ack or init
        else:
            self.init_syn = self.init_syn or init
        settled = terms(self.init_syn, self.init_ack)
        self.resolution, self.batch_size, self.common = settled.resolution, settled.batch_size, settled.common

    def on_open(self, seen: Seen, open_: Open) -> None:
        """Keep it, the first of each kind."""
        self.last = seen
        if open_.ack:
            self.open_ack = self.open_ack or open_
        else:
            self.open_syn = self.open_syn or open_

    def agreed(self, name: str) -> bool:
        """Whether both INITs carried the extension of that name."""
        return self.init_syn is not None and self.init_ack is not None and name in self.common


@dataclass(frozen=True, slots=True)
class Terms:
    """What the INITs of two sides settle, as far as they were seen."""

    of: tuple[Init | None, Init | None]
    resolution: int | None
    batch_size: int | None
    common: frozenset[str]
    """The extensions that they have in common."""


_latest = Terms((None, None), None, None, frozenset())


def terms(syn: Init | None, ack: Init | None) -> Terms:
    """What both settle. Dozens of laws ask for the same two INITs one after the other: the latest answer is kept."""
    global _latest  # replaced as a whole: a reader sees which INITs it is of
    known = _latest
    if known.of[0] is not syn or known.of[1] is not ack:
        inits = [init for init in (syn, ack) if init is not None]
        carried = [frozenset(type(ext).__name__ for ext in init.exts) for init in inits]
        both = frozenset.intersection(*carried) if carried else frozenset[str]()
        known = _latest = Terms((syn, ack), *_sizes(syn, ack), both)
    return known


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
