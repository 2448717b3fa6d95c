"""The circumstances of a handshake: what our INIT and OPEN have beside what is needed, how they are cut, and what came before.

Pages: session-establishment#init, #open; primitives#extensions (an unknown optional extension is skipped).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as count_from
from typing import Any, Final

from zenoh_conformance.cases.establishing import issued, issued_cookie
from zenoh_conformance.judging.finding import NOT_REACHED, Deviation
from zenoh_conformance.judging.variation import Dimension, Variation
from zenoh_conformance.messages import Close, Init, sane
from zenoh_conformance.messages.init import Patch
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.kinds import OpenAck, reason_code
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import Enc, Exts, Unknown

from .cookie import flipped

SIZES: Final = Dimension.of(
    "sizes",
    "with {} in InitSyn",
    "all fields",
    "S=0",
    "a batch of 40000 bytes",
    "a batch of 512 bytes",
    "numbers of 8 bits",
)
OFFERED: Final = Dimension.of(
    "offered", "with {} in InitSyn", "QoS", "no extension", "QoS and Patch", "Patch and QoS", "an unknown extension first",
    "an unknown extension of 128 bytes",
)  # fmt: skip
ROLE: Final = Dimension("role", "as a {}", ((4, ("client", "peer", "router")),))
CONFIRMED: Final = Dimension.of(
    "confirmed",
    "with {} in OpenSyn",
    "no extension",
    "an unknown extension",
    "an unknown extension of 128 bytes",
)
CUT: Final = Dimension.of("cut", "{}", "in one packet", "cut behind its length", "byte by byte")
ZID: Final = Dimension.of("zid", "with a ZenohID of {} bytes", 8, 4, 16)
FIRST_SN: Final = Dimension.of("initial_sn", "with the first number {}", 0, 1, 127, 16_384, 0x0FFF_FFFF)
"""At the boundaries of VLE, as far as the negotiated numbers go."""
LEASE: Final = Dimension(
    "lease",
    "with a lease of {}",
    ((1, ("10 s", "3600 s", "10000 ms", "65537 ms", "86400000 ms")), (3, ("128 s",))),
)
"""Read in the other unit, or cut to seven bits, the last one is over while we rest."""
BEFORE: Final = Dimension.of(
    "before", "after {}", "nothing", "a session of another node", "a handshake of another node that was refused",
    "a handshake of the same node that was refused", "a handshake of the same node that was given up",
    "a session of the same node", "a session of the same node with a short lease",
    chancy=("a session of the same node", "a session of the same node with a short lease"),
)  # fmt: skip
"""No page says how soon after the end of a session its node may come back."""

FLIPPED: Final = Dimension(
    "flipped", "with the bit in the {} of the cookie", ((2, ("first byte", "middle", "last byte")),)
)

HANDSHAKE: Final = (SIZES, OFFERED, CONFIRMED, CUT, ZID, FIRST_SN, LEASE, BEFORE)
REFUSED: Final = (SIZES, OFFERED, CONFIRMED, ZID, BEFORE, FLIPPED)
"""The dimensions of a handshake that is refused."""

PROPOSED: Final[Mapping[str, Mapping[str, Any]]] = {
    "all fields": {},
    "S=0": {"resolution": None, "batch_size": None},
    "a batch of 40000 bytes": {"batch_size": 40_000},
    "a batch of 512 bytes": {"batch_size": 512},
    "numbers of 8 bits": {"resolution": 2 << 2},
}
PLACES: Final[Mapping[str, Callable[[int], int]]] = {
    "first byte": lambda length: 0,
    "middle": lambda length: length // 2,
    "last byte": lambda length: length - 1,
}
"""Where in a cookie of a length a bit is flipped."""
SHORT_LEASE: Final = 100
"""Milliseconds of the lease of a session that came before."""
MANY: Final = tuple(map(reason_code, ("GENERIC", "MAX_SESSIONS", "MAX_LINKS")))
"""Reasons of a CLOSE for which what came before may be the cause."""
REST: Final = 0.2
"""Seconds for which we are silent in a session that has a longer lease."""


def unknown(size: int | None) -> Unknown:
    """An optional extension that no table has: with so many bytes, or without a value."""
    return Unknown(id=0xE, enc=Enc.UNIT) if size is None else Unknown(id=0xE, enc=Enc.ZBUF, value=bytes(size))


CHAINS: Final[Mapping[str, Callable[[], tuple[Any, ...]]]] = {
    "QoS": lambda: sane.OFFERS,
    "no extension": lambda: (),
    "QoS and Patch": lambda: (*sane.OFFERS, Patch(value=1)),
    "Patch and QoS": lambda: (Patch(value=1), *sane.OFFERS),
    "an unknown extension first": lambda: (unknown(None), *sane.OFFERS),
    "an unknown extension": lambda: (unknown(None),),
    "an unknown extension of 128 bytes": lambda: (unknown(128),),
}


def role_and_offers(v: Variation) -> dict[str, Any]:
    """The role and the extensions of our InitSyn."""
    return {"whatami": WhatAmI[str(v[ROLE]).upper()], "exts": Exts(CHAINS[str(v[OFFERED])]())}


@dataclass(frozen=True, slots=True)
class HandshakeRow:
    """One handshake of ours in its circumstances."""

    us: Dialogue
    v: Variation

    @classmethod
    def of(cls, scene: Scene, v: Variation) -> HandshakeRow:
        """A new link, after what comes before."""
        zid = zid_of(scene, v.number(ZID))
        BEFORES[str(v[BEFORE])](scene, zid)
        return cls(scene.dialogue(zid=zid), v)

    def init_syn(self) -> Init:
        """Our InitSyn."""
        return self.us.init_syn(exts=Exts(CHAINS[str(self.v[OFFERED])]()), **PROPOSED[str(self.v[SIZES])])

    def open_syn(self, ack: Init, **changes: Any) -> Any:
        """Our OpenSyn; our numbers begin where it says so."""
        count, unit = str(self.v[LEASE]).split()
        self.us.initial_sn = min(self.v.number(FIRST_SN), self.us.sn_mask)
        return replace(
            self.us.open_syn(ack, lease=int(count), lease_in_seconds=unit == "s"),
            exts=Exts(CHAINS[str(self.v[CONFIRMED])]()),
            **changes,
        )

    def place_in(self, cookie: bytes) -> int:
        """The byte of a cookie in which a bit is flipped."""
        return PLACES[str(self.v[FLIPPED])](len(cookie))

    def send(self, message: Any) -> None:
        """Send a message, cut as the row has it."""
        self.us.send_cut(
            message, {"byte by byte": count_from(1), "cut behind its length": (2,)}.get(str(self.v[CUT]), ())
        )

    @contextmanager
    def has_room(self) -> Iterator[None]:
        """What deviates for want of room, after other sessions, is not reached: no page says how soon their place is free."""
        try:
            yield
        except Deviation as found:
            room = self.us.closed in MANY and self.v[BEFORE] != BEFORE.default
            path = f"{NOT_REACHED}: room" if room else found.finding.path
            raise Deviation(replace(found.finding, path=path)) from None


def zid_of(scene: Scene, length: int) -> bytes:
    """A ZenohID of that length, which no other dialogue of the run has."""
    return (scene.fresh_zid() * 2)[: length - 1] + b"\x5a"


# -- what came before


def _session(scene: Scene, zid: bytes | None, **lease: Any) -> None:
    us = scene.dialogue("before", zid=zid)
    us.ask(us.open_syn(issued(us), **lease), expect=OpenAck, step="not reached: a session before")
    us.send(sane.close())
    us.expect_end(step="not reached: a session before ends")


def _refusal(scene: Scene, zid: bytes | None) -> None:
    """A handshake whose cookie is not the one that came."""
    us = scene.dialogue("before", zid=zid)
    ack, cookie = issued_cookie(us)
    us.send(us.open_syn(ack, cookie=flipped(cookie, 0)))
    seen = us.next()
    refused = isinstance(seen.message, Close) if seen is not None else us.is_over
    us.require(refused, expected="a refusal", got=us.text_of(seen), step=f"{NOT_REACHED}: a refusal before")


def _given_up(scene: Scene, zid: bytes) -> None:
    us = scene.dialogue("before", zid=zid)
    issued(us)
    us.leave()


BEFORES: Final[Mapping[str, Callable[[Scene, bytes], None]]] = {
    "nothing": lambda scene, zid: None,
    "a session of another node": lambda scene, zid: _session(scene, None),
    "a handshake of another node that was refused": lambda scene, zid: _refusal(scene, None),
    "a handshake of the same node that was refused": _refusal,
    "a handshake of the same node that was given up": _given_up,
    "a session of the same node": _session,
    "a session of the same node with a short lease": partial(_session, lease=SHORT_LEASE, lease_in_seconds=False),
}
