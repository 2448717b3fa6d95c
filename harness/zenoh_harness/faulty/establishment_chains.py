"""Nodes that read chains of extensions, and messages that end too soon, as they must not."""

from __future__ import annotations

from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Side
from zenoh_conformance.messages import Init, Open
from zenoh_conformance.messages.init import QoS, QoSLink
from zenoh_conformance.session import State
from zenoh_conformance.wire.errors import DecodeError
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, UNSUPPORTED, Refused
from zenoh_harness.reference.link import Link

from . import faulty


def has_unknown(message: Any) -> bool:
    """Whether a message carries an extension that no page names."""
    return any(type(ext).__name__ == "Unknown" for ext in message.exts)


@faulty(
    "refuses-unknown-optional-extensions",
    caught_by=(
        "establishment-extensions/an-unknown-optional-extension-of-init-is-skipped",
        "establishment-extensions/an-unknown-optional-extension-of-open-is-skipped",
        "initiator-extensions/an-unknown-optional-extension-of-init-ack-is-skipped",
        "initiator-extensions/an-unknown-optional-extension-of-open-ack-is-skipped",
        "establishment-batches/a-large-proposal-is-answered",
    ),
    also={"initiator-init-ack/an-unknown-optional-extension-is-skipped": "the same"},
)
class RefusesUnknownOptionalExtensions(Reference):
    """Takes every extension that it does not know for a mandatory one."""

    def handshake(self, link: Link, message: Any) -> None:
        if has_unknown(message):
            raise Refused(UNSUPPORTED)
        super().handshake(link, message)


class BelievesBroken(Reference):
    """Base of nodes that take an undecodable message for the sane one that is due, where `believes` says so."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        assert isinstance(seen.message, DecodeError)
        if link.live or not self.believes(link, seen.message, seen.raw):
            super().on_undecodable(link, seen)
            return
        self.handshake(link, self.due(link))

    def due(self, link: Link) -> Any:
        """The sane message that is due."""
        if link.state is State.AWAIT_INIT:
            return sane.init_syn(b"\x77\x01")
        if link.state is State.INIT_ACKED:
            assert link.mine is not None
            return sane.open_syn(link.mine)
        assert link.mine is not None
        return sane.init_ack(link.mine, b"\x77\x01", b"\x5a") if link.state is State.INIT_SENT else sane.open_ack()

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        """Whether it does not mind."""
        return False


@faulty(
    "skips-mandatory-extensions",
    caught_by=(
        "establishment-extensions/an-unknown-mandatory-extension-of-init-is-refused",
        "establishment-extensions/an-unknown-mandatory-extension-of-open-is-refused",
        "establishment-extensions/an-unknown-mandatory-extension-is-closed-for-a-reason",
        "initiator-extensions/an-unknown-mandatory-extension-of-init-ack-is-refused",
        "initiator-extensions/an-unknown-mandatory-extension-of-open-ack-is-refused",
    ),
    also={
        "initiator-init-ack/a-wrong-answer-is-refused": "one wrong answer carries such an extension",
        "*broken-chain*": "one of them is broken in a mandatory extension",
    },
)
class SkipsMandatoryExtensions(BelievesBroken):
    """Does not look at M."""

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        return "mandatory" in refusal.why


@faulty(
    "calls-mandatory-extensions-a-limit",
    caught_by="establishment-extensions/an-unknown-mandatory-extension-is-closed-for-a-reason",
)
class CallsMandatoryExtensionsALimit(Reference):
    """Refuses an unknown mandatory extension for a reason that has nothing to do with it."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        raise Refused(4 if "mandatory" in seen.message.why else INVALID)


@faulty(
    "reads-broken-chains",
    caught_by=(
        "establishment-extensions/a-broken-chain-is-refused",
        "initiator-extensions/a-broken-chain-of-ours-is-refused",
        "establishment-batches/a-batch-that-is-cut-is-refused",
    ),
    also={
        "*mandatory*": "what is mandatory and unknown is broken to it",
        "initiator-init-ack/a-wrong-answer-is-refused": "one wrong answer carries such an extension",
    },
)
class ReadsBrokenChains(BelievesBroken):
    """Takes a message whose chain of extensions is broken for one without."""

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        return "exts" in refusal.path or "unknown" in refusal.path or "extension" in refusal.why


