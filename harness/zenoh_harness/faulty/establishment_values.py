"""Nodes that refuse a valid value, length or batch of a handshake, or accept an invalid one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from zenoh_conformance.messages import Init, KeepAlive, Open, Patch, sane
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.reading.kinds import OpenSyn
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import GENERIC, INVALID, UNSUPPORTED, Reference, after, before, refuse

from . import fault, faulty
from .establishment_chains import BelievesBroken

fault(
    "drops-a-zid-with-zeros",
    "Ends the link without CLOSE on a ZenohID that ends in zero.",
    check_init=lambda base, syn: refuse(None) if syn.zid.raw.endswith(b"\0") else base(),
    caught_by="establishment-fields/a-zid-that-ends-in-zeros-is-answered-or-closed",
)
fault(
    "drops-a-second-link",
    "Ends a further link of a session without CLOSE.",
    check_open=lambda node, base, link: (
        refuse(None)
        if any(other.live and other.zid == link.zid for other in node.links.values() if other is not link)
        else base()
    ),
    caught_by="establishment-fields/the-zid-of-a-live-session-is-answered-or-closed",
    also={
        "law/refusal-is-close": "the law sees it too",
        "establishment-states/one-of-parallel-handshakes-comes-through": "it drops the later handshakes",
        "close-scope/two-links-make-one-session": "it drops the second link",
    },
)
fault(
    "takes-a-missing-size-for-2048",
    "Reads S=0 as a batch size of 2048, and answers with the default.",
    on_batch=lambda base, link, batch: (
        refuse(INVALID)
        if link.live and link.theirs is not None and link.theirs.batch_size is None and len(batch) > 2048
        else base()
    ),
    caught_by="establishment-fields/without-size-batches-are-large",
)
fault(
    "states-no-small-batch",
    "Accepts only small batches, and states the largest size.",
    answer_init=lambda base: replace(base(), batch_size=sane.DEFAULT_BATCH),
    caught_by="establishment-fields/a-small-batch-is-stated-and-kept",
)
fault(
    "hangs-on-long-leases",
    "Does not answer an OpenSyn with a lease of 2**32 or more.",
    on_message=lambda base, seen: base() if not OpenSyn.matches(seen.message) or seen.message.lease < 2**32 else None,
    caught_by="establishment-fields/a-lease-of-any-length-is-answered-or-closed",
)
fault(
    "hangs-on-a-lease-of-zero",
    "Does not answer an OpenSyn with a lease of zero.",
    on_message=lambda base, seen: base() if not OpenSyn.matches(seen.message) or seen.message.lease else None,
    caught_by="establishment-fields/a-lease-of-any-length-is-answered-or-closed",
)
fault(
    "hangs-on-what-follows",
    "Does not answer a handshake batch with several messages.",
    _feed=lambda base, link, event: (
        base() if len(event.data) <= 3 or link.live or not event.data.endswith(b"\x04") else None
    ),
    caught_by=(
        "establishment-fields/bytes-behind-open-are-answered-or-closed",
        "establishment-batches/keep-alives-behind-a-proposal-are-answered-or-closed",
        "initiator-fields/an-odd-answer-is-followed-or-refused",
    ),
)
fault(
    "calls-malformed-unsupported",
    "Refuses malformed messages with the wrong reason.",
    on_undecodable=lambda: refuse(UNSUPPORTED),
    caught_by="establishment-fields/a-malformed-message-is-called-invalid",
)
fault(
    "hangs-on-large-proposals",
    "Does not answer a first batch larger than its buffer.",
    on_message=lambda base, link, seen: base() if link.live or len(seen.raw) < 8192 else None,
    caught_by="establishment-batches/a-very-large-proposal-is-answered-or-refused",
)
fault(
    "answers-empty-batches",
    "Treats an empty batch as the message that is due.",
    of=BelievesBroken,
    on_batch=lambda node, base, link, batch: (
        node.handshake(link, node.due(link)) if not batch and not link.live else base()
    ),
    caught_by="establishment-batches/an-empty-batch-is-no-step",
    also={"law/*": "it answers what was never sent", "initiator-*": "in both roles"},
)
fault(
    "counts-keep-alives-as-frames",
    "Ends a session on KEEP_ALIVE.",
    on_session=lambda base, message: refuse(GENERIC) if isinstance(message, KeepAlive) else base(),
    caught_by="establishment-batches/the-first-frame-may-come-at-once",
    also={"*": "it closes its sessions at KEEP_ALIVE"},
)
fault(
    "states-a-higher-patch",
    "Answers with its own patch, whatever was offered.",
    answer_exts=lambda base: Exts((*(ext for ext in base() if not isinstance(ext, Patch)), Patch(value=2))),
    caught_by="law/patch-at-most-offered",
)
fault(
    "proposes-version-8",
    "States an old version in InitSyn.",
    propose=lambda base: replace(base(), version=8),
    caught_by="law/version-is-proposed-by-initiator",
    also={"law/init-version-current": "every INIT states the version"},
)
fault(
    "cuts-its-init",
    "Leaves out the last bytes of INIT.",
    encoded=lambda base, message: base()[:9] if isinstance(message, Init) else base(),
    caught_by="law/init-is-whole",
    also={"*": "its message cannot be decoded"},
)
fault(
    "cuts-its-open",
    "Leaves out the last bytes of OPEN.",
    encoded=lambda base, message: base()[:2] if isinstance(message, Open) else base(),
    caught_by="law/open-is-whole",
    also={"*": "its message cannot be decoded"},
)
fault(
    "announces-extensions-that-it-has-not",
    "Sets flag Z of an InitAck without extensions.",
    encoded=lambda base, message: (
        bytes([base()[0] | 0x80]) + base()[1:]
        if isinstance(message, Init) and message.ack and not message.exts
        else base()
    ),
    caught_by="law/init-is-whole",
    also={"*": "its InitAck cannot be decoded where an InitSyn offers nothing"},
)
fault(
    "is-another-on-every-link",
    "Uses another ZenohID on each link.",
    answer_init=lambda base, link, syn: replace(
        base(), zid=ZenohID(bytes([1 + len(link.name)]) + syn.zid.raw[:6] + b"\x77")
    ),
    caught_by="establishment-fields/the-target-is-the-same-on-every-link",
    also={"establishment-init/its-own-zid-is-refused": "it does not recognize its own ZenohID"},
)
fault(
    "reads-one-segment-at-a-time",
    "Treats every TCP segment as a whole batch.",
    _feed=lambda node, base, link, event: (
        node.refuse(link, INVALID) if len(event.data) < 2 + int.from_bytes(event.data[:2], "little") else base()
    ),
    caught_by=(
        "establishment-batches/a-handshake-in-pieces-is-accepted",
        "initiator-fields/answers-in-pieces-are-taken",
    ),
)


@faulty(
    caught_by=(
        "establishment-batches/a-handshake-in-pieces-is-accepted",
        "initiator-fields/answers-in-pieces-are-taken",
    ),
    also={
        "law/batch-size-is-receive-limit": "it misreads the size that we propose",
        "law/cookie-echo": "it misreads the cookie",
    },
)
class MisplacesTheThirdRead(Reference):
    """Puts what it reads of a batch behind twice the place of the read before, from the third read on."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.reads = {}

    def _feed(self, link, event):
        reads = self.reads.setdefault(link.name, [])
        reads.append(event.data)
        whole = b"".join(reads)
        due = 2 + int.from_bytes(whole[:2].ljust(2, b"\xff"), "little")
        if len(whole) < due:
            return
        del self.reads[link.name]
        if len(whole) == due and len(reads) > 2:
            whole = self.in_memory(whole, reads)
        super()._feed(link, replace(event, data=whole))

    @staticmethod
    def in_memory(whole, reads):
        """The batch as it is then in memory, with zeros in the gaps, behind its length."""
        memory, at, had = bytearray(len(whole)), 0, 0
        for read in reads:
            memory[at : at + len(read)] = read
            had += len(read)
            at += had
        return whole[:2] + memory[2 : len(whole)]


