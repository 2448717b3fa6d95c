"""What the errata say of the baseline, asked of a live router: bytes by hand, and what comes out at another session.

A probe that finds the baseline's sentence true returns nothing, else what it saw. Those of the twenty oldest errata are here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from packaging.specifiers import SpecifierSet

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import CloseReason, DQueryable, Push, Put, Request
from zenoh_conformance.messages.init import Compression, LowLatency
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.messages.request import QueryTarget
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_conformance.wire import vle
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.links.wires import Recorder
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import NodeInstance, open_target

PATIENCE: Final = 5.0
NAME: Final = "00 03 65 2f 78"
"""The key `e/x`, by its whole name."""

FIVE: Final = "05 31 32 33 34 35"
"""A payload of five bytes, with its length."""

DROPPING: Final = SpecifierSet(">=1.3.1,<=1.5.1")
"""Releases that read no more of a batch where a FRAME's messages cannot be read, and let the session live."""

PUSH: Final = f"7d {NAME} 01 {FIVE}"


class Here:
    """One router of a release, in one profile, with sessions of ours."""

    def __init__(self, node: NodeInstance, release: str) -> None:
        self.node, self.release = node, release
        self._recorder, self._count = Recorder(), 0

    def ends(self, us: Dialogue) -> bool:
        """Whether the link of who said what cannot be read ended, as it does but in a few releases."""
        return (us.ended is None) == (self.release in DROPPING)

    def link(self) -> Dialogue:
        """A link on which nothing was said."""
        self._count += 1
        wire = self._recorder.wire(self.node, f"us-{self._count}", Deadline.after(PATIENCE))
        zid = bytes([0x65, self._count, 0x5A])
        return Dialogue(wire, zid=zid, unit=scaled(2.0), requirement="target/stays-up")

    def session(self, **init: Any) -> Dialogue:
        """A session in the router's profile."""
        return open_session(self.link(), self.node.profile, **init)

    def ear(self) -> Dialogue:
        """A session that hears what is said on `e/**`, and is asked for `e/q`."""
        ear = self.session()
        ear.subscribe("e/**")
        ear.declare(DQueryable(id=ear.new_id(), key=plain("e/q")))
        ear.fence()
        return ear

    def heard(self, text: str, *, us: Dialogue | None = None, head: bytes | None = None) -> tuple[list[Any], Dialogue]:
        """PUSHes and REQUESTs that come out where these network messages go in, and who said them; `head` is what stands before."""
        ear, us = self.ear(), us or self.session()
        us.send((encode(us.frame()) if head is None else head) + bytes.fromhex(text))
        lives(us)
        return [seen.message for seen in ear.fence() if isinstance(seen.message, (Push, Request))], us


def lives(us: Dialogue) -> bool:
    """Whether a session still works."""
    try:
        us.fence()
    except Deviation:
        return us.ended is None
    return True


Probe = Callable[[Here], object]
PROBES: dict[str, tuple[str, Probe]] = {}
"""Erratum to the profile that it takes, and what asks for it."""


def stance(erratum: str, profile: str = DEFAULT) -> Callable[[Probe], Probe]:
    """Register what asks for an erratum's sentence on the baseline."""

    def register(probe: Probe) -> Probe:
        PROBES[erratum] = (profile, probe)
        return probe

    return register


@contextmanager
def routers(release: str) -> Iterator[Callable[[str], Here]]:
    """Routers of a release by profile, each started once; all ended."""
    with ExitStack() as stack:
        here: dict[str, Here] = {}

        def of(profile: str) -> Here:
            if profile not in here:
                node = stack.enter_context(open_target(parse(f"wheel:{release}")).start(profile))
                here[profile] = Here(node, release)
            return here[profile]

        yield of


def asked(erratum: str, of: Callable[[str], Here]) -> str:
    """What is otherwise than the erratum says of the baseline; empty where it is so."""
    profile, probe = PROBES[erratum]
    try:
        found = probe(of(profile))
    except Deviation as why:
        return why.finding.cause
    except AssertionError as why:
        return str(why)
    return "" if found in (None, True) else f"{found}"


def payloads(messages: list[Any]) -> list[bytes]:
    """What the PUTs carry."""
    return [one.body.payload for one in messages if isinstance(one, Push) and isinstance(one.body, Put)]


def only(messages: list[Any]) -> Any:
    """The one message that came. Raises AssertionError for none or several."""
    if len(messages) != 1:
        raise AssertionError(f"{len(messages)} messages came where one is due")
    return messages[0]


