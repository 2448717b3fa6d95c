"""What the laws of the handshake share: the four messages as they went by. No law of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.law import Law
from zenoh_conformance.messages import Init, Open


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
        self.resolution, self.batch_size = self._settled()
        self.common = common(known for known in (self.init_syn, self.init_ack) if known is not None)

    def on_open(self, seen: Seen, open_: Open) -> None:
        """Keep it, the first of each kind."""
        self.last = seen
        if open_.ack:
            self.open_ack = self.open_ack or open_
        else:
            self.open_syn = self.open_syn or open_

    def _settled(self) -> tuple[int | None, int | None]:
        """Resolution and batch size as both INITs settle them.

        An InitAck without S means the proposal as written and the defaults as erratum (init-ack-without-size-means-defaults);
        the smaller of both is the one that no reading forbids.
        """
        if self.init_syn is None or self.init_ack is None:
            return None, None
        inits = self.init_syn, self.init_ack
        bytes_ = [sane.DEFAULT_RESOLUTION if init.resolution is None else init.resolution for init in inits]
        sizes = [sane.DEFAULT_BATCH if init.batch_size is None else init.batch_size for init in inits]
        return min(byte & 3 for byte in bytes_) | min(byte & 12 for byte in bytes_), min(sizes)

    def agreed(self, name: str) -> bool:
        """Whether both INITs carried the extension of that name."""
        return self.init_syn is not None and self.init_ack is not None and name in self.common


def common(inits: Iterable[Init]) -> frozenset[str]:
    """The names of the extensions that all of them carry."""
    carried = [frozenset(type(ext).__name__ for ext in init.exts) for init in inits]
    return frozenset.intersection(*carried) if carried else frozenset()


def carries(message: Any, name: str) -> bool:
    """Whether a message carries the extension of that name."""
    return any(type(ext).__name__ == name for ext in message.exts)
