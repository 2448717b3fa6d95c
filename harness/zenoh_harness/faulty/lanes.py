"""Nodes that use lanes where none were settled, or count the numbers of some channels wrongly."""

from __future__ import annotations

from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import priority_of
from zenoh_conformance.messages import Fragment, Frame
from zenoh_conformance.pieces import SN_MASK
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

LANES = "session-lanes"
WRAP = f"{LANES}/numbers-of-every-lane-wrap"
FIRST = f"{LANES}/every-channel-of-ours-begins-with-our-number"
PLAIN = (True, sane.DEFAULT_PRIORITY)
"""The channel of whatever says nothing else."""


@faulty(
    "uses-lanes-once-somebody-has-them",
    caught_by=f"{LANES}/who-has-no-lanes-hears-none",
    also={"law/qos-needs-both": "lanes where none were settled"},
)
class UsesLanesOnceSomebodyHasThem(Reference):
    """Uses lanes in every session while one session has them."""

    def lane_of(self, link: Link, message: Any) -> int:
        lanes = any(other.live and other.terms.qos for other in self.links.values())
        return priority_of(message) if lanes else sane.DEFAULT_PRIORITY


@faulty(
    "wraps-in-its-default-lane-only",
    caught_by=WRAP,
    also={"law/sn-within-resolution": "numbers past the last one"},
)
class WrapsInItsDefaultLaneOnly(Reference):
    """Counts on past the settled resolution in every lane but that of Data."""

    def next_sn(self, link: Link, reliable: bool, priority: int) -> int:
        channel = (reliable, priority)
        sn = link.tx.get(channel, link.initial_sn)
        link.tx[channel] = (sn + 1) & (self.sn_mask(link) if priority == sane.DEFAULT_PRIORITY else SN_MASK[2])
        return sn


@faulty(
    "takes-numbers-that-begin-anew-in-one-channel-only",
    caught_by=WRAP,
    also={FIRST: "where our first number is the last one there is, the next ones begin anew"},
)
class TakesNumbersThatBeginAnewInOneChannelOnly(Reference):
    """Drops what comes on best effort, or in another lane than that of Data, once the numbers there have begun anew."""

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        channel = (message.reliable, priority_of(message))
        last = link.rx.get(channel)
        if channel != PLAIN and last is not None and message.sn < last:
            return False
        return super().accepts_sn(link, message)


@faulty("awaits-zero-in-other-channels", caught_by=FIRST)
class AwaitsZeroInOtherChannels(Reference):
    """Takes 0 for the first number of every channel but one, whatever OPEN stated: what stands far from it is dropped."""

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        channel = (message.reliable, priority_of(message))
        if channel != PLAIN:
            link.rx.setdefault(channel, self.sn_mask(link))
        return super().accepts_sn(link, message)
