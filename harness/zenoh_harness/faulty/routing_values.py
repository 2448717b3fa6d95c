"""Nodes that pass publications on, and are wrong in what is left of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.codec import encode
from zenoh_conformance.messages import Del, Frame, Push, Put
from zenoh_conformance.messages.data import Shm
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import Encoding, ZenohID
from zenoh_conformance.sane import DEFAULT_PRIORITY
from zenoh_conformance.wire.extensions import Exts, Unknown
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.speaking import FRAGMENT_HEAD

from . import faulty

DELIVERY = "push-delivery"
VALUES = "push-values"


class _Changes(Reference):
    """Changes each publication before it goes on."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        super().on_push(link, self.changed(push), reliable=reliable)

    def changed(self, push: Push) -> Push:
        """The publication, as it goes on."""
        return replace(push, body=self.body(push.body))

    def body(self, body: Any) -> Any:
        """Its value or deletion, as it goes on."""
        return body


def without(body: Any, name: str) -> Any:
    """A body without an extension."""
    return replace(body, exts=Exts(ext for ext in body.exts if name not in type(ext).__name__))


@faulty(
    "makes-deletions-values",
    caught_by=f"{VALUES}/a-deletion-comes-as-one",
    also={
        f"{VALUES}/the-source*": "a deletion with a source is a value",
        "routing-numbers/a-number*": "a deletion by number is a value",
    },
)
class MakesDeletionsValues(_Changes):
    """Passes a DEL on as an empty PUT."""

    def body(self, body: Any) -> Any:
        return Put(timestamp=body.timestamp, payload=b"") if isinstance(body, Del) else body


@faulty("loses-a-deletion-by-number", caught_by="routing-numbers/a-number-names-a-key-with-any-suffix-or-none")
class LosesADeletionByNumber(Reference):
    """Loses a DEL whose key is a number and nothing more."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if not (isinstance(push.body, Del) and push.key.scope and not push.key.suffix):
            super().on_push(link, push, reliable=reliable)


@faulty(
    "stamps-anew",
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={f"{VALUES}/a-deletion*": "so are deletions"},
)
class StampsAnew(_Changes):
    """Puts a timestamp of its own in the place of the publisher's."""

    def body(self, body: Any) -> Any:
        own = None if body.timestamp is None else replace(body.timestamp, zid=ZenohID(b"\x01"))
        return replace(body, timestamp=own)


@faulty(
    "forgets-encodings",
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={"push-values/a-schema*": "a schema is part of it"},
)
class ForgetsEncodings(_Changes):
    """Passes values on without their encoding."""

    def body(self, body: Any) -> Any:
        return replace(body, encoding=None) if isinstance(body, Put) else body


@faulty(
    "forgets-schemas",
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={"push-values/a-schema*": "however long it is"},
)
class ForgetsSchemas(_Changes):
    """Passes an encoding on without its schema."""

    def body(self, body: Any) -> Any:
        known = isinstance(body, Put) and body.encoding is not None
        return replace(body, encoding=replace(body.encoding, schema=None)) if known else body


@faulty("cuts-schemas", caught_by=f"{VALUES}/a-schema-of-any-length-passes")
class CutsSchemas(_Changes):
    """Passes on of a schema what one byte of VLE can count."""

    def body(self, body: Any) -> Any:
        if not isinstance(body, Put) or body.encoding is None or body.encoding.schema is None:
            return body
        return replace(body, encoding=replace(body.encoding, schema=body.encoding.schema[:127]))


@faulty(
    "names-an-encoding-where-none-is",
    caught_by=f"{VALUES}/no-encoding-is-the-default",
    also={f"{VALUES}/a-value-comes*": "the same"},
)
class NamesAnEncodingWhereNoneIs(_Changes):
    """Takes octets for the default encoding, as the text names it, and writes it down with the wrong number."""

    def body(self, body: Any) -> Any:
        return replace(body, encoding=body.encoding or Encoding(1)) if isinstance(body, Put) else body


@faulty(
    "forgets-attachments",
    caught_by=f"{VALUES}/an-attachment-passes-unchanged",
    also={f"{VALUES}/*": "the attachment is gone"},
)
class ForgetsAttachments(_Changes):
    """Passes publications on without their attachment."""

    def body(self, body: Any) -> Any:
        return without(body, "Attachment")


@faulty(
    "reads-attachments-as-text",
    caught_by=f"{VALUES}/an-attachment-passes-unchanged",
    also={f"{VALUES}/*": "the attachment is another"},
)
class ReadsAttachmentsAsText(_Changes):
    """Takes an attachment for UTF-8 and drops what is none."""

    def body(self, body: Any) -> Any:
        exts = [
            replace(ext, payload=ext.payload.decode(errors="ignore").encode())
            if "Attachment" in type(ext).__name__
            else ext
            for ext in body.exts
        ]
        return replace(body, exts=Exts(exts))


@faulty("names-itself-as-the-source", caught_by=f"{VALUES}/the-source-passes-unchanged")
class NamesItselfAsTheSource(_Changes):
    """Writes itself into SourceInfo."""

    def body(self, body: Any) -> Any:
        exts = [
            replace(ext, zid=ZenohID(self.config.zid)) if type(ext).__name__ == "SourceInfo" else ext
            for ext in body.exts
        ]
        return replace(body, exts=Exts(exts))


@faulty("forgets-priorities", caught_by=f"{VALUES}/priority-and-congestion-control-pass")
class ForgetsPriorities(_Changes):
    """Passes publications on without QoS."""

    def changed(self, push: Push) -> Push:
        return replace(push, exts=Exts(ext for ext in push.exts if not isinstance(ext, QoS)))


