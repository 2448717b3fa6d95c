"""Responders that are wrong in one circumstance of a handshake only: a node for each value and each of three faults, by rule.

The dimensions are those of the varied handshakes (`cases/establishment/circumstances.py`). The node reads the circumstances off INIT
and OPEN, off how often it received something, and off what the same node and others did before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.cases.establishment.circumstances import (
    BEFORE,
    CHAINS,
    CONFIRMED,
    CUT,
    FIRST_SN,
    FLIPPED,
    HANDSHAKE,
    LEASE,
    OFFERED,
    PLACES,
    PROPOSED,
    REFUSED,
    SHORT_LEASE,
    SIZES,
    ZID,
)
from zenoh_conformance.judging.variation import Dimension, Dimensions, Value
from zenoh_conformance.messages import Init, Open, sane
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.node import Reference

from . import _register

Past = set[Value]
"""Values of the dimension `before` that a node has behind it."""


@dataclass(frozen=True, slots=True)
class Shaken:
    """A handshake that is to be accepted."""

    syn: Init
    open: Open
    packets: int
    """How often something was received on its link."""
    past: Past
    issued: bytes = b""
    """The cookie of its InitAck."""


def sizes_of(syn: Init) -> Mapping[str, Any]:
    """The sizes of an InitSyn, as far as they are not the default."""
    sizes = {"resolution": syn.resolution, "batch_size": syn.batch_size}
    defaults = {"resolution": sane.DEFAULT_RESOLUTION, "batch_size": sane.DEFAULT_BATCH}
    return {name: value for name, value in sizes.items() if value != defaults[name]}


def changed_at(shaken: Shaken) -> int | None:
    """The first byte in which the cookie that came back is another; None where there is none."""
    pairs = zip(shaken.issued, shaken.open.cookie or b"", strict=False)
    return next((at for at, (issued, came) in enumerate(pairs) if issued != came), None)


SHOWS: Final[Mapping[str, Callable[[Shaken, Any], bool]]] = {
    SIZES.name: lambda shaken, value: sizes_of(shaken.syn) == PROPOSED[value],
    OFFERED.name: lambda shaken, value: tuple(shaken.syn.exts) == CHAINS[value](),
    CONFIRMED.name: lambda shaken, value: tuple(shaken.open.exts) == CHAINS[value](),
    CUT.name: lambda shaken, value: (shaken.packets > 4) if value == "byte by byte" else shaken.packets == 4,
    ZID.name: lambda shaken, value: len(shaken.syn.zid.raw) == value,
    FIRST_SN.name: lambda shaken, value: shaken.open.initial_sn == value,
    LEASE.name: lambda shaken, value: f"{shaken.open.lease} {'s' if shaken.open.lease_in_seconds else 'ms'}" == value,
    BEFORE.name: lambda shaken, value: value in shaken.past,
    FLIPPED.name: lambda shaken, value: changed_at(shaken) == PLACES[value](len(shaken.issued)),
}
"""Dimension to whether a handshake is in the circumstance of a value."""


class WrongSomewhere(Reference):
    """Does one thing wrong, in one circumstance."""

    circumstance: tuple[Dimension, Value]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.packets: defaultdict[str, int] = defaultdict(int)
        self.past: defaultdict[bytes | None, Past] = defaultdict(set)

    def is_there(self, link: Any, open_: Open) -> bool:
        """Whether a handshake is in the circumstance."""
        dimension, value = self.circumstance
        others = {
            f"{what} of another node{rest}"
            for zid, past in self.past.items() if zid != link.zid
            for what, rest in (("a session", ""), ("a handshake", " that was refused"))
            if f"{what} of the same node{rest}" in past
        }  # fmt: skip
        shaken = Shaken(
            link.theirs, open_, self.packets[link.name], self.past[link.zid] | others, link.mine.cookie or b""
        )
        return SHOWS[dimension.name](shaken, value)

    # -- what came before

    def received(self, name: str, data: bytes, now: float) -> Any:
        self.packets[name] += 1
        return super().received(name, data, now)

    def drop(self, link: Any) -> None:
        past = self.past[link.zid]
        if link.live:
            past.add("a session of the same node")
            past |= {"a session of the same node with a short lease"} if link.their_open.lease == SHORT_LEASE else set()
        elif link.theirs is not None and link.name not in self.refused:
            past.add("a handshake of the same node that was given up")
        super().drop(link)

    state = {"refused": set}  # noqa: RUF012
    refused: set[str]

    def refuse(self, link: Any, reason: int | None) -> None:
        if not link.live:
            self.refused.add(link.name)
            self.past[link.zid].add("a handshake of the same node that was refused")
        super().refuse(link, reason)


class RefusesSomewhere(WrongSomewhere):
    """Refuses a handshake that it must accept."""

    def check_open(self, link: Any, open_: Open) -> None:
        super().check_open(link, open_)
        if self.is_there(link, open_):
            raise Refused(INVALID)


class AcceptsSomewhere(WrongSomewhere):
    """Accepts any cookie."""

    def cookie_matches(self, link: Any, open_: Open) -> bool:
        return super().cookie_matches(link, open_) or self.is_there(link, open_)


class ExpiresSomewhere(WrongSomewhere):
    """Lets a session expire at once."""

    def lease_of(self, link: Any) -> float:
        return 0.05 if link.name in self.hasty else super().lease_of(link)

    state = {**WrongSomewhere.state, "hasty": set}  # noqa: RUF012
    hasty: set[str]

    def on_live(self, link: Any) -> None:
        if self.is_there(link, link.their_open):
            self.hasty.add(link.name)
        super().on_live(link)


ACCEPTED = "establishment-varied/a-handshake-is-accepted-in-any-circumstances"
COOKIE = "establishment-varied/a-changed-cookie-is-refused-in-any-circumstances"

EARLY: Final = {"law/expired-needs-a-lease": "it says EXPIRED, and the lease is not over"}

FAULTS: Final[Mapping[type[WrongSomewhere], tuple[str, str, str, Dimensions]]] = {
    RefusesSomewhere: ("refuses-a-handshake", "Refuses a handshake", ACCEPTED, HANDSHAKE),
    AcceptsSomewhere: ("accepts-any-cookie", "Accepts any cookie", COOKIE, REFUSED),
    ExpiresSomewhere: ("lets-a-session-expire", "Lets a session expire at once", ACCEPTED, HANDSHAKE),
}
"""A fault to its name, to what it does, to the case that must be red, and to the dimensions of that."""


def circumstances(dimensions: Dimensions) -> Iterator[tuple[Dimension, Value]]:
    """Each value of each dimension that is not the default."""
    yield from ((each, value) for each in dimensions for value in each.values if value != each.default)


def register() -> None:
    """Register a faulty node for each fault in each circumstance."""
    for base, (verb, about, check, dimensions) in FAULTS.items():
        for dimension, value in circumstances(dimensions):
            phrase = dimension.says.format(value)
            name = f"{verb}-" + re.sub(r"[^a-z0-9]+", "-", phrase.lower()).strip("-")
            attributes = {"circumstance": (dimension, value), "__module__": __name__}
            node = type(name.title().replace("-", ""), (base,), attributes)
            also = EARLY if base is ExpiresSomewhere else None
            _register(name, node, f"{about} {phrase}.", check, also, shown_in=(check,))


register()
