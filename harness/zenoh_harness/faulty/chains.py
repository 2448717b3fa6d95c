"""Routers that lose a chain of fragments, or deliver one with a gap, in one circumstance only: a node for each value, by rule.

The dimensions are those of `cases/session/varied.py`. The node reads the circumstances off the fragments and off what came before them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.cases.routing.circumstances import CHANNEL, TERMS
from zenoh_conformance.cases.session.varied import AMID, EARLIER, LANE, PASSER, PIECES
from zenoh_conformance.judging.variation import Dimension, Dimensions, Value
from zenoh_conformance.messages import First, Fragment, Frame, KeepAlive
from zenoh_conformance.reading.connection import priority_of
from zenoh_harness.reference.node import Reference

from . import _register
from .hops import find_terms


@dataclass(slots=True)
class Track:
    """What a node has seen in one session."""

    before: Counter[str] = field(default_factory=Counter)
    """Chains, gaps, messages and KEEP_ALIVEs that have ended before this chain."""
    pieces: int = 0
    amid: set[str] = field(default_factory=set)
    """What stood between the fragments of this chain."""


def earlier_of(track: Track) -> set[str]:
    """The values of the dimension `earlier` that a session has behind it."""
    counts = track.before
    return {
        name
        for name, there in {
            "a whole chain": counts["chain"] >= 1, "three whole chains": counts["chain"] >= 3,
            "a chain with a hole": counts["gap"] >= 1, "three chains with a hole": counts["gap"] >= 3,
            "a chain that was left": counts["left"] >= 1, "three KEEP_ALIVEs": counts["keep-alive"] >= 3,
        }.items() if there
    }  # fmt: skip


SHOWS: Final[Mapping[str, Callable[[Track, Fragment, Any, Any], bool]]] = {
    LANE.name: lambda track, piece, link, value: priority_of(piece) == value,
    CHANNEL.name: lambda track, piece, link, value: not piece.reliable,
    PIECES.name: lambda track, piece, link, value: track.pieces >= value,
    AMID.name: lambda track, piece, link, value: value in track.amid,
    EARLIER.name: lambda track, piece, link, value: value in earlier_of(track),
    TERMS.name: lambda track, piece, link, value: value in find_terms(link),
}
"""Dimension to whether the last fragment of a chain is in the circumstance of a value."""


class LosesAChain(Reference):
    """Loses a chain, in one circumstance."""

    circumstance: tuple[Dimension, Value]
    loses = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tracks: defaultdict[str, Track] = defaultdict(Track)
        self.batch_has_keep_alive = False

    def is_there(self, link: Any, piece: Fragment) -> bool:
        """Whether the chain that ends with this fragment is in the circumstance."""
        dimension, value = self.circumstance
        return SHOWS[dimension.name](self.tracks[link.session], piece, link, value)

    def on_batch(self, link: Any, batch: bytes) -> None:
        self.batch_has_keep_alive = batch[:1] == b"\x04" and len(batch) > 1
        super().on_batch(link, batch)

    def on_session(self, link: Any, message: Any) -> None:
        track = self.tracks[link.session]
        if isinstance(message, KeepAlive):
            track.before["keep-alive"] += 1
            track.amid.add("KEEP_ALIVE in one batch" if self.batch_has_keep_alive else "KEEP_ALIVE")
        elif isinstance(message, Frame):
            track.amid.add("another channel")
        elif isinstance(message, Fragment):
            track.pieces += 1
            if track.pieces == 1:
                track.amid.clear()
        super().on_session(link, message)
        if isinstance(message, Fragment) and not message.more:
            track.before["chain"] += 1
            track.pieces = 0

    def on_live(self, link: Any) -> None:
        for track in self.tracks.values():
            track.amid.add(PASSER)
        super().on_live(link)

    def accepts_sn(self, link: Any, message: Any) -> bool:
        channel = (message.reliable, priority_of(message))
        held, last = link.partial.get(channel), link.rx.get(channel)
        accepted = super().accepts_sn(link, message)
        gap = held is not None and last is not None and (message.sn - last) & self.sn_mask(link) != 1
        if accepted and gap and isinstance(message, Fragment):
            if not self.loses and self.is_there(link, message):
                link.partial[channel] = held
            self.tracks[link.session].before["gap"] += 1
        return accepted

    def on_fragment(self, link: Any, fragment: Fragment) -> None:
        began = fragment.exts.get(First) is not None and (fragment.reliable, priority_of(fragment)) in link.partial
        self.tracks[link.session].before["left"] += began
        if not fragment.more and self.loses and self.is_there(link, fragment):
            link.partial.pop((fragment.reliable, priority_of(fragment)), None)
        super().on_fragment(link, fragment)


class DeliversAGap(LosesAChain):
    """Delivers a chain with a gap, in one circumstance."""

    loses = False


WHOLE = "session-varied/a-chain-comes-whole-in-any-circumstances"
GAP = "session-varied/a-chain-with-a-hole-is-discarded-in-any-circumstances"
FAULTS: Final[Mapping[type[LosesAChain], tuple[str, str, str, Dimensions]]] = {
    LosesAChain: ("loses-a-chain", "Loses a chain", WHOLE, (LANE, CHANNEL, PIECES, AMID, EARLIER, TERMS)),
    DeliversAGap: ("delivers-a-gap", "Delivers a chain with a gap", GAP, (LANE, EARLIER, TERMS)),
}
"""A fault to its name, to what it does, to the case that must be red, and to the dimensions of that."""


def register() -> None:
    """Register a faulty node for each fault in each circumstance."""
    for base, (verb, about, check, dimensions) in FAULTS.items():
        for dimension, value in ((each, value) for each in dimensions for value in each.values[1:]):
            if value == "a whole message":
                continue  # each session has sent some before its first chain
            phrase = dimension.says.format(value)
            name = f"{verb}-" + re.sub(r"[^a-z0-9]+", "-", phrase.lower()).strip("-")
            attributes = {"circumstance": (dimension, value), "__module__": __name__}
            node = type(name.title().replace("-", ""), (base,), attributes)
            _register(name, node, f"{about} {phrase}.", check, None, shown_in=(check,))


register()
