"""Responders that believe, or answer, a wrong InitSyn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.kinds import InitAck, OpenAck
from zenoh_conformance.messages import Frame, Init, KeepAlive, Open
from zenoh_conformance.messages.init import Compression, LowLatency, Patch, QoS
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, MAX_LINKS, TO_SELF, Refused
from zenoh_harness.reference.link import Link, Terms

from . import faulty


@faulty(
    "answers-nothing",
    caught_by="establishment-sane/a-sane-proposal-is-answered",
    also={
        "*": "no handshake comes anywhere",
    },
)
class AnswersNothing(Reference):
    """Takes InitSyn and stays silent."""

    def handshake(self, link: Link, message: Any) -> None:
        return


@faulty(
    "issues-no-cookie",
    caught_by="establishment-sane/a-sane-proposal-is-answered",
    also={
        "establishment-*": "there is no cookie to begin with",
    },
)
class IssuesNoCookie(Reference):
    """InitAck with an empty cookie."""

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        return b""


@faulty(
    "believes-any-version",
    caught_by=(
        "establishment-init/an-unknown-version-is-unsupported",
        "establishment-init/an-unknown-version-is-closed",
    ),
)
class BelievesAnyVersion(Reference):
    """Accepts whatever version is proposed."""

    def accepts_version(self, version: int) -> bool:
        return True


@faulty("calls-a-version-invalid", caught_by="establishment-init/an-unknown-version-is-unsupported")
class CallsAVersionInvalid(Reference):
    """Refuses an unknown version for the wrong reason."""

    def check_init(self, link: Link, syn: Init) -> None:
        if not self.accepts_version(syn.version):
            raise Refused(INVALID)
        super().check_init(link, syn)


@faulty(
    "drops-a-version-silently",
    caught_by="establishment-init/an-unknown-version-is-closed",
    also={
        "law/refusal-is-close": "the law sees it too",
        "establishment-init/*": "no CLOSE, so no reason; nor does it look at the ZID",
    },
)
class DropsAVersionSilently(Reference):
    """Shuts the link on an unknown version, without CLOSE."""

    def check_init(self, link: Link, syn: Init) -> None:
        if not self.accepts_version(syn.version):
            raise Refused(None)


@faulty(
    "drops-routers-silently",
    caught_by="establishment-limits/a-lone-lawful-proposal-is-answered-or-closed",
)
class DropsRoutersSilently(Reference):
    """Takes no router, and shuts the link on one without CLOSE."""

    def check_init(self, link: Link, syn: Init) -> None:
        if syn.whatami == WhatAmI(sane.ROUTER):
            raise Refused(None)
        super().check_init(link, syn)


@faulty(
    "accepts-newer-versions",
    caught_by="establishment-init/an-unknown-version-is-unsupported",
    also={
        "establishment-init/an-unknown-version-is-closed": "what it believes it does not refuse",
    },
)
class AcceptsNewerVersions(Reference):
    """Takes a larger version for a compatible one."""

    def accepts_version(self, version: int) -> bool:
        return version >= sane.VERSION


@faulty("talks-to-itself", caught_by="establishment-init/its-own-zid-is-refused")
class TalksToItself(Reference):
    """Accepts a peer with its own ZenohID."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn if syn.zid.raw != self.config.zid else replace(syn, zid=ZenohID(b"\x99")))


@faulty("knows-itself-by-eight-bytes", caught_by="establishment-init/a-zid-like-its-own-is-another-node")
class KnowsItselfByEightBytes(Reference):
    """Takes a ZenohID that begins with the eight bytes of its own for its own."""

    def check_init(self, link: Link, syn: Init) -> None:
        if syn.zid.raw[:8] == self.config.zid[:8]:
            raise Refused(TO_SELF)
        super().check_init(link, syn)


@faulty("knows-others-by-twelve-bytes", caught_by="establishment-init/like-zids-are-two-nodes")
class KnowsOthersByTwelveBytes(Reference):
    """Takes two ZenohIDs that are one in their first twelve bytes for one node, and refuses it another link."""

    def check_open(self, link: Link, open_: Open) -> None:
        zid = (link.zid or b"")[:12]
        if any(other.live and len(zid) == 12 and (other.zid or b"")[:12] == zid for other in self.links.values()):
            raise Refused(MAX_LINKS)
        super().check_open(link, open_)


