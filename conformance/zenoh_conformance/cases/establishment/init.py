"""InitSyn with one thing wrong, or at an edge, toward a responder."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.kinds import InitAck, OpenAck, reason_code
from zenoh_conformance.talking import Scene
from zenoh_conformance.talking.refusal import allowed_as_written

from .circumstances import OFFERED, ROLE, role_and_offers
from .sane import a_sane_handshake_is_accepted, a_sane_proposal_is_answered

WRONG_VERSIONS = (0, 1, 2, 4, 7, 8, 10, 11, 0x0D, 0x19, 0x29, 127, 128, 0x89, 255)
ALSO_SHORT = (8, 10)
"""Those of them that are proposed once more, without S."""


@case(
    "session-establishment/unknown-version-is-unsupported",
    control=a_sane_proposal_is_answered,
    parameters=grid(version=WRONG_VERSIONS),
    varies=(OFFERED, ROLE),
    breaks=("law/init-version-current", "law/version-is-proposed-by-initiator"),
)
def an_unknown_version_is_unsupported(scene: Scene, v: Variation, *, version: int) -> None:
    """
    A version that is not 0x09 is refused, and the refusal says why, whatever our role and our extensions.

        us      InitSyn (another version)
        target  Close (UNSUPPORTED), never InitAck
    """
    us = scene.dialogue()

    us.send(us.init_syn(version=version, **role_and_offers(v)))

    us.expect_refusal("init", reason=reason_code("UNSUPPORTED"), by_close=True, never=InitAck)


@case(
    "session-establishment/refused-version-closes",
    control=a_sane_proposal_is_answered,
    parameters=grid(version=WRONG_VERSIONS),
    breaks=("law/init-version-current", "law/version-is-proposed-by-initiator"),
)
def an_unknown_version_is_closed(scene: Scene, *, version: int) -> None:
    """
    A version that is not 0x09 is refused by CLOSE, whatever its reason; of the neighbours of 0x09, without S and of a node that
    had a session before, too.

        us      InitSyn (another version)
        target  Close, never InitAck
    """
    us = scene.dialogue()

    us.send(us.init_syn(version=version))

    us.expect_refusal("init", by_close=True, never=InitAck)
    if version in ALSO_SHORT:
        other = scene.dialogue("other")
        other.send(other.init_syn(version=version, resolution=None, batch_size=None))
        other.expect_refusal("init", by_close=True, never=InitAck)
        before = scene.session("before")
        before.leave()
        again = scene.dialogue("again", zid=before.zid)
        again.send(again.init_syn(version=version))
        again.expect_refusal("init", by_close=True, never=InitAck)


@case(
    "primitives/whatami-3-refused",
    control=a_sane_proposal_is_answered,
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_role_that_does_not_exist_is_refused(scene: Scene) -> None:
    """
    WhatAmI 0b11 names no role.

        us      InitSyn (WhatAmI 3)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()
    syn = segments(us.init_syn())
    packed = syn.get("init.packed").data[0]

    us.send(syn.replace("init.packed", bytes([packed | 3])))

    us.expect_refusal("init", never=InitAck)


@case("close/own-zid-is-connection-to-self", control=a_sane_proposal_is_answered, varies=(OFFERED, ROLE))
def its_own_zid_is_refused(scene: Scene, v: Variation) -> None:
    """
    A node that presents the target's own ZenohID is the target itself, whatever its role and its extensions.

        us      InitSyn                  (to learn the target's ZID)
        target  InitAck (ZID)
        other   InitSyn (that ZID)
        target  Close (CONNECTION_TO_SELF) now, or in place of OpenAck
    """
    us = scene.dialogue()
    ack = us.ask(us.init_syn(**role_and_offers(v)), expect=InitAck, step="not reached: init")
    us.hang_up()
    other = scene.dialogue("other", zid=ack.zid.raw)

    other.send(other.init_syn(**role_and_offers(v)))

    seen = other.next()
    if seen is not None and InitAck.matches(seen.message):
        other.send(other.open_syn(seen.message))
        other.expect_refusal("open", reason=reason_code("CONNECTION_TO_SELF"), never=OpenAck)
    elif seen is None or seen.kind != "close":
        other.deviate(expected="Close(CONNECTION_TO_SELF)", got=other.text_of(seen), step="stage init")
    else:
        to_self = seen.message.reason == reason_code("CONNECTION_TO_SELF")
        other.require(to_self, expected="Close(CONNECTION_TO_SELF)", got=other.text_of(seen), step="stage init")


