"""Nodes that settle on terms and do not keep to them, or tell what cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.kinds import reason_code
from zenoh_conformance.messages import Init, KeepAlive, Open
from zenoh_conformance.messages.init import QoS
from zenoh_conformance.pieces import SN_MASK
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.link import Link

from . import faulty

WHATAMI = {sane.ROUTER: sane.PEER, sane.PEER: sane.CLIENT, sane.CLIENT: sane.ROUTER}


@faulty(
    "counts-on-in-32-bits",
    caught_by=("law/sn-within-resolution", "settled-terms/numbers-wrap-where-it-was-settled",
               "settled-terms/its-numbers-wrap-where-it-was-settled", "settled-terms/what-it-lowered-it-keeps-to"),
    also={"session-lanes/numbers-of-every-lane-wrap": "so it does in every lane"},
)  # fmt: skip
class CountsOnIn32Bits(Reference):
    """Begins inside the resolution that was settled, and counts on past its last number."""

    def next_sn(self, link: Link, reliable: bool, priority: int) -> int:
        channel = (reliable, priority)
        sn = link.tx.get(channel, link.initial_sn)
        link.tx[channel] = (sn + 1) & SN_MASK[2]
        return sn


@faulty("works-only-without-a-lower-batch-and-lanes", caught_by="settled-terms/every-pair-of-terms-is-at-work")
class WorksOnlyWithoutALowerBatchAndLanes(Reference):
    """Loses what a session says in which lanes and a small batch were settled together."""

    def route(self, link: Link, message: object, *, reliable: bool = True) -> None:
        if not (link.terms.qos and link.terms.batch_size < 1000 and link.terms.patch):
            super().route(link, message, reliable=reliable)


@faulty(
    "shows-another-role",
    caught_by=("settled-terms/it-shows-the-role-that-it-has", "settled-terms/it-proposes-in-the-role-that-it-has"),
)
class ShowsAnotherRole(Reference):
    """Shows a role in INIT that it has not."""

    def propose(self, link: Link) -> Init:
        return another_role(super().propose(link))

    def answer_init(self, link: Link, syn: Init) -> Init:
        return another_role(super().answer_init(link, syn))


@faulty(
    "does-not-keep-its-lease",
    caught_by=("settled-terms/a-stated-lease-is-kept", "settled-terms/its-stated-lease-is-kept"),
    also={"session-leases/each-session-is-kept-alive": "it keeps none"},
)
class DoesNotKeepItsLease(Reference):
    """States a lease, and says nothing by itself."""

    def send(self, link: Link, *messages: object) -> None:
        if messages != (KeepAlive(),):
            super().send(link, *messages)


@faulty("tells-expired-in-a-handshake", caught_by="law/expired-needs-a-lease")
class TellsExpiredInAHandshake(Reference):
    """Refuses a cookie because it has expired."""

    def check_open(self, link: Link, open_: Open) -> None:
        try:
            super().check_open(link, open_)
        except Refused as refused:
            raise Refused(reason_code("EXPIRED") if refused.reason == INVALID else refused.reason) from None


@faulty(
    "tells-everybody-that-he-is-itself",
    caught_by="law/to-self-needs-one-zid",
)
class TellsEverybodyThatHeIsItself(Reference):
    """Refuses a cookie because the peer is itself."""

    def check_open(self, link: Link, open_: Open) -> None:
        try:
            super().check_open(link, open_)
        except Refused as refused:
            raise Refused(reason_code("CONNECTION_TO_SELF") if refused.reason == INVALID else refused.reason) from None


@faulty(
    "uses-lanes-that-it-declined",
    caught_by="law/qos-needs-both",
)
class UsesLanesThatItDeclined(Reference):
    """Leaves QoS out of its InitAck, and goes on as if it were there."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts(ext for ext in super().answer_exts(link, syn) if not isinstance(ext, QoS))


def another_role(init: Init) -> Init:
    """The same INIT in another role."""
    return replace(init, whatami=WhatAmI(WHATAMI[int(init.whatami)]))