@faulty(
    "reads-cut-answers",
    caught_by=(
        "initiator-fields/an-answer-that-is-cut-is-refused",
        "initiator-fields/an-open-ack-that-is-cut-is-refused",
    ),
    also={
        "initiator-*": "whatever is wrong with an answer, it fills in",
    },
)
class ReadsCutAnswers(BelievesBroken):
    """Fills in what a short answer lacks."""

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        return link.side is Side.INITIATOR


@faulty(
    "reads-past-its-zid",
    caught_by="establishment-fields/a-zid-longer-than-the-message-is-refused",
    also={
        "establishment-*": "a proposal cut in its ZID is one too",
    },
)
class ReadsPastItsZid(BelievesBroken):
    """Takes what follows the message in memory for the rest of the ZenohID."""

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        return link.state is State.AWAIT_INIT and "zid" in refusal.path and len(raw) > 2


@faulty(
    "reads-past-its-cookie",
    caught_by=(
        "establishment-batches/an-open-that-is-cut-in-its-cookie-is-refused",
        "establishment-cookie/a-cookie-length-that-lies-is-refused",
    ),
    also={
        "establishment-open/a-cut-open-is-refused": "one that is cut in its cookie",
    },
)
class ReadsPastItsCookie(BelievesBroken):
    """Takes what follows the message in memory for the rest of the cookie."""

    def believes(self, link: Link, refusal: DecodeError, raw: bytes) -> bool:
        return link.state is State.INIT_ACKED and "cookie" in refusal.path


@faulty(
    "compares-the-beginning-of-a-cookie",
    caught_by="establishment-cookie/a-longer-cookie-is-refused",
)
class ComparesTheBeginningOfACookie(Reference):
    """Does not look at what follows the cookie in its field."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None and link.mine.cookie is not None
        return (open_.cookie or b"").startswith(link.mine.cookie)


@faulty(
    "answers-qos-link-with-qos",
    caught_by=("establishment-extensions/qos-and-qos-link-are-told-apart", "law/qos-answered-in-kind"),
    also={"law/qos-needs-both": "the lanes were not offered"},
)
class AnswersQosLinkWithQos(Reference):
    """Takes QoSLink for QoS: they have one id."""

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        mistaken = [QoS() for ext in syn.exts if isinstance(ext, QoSLink)]
        return Exts((*super().answer_exts(link, syn), *mistaken))


@faulty(
    "refuses-what-it-does-not-do",
    caught_by="establishment-extensions/what-may-be-declined-is-no-reason-to-refuse",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair proposes what it does not do",
        "establishment-sane/lanes-and-low-latency-*": "it does not do low latency",
    },
)
class RefusesWhatItDoesNotDo(Reference):
    """Closes where a mode is offered that it does not do."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if any(type(ext).__name__ in ("LowLatency", "Compression") for ext in syn.exts):
            raise Refused(UNSUPPORTED)


@faulty(
    "hangs-on-odd-extensions",
    caught_by=(
        "establishment-extensions/odd-extensions-of-init-are-answered-or-closed",
        "establishment-extensions/odd-extensions-of-open-are-answered-or-closed",
        "initiator-extensions/odd-extensions-of-init-ack-are-followed-or-refused",
    ),
)
class HangsOnOddExtensions(Reference):
    """Says nothing to a chain with one extension twice."""

    def on_message(self, link: Link, seen: Seen) -> None:
        exts = [type(ext) for ext in getattr(seen.message, "exts", ())]
        if link.live or len(set(exts)) == len(exts):
            super().on_message(link, seen)


@faulty(
    "hangs-on-odd-bits",
    caught_by=(
        "establishment-fields/reserved-bits-beside-the-role-are-answered-or-closed",
        "establishment-fields/reserved-bits-of-the-resolution-are-answered-or-closed",
        "initiator-fields/an-odd-answer-is-followed-or-refused",
    ),
)
class HangsOnOddBits(Reference):
    """Says nothing where a reserved bit is set."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.live or not any(diagnostic.kind == "reserved-bit" for diagnostic in seen.diagnostics):
            super().on_message(link, seen)