@stance("vle-ninth-byte-raw")
def ninth_byte(here: Here) -> object:
    """2^63 in nine bytes, in an extension that is passed on."""
    text = "2e 80 80 80 80 80 80 80 80 80"
    heard, _ = here.heard(f"7d {NAME} 81 {text} {FIVE}")
    return bytes.fromhex(text) in encode(only(heard)) or heard


@stance("vle-overlong-accepted")
def overlong(here: Here) -> object:
    """A payload's length, and a lease, in one byte more than they take."""
    us = here.link()
    ack = us.ask(us.init_syn(), expect=InitAck, step="init")
    opening = encode(us.open_syn(ack))
    us.ask(opening[:1] + b"\x8a\x00" + opening[2:], expect=OpenAck, step="open")
    heard, _ = here.heard(f"7d {NAME} 01 85 00 31 32 33 34 35", us=us)
    return payloads(heard) == [b"12345"] or heard


@stance("value-beyond-type-range")
def beyond(here: Here) -> object:
    """Scope 65541 ends the link, expression id 65541 is 5, number 2^32 is 0."""
    _, us = here.heard(f"5d 85 80 04 01 {FIVE}")
    named, _ = here.heard(f"1e 20 85 80 04 {NAME} 5d 05 01 {FIVE}")
    first = here.session()
    first.next_sn()
    numbered, _ = here.heard(PUSH, us=first, head=b"\x25" + vle.encode(1 << 32))
    return (here.ends(us), payloads(named), payloads(numbered)) == (True, [b"12345"], [b"12345"]) or (
        us.end(), named, numbered,
    )  # fmt: skip


@stance("batch-size-counts-prefix")
def prefix_counts(here: Here) -> object:
    """Of 64 bytes 62 are for what is said."""
    us = here.session(batch_size=64)
    held, _ = here.heard(f"7d {NAME} 01 34 {'2a' * 52}", us=us)
    _, _ = here.heard(f"7d {NAME} 01 35 {'2a' * 53}", us=us)
    return (payloads(held) == [b"*" * 52] and us.ended is not None) or (held, us.end())


@stance("empty-unit")
def empty(here: Here) -> object:
    """A length of zero."""
    early, late = here.link(), here.session()
    early.send_bytes(b"\x00\x00")
    early.expect_refusal("init", reason=[CloseReason.INVALID])
    late.send_bytes(b"\x00\x00")
    return lives(late) or late.end()


@stance("prefix-per-batch")
def one_prefix(here: Here) -> object:
    """A KEEP_ALIVE and a FRAME behind one length."""
    us = here.session()
    heard, _ = here.heard(PUSH, us=us, head=b"\x04" + encode(us.frame()))
    return payloads(heard) == [b"12345"] or heard


@stance("several-messages-per-batch")
def two_frames(here: Here) -> object:
    """Two FRAMEs in one batch; from 1.3.1 to 1.5.1 what follows the first is not read, which is listed as a deviation."""
    us = here.session()
    first = encode(us.frame()) + bytes.fromhex(PUSH)
    heard, _ = here.heard(PUSH, us=us, head=first + encode(us.frame()))
    due = 1 if here.release in DROPPING else 2
    return len(payloads(heard)) == due or heard


@stance("batch-delivered-piecemeal")
def piecemeal(here: Here) -> object:
    """A whole PUSH, then half of one: the first arrives, and the link ends."""
    heard, us = here.heard(f"{PUSH} 7d 00 03 65")
    return (payloads(heard) == [b"12345"] and here.ends(us)) or (heard, us.end())


@stance("low-latency-u32-prefix", profile="low-latency")
def four_bytes(here: Here) -> object:
    """After OpenAck, four bytes of length, and no FRAME."""
    us = here.session(exts=(LowLatency(),))
    heard, _ = here.heard(PUSH, us=us, head=b"")
    return (payloads(heard) == [b"12345"] and us.framed(b"\x04").hex() == "0100000004") or heard


@stance("compression-header", profile="compression")
def compressed(here: Here) -> object:
    """A byte before each batch: one that is clear, and a batch that comes back."""
    us = here.session(exts=(Compression(),))
    heard, _ = here.heard(PUSH, us=us)
    return (payloads(heard) == [b"12345"] and us.framed(b"\x04").hex() == "02000004") or heard


