"""The fields of InitSyn and OpenSyn at their edges, toward a responder."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import answered_or_closed, init_then_open, issued, open_then_work, takes
from zenoh_conformance.messages import Init, sane
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.kinds import InitAck, OpenAck, reason_code
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Scene, Sendable

from .sane import a_sane_handshake_is_accepted, a_sane_proposal_is_answered

ROOM = 64
"""Bytes that a FRAME with a PUT to one of our keys takes beside the payload, at most."""


@case(
    "session-establishment/init-zid",
    control=a_sane_handshake_is_accepted,
    parameters=grid(after=("close", "fin", "rst")),
)
def the_target_is_the_same_on_every_link(scene: Scene, *, after: str) -> None:
    """
    The ZenohID that InitAck shows is not zero and is the same on every link, whatever became of the one before.

        us      InitSyn .. OpenAck, then an end of some kind
        other   InitSyn
        target  InitAck (the ZID of before)
    """
    us = scene.session()
    end(us, after)
    other = scene.dialogue("other")

    ack = other.ask(other.init_syn(), expect=InitAck, step="stage init")

    assert us.theirs is not None
    other.require(any(ack.zid.raw), expected="a ZID", got="zero", step="init.zid")
    other.require(ack.zid.raw == us.theirs.zid.raw, expected="one ZID", got="another one", step="init.zid")


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(bits=(0x04, 0x08, 0x0C)),
    breaks=("law/init-packed-reserved",),
)
def reserved_bits_beside_the_role_are_answered_or_closed(scene: Scene, *, bits: int) -> None:
    """
    Bits 3:2 of the packed byte are set: a receiver may look at them, or not.

        us      InitSyn (packed byte with reserved bits)
        target  InitAck, and the session comes up; or Close
    """
    us = scene.dialogue()
    syn = segments(us.init_syn())

    init_then_open(us, syn.replace("init.packed", bytes([syn.get("init.packed").data[0] | bits])))


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(bits=(0x10, 0x20, 0x40, 0x80, 0xF0)),
    breaks=("law/resolution-reserved-zero",),
)
def reserved_bits_of_the_resolution_are_answered_or_closed(scene: Scene, *, bits: int) -> None:
    """
    Bits 7:4 of the resolution are set, which no sender may do: a receiver may refuse it, or not look (erratum
    resolution-reserved-ignored).

        us      InitSyn (resolution with reserved bits)
        target  InitAck, and the session comes up; or Close
    """
    us = scene.dialogue()

    init_then_open(us, us.init_syn(resolution=sane.DEFAULT_RESOLUTION | bits))


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(zeros=(1, 4, 8)),
)
def a_zid_that_ends_in_zeros_is_answered_or_closed(scene: Scene, *, zeros: int) -> None:
    """
    A ZenohID with zero bytes at its end is the same number as without them: nothing says which form is right.

        us      InitSyn (ZID .. 00)
        target  InitAck, and the session comes up; or Close
    """
    us = scene.dialogue(zid=scene.fresh_zid() + bytes(zeros))

    init_then_open(us, us.init_syn())


@case(
    "session-establishment/init-field-order",
    control=a_sane_proposal_is_answered,
    parameters=grid(length=range(1, 17)),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_zid_longer_than_the_message_is_refused(scene: Scene, *, length: int) -> None:
    """
    The length nibble promises more bytes of ZenohID than there are.

        us      InitSyn (S=0; a ZID one byte shorter than its nibble says, and nothing behind)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()
    packed = (length - 1) << 4 | sane.CLIENT

    us.send(bytes([0x01, sane.VERSION, packed]) + b"\x5a" * (length - 1))

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("init", never=InitAck)


@case("session-establishment/refusal-is-close", needs=("several-links",), control=a_sane_handshake_is_accepted)
def the_zid_of_a_live_session_is_answered_or_closed(scene: Scene) -> None:
    """
    A second link shows the ZenohID of a session that lives: one more link of it, in place of the old one, or refused by CLOSE.

        us      a live session
        other   InitSyn (the same ZID)
        target  InitAck .. OpenAck, or Close
    """
    us = scene.session()
    other = scene.dialogue("other", zid=us.zid)

    init_then_open(other, other.init_syn())


