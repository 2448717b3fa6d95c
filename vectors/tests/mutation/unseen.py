# ruff: noqa: E501 - a table: a fault a line
"""The faults made by hand that no vector shows at a node in memory: the case that shows each, or why nothing does."""

from __future__ import annotations

from typing import Final

BY_CASES: Final = {
    "scouting/own-id-space: scouting shares the ids of the transport": "scouting/a-scout-for-everybody-is-answered",
    "bodies: consolidation is never told": "reply-kept/an-answer-keeps-its-mode",
    "values: CLOSE's S is bit 6": "close-scope/close-of-a-session-ends-all-its-links",
    "values: the version is checked by the codec": "establishment-init/an-unknown-version-is-unsupported",
    "framings: one message a batch": "session-fragments/every-message-of-a-batch-is-taken",
    "message-reference/frame-messages-fill-batch: FRAME takes the rest of the batch": "session-fragments/every-message-of-a-batch-is-taken",
    "writers: FRAME without R": "session-fragments/every-message-of-a-batch-is-taken",
    "writers: JOIN's T is OPEN's": "multicast/a-join-suffices-to-be-told",
    "writers: REQUEST's id behind its key": "routing-plain/a-query-reaches-a-queryable",
    "writers: HELLO's locators without their count": "scouting/a-scout-for-everybody-is-answered",
    "session-establishment/resolution-reserved-zero: a reserved bit of the resolution": "establishment-init/no-resolution-is-raised",
}
"""Each fault with a case in which something is red: the case itself, or a law."""

_WHY: Final = {
    "the reference does nothing with HELLO": (
        "scouting/own-id-space: an unassigned scouting id is taken",
        "primitives/whatami-3-refused: Hello: role 3 is a client",
        "identities: the role is a bitmap as in SCOUT",
    ),
    "before the session is open, nothing may stand behind OPEN in its batch": ("ids: bytes after the message are passed over",),
    "the reference keeps no batch size of a JOIN": ("primitives/little-endian: JOIN's batch size high byte first",),
    "an integer in more bytes than it needs is read, and never red (erratum vle-overlong-accepted)": (
        "integers: written a byte too long",
    ),
    "nothing comes of OAM at the reference": ("primitives/truncated-is-refused: Oam: a body that is cut short is what there is",),
    "no session of ours negotiates shared memory": ("strings: slices without a count", "strings: slices without a kind"),
    "the order in which a ZenohID is printed is not on the wire": ("primitives/zid-byte-order: printed least significant first",),
    "the reference refuses keys that are not canonical, and makes none canonical": ("primitives/key-expression-grammar: **/* stays as it is",),
    "the reference answers an InitSyn with QoSLink as one without": (
        "session-establishment/qos-told-from-qos-link-by-enc: QoSLink is unknown",
    ),
    "no page says what comes of the QoS of a DECLARE": ("message-reference/network-qos-extension: QoS under another id",),
    "an extension of the other direction is passed over, as an unknown one is": (
        "chains: OpenAck has OpenSyn's extensions",
        "chains: OpenSyn has OpenAck's extensions",
    ),
    "of two equal extensions either may count, and no page says which of two others": ("chains: the first of two counts alone",),
    "the reference passes on an extension that it does not know as it came": ("push/del-ext-attachment: DEL's Attachment has PUT's id",),
    "no page says what a node passes on of a queryable's distance, and the order of distances is the same": (
        "declarations/queryable-info-distance: the distance one bit lower, as the text has it",
    ),
    "a node may decline a RegionName": ("bodies: a RegionName of 33 bytes",),
    "no page says what a reader does with a fourth target": ("values: a target too many",),
    "a CLOSE ends its link whatever its reason": ("values: a reason is taken for a bitmap",),
    "no session with the reference has sequence numbers beyond 28 bits": ("values: the sequence number is signed",),
    "the reference looks into no FRAME in a session with low latency": ("batching/low-latency-framing: FRAME in a low-latency batch",),
    "the reference says one message a FRAME": ("writers: FRAME's messages last first",),
    "the reference says no OAM": ("writers: OAM's encoding one bit higher",),
    "the reference says whole keys, for which M means nothing": ("writers: PUSH without M",),
    "the reference ends no INTEREST of its own": ("writers: INTEREST's options in every mode",),
    "the reference says no SCOUT": ("writers: SCOUT without I",),
    "the reference says no NodeId": ("writers: NodeId without M",),
    "the reference ends sessions of one link, of which S says no more": ("writers: CLOSE without S",),
}  # fmt: skip

UNSEEN: Final = {name: why for why, names in _WHY.items() for name in names}
"""Each fault that nobody sees from outside at the reference node, with the reason."""
