"""Which requirement a step of a handshake is about, and what is special in the way it was said. No model of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from zenoh_conformance.messages import sane
from zenoh_conformance.tables.session import SessionInput

Special = TypeVar("Special")

IN_ORDER: Final = "session-establishment/handshake-messages-in-order"
INIT_IS_ANSWERED: Final = "session-establishment/init-ack-answers-init-syn"
OPEN_IS_ANSWERED: Final = "session-establishment/open-ack-answers-open-syn"
FOLLOWED: Final = "session-establishment/open-syn-answers-init-ack"
LIVES: Final = "session-establishment/session-live-after-open-ack"
REFUSED_BY_CLOSE: Final = "session-establishment/refusal-is-close"
SKIPPED: Final = "primitives/unknown-optional-no-error"
CLOSED: Final = "close/close-ends-the-link"
TEARDOWN: Final = "session-establishment/teardown-by-close"
LEASE_UNIT: Final = "session-establishment/lease-unit"
TO_SELF: Final = "close/own-zid-is-connection-to-self"

ANSWERED: Final[Mapping[SessionInput, str]] = {
    SessionInput.INIT_SYN: INIT_IS_ANSWERED,
    SessionInput.OPEN_SYN: OPEN_IS_ANSWERED,
}
"""What a legal step is about."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a legal handshake is said: what INIT and OPEN state, and how its bytes come."""

    init: Mapping[str, Any] = field(default_factory=dict)
    lease: Mapping[str, Any] = field(default_factory=dict)
    first: str = "zero"
    """Which number is the first, of those that the resolution allows: one of `FIRSTS`."""
    zid: int = 8
    """Bytes of our ZenohID."""
    pieces: int = 0
    """Bytes of a piece; 0 for whole messages."""


PLAIN: Final = Way()
"""With nothing special."""


def parts_of(way: Way) -> list[tuple[str, Way]]:
    """What is special in a handshake: what each is about, and a handshake that has it alone."""
    init = dict(way.init)
    found = []
    if way.zid != PLAIN.zid:
        found.append(("session-establishment/init-zid-length", Way(zid=way.zid)))
    if init.get("whatami", sane.CLIENT) != sane.CLIENT:
        found.append(("session-establishment/init-whatami", Way(init={"whatami": init["whatami"]})))
    if "resolution" in init and init["resolution"] is None:
        size = {name: init.pop(name) for name in ("resolution", "batch_size")}
        found.append(("session-establishment/init-flag-s", Way(init=size)))
    found += [(INIT_IS_ANSWERED, Way(init={name: init[name]})) for name in init if name != "whatami"]
    lease = {name: value for name, value in way.lease.items() if name != "exts"}
    if lease:
        found.append((LEASE_UNIT, Way(lease=lease)))
    if way.lease.get("exts"):
        found.append((SKIPPED, Way(lease={"exts": way.lease["exts"]})))
    if way.first != PLAIN.first:
        found.append(("session-establishment/initial-sn-in-range", Way(first=way.first)))
    if way.pieces:
        found.append((LIVES, Way(pieces=way.pieces)))
    return found


def guilty(special: Sequence[tuple[str, Special]], plain: Special, works: Callable[[Special], bool]) -> str:
    """Of several special things that went wrong together, what the one is about that alone is enough; empty where none is.

    Where the plain form fails too, none of them is to blame.
    """
    if not special or not works(plain):
        return ""
    return next((about for about, alone in special if not works(alone)), "")