@case(
    "session-establishment/resolution-not-raised",
    control=a_sane_proposal_is_answered,
    parameters=grid(fsn=range(4), rid=range(4)),
)
def no_resolution_is_raised(scene: Scene, *, fsn: int, rid: int) -> None:
    """
    For each of the sixteen proposals, InitAck states neither field higher, and the session works.

        us      InitSyn (FSN, RID)
        target  InitAck (FSN and RID at most as proposed)
        us      OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()

    ack = us.ask(us.init_syn(resolution=fsn | rid << 2), expect=InitAck, step="stage init")

    if ack.resolution is not None:
        us.require(ack.resolution & 3 <= fsn, expected="FSN as proposed", got="a higher one", step="init.resolution")
        us.require(
            ack.resolution >> 2 & 3 <= rid, expected="RID as proposed", got="a higher one", step="init.resolution"
        )
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()


@case(
    "session-establishment/batch-size-effective-minimum",
    needs=("routing", "several-sessions"),
    control=a_sane_handshake_is_accepted,
    parameters=grid(size=(80, 127, 128, 255, 256, 257, 512, 1024, 2048, 9000, 32767, 32768, 49152, 65534, 65535)),
)
def the_smaller_batch_size_counts(scene: Scene, *, size: int) -> None:
    """
    Whatever InitAck states, what a subscriber is sent fits what it proposed: a publication of twice that comes in fragments.

        near    InitSyn (batch size) .. OpenAck, subscribes
        us      FRAME (PUT, twice as large, as far as the target takes it)
        target  FRAME or FRAGMENTs to near, none larger than its batch
    """
    near = scene.dialogue("near").open(batch_size=size)
    assert near.theirs is not None
    key = f"z/{near.zid.hex()}"
    near.subscribe(key)
    near.fence(step="not reached: subscribed")
    us = scene.session()
    assert us.theirs is not None
    ours = sane.DEFAULT_BATCH if us.theirs.batch_size is None else us.theirs.batch_size

    us.publish(key, bytes(max(0, min(2 * size, ours - 100, scene.fact("message_size", ours) - 100))), block=True)
    us.fence(step="not reached: published")
    came = next((True for seen in near.stream(near.unit) if seen.kind in ("push", "fragment")), False)
    near.fence(step="the subscriber's session")

    near.require(came, expected="the publication", got="nothing", step="the subscriber")
    near.require(near.largest <= size, expected="at most what was proposed", got="a larger batch", step="batch")


@case(
    "session-establishment/init-packed-byte",
    control=a_sane_proposal_is_answered,
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_zid_of_zero_is_refused(scene: Scene) -> None:
    """
    A ZenohID whose bytes are all zero names nobody in the baseline; the text says nothing of it (erratum zid-zero-refused).

        us      InitSyn (ZID 00)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()
    syn = segments(us.init_syn())

    us.send(syn.replace("init.zid", bytes(len(us.zid))))

    with us.about("session-establishment/init-zid"), allowed_as_written("zid-zero-refused", InitAck.name):
        us.expect_refusal("init", never=InitAck)


@case(
    "session-establishment/init-field-order",
    control=a_sane_proposal_is_answered,
    parameters=grid(cut=range(1, 14)),
    breaks=("law/init-is-whole", "law/init-syn-first"),
)
def a_cut_proposal_is_refused(scene: Scene, *, cut: int) -> None:
    """
    InitSyn that ends before its last field, in a batch of that length.

        us      InitSyn (the last bytes missing)
        target  Close, or the link ends; never InitAck
    """
    us = scene.dialogue()
    whole = segments(us.init_syn(exts=())).join()

    us.send(whole[: max(1, len(whole) - cut)])

    with us.about("primitives/truncated-is-refused"):
        us.expect_refusal("init", never=InitAck)


@case(
    "session-establishment/open-ack-answers-open-syn",
    needs=("several-sessions",),
    control=a_sane_handshake_is_accepted,
    parameters=grid(how=("first", "last", "shorter")),
)
def like_zids_are_two_nodes(scene: Scene, *, how: str) -> None:
    """
    Two nodes come whose ZenohIDs differ in one byte, or of which one is the other without its last byte: each has a session.

        one    InitSyn (ZID of 16 bytes) .. OpenAck
        other  InitSyn (a ZID like that) .. OpenAck
        target works for both
    """
    one = scene.dialogue("one", zid=scene.fresh_zid() + scene.fresh_zid()).open()
    one.expect_live(step="not reached: the session works")

    opens_and_works(scene, "other", like(one.zid, how))

    one.expect_live(step="the session that was there")


@case(
    "session-establishment/init-ack-answers-init-syn",
    control=a_sane_handshake_is_accepted,
    parameters=grid(how=("first", "last", "longer")),
)
def a_zid_like_its_own_is_another_node(scene: Scene, *, how: str) -> None:
    """
    A ZenohID that differs from the target's in one byte, or goes on where that one ends, is another node's.

        us      InitSyn                  (to learn the target's ZID)
        target  InitAck (ZID)
        other   InitSyn (a ZID like that)
        target  InitAck
        other   OpenSyn
        target  OpenAck
    """
    us = scene.dialogue()
    own = us.ask(us.init_syn(), expect=InitAck, step="not reached: init").zid.raw
    room = how != "longer" or len(own) < 16
    us.require(room, expected="a ZID of 15 bytes at most", got="a longer one", step="not reached: a longer ZID")
    us.hang_up()

    opens_and_works(scene, "other", like(own, how))


def like(zid: bytes, how: str) -> bytes:
    """Another ZID: with another first or last byte, which is not zero, or with one byte more or less."""
    first, last = (bytes([byte ^ 1 or 2]) for byte in (zid[0], zid[-1]))
    changed = {"first": first + zid[1:], "last": zid[:-1] + last, "longer": zid + b"\x01"}
    return changed[how] if how != "shorter" else zid[:-1]


def opens_and_works(scene: Scene, name: str, zid: bytes) -> None:
    """The sane handshake of a node with that ZID, which nothing is wrong with."""
    us = scene.dialogue(name, zid=zid)
    ack = us.ask(us.init_syn(), expect=InitAck, step="stage init")
    us.ask(us.open_syn(ack), expect=OpenAck, step="stage open")
    us.expect_live()
