"""Nodes that settle on other terms than the reference: sizes, resolutions, leases, modes, patches, first numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance import sane
from zenoh_conformance.messages import Init
from zenoh_conformance.wire.extensions import NO_EXTS, Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import variant

LONG = dict.fromkeys(
    (
        "settled-terms/a-stated-lease-is-kept",
        "settled-terms/its-stated-lease-is-kept",
        "session-leases/each-session-is-kept-alive",
    ),
    "nobody waits for a lease that long",
)
"""What a long lease leaves unjudged."""


@variant("batch-2048", permitted="session-establishment#batch-size")
class Batch2048(Reference):
    """Takes batches of 2048 bytes and no larger ones."""

    settings: ClassVar = {"batch_size": 2048}


LANES = dict.fromkeys(
    (
        "law/frame-carries-priority", "session-fragments/pieces-of-two-lanes-are-told-apart",
        "application-terms/an-application-uses-no-lanes-that-we-declined",
        "routing-lanes/a-large-message-keeps-its-lane", "routing-lanes/an-answer-comes-in-its-lane",
        "session-lanes/who-has-no-lanes-hears-none",
        "session-lanes/numbers-of-every-lane-wrap*priority=2*",
        "session-lanes/every-channel-of-ours-begins-with-our-number*priority=2*",
    ),
    "no lanes are settled with it",
)  # fmt: skip
"""What there is nothing to judge of where it does no lanes."""

MARKED_LANES = {
    "establishment-patch/marked-pieces-of-two-channels-are-told-apart[what=lanes]": "no lanes are settled with it"
}
"""The same of who does the markers of a patch."""


@variant("batch-256", permitted="session-establishment#batch-size")
class Batch256(Reference):
    """Takes batches of 256 bytes and no larger ones."""

    settings: ClassVar = {"batch_size": 256}


@variant("numbers-of-8-bits", permitted="session-establishment#resolution-byte")
class NumbersOf8Bits(Reference):
    """Counts in 8 bits."""

    settings: ClassVar = {"resolution": 0x08}


@variant("numbers-of-16-bits", permitted="session-establishment#resolution-byte")
class NumbersOf16Bits(Reference):
    """Counts in 16 bits, requests too."""

    settings: ClassVar = {"resolution": 0x05}


@variant(
    "numbers-of-64-bits",
    permitted="session-establishment#resolution-byte",
    unjudged={"initiator-init-ack/a-raised-resolution-is-refused": "nothing is above 64 bits"},
)
class NumbersOf64Bits(Reference):
    """Proposes 64 bits for everything, and takes what is proposed; begins within what OPEN can state."""

    settings: ClassVar = {"resolution": 0x0F}

    def make_initial_sn(self, link: Link) -> int:
        return super().make_initial_sn(link) & 0xFFFF_FFFF


@variant("requests-of-8-bits", permitted="session-establishment#resolution-byte")
class RequestsOf8Bits(Reference):
    """Has request ids of 8 bits."""

    settings: ClassVar = {"resolution": 0x02}


@variant("lease-1-s", permitted="session-establishment#lease")
class Lease1S(Reference):
    """States a lease of a second, in seconds."""

    settings: ClassVar = {"lease_ms": 1000}


@variant("lease-1500-ms", permitted="session-establishment#lease")
class Lease1500Ms(Reference):
    """States a lease of one and a half seconds, in milliseconds."""

    settings: ClassVar = {"lease_ms": 1500}


@variant("lease-1-h", permitted="session-establishment#lease", unjudged=LONG)
class Lease1H(Reference):
    """States a lease of an hour, in seconds."""

    settings: ClassVar = {"lease_ms": 3_600_000}


@variant("lease-in-ms", permitted="session-establishment#open-wire-format", unjudged=LONG)
class LeaseInMs(Reference):
    """States a lease of whole seconds in milliseconds."""

    settings: ClassVar = {"lease_ms": 30_000}

    def lease_fields(self) -> dict[str, Any]:
        return {"lease_in_seconds": False, "lease": self.config.lease_ms}


@variant("waits-for-the-peers-lease", permitted="erratum effective-lease: either reading is right")
class WaitsForThePeersLease(Reference):
    """Ends a session when the lease that its peer stated is over, whatever it stated itself."""

    settings: ClassVar = {"lease_ms": 1000}

    def lease_of(self, link: Link) -> float:
        assert link.their_open is not None
        return link.their_open.lease * (1 if link.their_open.lease_in_seconds else 0.001)


@variant(
    "no-lanes", permitted="session-establishment#init-extensions: none is mandatory", unjudged=LANES | MARKED_LANES
)
class NoLanes(Reference):
    """Does no QoS lanes."""

    settings: ClassVar = {"qos": False}


@variant("compresses", permitted="session-establishment#init-extensions")
class Compresses(Reference):
    """Offers compression, and does it where it is offered."""

    settings: ClassVar = {"compression": True}


@variant("low-latency", permitted="session-establishment#negotiation", unjudged=LANES | MARKED_LANES)
class LowLatency(Reference):
    """Offers low latency, and does it where it is offered."""

    settings: ClassVar = {"lowlatency": True, "qos": False}


@variant("no-patch", permitted="session-establishment#init-extensions: patch 0 is absent")
class NoPatch(Reference):
    """Is of the base protocol: states no patch, and marks no fragment."""

    settings: ClassVar = {"patch": 0}

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts(ext for ext in super().answer_exts(link, syn) if type(ext).__name__ != "Patch")


@variant("patch-255", permitted="session-establishment#init-extensions: 1 and above")
class Patch255(Reference):
    """Is of a late patch."""

    settings: ClassVar = {"patch": 255}


@variant("no-extensions", permitted="session-establishment#init-extensions: none is mandatory", unjudged=LANES)
class NoExtensions(Reference):
    """Writes no extension in INIT, and takes up none."""

    lacks = frozenset({"multilink", "auth", "low-latency", "compression"})
    settings: ClassVar = {"qos": False, "patch": 0}

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return NO_EXTS


@variant("extensions-backwards", permitted="erratum duplicate-extensions: any order")
class ExtensionsBackwards(Reference):
    """Writes the extensions of INIT in another order."""

    def propose(self, link: Link) -> Init:
        return backwards(super().propose(link))

    def answer_init(self, link: Link, syn: Init) -> Init:
        return backwards(super().answer_init(link, syn))


@variant("no-size-where-it-is-the-default", permitted="session-establishment#init-wire-format: S is optional")
class NoSizeWhereItIsTheDefault(Reference):
    """States resolution and batch size only where they are not the defaults, or not what was proposed."""

    def propose(self, link: Link) -> Init:
        return without_size(super().propose(link))

    def answer_init(self, link: Link, syn: Init) -> Init:
        ack = super().answer_init(link, syn)
        proposed = (
            sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution,
            sane.DEFAULT_BATCH if syn.batch_size is None else syn.batch_size,
        )
        return without_size(ack) if proposed == (ack.resolution, ack.batch_size) else ack


@variant("begins-near-zero", permitted="session-establishment#initial-sn: any number in range")
class BeginsNearZero(Reference):
    """Begins with numbers of one digit."""

    def make_initial_sn(self, link: Link) -> int:
        return super().make_initial_sn(link) % 10


@variant("begins-near-the-edge", permitted="session-establishment#initial-sn: any number in range")
class BeginsNearTheEdge(Reference):
    """Begins a few numbers before the largest one."""

    def make_initial_sn(self, link: Link) -> int:
        return self.sn_mask(link) - super().make_initial_sn(link) % 10


@variant("marks-first-fragments-always", permitted="erratum first-marker-always: either reading is right")
class MarksFirstFragmentsAlways(Reference):
    """Marks the first fragment toward everybody, whatever patch was stated."""

    def marks_first(self, link: Link) -> bool:
        return True


@variant("zid-of-1-byte", permitted="session-establishment#packed-byte")
class ZidOf1Byte(Reference):
    """Has a ZenohID of one byte."""

    settings: ClassVar = {"zid": b"\x7a"}


@variant(
    "zid-of-16-bytes",
    permitted="session-establishment#packed-byte",
    unjudged={"establishment-init/a-zid-like-its-own-is-another-node[how=longer]": "no ZenohID is longer"},
)
class ZidOf16Bytes(Reference):
    """Has a ZenohID of sixteen bytes."""

    settings: ClassVar = {"zid": bytes(range(0xA0, 0xB0))}


@variant("zid-that-begins-with-zero", permitted="session-establishment#packed-byte")
class ZidThatBeginsWithZero(Reference):
    """Has a ZenohID whose first bytes on the wire are zero."""

    settings: ClassVar = {"zid": b"\0\0\0\x01\x02\x03"}


@variant("a-peer", permitted="session-establishment#packed-byte: a router, a peer or a client")
class APeer(Reference):
    """Is a peer."""

    settings: ClassVar = {"whatami": sane.PEER}


@variant("cookie-of-8-bytes", permitted="session-establishment#cookie: opaque")
class CookieOf8Bytes(Reference):
    """Issues short cookies."""

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        return super().make_cookie(link, syn)[:8]


@variant("cookie-of-2000-bytes", permitted="session-establishment#cookie: opaque")
class CookieOf2000Bytes(Reference):
    """Issues long cookies, with zeros in them."""

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        return super().make_cookie(link, syn).ljust(1984, b"\0") + b"the end of it..."


def backwards(init: Init) -> Init:
    """The same INIT, its extensions in the other order."""
    return replace(init, exts=Exts(reversed(tuple(init.exts))))


def without_size(init: Init) -> Init:
    """The same INIT without S, where that says the same."""
    if (init.resolution, init.batch_size) != (sane.DEFAULT_RESOLUTION, sane.DEFAULT_BATCH):
        return init
    return replace(init, resolution=None, batch_size=None)
