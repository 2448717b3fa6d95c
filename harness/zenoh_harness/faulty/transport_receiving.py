"""Nodes that take what comes wrongly: numbers, chains, batches, compression. One row a way, in each scope of `SCOPES`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Drop, Fragment, Frame
from zenoh_conformance.reading.batch import decompress
from zenoh_conformance.reading.codec import Layer, decode
from zenoh_conformance.reading.connection import priority_of
from zenoh_harness.reference import INVALID, Link, Reference, before, refuse

from . import fault, faulty
from .second_circumstances import MANDATORY
from .transport_sending import SCOPES, Scope

RAW, COMPRESSED = 0, 1
"""Bit 0 of a compression header."""


def channel_of(message: Any) -> tuple[bool, int]:
    """(reliable, priority) of a FRAME or FRAGMENT."""
    return message.reliable, priority_of(message)


def _cuts(kind: type[Any], scope: Scope) -> Callable[..., bool]:
    def accepts_sn(node, base, link, message):
        cut = isinstance(message, kind) and scope(*channel_of(message))
        return base(message=replace(message, sn=message.sn & node.sn_mask(link))) if cut else base()

    return accepts_sn


def _sees_no_gap(scope: Scope) -> Callable[..., bool]:
    def accepts_sn(base, link, message):
        channel = channel_of(message)
        kept = link.partial.get(channel)
        accepted = base()
        if accepted and kept is not None and isinstance(message, Fragment) and scope(*channel):
            link.partial[channel] = kept
        return accepted

    return accepts_sn


def _ignores_drop(scope: Scope) -> Callable[..., None]:
    def on_fragment(node, base, link, fragment):
        if fragment.exts.get(Drop) is None or not scope(*channel_of(fragment)):
            base()
        elif not fragment.more and channel_of(fragment) in link.partial:
            node.route_bytes(link, bytes(link.partial.pop(channel_of(fragment))), reliable=fragment.reliable)

    return on_fragment


def _loses_chains(from_number: int, scope: Scope) -> Callable[..., None]:
    def on_fragment(node, base, link, fragment):
        key = (link.session, *channel_of(fragment))
        if not (scope(*channel_of(fragment)) and node.chains[key] >= from_number):
            base()
            node.chains[key] += not fragment.more

    return on_fragment


def _counts_to_255(node, base, link, fragment):
    key = (link.session, *channel_of(fragment))
    node.counted[key] = 1 + node.counted[key] * (channel_of(fragment) in link.partial)
    if node.counted[key] < 256:
        base()
    else:
        link.partial.pop(channel_of(fragment), None)


for _name, _scope in SCOPES.items():
    _where = _name.replace("-", " ")
    for _kind in (Frame, Fragment):
        fault(
            f"cuts-the-numbers-of-{_kind.__name__.lower()}s{_name}",
            f"Cuts the number of a {_kind.__name__.upper()}{_where} to the negotiated resolution.",
            accepts_sn=_cuts(_kind, _scope),
            caught_by="session-chains/a-number-past-the-resolution-is-rejected",
        )
    fault(
        f"joins-what-is-left-of-a-chain{_name}",
        f"Reassembles a chain with a missing fragment{_where} from those that came.",
        accepts_sn=_sees_no_gap(_scope),
        caught_by="session-chains/what-is-left-of-a-chain-is-no-message",
    )
    fault(
        f"takes-what-was-dropped{_name}",
        f"Takes Drop for the end of the message{_where}.",
        on_fragment=_ignores_drop(_scope),
        caught_by="session-fragments/what-is-dropped-is-discarded",
    )
    fault(
        f"takes-two-chains{_name}",
        f"Reassembles two messages of a channel{_where}, and no later one.",
        on_fragment=_loses_chains(2, _scope),
        state={"chains": Counter},
        caught_by="session-chains/chains-follow-each-other-on-a-channel",
    )


fault(
    "takes-what-was-dropped-in-lane-7",
    "Takes Drop for the end of the message in the lane of priority 7.",
    on_fragment=_ignores_drop(lambda reliable, priority: priority == 7),
    caught_by="session-fragments/what-is-dropped-is-discarded",
)
fault(
    "counts-fragments-in-a-byte",
    "Drops a chain at its 256th fragment.",
    on_fragment=_counts_to_255,
    state={"counted": Counter},
    caught_by="session-fragments/pieces-are-put-together",
)


def _is_deaf(lane: int) -> Callable[..., bool]:
    return lambda base, message: priority_of(message) != lane and base()


for _lane in (0, 1, 4, 7):
    fault(
        f"is-deaf-in-lane-{_lane}",
        f"Drops what comes in the lane of priority {_lane}.",
        accepts_sn=_is_deaf(_lane),
        caught_by="routing-lanes/a-value-and-a-deletion-keep-their-lane",
        also={
            "session-lanes/all-channels-of-ours-count-apart": "it uses every lane",
            "application-terms/an-application-hears-every-channel": "it uses every lane",
        },
    )


class _OneABatch(Reference):
    """Base of nodes that count the transport messages of a batch."""

    taken = 0

    def on_batch(self, link, batch):
        self.taken = 0
        super().on_batch(link, batch)

    def on_session(self, link, message):
        self.taken += 1
        if not self.passes_over(link, message):
            super().on_session(link, message)

    def passes_over(self, link, message):
        """Whether a message is ignored."""
        raise NotImplementedError


fault(
    "takes-one-message-of-a-batch",
    "Ignores all but the first transport message of a batch.",
    of=_OneABatch,
    passes_over=lambda node: node.taken > 1,
    caught_by=(
        "session-fragments/every-message-of-a-batch-is-taken",
        "routing-lanes/what-came-in-one-batch-keeps-its-lanes-and-fits",
    ),
)
fault(
    "takes-one-message-of-a-frame",
    "Ignores all but the first network message of a FRAME.",
    on_session=lambda base, message: (
        base(message=replace(message, messages=message.messages[:1])) if isinstance(message, Frame) else base()
    ),
    caught_by=(
        "session-fragments/every-message-of-a-batch-is-taken",
        "routing-lanes/what-came-in-one-batch-keeps-its-lanes-and-fits",
    ),
)
fault(
    "takes-no-fragment-behind-a-frame",
    "Ignores a FRAGMENT that follows another message in its batch.",
    of=_OneABatch,
    passes_over=lambda node, message: node.taken > 1 and isinstance(message, Fragment),
    caught_by="session-fragments/every-message-of-a-batch-is-taken",
)


@faulty(
    caught_by=(
        "session-fragments/every-message-of-a-batch-is-taken",
        "routing-lanes/what-came-in-one-batch-keeps-its-lanes-and-fits",
    )
)
class TakesAFrameToFillItsBatch(_OneABatch):
    """Refuses what stands behind a FRAME in its batch, as the text has it (erratum several-messages-per-batch)."""

    framed: Link | None = None

    def on_batch(self, link, batch):
        self.framed = None
        super().on_batch(link, batch)

    def passes_over(self, link, message):
        if self.framed is link:
            refuse(INVALID, "no network message")
        self.framed = link if link.name in self.links and isinstance(message, Frame) else None
        return False


fault(
    "acts-on-half-a-batch",
    "Handles each message of a batch before it has read the next one.",
    read=lambda link, event: link.decoder.feed(event),
    caught_by="session-batch-effects/nothing-of-a-broken-batch-takes-effect",
)


@faulty("on_undecodable", caught_by="session-batch-effects/an-id-of-no-message-is-taken-for-none")
def reads_three_bits_of_an_id(node, base, link, seen):
    """Reads three bits of the id of a transport message."""
    data = bytearray(seen.raw)
    if not link.live or data[0] & 0x07 not in (5, 6) or data[0] & 0x1F < 8:
        base()
        return
    data[0] &= ~0x18
    message = decode(bytes(data), Layer.TRANSPORT).message
    node.on_message(link, replace(seen, kind=type(message).__name__.lower(), message=message))


@faulty("on_fragment", caught_by="session-chains/pieces-of-two-sessions-are-told-apart")
def has_one_buffer_for_all_sessions(node, base, link):
    """Collects the fragments of all sessions in one buffer for each channel."""
    for other in node.links.values():
        if other is not link and other.partial:
            link.partial = other.partial
    base()


def _reads_mandatory_of(mid: int) -> Callable[..., None]:
    """Read a transport message of this id without M of an unknown extension."""

    def on_undecodable(node, base, link, seen):
        error = seen.message
        if not getattr(error, "why", "").endswith("unknown and mandatory") or seen.raw[0] & 0x1F != mid:
            base()
            return
        data = bytearray(seen.raw)
        data[error.at] &= ~MANDATORY
        message = decode(bytes(data), Layer.TRANSPORT).message
        node.on_message(link, replace(seen, kind=type(message).__name__.lower(), message=message))

    return on_undecodable


fault(
    "skips-what-is-mandatory-on-a-fragment",
    "Accepts a FRAGMENT with an unknown mandatory extension.",
    on_undecodable=_reads_mandatory_of(6),
    caught_by="session-extensions/what-has-an-unknown-mandatory-extension-is-rejected",
)


def _passes_over_batches(flag: int) -> Callable[..., list[Any]]:
    """A `received` that drops batches of compressed sessions by their header, but not KEEP_ALIVE."""

    def received(node, base, name, data):
        link = node.links.get(name)
        theirs = link and link.decoder.directions[link.side.other]
        dropped = theirs and theirs.compressed and data[2] & 1 == flag and data[2:4] != b"\0\4"
        return [] if dropped else base()

    return received


def _passes_over_keep_alives(node, base, name, data):
    """Close on a compressed batch that begins with KEEP_ALIVE."""
    link = node.links.get(name)
    theirs = link and link.decoder.directions[link.side.other]
    if theirs and theirs.compressed and data[2] & 1 and decompress(data[2:])[:1] == b"\4":
        node.refuse(link, INVALID)
        return node.drain()
    return base()


fault(
    "reads-no-compressed-batch",
    "Ignores batches that are compressed.",
    received=_passes_over_batches(COMPRESSED),
    caught_by="session-batch-effects/both-forms-of-a-batch-are-said-and-read",
)
fault(
    "reads-no-raw-batch",
    "Ignores batches of a session with compression that are not compressed.",
    received=_passes_over_batches(RAW),
    caught_by="session-batch-effects/both-forms-of-a-batch-are-said-and-read",
)
fault(
    "reads-32-kib-of-what-was-compressed",
    "Closes on a FRAME of more than 32 KiB in a session with compression.",
    on_message=before(
        lambda link, seen: refuse(INVALID) if link.live and link.terms.compression and len(seen.raw) > 1 << 15 else None
    ),
    caught_by="session-batch-effects/both-forms-of-a-batch-are-said-and-read",
)
fault(
    "reads-no-compressed-keep-alive",
    "Closes on a compressed batch that holds KEEP_ALIVE.",
    received=_passes_over_keep_alives,
    caught_by="session-batch-effects/both-forms-of-a-batch-are-said-and-read",
)
fault(
    "reads-two-messages-of-a-best-effort-frame",
    "Takes the first two messages of a FRAME on best effort.",
    on_session=lambda base, message: (
        base(message=replace(message, messages=message.messages[:2]))
        if isinstance(message, Frame) and not message.reliable
        else base()
    ),
    caught_by="session-fragments/every-message-of-a-batch-is-taken",
)