@faulty("makes-everything-block", caught_by=f"{VALUES}/priority-and-congestion-control-pass")
class MakesEverythingBlock(_Changes):
    """Sets the bit against dropping on all that it passes on."""

    def changed(self, push: Push) -> Push:
        exts = [QoS(value=ext.value | 8) if isinstance(ext, QoS) else ext for ext in push.exts]
        return replace(push, exts=Exts(exts))


@faulty(
    "sends-all-in-one-lane",
    caught_by="law/frame-carries-priority",
    also={"routing-lanes/*-lane": "what is large or answers is in the same"},
)
class SendsAllInOneLane(Reference):
    """Puts every message into the lane of Data."""

    def lane_of(self, link: Link, message: Any) -> int:
        return 5


@faulty(
    "fragments-in-the-lane-of-data",
    caught_by=("routing-lanes/a-large-message-keeps-its-lane", "law/frame-carries-priority"),
)
class FragmentsInTheLaneOfData(Reference):
    """Puts what must be fragmented into the lane of Data."""

    def lane_of(self, link: Link, message: Any) -> int:
        fits = len(encode(message)) + FRAGMENT_HEAD <= self.room(link)
        return super().lane_of(link, message) if fits else DEFAULT_PRIORITY


@faulty("passes-marked-payloads", caught_by=f"{VALUES}/a-value-in-shared-memory-is-refused")
class PassesMarkedPayloads(Reference):
    """Passes on what lies in shared memory, though it has none."""

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Push):
            self.on_push(link, message, reliable=reliable)
        else:
            super().route(link, message, reliable=reliable)


@faulty(
    "marks-what-it-passes-on",
    caught_by="law/shared-memory-is-agreed",
    also={"session-batches/*": "so are values in fragments", f"{DELIVERY}/a-value-of*": "the value is another"},
)
class MarksWhatItPassesOn(_Changes):
    """Puts the Shm marker on large values, though nobody has shown shared memory."""

    def body(self, body: Any) -> Any:
        large = isinstance(body, Put) and len(body.payload) > 30_000
        return replace(body, exts=Exts((*body.exts, Shm())), payload=b"\x01\x00\x01x") if large else body


@faulty("drops-unknown-extensions", caught_by=f"{VALUES}/an-unknown-extension-is-forwarded")
class DropsUnknownExtensions(_Changes):
    """Passes on what it knows."""

    def changed(self, push: Push) -> Push:
        body: Any = push.body
        body = replace(body, exts=Exts(ext for ext in body.exts if not isinstance(ext, Unknown)))
        return replace(push, body=body, exts=Exts(ext for ext in push.exts if not isinstance(ext, Unknown)))


@faulty(
    "cuts-large-values",
    caught_by=f"{DELIVERY}/a-value-of-any-size-comes-whole",
    also={"session-batches/*": "a large value is cut there, too"},
)
class CutsLargeValues(_Changes):
    """Passes on the first 16 KiB of a value."""

    def body(self, body: Any) -> Any:
        return replace(body, payload=body.payload[:16384]) if isinstance(body, Put) else body


@faulty(
    "drops-empty-values",
    caught_by=(f"{DELIVERY}/a-value-of-any-size-comes-whole", f"{VALUES}/a-value-comes-with-all-its-fields"),
)
class DropsEmptyValues(Reference):
    """Takes an empty value for none."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if not isinstance(push.body, Put) or push.body.payload:
            super().on_push(link, push, reliable=reliable)


@faulty(
    "swaps-publications",
    caught_by=f"{DELIVERY}/values-come-in-order",
    also={"*": "each second publication waits for the next"},
)
class SwapsPublications(Reference):
    """Holds each second publication back until the next one."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.kept: list[tuple[Link, Push, bool]] = []
        self.count = 0

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        self.count += 1
        if self.count > 3 and self.count % 2:
            self.kept.append((link, push, reliable))
            return
        super().on_push(link, push, reliable=reliable)
        for earlier, one, channel in self.kept:
            super().on_push(earlier, one, reliable=channel)
        self.kept.clear()


@faulty(
    "drops-best-effort",
    caught_by=f"{DELIVERY}/values-come-in-order",
    also={
        "establishment-patch/marked-pieces-of-two-channels-are-told-apart": "one of the channels is best effort",
        "session-lanes/every-channel-of-ours-begins-with-our-number": "so is one of the channels",
        "session-lanes/numbers-of-every-lane-wrap": "so is one of the channels",
        "session-sizes/a-chain-to-us-is-of-one-channel": "one of the chains is best effort",
    },
)
class DropsBestEffort(Reference):
    """Does not pass on what came on the channel that may lose."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if reliable:
            super().on_push(link, push, reliable=reliable)


@faulty(
    "frames-on-low-latency",
    caught_by=(
        f"{VALUES}/a-publication-passes-without-frame",
        "query-ends/a-query-passes-without-frame",
        "query-ends/answers-pass-without-frame",
    ),
    also={"*": "no low-latency session can read a FRAME"},
)
class FramesOnLowLatency(Reference):
    """Puts messages of low-latency sessions into FRAMEs."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link.terms.lowlatency:
            self.send_batch(link, encode(Frame(sn=self.next_sn(link, True, 5), messages=(message,))))
        else:
            super().say(link, message, reliable=reliable)


@faulty("says-what-is-no-message", caught_by="law/what-is-said-decodes", also={"*": "what it passes on cannot be read"})
class SaysWhatIsNoMessage(Reference):
    """Cuts the last byte off large messages."""

    def send_batch(self, link: Link, batch: bytes) -> None:
        super().send_batch(link, batch[:-1] if len(batch) > 400 and link.live else batch)
