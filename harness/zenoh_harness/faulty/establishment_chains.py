"""Nodes that misread extension chains, and messages that end too soon."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import sane
from zenoh_conformance.messages.init import QoS, QoSLink
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import DecodeError, Exts
from zenoh_harness.reference import INVALID, UNSUPPORTED, Reference, refuse

from . import fault, faulty


def has_unknown(message: Any) -> bool:
    """Whether a message has an extension that no page defines."""
    return any(type(ext).__name__ == "Unknown" for ext in message.exts)


class BelievesBroken(Reference):
    """Base of nodes that treat a malformed message as the valid one that is due, if `believes` returns True."""

    def on_undecodable(self, link, seen):
        assert isinstance(seen.message, DecodeError)
        if link.live or not self.believes(link, seen.message, seen.raw):
            super().on_undecodable(link, seen)
            return
        self.handshake(link, self.due(link))

    def due(self, link):
        """The valid message that is due."""
        if link.state is State.AWAIT_INIT:
            return sane.init_syn(b"\x77\x01")
        if link.state is State.INIT_ACKED:
            assert link.mine is not None
            return sane.open_syn(link.mine)
        assert link.mine is not None
        return sane.init_ack(link.mine, b"\x77\x01", b"\x5a") if link.state is State.INIT_SENT else sane.open_ack()

    def believes(self, link, refusal, raw):
        """Whether the node accepts the malformed message."""
        return False


fault(
    "refuses-unknown-optional-extensions",
    "Refuses an unknown optional extension as if it were mandatory.",
    handshake=lambda base, message: refuse(UNSUPPORTED) if has_unknown(message) else base(),
    caught_by=(
        "establishment-extensions/an-unknown-optional-extension-of-init-is-skipped",
        "establishment-extensions/an-unknown-optional-extension-of-open-is-skipped",
        "initiator-extensions/an-unknown-optional-extension-of-init-ack-is-skipped",
        "initiator-extensions/an-unknown-optional-extension-of-open-ack-is-skipped",
        "establishment-batches/a-large-proposal-is-answered",
    ),
    also={"initiator-init-ack/an-unknown-optional-extension-is-skipped": "the same check in another case"},
)
fault(
    "skips-mandatory-extensions",
    "Ignores M.",
    of=BelievesBroken,
    believes=lambda refusal: "mandatory" in refusal.why,
    caught_by=(
        "establishment-extensions/an-unknown-mandatory-extension-of-init-is-refused",
        "establishment-extensions/an-unknown-mandatory-extension-of-open-is-refused",
        "establishment-extensions/an-unknown-mandatory-extension-is-closed-for-a-reason",
        "initiator-extensions/an-unknown-mandatory-extension-of-init-ack-is-refused",
        "initiator-extensions/an-unknown-mandatory-extension-of-open-ack-is-refused",
    ),
    also={
        "initiator-init-ack/a-wrong-answer-is-refused": "one wrong answer carries such an extension",
        "*broken-chain*": "one chain is broken in a mandatory extension",
    },
)
fault(
    "calls-mandatory-extensions-a-limit",
    "Refuses an unknown mandatory extension with an unrelated reason.",
    on_undecodable=lambda seen: refuse(4 if "mandatory" in seen.message.why else INVALID),
    caught_by="establishment-extensions/an-unknown-mandatory-extension-is-closed-for-a-reason",
)
fault(
    "reads-broken-chains",
    "Reads a message with a broken extension chain as one without extensions.",
    of=BelievesBroken,
    believes=lambda refusal: "exts" in refusal.path or "unknown" in refusal.path or "extension" in refusal.why,
    caught_by=(
        "establishment-extensions/a-broken-chain-is-refused",
        "initiator-extensions/a-broken-chain-of-ours-is-refused",
        "establishment-batches/a-batch-that-is-cut-is-refused",
    ),
    also={
        "*mandatory*": "it reads an unknown mandatory extension as a broken chain",
        "initiator-init-ack/a-wrong-answer-is-refused": "one wrong answer carries such an extension",
    },
)
fault(
    "reads-cut-answers",
    "Fills in the missing fields of a short answer.",
    of=BelievesBroken,
    believes=lambda link: link.side is Side.INITIATOR,
    caught_by=(
        "initiator-fields/an-answer-that-is-cut-is-refused",
        "initiator-fields/an-open-ack-that-is-cut-is-refused",
    ),
    also={"initiator-*": "it fills in any malformed answer"},
)
fault(
    "reads-past-its-zid",
    "Reads past the end of the message for the rest of the ZenohID.",
    of=BelievesBroken,
    believes=lambda link, refusal, raw: link.state is State.AWAIT_INIT and "zid" in refusal.path and len(raw) > 2,
    caught_by="establishment-fields/a-zid-longer-than-the-message-is-refused",
    also={"establishment-*": "it accepts a proposal cut in its ZID, too"},
)
fault(
    "reads-past-its-cookie",
    "Reads past the end of the message for the rest of the cookie.",
    of=BelievesBroken,
    believes=lambda link, refusal: link.state is State.INIT_ACKED and "cookie" in refusal.path,
    caught_by=(
        "establishment-batches/an-open-that-is-cut-in-its-cookie-is-refused",
        "establishment-cookie/a-cookie-length-that-lies-is-refused",
    ),
    also={"establishment-open/a-cut-open-is-refused": "it accepts an OpenSyn cut in its cookie"},
)
fault(
    "compares-the-beginning-of-a-cookie",
    "Ignores the bytes that follow the cookie in its field.",
    cookie_matches=lambda link, open_: (open_.cookie or b"").startswith(link.mine.cookie),
    caught_by="establishment-cookie/a-longer-cookie-is-refused",
)
fault(
    "refuses-what-it-does-not-do",
    "Closes when the peer offers a mode that it does not support.",
    check_init=lambda base, syn: (
        refuse(UNSUPPORTED) if any(type(ext).__name__ in ("LowLatency", "Compression") for ext in syn.exts) else base()
    ),
    caught_by="establishment-extensions/what-may-be-declined-is-no-reason-to-refuse",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair proposes what it does not do",
        "establishment-sane/lanes-and-low-latency-*": "it does not do low latency",
    },
)
fault(
    "hangs-on-odd-bits",
    "Does not answer a message with a reserved bit set.",
    on_message=lambda base, link, seen: (
        base() if link.live or not any(diagnostic.kind == "reserved-bit" for diagnostic in seen.diagnostics) else None
    ),
    caught_by=(
        "establishment-fields/reserved-bits-beside-the-role-are-answered-or-closed",
        "establishment-fields/reserved-bits-of-the-resolution-are-answered-or-closed",
        "initiator-fields/an-odd-answer-is-followed-or-refused",
    ),
)


fault(
    "answers-qos-link-with-qos",
    "Mistakes QoSLink for QoS: they share an id.",
    answer_exts=lambda base, syn: Exts((*base(), *(QoS() for ext in syn.exts if isinstance(ext, QoSLink)))),
    caught_by=("establishment-extensions/qos-and-qos-link-are-told-apart", "law/qos-answered-in-kind"),
    also={"law/qos-needs-both": "the peer did not offer QoS"},
)


@faulty(
    "on_message",
    caught_by=(
        "establishment-extensions/odd-extensions-of-init-are-answered-or-closed",
        "establishment-extensions/odd-extensions-of-open-are-answered-or-closed",
        "initiator-extensions/odd-extensions-of-init-ack-are-followed-or-refused",
    ),
)
def hangs_on_odd_extensions(base, link, seen):
    """Does not answer a message that has an extension twice."""
    exts = [type(ext) for ext in getattr(seen.message, "exts", ())]
    if link.live or len(set(exts)) == len(exts):
        base()