@faulty(
    "raises-the-resolution",
    caught_by=("establishment-init/no-resolution-is-raised", "law/resolution-not-raised"),
    also={
        "law/sn-within-resolution": "its numbers go past the one that was proposed",
        "query-targets/an-id-out-of-range-is-not-served": "its range of request ids is larger, too",
        "query-many/request-ids-begin-anew": "its range of request ids is larger, too",
        "law/request-id-in-range": "its range of request ids is larger, too",
        "settled-terms/every-pair-of-terms-is-at-work": "it counts in another range",
        "settled-terms/*wrap-where-it-was-settled": "it counts in another range",
        "law/resolution-not-raised": "the law sees it too",
        "law/initial-sn-in-range": "its numbers follow the raised one",
        "session-lanes/numbers-of-every-lane-wrap": "its numbers begin anew elsewhere",
    },
)
class RaisesTheResolution(Reference):
    """Answers with its own resolution, whatever was proposed."""

    def choose_resolution(self, proposed: int) -> int:
        return self.config.resolution


@faulty(
    "raises-the-request-id-resolution",
    caught_by="establishment-init/no-resolution-is-raised",
    also={
        "law/resolution-not-raised": "the law sees it too",
        "query-targets/an-id-out-of-range-is-not-served": "it serves ids of the range that it kept",
        "query-many/request-ids-begin-anew": "it counts in the range that it kept",
        "law/request-id-in-range": "it counts in the range that it kept",
    },
)
class RaisesTheRequestIdResolution(Reference):
    """Lowers FSN as it should and keeps its own RID."""

    def choose_resolution(self, proposed: int) -> int:
        return (super().choose_resolution(proposed) & 3) | (self.config.resolution & 12)


@faulty("sets-reserved-resolution-bits", caught_by="law/resolution-reserved-zero")
class SetsReservedResolutionBits(Reference):
    """Writes a reserved bit into its resolution byte."""

    def answer_init(self, link: Link, syn: Init) -> Init:
        return replace(super().answer_init(link, syn), resolution=link.terms.resolution | 0x40)


@faulty(
    "keeps-its-own-batch-size",
    caught_by="establishment-init/the-smaller-batch-size-counts",
    also={
        "session-batches/*": "it fills batches past what was proposed",
        "law/batch-size-is-receive-limit": "the law sees it too",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "its own batches are larger",
    },
)
class KeepsItsOwnBatchSize(Reference):
    """States its own batch size where a smaller one was proposed."""

    def choose_batch(self, proposed: int) -> int:
        return self.config.batch_size


@faulty(
    "answers-unasked-qos",
    caught_by=(
        "establishment-sane/qos-is-settled-by-both",
        "law/qos-needs-both",
    ),
    also={
        "law/qos-needs-both": "the law sees it too",
        "law/qos-answered-in-kind": "where QoSLink was offered too",
        "establishment-extensions/qos-and-qos-link-*": "where QoSLink was offered too",
    },
)
class AnswersUnaskedQos(Reference):
    """InitAck carries QoS although InitSyn did not."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return sane.offers("QoS")


@faulty(
    "answers-unasked-low-latency",
    caught_by="law/low-latency-needs-both",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "it settles on low latency with who asked for lanes",
        "*low-latency*": "and where lanes are settled too",
        "establishment-extensions/odd-extensions-of-init-*": "where low latency was offered it is settled and not done",
    },
)
class AnswersUnaskedLowLatency(Reference):
    """InitAck carries LowLatency although InitSyn did not."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts((*super().answer_exts(link, syn), LowLatency()))


@faulty("answers-unasked-compression", caught_by="law/compression-needs-both")
class AnswersUnaskedCompression(Reference):
    """InitAck carries Compression although InitSyn did not."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts((*super().answer_exts(link, syn), Compression()))


@faulty("takes-only-long-zids", caught_by="establishment-sane/a-zid-of-every-length-is-accepted")
class TakesOnlyLongZids(Reference):
    """Refuses a ZenohID shorter than four bytes."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if len(syn.zid.raw) < 4:
            raise Refused(INVALID)


@faulty("takes-no-sixteen-byte-zid", caught_by="establishment-sane/a-zid-of-every-length-is-accepted")
class TakesNoSixteenByteZid(Reference):
    """Refuses the longest ZenohID: an off-by-one in the nibble."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if len(syn.zid.raw) == 16:
            raise Refused(INVALID)


@faulty(
    "takes-clients-only",
    caught_by="establishment-sane/every-role-is-accepted",
    also={
        "initiator-*": "our responder is a router",
    },
)
class TakesClientsOnly(Reference):
    """Refuses routers and peers."""

    def accepts_whatami(self, whatami: int) -> bool:
        return whatami == sane.CLIENT


@faulty("insists-on-a-size", caught_by="establishment-sane/init-syn-without-size-means-defaults")
class InsistsOnASize(Reference):
    """Refuses an InitSyn without S."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if syn.resolution is None:
            raise Refused(INVALID)


