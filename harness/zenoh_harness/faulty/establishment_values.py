"""Nodes that stumble over a value, a length or a batch that they must take, or take one that they must refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Event, Side
from zenoh_conformance.kinds import OpenSyn
from zenoh_conformance.messages import Init, KeepAlive, Open
from zenoh_conformance.messages.init import Patch
from zenoh_conformance.session import State
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import GENERIC, INVALID, UNSUPPORTED, Refused
from zenoh_harness.reference.link import Link

from . import faulty
from .establishment_chains import BelievesBroken


@faulty(
    "drops-a-zid-with-zeros",
    caught_by="establishment-fields/a-zid-that-ends-in-zeros-is-answered-or-closed",
)
class DropsAZidWithZeros(Reference):
    """Shuts the link on a ZenohID that ends in zero, without a word."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if syn.zid.raw.endswith(b"\0"):
            raise Refused(None)


@faulty(
    "drops-a-second-link",
    caught_by="establishment-fields/the-zid-of-a-live-session-is-answered-or-closed",
    also={
        "law/refusal-is-close": "the law sees it too",
        "establishment-states/one-of-parallel-handshakes-comes-through": "the later ones are dropped so",
    },
)
class DropsASecondLink(Reference):
    """Shuts a further link of a session without a word."""

    def check_open(self, link: Link, open_: Open) -> None:
        if any(other.live and other.zid == link.zid for other in self.links.values() if other is not link):
            raise Refused(None)
        super().check_open(link, open_)


@faulty(
    "takes-a-missing-size-for-8-bits",
    caught_by="establishment-fields/without-size-numbers-have-32-bits",
)
class TakesAMissingSizeFor8Bits(Reference):
    """Reads S=0 as the smallest resolution, and does not say so."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        link.mine = syn

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        small = link.theirs is not None and link.theirs.resolution is None
        return sn <= 0x7F if small else super().accepts_initial_sn(link, sn)


@faulty(
    "takes-a-missing-size-for-2048",
    caught_by="establishment-fields/without-size-batches-are-large",
)
class TakesAMissingSizeFor2048(Reference):
    """Reads S=0 as a small batch, and does not say so."""

    def on_batch(self, link: Link, batch: bytes) -> None:
        super().on_batch(link, batch)
        if link.live and link.theirs is not None and link.theirs.batch_size is None and len(batch) > 2048:
            raise Refused(INVALID)


@faulty(
    "states-no-small-batch",
    caught_by="establishment-fields/a-small-batch-is-stated-and-kept",
)
class StatesNoSmallBatch(Reference):
    """Takes small batches only, and states the largest."""

    def answer_init(self, link: Link, syn: Init) -> Init:
        return replace(super().answer_init(link, syn), batch_size=sane.DEFAULT_BATCH)


@faulty("hangs-on-long-leases", caught_by="establishment-fields/a-lease-of-any-length-is-answered-or-closed")
class HangsOnLongLeases(Reference):
    """Says nothing to a lease that does not fit 32 bits of milliseconds."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if not OpenSyn.matches(seen.message) or seen.message.lease < 2**32:
            super().on_message(link, seen)


@faulty(
    "goes-deaf-on-an-odd-open-ack",
    caught_by=(
        "initiator-fields/our-lease-of-any-length-is-believed-or-refused",
        "initiator-fields/an-open-ack-with-a-cookie-is-believed-or-refused",
        "initiator-extensions/odd-extensions-of-open-ack-are-believed-or-refused",
    ),
)
class GoesDeafOnAnOddOpenAck(Reference):
    """Opens a session on an OpenAck with a long lease, an extension twice or bytes behind it, and does nothing in it."""

    deaf = ""

    def received(self, name: str, data: bytes, now: float) -> list[Any]:
        if data[2:3] and data[2] & 0x3F == 0x22 and data.endswith(b"\x5a\x5a\x5a"):
            self.deaf, data = name, (len(data) - 7).to_bytes(2, "little") + data[2:-5]
        return super().received(name, data, now)

    def check_open_ack(self, link: Link, ack: Open) -> None:
        super().check_open_ack(link, ack)
        kinds = [type(ext) for ext in ack.exts]
        if ack.lease >= 2**32 or len(set(kinds)) < len(kinds):
            self.deaf = link.name

    def on_session(self, link: Link, message: Any) -> None:
        if link.name != self.deaf:
            super().on_session(link, message)


@faulty(
    "hangs-on-what-follows",
    caught_by=(
        "establishment-fields/bytes-behind-open-are-answered-or-closed",
        "establishment-batches/keep-alives-behind-a-proposal-are-answered-or-closed",
        "initiator-fields/an-odd-answer-is-followed-or-refused",
    ),
)
class HangsOnWhatFollows(Reference):
    """Says nothing to a batch of several messages."""

    def _feed(self, link: Link, event: Event) -> None:
        if len(event.data) <= 3 or link.live or not event.data.endswith(b"\x04"):
            super()._feed(link, event)


@faulty(
    "fails-at-the-edge-of-its-numbers",
    caught_by="establishment-fields/every-resolution-makes-a-session",
    also={
        "settled-terms/*": "its numbers come to an edge there",
        "establishment-fields/without-size-numbers-have-32-bits": "the last number is at the edge",
        "session-lanes/numbers-of-every-lane-wrap": "they begin anew there",
    },
)
class FailsAtTheEdgeOfItsNumbers(Reference):
    """Does not count on from the last number to zero."""

    def accepts_sn(self, link: Link, message: Any) -> bool:
        channel = (message.reliable, 5)
        if message.sn == 0 and channel in link.rx and link.rx[channel] == self.sn_mask(link):
            return False
        return super().accepts_sn(link, message)


