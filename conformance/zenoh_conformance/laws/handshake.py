"""What the laws of the handshake share: the four messages as they went by. No law of its own."""

from __future__ import annotations

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

    def on_init(self, seen: Seen, init: Init) -> None:
        """Keep it, the first of each kind."""
        self.last = seen
        if init.ack:
            self.init_ack = self.init_ack or init
        else:
            self.init_syn = self.init_syn or init

    def on_open(self, seen: Seen, open_: Open) -> None:
        """Keep it, the first of each kind."""
        self.last = seen
        if open_.ack:
            self.open_ack = self.open_ack or open_
        else:
            self.open_syn = self.open_syn or open_

    @property
    def resolution(self) -> int | None:
        """The negotiated resolution byte (bits 3:0); None while INIT has not settled it.

        An InitAck without S means the proposal as written and the defaults as erratum (init-ack-without-size-means-defaults);
        the smaller of both is the one that no reading forbids.
        """
        if self.init_syn is None or self.init_ack is None:
            return None
        bytes_ = [
            sane.DEFAULT_RESOLUTION if init.resolution is None else init.resolution
            for init in (self.init_syn, self.init_ack)
        ]
        return min(byte & 3 for byte in bytes_) | min(byte & 12 for byte in bytes_)

    @property
    def batch_size(self) -> int | None:
        """The negotiated batch size; None while INIT has not settled it."""
        if self.init_syn is None or self.init_ack is None:
            return None
        return min(
            sane.DEFAULT_BATCH if init.batch_size is None else init.batch_size
            for init in (self.init_syn, self.init_ack)
        )

    def agreed(self, name: str) -> bool:
        """Whether both INITs carried the extension of that name."""
        return all(init is not None and carries(init, name) for init in (self.init_syn, self.init_ack))


def carries(message: Any, name: str) -> bool:
    """Whether a message carries the extension of that name."""
    return any(type(ext).__name__ == name for ext in message.exts)


def is_handshake_traffic(seen: Seen) -> bool:
    """A transport message that stands alone, or bytes that are none; not what is nested, not the batch itself."""
    return not seen.around and seen.kind != "batch"