@faulty(
    "reads-a-missing-size-as-64-bit",
    caught_by="establishment-sane/init-syn-without-size-means-defaults",
    also={
        "law/sn-within-resolution": "its numbers go past the 32 bits that were settled",
        "law/resolution-not-raised": "the law sees it too",
        "law/initial-sn-in-range": "its number is drawn from 64 bits",
    },
)
class ReadsAMissingSizeAs64Bit(Reference):
    """Takes S=0 for the widest resolution."""

    def settle(self, syn: Init) -> Terms:
        return replace(super().settle(syn), resolution=0x0F) if syn.resolution is None else super().settle(syn)


class _Believes(Reference):
    """Answers undecodable bytes as if a sane InitSyn had come."""

    def doubts(self, why: str) -> bool:
        raise NotImplementedError

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        if link.mine is not None or self.doubts(str(seen.message)):
            super().on_undecodable(link, seen)
        self.handshake(link, sane.init_syn(b"\x77\x01"))


@faulty(
    "believes-any-role",
    caught_by="establishment-init/a-role-that-does-not-exist-is-refused",
    also={
        "establishment-fields/a-malformed-message-*": "one is malformed so",
    },
)
class BelievesAnyRole(_Believes):
    """Takes WhatAmI 3 for a client."""

    def doubts(self, why: str) -> bool:
        return "whatami" not in why and "packed" not in why and "role" not in why.lower()


@faulty(
    "believes-a-zid-of-zero",
    caught_by="establishment-init/a-zid-of-zero-is-refused",
    also={
        "establishment-init/a-cut-proposal-is-refused": "a proposal cut in its ZID is one too",
        "establishment-batches/a-batch-that-is-cut-*": "one that is cut in its ZID",
        "establishment-fields/*": "one is malformed so, others are cut in their ZID",
    },
)
class BelievesAZidOfZero(_Believes):
    """Takes a ZenohID of zero for somebody."""

    def doubts(self, why: str) -> bool:
        return "zid" not in why.lower()


@faulty(
    "believes-a-cut-proposal",
    caught_by="establishment-init/a-cut-proposal-is-refused",
    also={
        "establishment-*": "whatever stands in a message that is cut, it does not mind",
    },
)
class BelievesACutProposal(_Believes):
    """Fills in what a short InitSyn lacks."""

    def doubts(self, why: str) -> bool:
        return "ends" not in why and "end" not in why


@faulty(
    "settles-on-qos-and-low-latency",
    caught_by=(
        "law/no-qos-with-low-latency",
        "establishment-sane/lanes-and-low-latency-are-not-combined",
    ),
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair proposes both",
        "establishment-extensions/odd-extensions-of-init-*": "where both are offered it settles on both",
    },
)
class SettlesOnQosAndLowLatency(Reference):
    """Agrees to lanes and to low latency on one link."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        return Exts(ext for ext in syn.exts if isinstance(ext, QoS | LowLatency | Patch))


@faulty("answers-with-version-8", caught_by="law/init-version-current")
class AnswersWithVersion8(Reference):
    """States an old version in InitAck."""

    def answer_init(self, link: Link, syn: Init) -> Init:
        return replace(super().answer_init(link, syn), version=8)


@faulty("sets-reserved-role-bits", caught_by="law/init-packed-reserved")
class SetsReservedRoleBits(Reference):
    """Writes a reserved bit beside its role."""

    def encoded(self, message: Any) -> bytes:
        data = super().encoded(message)
        return data[:2] + bytes([data[2] | 0x04]) + data[3:] if isinstance(message, Init) else data


@faulty(
    "answers-init-with-keep-alive",
    caught_by="law/init-ack-answers-init-syn",
)
class AnswersInitWithKeepAlive(Reference):
    """Says KEEP_ALIVE before InitAck."""

    def send(self, link: Link, *messages: Any) -> None:
        if any(InitAck.matches(message) for message in messages):
            super().send(link, KeepAlive())
        super().send(link, *messages)


@faulty(
    "speaks-before-open",
    caught_by="law/no-data-before-open",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a frame comes before the OpenAck there, too",
        "establishment-*": "a FRAME comes where OpenAck is due",
        "law/open-ack-answers-open-syn": "the FRAME is no answer",
        "law/lease-proposed-by-both": "a FRAME comes before its lease",
    },
)
class SpeaksBeforeOpen(Reference):
    """Sends a FRAME before OpenAck."""

    def send(self, link: Link, *messages: Any) -> None:
        if any(OpenAck.matches(message) for message in messages):
            super().send(link, Frame(sn=0, messages=()))
        super().send(link, *messages)
