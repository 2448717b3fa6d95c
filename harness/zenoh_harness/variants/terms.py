"""Nodes that negotiate other terms than the reference node: sizes, resolutions, leases, modes, patches, initial numbers."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import Init, sane
from zenoh_conformance.wire import NO_EXTS, Exts
from zenoh_harness.reference import Link, Reference

from . import row, variant

LONG = dict.fromkeys(
    (
        "settled-terms/a-stated-lease-is-kept",
        "settled-terms/its-stated-lease-is-kept",
        "session-leases/each-session-is-kept-alive",
        "close-scope/each-link-of-a-session-is-kept-alive",
        "session-modes/*what=is-kept-alive*",
    ),
    "the lease is longer than a case waits",
)
"""Checks that a long lease leaves unjudged."""

LANES = dict.fromkeys(
    (
        "law/frame-carries-priority",
        "session-fragments/pieces-of-two-lanes-are-told-apart",
        "session-fragments/pieces-of-two-channels-are-told-apart*lane*",
        "application-terms/an-application-uses-no-lanes-that-we-declined",
        "application-terms/an-application-hears-every-channel",
        "routing-lanes/a-large-message-keeps-its-lane",
        "routing-lanes/a-value-and-a-deletion-keep-their-lane",
        "routing-lanes/an-answer-comes-in-its-lane",
        "session-chains/a-number-past-the-resolution-is-rejected*channel=lane*",
        "session-chains/chains-follow-each-other-on-a-channel*priority=2*",
        "session-chains/what-is-left-of-a-chain-is-no-message*priority=2*",
        "session-lanes/who-has-no-lanes-hears-none",
        "session-lanes/numbers-of-every-lane-wrap*priority=2*",
        "session-lanes/every-channel-of-ours-begins-with-our-number*priority=2*",
        "session-lanes/all-channels-of-ours-count-apart",
    ),
    "it negotiates no QoS",
)
"""Checks that a session without QoS leaves unjudged."""

MARKED_LANES = {"establishment-patch/marked-pieces-of-two-channels-are-told-apart[what=lanes]": "it negotiates no QoS"}
"""As `LANES`, for nodes that mark first fragments."""

BATCH_SIZE = "session-establishment#batch-size"
RESOLUTION = "session-establishment#resolution-byte"
LEASE = "session-establishment#lease"
INIT_EXTENSIONS = "session-establishment#init-extensions"
ZID = "session-establishment#packed-byte"
INITIAL_SN = "session-establishment#initial-sn: any number in range"

# -- sizes, resolutions, leases

row(
    "batch-2048",
    "Accepts batches of at most 2048 bytes.",
    permitted=BATCH_SIZE,
    settings={"batch_size": 2048},
)
row(
    "batch-256",
    "Accepts batches of at most 256 bytes.",
    permitted=BATCH_SIZE,
    settings={"batch_size": 256},
)
row("numbers-of-8-bits", "Has sequence numbers of 8 bits.", permitted=RESOLUTION, settings={"resolution": 0x08})
row(
    "numbers-of-16-bits",
    "Has sequence numbers and request ids of 16 bits.",
    permitted=RESOLUTION,
    settings={"resolution": 0x05},
)
row(
    "numbers-of-64-bits",
    "Proposes 64 bits for both resolutions, and accepts any proposal; its initial sequence numbers fit into 32 bits.",
    permitted=RESOLUTION,
    unjudged={"initiator-init-ack/a-raised-resolution-is-refused": "nothing is above 64 bits"},
    settings={"resolution": 0x0F},
    make_initial_sn=lambda base: base() & 0xFFFF_FFFF,
)
row("requests-of-8-bits", "Has request ids of 8 bits.", permitted=RESOLUTION, settings={"resolution": 0x02})
row("lease-1-s", "States a lease of a second, in seconds.", permitted=LEASE, settings={"lease_ms": 1000})
row(
    "lease-1500-ms",
    "States a lease of one and a half seconds, in milliseconds.",
    permitted=LEASE,
    settings={"lease_ms": 1500},
)
row(
    "lease-1-h",
    "States a lease of an hour, in seconds.",
    permitted=LEASE,
    unjudged=LONG,
    settings={"lease_ms": 3_600_000},
)
row(
    "lease-in-ms",
    "States a lease of whole seconds in milliseconds.",
    permitted="session-establishment#open-wire-format",
    unjudged=LONG,
    settings={"lease_ms": 30_000},
    lease_fields=lambda node: {"lease_in_seconds": False, "lease": node.config.lease_ms},
)


row(
    "waits-for-the-peers-lease",
    "Ends a session after the lease that the far side stated, even if its own is shorter.",
    permitted="erratum effective-lease: either reading is right",
    settings={"lease_ms": 1000},
    lease_of=lambda link: link.their_open.lease * (1 if link.their_open.lease_in_seconds else 0.001),
)


# -- modes and extensions

row(
    "no-lanes",
    "Does not negotiate QoS.",
    permitted=f"{INIT_EXTENSIONS}: none is mandatory",
    unjudged=LANES | MARKED_LANES,
    settings={"qos": False},
)
row(
    "compresses",
    "Offers and accepts compression.",
    permitted=INIT_EXTENSIONS,
    settings={"compression": True},
)
row(
    "low-latency",
    "Offers and accepts low latency.",
    permitted="session-establishment#negotiation",
    unjudged=LANES | MARKED_LANES,
    settings={"lowlatency": True, "qos": False},
)
row("patch-255", "States patch 255.", permitted=f"{INIT_EXTENSIONS}: 1 and above", settings={"patch": 255})
row(
    "no-patch",
    "Has the base protocol: states no patch, and marks no fragment.",
    permitted=f"{INIT_EXTENSIONS}: patch 0 is absent",
    settings={"patch": 0},
    answer_exts=lambda base: Exts(ext for ext in base() if type(ext).__name__ != "Patch"),
)
row(
    "no-extensions",
    "Offers and accepts no extension in INIT.",
    permitted=f"{INIT_EXTENSIONS}: none is mandatory",
    unjudged=LANES,
    lacks=frozenset({"multilink", "auth", "low-latency", "compression"}),
    settings={"qos": False, "patch": 0},
    answer_exts=lambda: NO_EXTS,
)
row(
    "extensions-backwards",
    "Writes the extensions of INIT in another order.",
    permitted="erratum duplicate-extensions: any order",
    propose=lambda base: backwards(base()),
    answer_init=lambda base: backwards(base()),
)


@variant(permitted="session-establishment#init-wire-format: S is optional")
class NoSizeWhereItIsTheDefault(Reference):
    """Omits resolution and batch size from INIT if both are the defaults and, in InitAck, were proposed."""

    def propose(self, link: Link) -> Init:
        return without_size(super().propose(link))

    def answer_init(self, link: Link, syn: Init) -> Init:
        ack = super().answer_init(link, syn)
        proposed = (
            sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution,
            sane.DEFAULT_BATCH if syn.batch_size is None else syn.batch_size,
        )
        return without_size(ack) if proposed == (ack.resolution, ack.batch_size) else ack


# -- first numbers, markers, ids, roles, cookies

row(
    "begins-near-zero",
    "Has initial sequence numbers below ten.",
    permitted=INITIAL_SN,
    make_initial_sn=lambda base: base() % 10,
)
row(
    "begins-near-the-edge",
    "Has initial sequence numbers just below the largest one.",
    permitted=INITIAL_SN,
    make_initial_sn=lambda node, base, link: node.sn_mask(link) - base() % 10,
)
row(
    "marks-first-fragments-always",
    "Marks the first fragment on every session, whatever patch was negotiated.",
    permitted="erratum first-marker-always: either reading is right",
    marks_first=lambda: True,
)
row("zid-of-1-byte", "Has a ZenohID of one byte.", permitted=ZID, settings={"zid": b"\x7a"})
row(
    "zid-of-16-bytes",
    "Has a ZenohID of sixteen bytes.",
    permitted=ZID,
    unjudged={"establishment-init/a-zid-like-its-own-is-another-node[how=longer]": "no ZenohID is longer"},
    settings={"zid": bytes(range(0xA0, 0xB0))},
)
row(
    "zid-that-begins-with-zero",
    "Has a ZenohID whose first bytes on the wire are zero.",
    permitted=ZID,
    settings={"zid": b"\0\0\0\x01\x02\x03"},
)
row("a-peer", "Is a peer.", permitted=f"{ZID}: a router, a peer or a client", settings={"whatami": sane.PEER})
row(
    "cookie-of-8-bytes",
    "Issues short cookies.",
    permitted="session-establishment#cookie: opaque",
    make_cookie=lambda base: base()[:8],
)
row(
    "cookie-of-1-byte",
    "Issues cookies of one byte.",
    permitted="session-establishment#cookie: opaque",
    unjudged={"law/cookies-differ (responder)": "two such short cookies may be equal by chance"},
    make_cookie=lambda base: base()[:1],
)
row(
    "cookie-of-255-bytes",
    "Issues cookies of 255 bytes.",
    permitted="session-establishment#cookie: opaque",
    make_cookie=lambda base: base().ljust(255, b"\xee"),
)
row(
    "cookie-of-2000-bytes",
    "Issues long cookies, with zeros in them.",
    permitted="session-establishment#cookie: opaque",
    make_cookie=lambda base: base().ljust(1984, b"\0") + b"the end of it...",
)


def backwards(init: Init) -> Init:
    """Return the INIT with its extensions in reverse order."""
    return replace(init, exts=Exts(reversed(tuple(init.exts))))


def without_size(init: Init) -> Init:
    """Return the INIT without resolution and batch size if both are the defaults."""
    if (init.resolution, init.batch_size) != (sane.DEFAULT_RESOLUTION, sane.DEFAULT_BATCH):
        return init
    return replace(init, resolution=None, batch_size=None)