@stance("unknown-extension-forwarding")
def forwarding(here: Here) -> object:
    """One inside PUT, one of PUSH, one of FRAME."""
    us = here.session()
    head = b"\xa5" + vle.encode(us.next_sn()) + bytes.fromhex("4e 01 07")
    heard, _ = here.heard(f"fd {NAME} 4e 03 01 02 03 81 4e 02 04 05 {FIVE}", us=us, head=head)
    written = encode(only(heard))
    return (b"\x4e\x02\x04\x05" in written and b"\x4e\x03\x01\x02\x03" not in written) or written.hex(" ")


@stance("unknown-mandatory-close-reason")
def mandatory(here: Here) -> object:
    """In a proposal it is refused by INVALID, in a session by the link's end alone."""
    early = here.link()
    early.send(encode(early.init_syn())[:-1] + b"\x81\x1e")
    early.expect_refusal("init", reason=[CloseReason.INVALID])
    _, us = here.heard(f"fd {NAME} 1e 01 {FIVE}")
    return (here.ends(us) and us.closed is None) or us.end()


@stance("extension-match-on-whole-header")
def whole_header(here: Here) -> object:
    """0x24 in REQUEST is not QueryTarget, 0x34 is."""
    other, _ = here.heard("fc 01 00 03 65 2f 71 24 01 03")
    target, _ = here.heard("fc 01 00 03 65 2f 71 34 01 03")
    got = [only(one).exts.get(QueryTarget) for one in (other, target)]
    return (got[0] is None and got[1] is not None) or got


@stance("duplicate-extensions")
def twice(here: Here) -> object:
    """QoS twice: the last one is passed on."""
    heard, _ = here.heard(f"fd {NAME} a1 0a 21 02 01 {FIVE}")
    return only(heard).exts.get(QoS) == QoS(value=2) or heard


def _stamped(here: Here, zid: bytes) -> Any:
    now = vle.encode(int(time.time() - 60) << 32).hex()
    heard, _ = here.heard(f"7d {NAME} 21 {now} {len(zid):02x} {zid.hex()} {FIVE}")
    return only(heard).body


@stance("timestamp-zid-length")
def long_zid(here: Here) -> object:
    """ZenohIDs of one and of sixteen bytes, behind a length."""
    return all(_stamped(here, zid).timestamp.zid.raw == zid for zid in (b"\x07", bytes(range(1, 17))))


@stance("timestamp-bare")
def bare(here: Here) -> object:
    """Time and ZenohID stand without a length of their own: what follows is the payload."""
    return _stamped(here, b"\x07\x08").payload == b"12345"


@stance("zid-zero-refused")
def zero(here: Here) -> object:
    """Zero is refused, a zero at the end taken, and not written again."""
    refused, taken = here.link(), here.link()
    refused.send(bytes.fromhex("c1 09 02 00 0a ff ff 01"))
    refused.expect_refusal("init")
    taken.send(bytes.fromhex("c1 09 12 65 00 0a ff ff 01"))
    taken.expect(InitAck)
    return _stamped(here, b"\x07\x00").timestamp.zid.raw == b"\x07"


@stance("timestamp-epoch")
def epoch(here: Here) -> object:
    """A router's stamp counts from 1970."""
    heard, _ = here.heard(PUSH)
    stamp = only(heard).body.timestamp
    return (stamp is not None and abs((stamp.time >> 32) - time.time()) < 3600) or stamp


@stance("timestamp-not-in-qos")
def stamp_of_push(here: Here) -> object:
    """Extension 0x2 of PUSH is read as a timestamp: a whole one is taken, though not passed on, and half of one ends the link."""
    stamp = vle.encode(int(time.time() - 60) << 32) + b"\x02\x07\x08"
    whole, _ = here.heard(f"fd {NAME} 42 {len(stamp):02x} {stamp.hex()} 01 {FIVE}")
    _, us = here.heard(f"fd {NAME} 42 {len(stamp) - 2:02x} {stamp[:-2].hex()} 01 {FIVE}")
    return (payloads(whole) == [b"12345"] and here.ends(us)) or (whole, us.end())


@stance("encoding-registry")
def encodings(here: Here) -> object:
    """Encoding 2^17 + 1 comes out as 1."""
    heard, _ = here.heard(f"7d {NAME} 41 {vle.encode(((1 << 17) + 1) << 1).hex()} {FIVE}")
    encoding = only(heard).body.encoding
    return (encoding is not None and encoding.id == 1) or encoding