fault(
    "fails-at-the-edge-of-its-numbers",
    "Drops the message whose sequence number wraps to zero.",
    accepts_sn=lambda node, base, link, message: (
        (message.sn != 0 or link.rx.get((message.reliable, 5)) != node.sn_mask(link)) and base()
    ),
    caught_by="establishment-fields/every-resolution-makes-a-session",
    also={
        "settled-terms/*": "its sequence numbers wrap there",
        "establishment-fields/without-size-numbers-have-32-bits": "the last number is at the edge",
        "session-lanes/numbers-of-every-lane-wrap": "the sequence numbers wrap there",
    },
)


fault(
    "answers-half-a-proposal",
    "Answers a proposal after its ZenohID, before its end.",
    _feed=lambda node, base, link, event: (
        node.handshake(link, sane.init_syn(event.data[5:13]))
        if link.state is State.AWAIT_INIT and 14 <= len(event.data) < 2 + int.from_bytes(event.data[:2], "little")
        else base()
    ),
    caught_by="establishment-batches/a-proposal-that-stops-is-not-answered",
    also={"law/*": "it answers what was never sent"},
)


fault(
    "takes-a-missing-size-for-8-bits",
    "Reads S=0 as the smallest resolution, and answers with the default.",
    check_init=after(lambda link, syn: setattr(link, "mine", syn)),
    accepts_initial_sn=lambda base, link, sn: (
        sn <= 0x7F if link.theirs is not None and link.theirs.resolution is None else base()
    ),
    caught_by="establishment-fields/without-size-numbers-have-32-bits",
)


@faulty(
    caught_by=(
        "initiator-fields/our-lease-of-any-length-is-believed-or-refused",
        "initiator-fields/an-open-ack-with-a-cookie-is-believed-or-refused",
        "initiator-extensions/odd-extensions-of-open-ack-are-believed-or-refused",
    )
)
class GoesDeafOnAnOddOpenAck(Reference):
    """Opens a session on an OpenAck with a long lease, a repeated extension or trailing bytes, and ignores all traffic in it."""

    deaf = ""

    def received(self, name, data, now):
        if data[2:3] and data[2] & 0x3F == 0x22 and data.endswith(b"\x5a\x5a\x5a"):
            self.deaf, data = name, (len(data) - 7).to_bytes(2, "little") + data[2:-5]
        return super().received(name, data, now)

    def check_open_ack(self, link, ack):
        super().check_open_ack(link, ack)
        kinds = [type(ext) for ext in ack.exts]
        if ack.lease >= 2**32 or len(set(kinds)) < len(kinds):
            self.deaf = link.name

    def on_session(self, link, message):
        if link.name != self.deaf:
            super().on_session(link, message)


fault(
    "takes-an-early-open-for-granted",
    "Does not check the cookie of an OpenSyn that came with its InitSyn.",
    state={"batches": Counter},
    connected=before(lambda node, name: node.batches.pop(name, None)),
    received=before(lambda node, name: node.batches.update([name])),
    cookie_matches=lambda node, base, link: node.batches[link.name] == 1 or base(),
    caught_by="establishment-batches/an-open-sent-too-soon-opens-nothing",
)
