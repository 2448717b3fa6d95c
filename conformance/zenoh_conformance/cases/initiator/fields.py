"""The fields of InitAck and OpenAck at their edges, and how their bytes arrive, toward an initiator."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import (
    believed_or_refused,
    followed_or_refused,
    never_opens,
    proposal,
    refuses_itself,
    until_open_syn,
    works_in_the_end,
)
from zenoh_conformance.cases.establishment.batches import LENGTH_PREFIX, send_in_pieces
from zenoh_conformance.messages import Init, sane
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import OpenSyn
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Scene, Sendable

from .init_ack import a_sane_answer_is_followed
from .open_ack import a_sane_handshake_makes_a_session

INITIATOR = Side.INITIATOR


@case(
    "session-establishment/init-zid-length",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(length=range(1, 17)),
)
def our_zid_of_every_length_is_taken(scene: Scene, *, length: int) -> None:
    """
    InitAck shows a ZenohID of 1 to 16 bytes.

        target  InitSyn
        us      InitAck (ZID of that length)
        target  OpenSyn
    """
    us = scene.dialogue(zid=(scene.fresh_zid() * 2)[: length - 1] + b"\x5a")

    us.ask(us.init_ack(proposal(us)), expect=OpenSyn, step="stage init")


@case(
    "session-establishment/init-whatami",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(whatami=(0, 1)),
)
def our_role_is_taken(scene: Scene, *, whatami: int) -> None:
    """
    A router or a peer answers.

        target  InitSyn
        us      InitAck (WhatAmI)
        target  OpenSyn
    """
    us = scene.dialogue()

    us.ask(us.init_ack(proposal(us), whatami=whatami), expect=OpenSyn, step="stage init")


@case("close/own-zid-is-connection-to-self", role=INITIATOR, control=a_sane_answer_is_followed)
def an_answer_from_itself_is_refused(scene: Scene) -> None:
    """
    InitAck shows the initiator's own ZenohID: it is talking to itself.

        target  InitSyn (ZID)
        us      InitAck (that ZID)
        target  Close (CONNECTION_TO_SELF), or the link ends, now or after our OpenAck
    """
    us = scene.dialogue()
    syn = proposal(us)

    us.send(replace(us.init_ack(syn), zid=ZenohID(syn.zid.raw)))

    refuses_itself(us, step="stage init")


@case(
    "session-establishment/lowered-resolution-is-used",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(fsn=range(4), rid=range(4)),
)
def a_resolution_at_most_as_proposed_is_taken(scene: Scene, *, fsn: int, rid: int) -> None:
    """
    InitAck states each resolution, lowered to what was proposed where it is higher; the initiator's number fits.

        target  InitSyn (resolution)
        us      InitAck (FSN and RID at most as proposed)
        target  OpenSyn (initial_sn inside it)
    """
    us = scene.dialogue()
    syn = proposal(us)
    proposed = proposed_by(syn)
    answer = min(fsn, proposed & 3) | min(rid, proposed >> 2 & 3) << 2

    open_ = us.ask(us.init_ack(syn, resolution=answer), expect=OpenSyn, step="stage init")

    most = SN_MASK[answer & 3]
    us.require(open_.initial_sn <= most, expected=f"at most {most:#x}", got="a larger number", step="open.initial_sn")


@case(
    "session-establishment/raised-resolution-refused",
    role=INITIATOR,
    control=a_resolution_at_most_as_proposed_is_taken,
    parameters=grid(fsn=range(4), rid=range(4)),
    breaks=("law/resolution-not-raised",),
)
def no_raised_resolution_is_taken(scene: Scene, *, fsn: int, rid: int) -> None:
    """
    InitAck states each resolution that is above the proposal in one field or in both; where none of the two is, it is followed.

        target  InitSyn (resolution)
        us      InitAck (resolution)
        target  Close, or the link ends; OpenSyn only where neither field is raised
    """
    us = scene.dialogue()
    syn = proposal(us)
    proposed = proposed_by(syn)

    us.send(us.init_ack(syn, resolution=fsn | rid << 2))

    if fsn > proposed & 3 or rid > proposed >> 2 & 3:
        us.expect_refusal("init", never=OpenSyn)
    else:
        us.expect(OpenSyn, step="stage init")


@case(
    "session-establishment/batch-size-effective-minimum",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(size=(128, 256, 1024, 2048, 9000, 32767, 32768, 49152, 65534, 65535)),
)
def our_batch_size_is_taken(scene: Scene, *, size: int) -> None:
    """
    InitAck states a batch size, smaller or larger than proposed: the smaller of the two counts, and the session works.

        target  InitSyn (batch size)
        us      InitAck (another batch size)
        target  OpenSyn
        us      OpenAck
        us      FRAME (REQUEST)
        target  FRAME (RESPONSE_FINAL), in batches of that size
    """

    def lead(us: Dialogue) -> None:
        us.ask(us.init_ack(proposal(us), batch_size=size), expect=OpenSyn, step="stage init")
        us.send(us.open_ack())

    us = works_in_the_end(scene, lead)

    us.require(us.largest <= size, expected="at most what was answered", got="a larger batch", step="batch")


@case(
    "session-establishment/open-syn-answers-init-ack",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(
        what=(
            "version-0", "version-8", "version-10", "version-255", "reserved-role-bits", "reserved-resolution-bits",
            "empty-cookie", "client", "keep-alives-behind",
        )
    ),
    breaks=("law/init-packed-reserved", "law/init-version-current", "law/resolution-reserved-zero"),
)  # fmt: skip
def an_odd_answer_is_followed_or_refused(scene: Scene, *, what: str) -> None:
    """
    InitAck with a value of which no page says what an initiator makes of it: it goes on or gives up, and does not hang.

        target  InitSyn
        us      InitAck (odd)
        target  OpenSyn, or Close, or the link's end
    """
    us = scene.dialogue()
    syn = proposal(us)
    sane_one = segments(us.init_ack(syn))
    packed = sane_one.get("init.packed").data[0]
    odd: dict[str, Sendable] = {
        "reserved-role-bits": sane_one.replace("init.packed", bytes([packed | 0x0C])),
        "reserved-resolution-bits": us.init_ack(syn, resolution=proposed_by(syn) | 0x40),
        "empty-cookie": us.init_ack(syn, cookie=b""),
        "client": us.init_ack(syn, whatami=sane.CLIENT),
        "keep-alives-behind": sane_one.join() + b"\x04\x04",
    }

    followed_or_refused(us, odd[what] if what in odd else us.init_ack(syn, version=int(what.removeprefix("version-"))))


@case(
    "session-establishment/init-ack-without-size",
    role=INITIATOR,
    profile="resolution-8",
    needs=("resolution-8",),
    control=a_sane_answer_is_followed,
)
def an_answer_without_size_is_read_one_way_or_the_other(scene: Scene) -> None:
    """
    InitAck has S clear although less than the defaults was proposed. As written, the proposal stands: the initiator goes on with
    a number of 8 bits. As erratum init-ack-without-size-means-defaults, the defaults are meant, which is more than was proposed:
    it refuses, or draws its number from 32 bits. The verdict says which.

        target  InitSyn (FSN 8 bit)
        us      InitAck (S=0)
        target  OpenSyn (initial_sn), or Close, or the link's end
    """
    us = scene.dialogue()
    syn = proposal(us)
    us.require(proposed_by(syn) & 3 == 0, expected="FSN 8 bit", got="another", step="not reached: init.resolution")

    open_ = followed_or_refused(us, us.init_ack(syn, resolution=None, batch_size=None))

    as_written = open_ is not None and open_.initial_sn <= SN_MASK[0]
    scene.follows(None if as_written else "init-ack-without-size-means-defaults")


@case(
    "session-establishment/init-field-order",
    role=INITIATOR,
    control=a_sane_answer_is_followed,
    parameters=grid(kept=range(1, 40)),
    breaks=("law/init-ack-answers-init-syn", "law/init-is-whole"),
)
def an_answer_that_is_cut_is_refused(scene: Scene, *, kept: int) -> None:
    """
    A batch that ends inside InitAck, at each of its bytes.

        target  InitSyn
        us      InitAck (its first bytes)
        target  Close, or the link ends, or nothing; never OpenSyn
    """
    us = scene.dialogue()
    whole = segments(us.init_ack(proposal(us), exts=())).join()

    us.send(whole[: min(kept, len(whole) - 1)])

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("init", never=OpenSyn)


@case(
    "session-establishment/session-live-after-open-ack",
    role=INITIATOR,
    needs=("stream",),
    control=a_sane_handshake_makes_a_session,
    parameters=grid(pieces=(1, 2, 7)),
)
def answers_in_pieces_are_taken(scene: Scene, *, pieces: int) -> None:
    """
    A stream keeps no boundaries: our answers come in pieces of so many bytes.

        target  InitSyn
        us      InitAck, in pieces
        target  OpenSyn
        us      OpenAck, in pieces
    """

    def lead(us: Dialogue) -> None:
        ack = us.init_ack(proposal(us))
        with us.about(LENGTH_PREFIX):
            send_in_pieces(us, segments(ack).join(), pieces)
            back = us.expect(OpenSyn, step="stage init")
            us.require(
                back.cookie == ack.cookie, expected="the cookie issued", got="another cookie", step="open.cookie"
            )
        send_in_pieces(us, segments(us.open_ack()).join(), pieces)

    works_in_the_end(scene, lead)


@case(
    "session-establishment/session-live-after-open-ack",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=[
        {"seconds": seconds, "lease": lease}
        for seconds in (True, False)
        for lease in (30, 127, 128, 2**16, 2**32, 2**48)
    ],
)
def our_lease_of_any_length_is_believed_or_refused(scene: Scene, *, seconds: bool, lease: int) -> None:
    """
    OpenAck states leases from short ones to far past a lifetime.

        us      OpenAck (T, lease)
        target  a session that works, or Close, or the link's end
    """
    us = until_open_syn(scene.dialogue())

    believed_or_refused(us, us.open_ack(lease_in_seconds=seconds, lease=lease))


@case(
    "session-establishment/open-field-order",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(kept=range(1, 7)),
    breaks=(
        "law/lease-proposed-by-both",
        "law/no-data-before-open",
        "law/open-ack-answers-open-syn",
        "law/open-is-whole",
    ),
)
def an_open_ack_that_is_cut_is_refused(scene: Scene, *, kept: int) -> None:
    """
    A batch that ends inside OpenAck, at each of its bytes.

        target  OpenSyn
        us      OpenAck (its first bytes)
        target  Close, or the link ends
    """
    us = until_open_syn(scene.dialogue())
    us.initial_sn = SN_MASK[2]
    whole = segments(us.open_ack(lease_in_seconds=False, lease=10_000)).join()

    us.send(whole[: min(kept, len(whole) - 1)])

    with us.about("primitives/truncated-is-refused"):
        never_opens(us)


@case(
    "session-establishment/session-live-after-open-ack",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    breaks=("law/frame-transport-by-default", "law/what-is-said-decodes"),
)
def an_open_ack_with_a_cookie_is_believed_or_refused(scene: Scene) -> None:
    """
    OpenAck carries a cookie as OpenSyn does, though it has no such field: what follows it is no message.

        us      OpenAck, and bytes of a cookie behind it
        target  a session that works, or Close, or the link's end
    """
    us = until_open_syn(scene.dialogue())

    believed_or_refused(us, segments(us.open_ack()).join() + b"\x04\x5a\x5a\x5a\x5a")


def proposed_by(syn: Init) -> int:
    """The resolution of a proposal, the default where it states none."""
    return sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
