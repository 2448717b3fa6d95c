"""Nodes that negotiate extreme terms, or other terms on each link; moderate terms are in `terms`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from zenoh_conformance.cases.case import TOLD
from zenoh_conformance.messages.init import QoS, QoSLink
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import Action, Config, Link, Reference

from . import row, variant
from .terms import LONG

ALL_LANES = QoSLink(value=0b11 | 7 << 11 | 1 << 19)
"""All priorities, reliable."""

row(
    "lease-without-end",
    "States the longest possible lease: 2^64-1, in seconds.",
    permitted="session-establishment#lease: a z64",
    unjudged=LONG,
    settings={"lease_ms": (2**64 - 1) * 1000},
)
row(
    "lease-300-ms",
    "States a lease of 300 milliseconds.",
    permitted="session-establishment#lease: no minimum",
    settings={"lease_ms": 300},
)
row(
    "batch-64",
    "Accepts batches of at most 64 bytes.",
    permitted="session-establishment#batch-size: no minimum",
    settings={"batch_size": 64},
)
row(
    "counts-in-64-bits-asks-in-8",
    "Has sequence numbers of 64 bits and request ids of 8 bits.",
    permitted="session-establishment#resolution-byte",
    unjudged={"initiator-init-ack/a-raised-resolution-is-refused": "nothing is above 64 bits"},
    settings={"resolution": 0x03},
    make_initial_sn=lambda base: base() & 0xFFFF_FFFF,
)
row(
    "cookie-of-60000-bytes",
    "Issues cookies nearly as large as a batch.",
    permitted="session-establishment#cookie: a z16, opaque",
    make_cookie=lambda base: base().ljust(60_000, b"\xee"),
)


row(
    "proposes-qos-link",
    "As initiator, proposes QoSLink with all priorities, reliable, in place of QoS.",
    permitted="session-establishment#init-extensions: QoSLink in place of QoS",
    unjudged=dict.fromkeys(
        (
            "law/frame-carries-priority",
            "application-terms/an-application-hears-every-channel",
            f"session-fragments/pieces-of-two-lanes-are-told-apart{TOLD}",
            f"session-lanes/all-channels-of-ours-count-apart{TOLD}",
            f"session-*{TOLD}*priority=2*",
            f"*{TOLD}[[]*lane*",
        ),
        "as initiator it has no lanes",
    ),
    propose=lambda base: replace(
        syn := base(), exts=Exts(ALL_LANES if isinstance(ext, QoS) else ext for ext in syn.exts)
    ),
)


@variant(
    permitted="session-establishment#negotiation: terms are those of one link; no page says that two are alike",
)
class SettlesOtherwiseEachTime(Reference):
    """States other sizes, resolutions, patches and leases on each link."""

    TERMS: ClassVar = (
        {"batch_size": 65535, "resolution": 0x0A, "lease_ms": 10_000, "patch": 1},
        {"batch_size": 2048, "resolution": 0x05, "lease_ms": 3_000, "patch": 1},
        {"batch_size": 8192, "resolution": 0x0A, "lease_ms": 4_500, "patch": 0},
        {"batch_size": 600, "resolution": 0x08, "lease_ms": 7_000, "patch": 1},
    )

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.stated = self.config
        self.terms_of: dict[str, Config] = {}
        self.turn = count()

    def connected(self, name: str, side: Side, now: float, *text: Any) -> list[Action]:
        self.terms_of[name] = self.drawn()
        with self.on(name):
            return super().connected(name, side, now, *text)

    def drawn(self) -> Config:
        """Return the next terms that the profile permits; all links of one session have the terms of the first."""
        most, drawn = self.stated, self.TERMS[next(self.turn) % len(self.TERMS)]
        if most.max_links > 1:
            return most
        fields = (min(drawn["resolution"] & mask, most.resolution & mask) for mask in (0x03, 0x0C))
        return replace(
            most,
            batch_size=min(drawn["batch_size"], most.batch_size),
            resolution=sum(fields),
            lease_ms=min(drawn["lease_ms"], most.lease_ms),
            patch=min(drawn["patch"], most.patch),
        )

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """On that link's terms."""
        before, self.config = self.config, self.terms_of.get(name, self.stated)
        try:
            yield
        finally:
            self.config = before

    def on_message(self, link: Link, seen: Any) -> None:
        with self.on(link.name):
            super().on_message(link, seen)

    def on_time(self, link: Link) -> None:
        with self.on(link.name):
            super().on_time(link)

    def drop(self, link: Link) -> None:
        super().drop(link)
        self.terms_of.pop(link.name, None)
