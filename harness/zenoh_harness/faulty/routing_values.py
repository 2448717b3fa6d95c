"""Routers that change or drop publications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from zenoh_conformance.messages import Del, DelAttachment, Frame, Push, Put, PutAttachment, Response
from zenoh_conformance.messages.data import Shm, SourceInfo
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.messages.sane import DEFAULT_PRIORITY
from zenoh_conformance.primitives import Encoding, ZenohID
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import Exts, Unknown
from zenoh_harness.reference import Link, Reference
from zenoh_harness.reference.speaking import FRAGMENT_HEAD

from . import fault, faulty

DELIVERY, VALUES = "push-delivery", "push-values"
ATTACHMENT = PutAttachment | DelAttachment


class _Changes(Reference):
    """Base of nodes that change each publication before they forward it."""

    def on_push(self, link, push, **options):
        super().on_push(link, self.changed(push), **options)

    def changed(self, push):
        """The publication to forward."""
        return replace(push, body=self.body(push.body))

    def body(self, body):
        """The value or deletion to forward."""
        return body


def change_exts(message: Any, kind: Any, change: Callable[[Any], Any] | None = None) -> Any:
    """A message with its extensions of a kind changed, or without them."""
    if change is None:
        return replace(message, exts=Exts(ext for ext in message.exts if not isinstance(ext, kind)))
    return replace(message, exts=Exts(change(ext) if isinstance(ext, kind) else ext for ext in message.exts))


fault(
    "makes-deletions-values",
    "Forwards a DEL as an empty PUT.",
    of=_Changes,
    body=lambda body: Put(timestamp=body.timestamp, payload=b"") if isinstance(body, Del) else body,
    caught_by=f"{VALUES}/a-deletion-comes-as-one",
    also={
        f"{VALUES}/the-source*": "it forwards a deletion with a source as a value",
        "routing-numbers/a-number*": "it forwards a deletion by expression id as a value",
    },
)
fault(
    "loses-a-deletion-by-number",
    "Drops a DEL whose key is an expression id without suffix.",
    on_push=lambda base, push: (
        base() if not (isinstance(push.body, Del) and push.key.scope and not push.key.suffix) else None
    ),
    caught_by="routing-numbers/a-number-names-a-key-with-any-suffix-or-none",
)
fault(
    "forgets-encodings",
    "Forwards values without their encoding.",
    of=_Changes,
    body=lambda body: replace(body, encoding=None) if isinstance(body, Put) else body,
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={"push-values/a-schema*": "the schema is part of the encoding"},
)
fault(
    "takes-encoding-0-for-none",
    "Forwards a value whose encoding is 0 without it, and loses the schema.",
    of=_Changes,
    body=lambda body: (
        replace(body, encoding=None) if getattr(body, "encoding", None) and not body.encoding.id else body
    ),
    caught_by="law/forwarded-value",
)
fault(
    "cuts-the-last-byte-of-a-source",
    "Forwards publications with at most 15 bytes of the ZenohID of their source.",
    of=_Changes,
    body=lambda body: change_exts(body, SourceInfo, lambda source: replace(source, zid=ZenohID(source.zid.raw[:15]))),
    caught_by="law/forwarded-source",
)
fault(
    "cuts-the-clock-of-a-deletion",
    "Forwards deletions with at most 8 bytes of the ZenohID of their timestamp.",
    of=_Changes,
    body=lambda body: (
        replace(body, timestamp=replace(body.timestamp, zid=ZenohID(body.timestamp.zid.raw[:8])))
        if isinstance(body, Del) and body.timestamp
        else body
    ),
    caught_by="law/forwarded-deletion",
)
fault(
    "names-an-encoding-where-none-is",
    "Writes an encoding into a value that has none, with the wrong id.",
    of=_Changes,
    body=lambda body: replace(body, encoding=body.encoding or Encoding(1)) if isinstance(body, Put) else body,
    caught_by=f"{VALUES}/no-encoding-is-the-default",
    also={f"{VALUES}/a-value-comes*": "the same check in another case"},
)
fault(
    "forgets-attachments",
    "Forwards publications without their attachment.",
    of=_Changes,
    body=lambda body: change_exts(body, ATTACHMENT),
    caught_by=f"{VALUES}/an-attachment-passes-unchanged",
    also={f"{VALUES}/*": "it drops the attachment"},
)
fault(
    "forgets-priorities",
    "Forwards publications without QoS.",
    of=_Changes,
    changed=lambda push: change_exts(push, QoS),
    caught_by=f"{VALUES}/priority-and-congestion-control-pass",
)
fault(
    "sends-all-in-one-lane",
    "Sends every message in the lane of Data.",
    lane_of=lambda: 5,
    caught_by="law/frame-carries-priority",
    also={"routing-lanes/*-lane": "large messages and replies are in the same lane"},
)
fault(
    "passes-marked-payloads",
    "Forwards values in shared memory, though it has none.",
    route=lambda node, base, link, message, reliable: (
        node.on_push(link, message, reliable=reliable) if isinstance(message, Push) else base()
    ),
    caught_by=f"{VALUES}/a-value-in-shared-memory-is-refused",
)
fault(
    "passes-marked-answers",
    "Forwards answers in shared memory, though it has none.",
    route=lambda node, base, link, message: (
        node.on_response(link, message) if isinstance(message, Response) else base()
    ),
    caught_by=f"{VALUES}/a-value-in-shared-memory-is-refused",
)
fault(
    "cuts-large-values",
    "Forwards the first 16 KiB of a value.",
    of=_Changes,
    body=lambda body: replace(body, payload=body.payload[:16384]) if isinstance(body, Put) else body,
    caught_by=f"{DELIVERY}/a-value-of-any-size-comes-whole",
    also={"session-batches/*": "it cuts a large value, too"},
)
fault(
    "drops-empty-values",
    "Drops publications with an empty value.",
    on_push=lambda base, push: base() if not isinstance(push.body, Put) or push.body.payload else None,
    caught_by=(f"{DELIVERY}/a-value-of-any-size-comes-whole", f"{VALUES}/a-value-comes-with-all-its-fields"),
)
fault(
    "drops-best-effort",
    "Drops best-effort publications.",
    on_push=lambda base, reliable: base() if reliable else None,
    caught_by=f"{DELIVERY}/values-come-in-order",
    also={
        "establishment-patch/marked-pieces-of-two-channels-are-told-apart": "one of the channels is best effort",
        "session-lanes/every-channel-of-ours-begins-with-our-number": "one of the channels is best effort",
        "session-lanes/numbers-of-every-lane-wrap": "one of the channels is best effort",
        "session-sizes/a-chain-to-us-is-of-one-channel": "one of the chains is best effort",
    },
)
fault(
    "frames-on-low-latency",
    "Sends FRAMEs in low-latency sessions.",
    say=lambda node, base, link, message: (
        node.send_batch(link, encode(Frame(sn=node.next_sn(link, True, 5), messages=(message,))))
        if link.terms.lowlatency
        else base()
    ),
    caught_by=(
        f"{VALUES}/a-publication-passes-without-frame",
        "query-ends/a-query-passes-without-frame",
        "query-ends/answers-pass-without-frame",
    ),
    also={"*": "no low-latency session can read a FRAME"},
)
fault(
    "says-what-is-no-message",
    "Cuts the last byte of large batches.",
    send_batch=lambda base, link, batch: base(batch=batch[:-1] if len(batch) > 400 and link.live else batch),
    caught_by="law/what-is-said-decodes",
    also={"*": "the messages that it forwards cannot be decoded"},
)
fault(
    "reads-attachments-as-text",
    "Reads an attachment as UTF-8 and drops invalid bytes.",
    of=_Changes,
    body=lambda body: change_exts(
        body, ATTACHMENT, lambda ext: replace(ext, payload=ext.payload.decode(errors="ignore").encode())
    ),
    caught_by=f"{VALUES}/an-attachment-passes-unchanged",
    also={f"{VALUES}/*": "it changes the attachment"},
)
fault(
    "names-itself-as-the-source",
    "Replaces SourceInfo with itself.",
    of=_Changes,
    body=lambda node, body: change_exts(body, SourceInfo, lambda ext: replace(ext, zid=ZenohID(node.config.zid))),
    caught_by=f"{VALUES}/the-source-passes-unchanged",
)
fault(
    "makes-everything-block",
    "Sets congestion control Block on all publications.",
    of=_Changes,
    changed=lambda push: change_exts(push, QoS, lambda ext: QoS(value=ext.value | 8)),
    caught_by=f"{VALUES}/priority-and-congestion-control-pass",
)
fault(
    "drops-unknown-extensions",
    "Forwards publications without unknown extensions.",
    of=_Changes,
    changed=lambda push: change_exts(replace(push, body=change_exts(push.body, Unknown)), Unknown),
    caught_by=f"{VALUES}/an-unknown-extension-is-forwarded",
)
fault(
    "stamps-anew",
    "Replaces the publisher's timestamp with its own.",
    of=_Changes,
    body=lambda body: replace(body, timestamp=body.timestamp and replace(body.timestamp, zid=ZenohID(b""))),
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={f"{VALUES}/a-deletion*": "it replaces the timestamp of deletions, too"},
)
fault(
    "fragments-in-the-lane-of-data",
    "Sends fragmented messages in the lane of Data.",
    lane_of=lambda node, base, link, message: (
        base() if len(encode(message)) + FRAGMENT_HEAD <= node.room(link) else DEFAULT_PRIORITY
    ),
    caught_by=("routing-lanes/a-large-message-keeps-its-lane", "law/frame-carries-priority"),
)


fault(
    "forgets-schemas",
    "Forwards an encoding without its schema.",
    of=_Changes,
    body=lambda body: (
        replace(body, encoding=replace(body.encoding, schema=None))
        if isinstance(body, Put) and body.encoding is not None
        else body
    ),
    caught_by=f"{VALUES}/a-value-comes-with-all-its-fields",
    also={"push-values/a-schema*": "a schema of any length"},
)


fault(
    "cuts-schemas",
    "Cuts a schema to 127 bytes.",
    of=_Changes,
    body=lambda body: (
        replace(body, encoding=replace(body.encoding, schema=body.encoding.schema[:127]))
        if isinstance(body, Put) and body.encoding is not None and body.encoding.schema is not None
        else body
    ),
    caught_by=f"{VALUES}/a-schema-of-any-length-passes",
)


fault(
    "marks-what-it-passes-on",
    "Puts the Shm marker on large values, though no peer negotiated shared memory.",
    of=_Changes,
    body=lambda body: (
        replace(body, exts=Exts((*body.exts, Shm())), payload=b"\x01\x00\x01x")
        if isinstance(body, Put) and len(body.payload) > 30_000
        else body
    ),
    caught_by="law/shared-memory-is-agreed",
    also={"session-batches/*": "it marks fragmented values, too", f"{DELIVERY}/a-value-of*": "it changes the value"},
)


@faulty(caught_by=f"{DELIVERY}/values-come-in-order", also={"*": "every second publication waits for the next"})
class SwapsPublications(Reference):
    """Holds every second publication until the next one."""

    kept = cached_property(lambda node: list[tuple[Link, Push, bool]]())
    count = 0

    def on_push(self, link, push, *, reliable=True):
        self.count += 1
        if self.count > 3 and self.count % 2:
            self.kept.append((link, push, reliable))
            return
        super().on_push(link, push, reliable=reliable)
        for earlier, one, channel in self.kept:
            super().on_push(earlier, one, reliable=channel)
        self.kept.clear()