@faulty(
    "calls-malformed-unsupported",
    caught_by="establishment-fields/a-malformed-message-is-called-invalid",
)
class CallsMalformedUnsupported(Reference):
    """Refuses what it cannot read for the wrong reason."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        raise Refused(UNSUPPORTED)


@faulty(
    "is-another-on-every-link",
    caught_by="establishment-fields/the-target-is-the-same-on-every-link",
    also={
        "establishment-init/its-own-zid-is-refused": "it does not know itself again",
    },
)
class IsAnotherOnEveryLink(Reference):
    """Shows a ZenohID that it makes up for each link."""

    def answer_init(self, link: Link, syn: Init) -> Init:
        ack = super().answer_init(link, syn)
        return replace(ack, zid=type(ack.zid)(bytes([1 + len(link.name)]) + syn.zid.raw[:6] + b"\x77"))


@faulty(
    "reads-one-segment-at-a-time",
    caught_by=(
        "establishment-batches/a-handshake-in-pieces-is-accepted",
        "initiator-fields/answers-in-pieces-are-taken",
    ),
)
class ReadsOneSegmentAtATime(Reference):
    """Takes every segment for a whole batch."""

    def _feed(self, link: Link, event: Event) -> None:
        if len(event.data) < 2 or len(event.data) < 2 + int.from_bytes(event.data[:2], "little"):
            self.refuse(link, INVALID)
            return
        super()._feed(link, event)


@faulty(
    "answers-half-a-proposal",
    caught_by="establishment-batches/a-proposal-that-stops-is-not-answered",
    also={
        "law/*": "it answers what was never sent",
    },
)
class AnswersHalfAProposal(Reference):
    """Answers as soon as it has seen the ZenohID."""

    def _feed(self, link: Link, event: Event) -> None:
        if link.state is State.AWAIT_INIT and 14 <= len(event.data) < 2 + int.from_bytes(event.data[:2], "little"):
            self.handshake(link, sane.init_syn(event.data[5:13]))
            return
        super()._feed(link, event)


@faulty(
    "hangs-on-large-proposals",
    caught_by="establishment-batches/a-very-large-proposal-is-answered-or-refused",
)
class HangsOnLargeProposals(Reference):
    """Says nothing to a first batch larger than its buffer."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.live or len(seen.raw) < 8192:
            super().on_message(link, seen)


@faulty(
    "answers-empty-batches",
    caught_by=("establishment-batches/an-empty-batch-is-no-step",),
    also={
        "law/*": "it answers what was never sent",
        "initiator-*": "in both roles",
    },
)
class AnswersEmptyBatches(BelievesBroken):
    """Takes an empty batch for the message that is due."""

    def on_batch(self, link: Link, batch: bytes) -> None:
        if not batch and not link.live:
            self.handshake(link, self.due(link))
        else:
            super().on_batch(link, batch)


@faulty(
    "takes-an-early-open-for-granted",
    caught_by="establishment-batches/an-open-sent-too-soon-opens-nothing",
)
class TakesAnEarlyOpenForGranted(Reference):
    """Does not check the cookie of an OpenSyn that came with its InitSyn."""

    def connected(self, name: str, side: Side, now: float, *arguments: Any) -> list[Any]:
        self.batches: dict[str, int] = {**getattr(self, "batches", {}), name: 0}
        return super().connected(name, side, now, *arguments)

    def received(self, name: str, data: bytes, now: float) -> list[Any]:
        self.batches[name] += 1
        return super().received(name, data, now)

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return self.batches[link.name] == 1 or super().cookie_matches(link, open_)


@faulty(
    "counts-keep-alives-as-frames",
    caught_by="establishment-batches/the-first-frame-may-come-at-once",
    also={"*": "KEEP_ALIVE ends its sessions"},
)
class CountsKeepAlivesAsFrames(Reference):
    """Ends a session on KEEP_ALIVE."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, KeepAlive):
            raise Refused(GENERIC)
        super().on_session(link, message)


@faulty(
    "states-a-higher-patch",
    caught_by="law/patch-at-most-offered",
)
class StatesAHigherPatch(Reference):
    """Answers its own patch, whatever was offered."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts((*(ext for ext in super().answer_exts(link, syn) if not isinstance(ext, Patch)), Patch(value=2)))


@faulty(
    "cuts-its-init",
    caught_by="law/init-is-whole",
    also={"*": "nobody can read it"},
)
class CutsItsInit(Reference):
    """Leaves out the last bytes of INIT."""

    def encoded(self, message: Any) -> bytes:
        data = super().encoded(message)
        return data[:9] if isinstance(message, Init) else data


@faulty(
    "cuts-its-open",
    caught_by="law/open-is-whole",
    also={"*": "nobody can read it"},
)
class CutsItsOpen(Reference):
    """Leaves out the last bytes of OPEN."""

    def encoded(self, message: Any) -> bytes:
        data = super().encoded(message)
        return data[:2] if isinstance(message, Open) else data


@faulty(
    "proposes-version-8",
    caught_by="law/version-is-proposed-by-initiator",
    also={"law/init-version-current": "every INIT states the version"},
)
class ProposesVersion8(Reference):
    """States an old version in InitSyn."""

    def propose(self, link: Link) -> Init:
        return replace(super().propose(link), version=8)