@case(
    "session-establishment/resolution-default",
    control=a_sane_handshake_is_accepted,
    parameters=grid(below=(0, 1)),
)
def without_size_numbers_have_32_bits(scene: Scene, *, below: int) -> None:
    """
    InitSyn without S: numbers go up to the edge of 32 bits, or of what InitAck states instead.

        us      InitSyn (S=0)
        target  InitAck
        us      OpenSyn (the largest initial_sn)
        target  OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(resolution=None, batch_size=None), expect=InitAck, step="not reached: init")
    us.initial_sn = SN_MASK[settled(ack) & 3] - below

    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")

    us.expect_live()
    us.expect_live(step="past the edge")


@case(
    "session-establishment/batch-size-default",
    needs=("routing", "several-sessions"),
    control=a_sane_handshake_is_accepted,
)
def without_size_batches_are_large(scene: Scene) -> None:
    """
    InitSyn without S: batches of up to 65535 bytes, or of what InitAck states instead, arrive.

        near    subscribes
        us      InitSyn (S=0) .. OpenAck
        us      FRAME (PUT that fills the batch)
        near    hears it
    """
    takes(scene, sane.DEFAULT_BATCH)
    near = scene.session("near")
    key = f"zconform/{near.zid.hex()}/filled"
    near.subscribe(key)
    near.fence(step="not reached: subscribed")
    us = scene.dialogue()
    ack = us.ask(us.init_syn(resolution=None, batch_size=None), expect=InitAck, step="not reached: init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="not reached: open")

    us.publish(key, bytes(max(0, (ack.batch_size or sane.DEFAULT_BATCH) - 2 - ROOM - len(key))))

    us.expect_live(step="after a batch as large as the default")
    near.expect_live(step="the subscriber")


@case(
    "session-establishment/batch-size-may-be-lowered",
    control=a_sane_handshake_is_accepted,
    profile="small-batch",
    needs=("small-batch",),
    parameters=grid(size=(65535, 8192, 1024, 512, 511, 256)),
)
def a_small_batch_is_stated_and_kept(scene: Scene, *, size: int) -> None:
    """
    A target that takes small batches only says so in InitAck, unless less was proposed.

        us      InitSyn (batch size)
        target  InitAck (512, or what was proposed if that is less)
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(batch_size=size), expect=InitAck, step="stage init")

    stated = sane.DEFAULT_BATCH if ack.batch_size is None else ack.batch_size
    us.require(min(stated, size) <= 512, expected="at most 512", got="more", step="init.batch_size")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(seconds=(True, False), lease=(1, 127, 128, 2**16, 2**32, 2**48, 0)),
)
def a_lease_of_any_length_is_answered_or_closed(scene: Scene, *, seconds: bool, lease: int) -> None:
    """
    Leases from none to far past a lifetime: taken, or refused by CLOSE.

        us      OpenSyn (T, lease)
        target  OpenAck, or Close
    """
    us = scene.dialogue()
    ack = issued(us)

    answered_or_closed(us, us.open_syn(ack, lease_in_seconds=seconds, lease=lease), OpenAck, "open")


@case(
    "session-establishment/init-ack-answers-init-syn",
    control=a_sane_proposal_is_answered,
    parameters=grid(resolution=range(16), number=("first", "last")),
)
def every_resolution_makes_a_session(scene: Scene, *, resolution: int, number: str) -> None:
    """
    Each of the sixteen resolutions, with the first and the last number that 32 bits of them hold; it counts on from there.

        us      InitSyn (FSN, RID)
        target  InitAck
        us      OpenSyn (initial_sn at an edge of what was settled)
        target  OpenAck
        us      FRAME, FRAME
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(resolution=resolution), expect=InitAck, step="stage init")
    code = min(resolution & 3, settled(ack) & 3)
    us.initial_sn = 0 if number == "first" else SN_MASK[min(code, 2)]

    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")

    us.expect_live()
    us.expect_live(step="the number after")


@case(
    "session-establishment/refusal-is-close",
    control=a_sane_handshake_is_accepted,
    parameters=grid(extra=(1, 2, 16, 300)),
)
def bytes_behind_open_are_answered_or_closed(scene: Scene, *, extra: int) -> None:
    """
    OpenSyn is followed by KEEP_ALIVEs in its batch, which a batch may hold.

        us      OpenSyn, KEEP_ALIVE, ..
        target  OpenAck, or Close
    """
    us = scene.dialogue()
    ack = issued(us)

    open_then_work(us, segments(us.open_syn(ack)).join() + b"\x04" * extra)


@case(
    "close/malformed-is-invalid",
    control=a_sane_proposal_is_answered,
    parameters=grid(what=("empty-after-header", "cut", "role-3", "zid-zero", "garbage")),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_malformed_message_is_called_invalid(scene: Scene, *, what: str) -> None:
    """
    A proposal that is malformed is refused; if by CLOSE, the reason is INVALID.

        us      InitSyn (malformed)
        target  Close (INVALID), or the link ends
    """
    us = scene.dialogue()
    syn = segments(us.init_syn())
    packed = syn.get("init.packed").data[0]
    malformed: dict[str, Sendable] = {
        "empty-after-header": syn.join()[:1],
        "cut": syn.join()[:6],
        "role-3": syn.replace("init.packed", bytes([packed | 3])),
        "zid-zero": syn.replace("init.zid", bytes(len(us.zid))),
        "garbage": b"\xff\xff\xff\xff",
    }

    us.send(malformed[what])

    us.expect_refusal("init", reason=reason_code("INVALID"), never=InitAck)


def settled(ack: Init) -> int:
    """The resolution of an InitAck; the default where it states none."""
    return sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution


def end(us: Dialogue, how: str) -> None:
    """End a link: by CLOSE and what follows, by FIN, or by RST; on datagrams, where these do not show, by CLOSE."""
    if how == "close":
        us.send(sane.close(session=True))
        us.expect_end(step="not reached: after Close")
    elif how == "rst":
        us.break_off()
        return
    us.hang_up()
