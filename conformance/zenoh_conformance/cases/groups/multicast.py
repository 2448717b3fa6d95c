"""JOIN to a multicast group, and FRAME after it (message-reference#join, companion join).

Beside the group a session of ours subscribes or publishes: the target passes on between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.session.batches import require_value
from zenoh_conformance.messages import Fragment, Frame, Join, Push, Put, network, sane
from zenoh_conformance.messages.join import NextSn, QoS
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Party, Scene, parties, payload_of
from zenoh_conformance.wire import Exts

AREA = "multicast"
MULTICAST = ("multicast", "routing")
WITH_QOS = ("multicast-qos", "routing")
PROFILE = "multicast"
BATCH = 8192
"""The batch size of a JOIN without S (join#defaults)."""
SOON = 10.0
"""Seconds in which a JOIN comes whose lease we do not know yet; known implementations say one every 2.5 seconds."""
DELAYED = 1.1
"""Seconds after which a JOIN counts whatever was said before it (law/numbers-go-on-from-join)."""
PLAIN_LANES = QoS(sns=(NextSn(reliable=0, best_effort=0),) * 8)
"""The QoS of a JOIN whose numbers begin with 0 in every lane."""
LARGE = 3 * BATCH
FAR = 1 << 20
"""A number far from the first one."""
SILENCE = 3.0
"""Seconds for which a node with a lease of one second is silent."""
LAST = (1 << 28) - 1
"""The last number of 28 bits, those of resolution 0x0a."""


@case("message-reference/join-is-sufficient", needs=MULTICAST, profile=PROFILE)
def a_join_suffices_to_be_heard(scene: Scene) -> None:
    """
    What a node says right after its JOIN is taken: the target forwards it to a subscriber.

        subscriber  DECLARE (subscriber), in a session
        us          JOIN, FRAME (PUSH), to the group
        target      to the subscriber: PUSH
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    us = member(scene)
    says(us, subscriber, b"1")
    hears(subscriber, b"1", "a publication after a JOIN")


@case(
    "message-reference/join-is-sufficient",
    needs=MULTICAST,
    profile=PROFILE,
    control=a_join_suffices_to_be_heard,
    parameters=grid(reliable=(True, False)),
)
def a_join_suffices_to_be_told(scene: Scene, *, reliable: bool) -> None:
    """
    After a JOIN the target sends to that node: what another one publishes comes to the group. A later JOIN tells where the numbers
    stand.

        us         JOIN, to the group
        publisher  PUSH, in a session
        target     to the group: FRAME (PUSH), JOIN
    """
    tells_the_group(scene, member(scene), reliable=reliable)


@case("message-reference/join-is-sufficient", needs=WITH_QOS, profile="multicast-qos")
def a_join_with_qos_suffices_to_be_heard(scene: Scene) -> None:
    """
    The same where both say JOIN with QoS.

        us      JOIN (QoS), FRAME (PUSH), to the group
        target  to the subscriber: PUSH
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    us = member(scene, exts=(PLAIN_LANES,))
    says(us, subscriber, b"1")
    hears(subscriber, b"1", "a publication after a JOIN")


@case(
    "message-reference/join-is-sufficient",
    needs=WITH_QOS,
    profile="multicast-qos",
    control=a_join_with_qos_suffices_to_be_heard,
    parameters=grid(priority=(2, 5), reliable=(True, False)),
)
def a_join_with_qos_suffices_to_be_told(scene: Scene, *, priority: int, reliable: bool) -> None:
    """
    The same where both say JOIN with QoS, on one of its lanes.

        us         JOIN (QoS), to the group
        publisher  PUSH, in a session
        target     to the group: FRAME (PUSH), JOIN (QoS)
    """
    tells_the_group(scene, member(scene, exts=(PLAIN_LANES,)), reliable=reliable, priority=priority)


@case(
    "message-reference/join-qos-sns-supersede",
    needs=WITH_QOS,
    profile="multicast-qos",
    control=a_join_with_qos_suffices_to_be_heard,
    parameters=grid(priority=(2, 5, 7), reliable=(True, False)),
    breaks=("law/numbers-go-on-from-join",),
)
def the_numbers_of_qos_count(scene: Scene, *, priority: int, reliable: bool) -> None:
    """
    With QoS in a JOIN its numbers count, and not those of the body.

        us      JOIN (body: 0, QoS: other numbers), FRAME (the number in the body, PUSH), FRAME (that of QoS, PUSH)
        target  to the subscriber: the second PUSH and not the first
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    lanes = tuple(NextSn(reliable=FAR << lane % 2, best_effort=FAR << 2 - lane % 2) for lane in range(8))
    us = member(scene, exts=(QoS(sns=lanes),))
    says(us, subscriber, b"old", priority=priority, reliable=reliable)
    number = lanes[priority].reliable if reliable else lanes[priority].best_effort
    says(us, subscriber, b"1", sn=number, priority=priority, reliable=reliable)
    hears(subscriber, b"1", "the number of QoS", before=1)
    values = [payload_of(one.message) for one in subscriber.now(Push)]
    us.require(b"old" not in values, expected="silence", got="Push", step="the number in the body")


@case("join/default-resolution", needs=MULTICAST, profile=PROFILE, control=a_join_suffices_to_be_heard)
def numbers_without_s_have_28_bits(scene: Scene) -> None:
    """
    The numbers of a node whose JOIN has no S have 28 bits: the last one is followed by 0.

        us      JOIN (no S, next number 0x0fffffff), FRAME (0x0fffffff, PUSH), FRAME (0, PUSH)
        target  to the subscriber: both
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    us = member(scene, next_sn_reliable=LAST)
    for before, (payload, number) in enumerate(((b"1", LAST), (b"2", 0))):
        says(us, subscriber, payload, sn=number)
        hears(subscriber, payload, f"number {number:#x}", before=before)


@case("join/default-batch-size", needs=MULTICAST, profile=PROFILE, control=a_join_suffices_to_be_told)
def batches_to_a_join_without_s_have_8192_bytes(scene: Scene) -> None:
    """
    To a group whose JOINs have no S no batch has more than 8192 bytes: a larger message comes in FRAGMENTs.

        us         JOIN (no S)
        publisher  PUSH (24 KiB)
        target     to the group: FRAGMENTs, each of at most 8192 bytes, which make the PUSH
    """
    takes(scene, LARGE)
    (publisher,) = parties(scene, "publisher")
    us = member(scene)
    heard_again(us)
    payload = sane.payload(LARGE)
    publisher.puts("k", payload)
    expect_in_group(us, publisher.whole("k"), payload, "a publication of 24 KiB")
    largest = max(len(seen.raw) for seen in us.heard if isinstance(seen.message, Fragment | Frame) and not seen.around)
    us.require(largest <= BATCH, expected=f"at most {BATCH} bytes", got="more", step="a publication of 24 KiB")


@case(
    "join/default-batch-size",
    needs=MULTICAST,
    profile=PROFILE,
    control=a_join_suffices_to_be_heard,
    parameters=grid(pieces=(2, 3)),
)
def fragments_in_the_group_are_put_together(scene: Scene, *, pieces: int) -> None:
    """
    A message in FRAGMENTs, each a datagram of 8192 bytes but for the last one, is reassembled and forwarded.

        us      JOIN (no S), FRAGMENTs
        target  to the subscriber: PUSH
    """
    takes(scene, pieces * BATCH)
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    us = member(scene)
    payload = sane.payload(pieces * BATCH - 500)
    data, size = encode(push_of(subscriber, payload)), BATCH - len(encode(piece(0, b"", more=True)))
    for number, at in enumerate(range(0, len(data), size)):
        us.send(piece(number, data[at : at + size], more=at + size < len(data)))
    hears(subscriber, payload, "a message in fragments")


@case(
    "join/silence-is-offline",
    needs=MULTICAST,
    profile=PROFILE,
    control=a_join_suffices_to_be_heard,
    timed=True,
    parameters=({}, {"unit": "ms"}),
)
def a_silent_node_is_offline(scene: Scene, *, unit: str = "s") -> None:
    """
    A node that was silent for its lease is offline, and is new when it comes back: its numbers begin where its JOIN says, although
    they were higher before.

        us      JOIN (a lease of 1 s or 1000 ms, a high number), FRAME (PUSH); nothing for three seconds; JOIN (0), FRAME (0, PUSH)
        target  to the subscriber: both
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    lease: dict[str, Any] = {"lease_in_seconds": unit == "s", "lease": 1 if unit == "s" else 1000}
    us = member(scene, next_sn_reliable=FAR, **lease)
    says(us, subscriber, b"1", sn=FAR)
    hears(subscriber, b"1", "not reached: a publication after a JOIN")
    subscriber.us.wait_until(lambda: False, SILENCE)
    joins(us, **lease)
    says(us, subscriber, b"2")
    hears(subscriber, b"2", "a publication of a node that came back", before=1)


@case(
    "message-reference/join-sent-periodically",
    needs=("multicast",),
    profile=PROFILE,
    parameters=grid(other=("none", "stays", "leaves")),
)
def a_late_joiner_hears_a_join(scene: Scene, *, other: str) -> None:
    """
    A node that comes late hears the target's JOIN, and one more within the lease that it states, although others came and left before.

        other   JOIN, and perhaps CLOSE, to the group
        us      nothing
        target  JOIN, JOIN
    """
    if other != "none":
        before = member(scene, "other", lease=3600)
        heard_again(before)
        if other == "leaves":
            before.send(sane.close())
    us = scene.dialogue("late", group="multicast")
    first = heard_again(us)
    heard_again(us, within=first.lease / (1 if first.lease_in_seconds else 1000))


def member(scene: Scene, name: str = "us", **join: Any) -> Dialogue:
    """One of ours in the group, which has said JOIN."""
    us = scene.dialogue(name, group="multicast")
    joins(us, **join)
    return us


def joins(us: Dialogue, *, exts: tuple[Any, ...] = (), **fields: Any) -> None:
    """JOIN, without S and with the first number 0 unless fields say otherwise."""
    plain_fields = {"lease_in_seconds": True, "lease": 10, "next_sn_reliable": 0, "next_sn_best_effort": 0}
    us.send(Join(whatami=WhatAmI.PEER, zid=ZenohID(us.zid), exts=Exts(exts), **(plain_fields | fields)))


def push_of(party: Party, payload: bytes) -> Push:
    """A PUSH to the key `k` of a party."""
    return Push(key=plain(party.whole("k")), body=Put(payload=payload))


def says(
    us: Dialogue,
    party: Party,
    payload: bytes,
    *,
    sn: int = 0,
    priority: int = sane.DEFAULT_PRIORITY,
    reliable: bool = True,
) -> None:
    """FRAME (PUSH to `k` of a party), with this number."""
    lane = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
    us.send(Frame(reliable=reliable, sn=sn, exts=Exts(lane), messages=(push_of(party, payload),)))


def piece(sn: int, payload: bytes, *, more: bool) -> Fragment:
    """A FRAGMENT with this number."""
    return Fragment(reliable=True, more=more, sn=sn, payload=payload)


def hears(subscriber: Party, payload: bytes, step: str, *, before: int = 0) -> None:
    """The subscriber is told a value, after so many others. Deviates where it is not."""
    us = subscriber.us
    came = us.wait_until(lambda: any(payload_of(one.message) == payload for one in subscriber.heard(Push)))
    require_value(us, payload, came=came, others=len(subscriber.heard(Push)) > before, step=step)


def tells_the_group(scene: Scene, us: Dialogue, *, reliable: bool, priority: int = sane.DEFAULT_PRIORITY) -> None:
    """What another one publishes on a lane comes to the group, and later a JOIN. Deviates where it does not come.

    One more value is published on a reliable lane: a JOIN that swaps the numbers of two channels shows only where they differ.
    """
    (publisher,) = parties(scene, "publisher")
    heard_again(us)
    marks = Exts((network.QoS(value=priority | sane.BLOCK & 8),))
    lane = priority if publisher.has_lanes else None
    for number, payload in enumerate((b"1", b"2")[: 1 + reliable]):
        publisher.us.say(replace(push_of(publisher, payload), exts=marks), reliable=reliable, priority=lane)
        expect_in_group(us, publisher.whole("k"), payload, "a publication after a JOIN", before=number)
    said = us.wire.now()
    us.wait_until(lambda: isinstance(us.heard[-1].message, Join) and us.heard[-1].time - said > DELAYED, SOON)


def expect_in_group(us: Dialogue, key: str, payload: bytes, step: str, *, before: int = 0) -> None:
    """The group is told a value, after so many others of this key. Deviates where it is not."""

    def pushes() -> list[Push]:
        return [one.message for one in us.heard if isinstance(one.message, Push)]

    came = us.wait_until(lambda: any(payload_of(push) == payload for push in pushes()))
    others = sum(push.key.suffix == key for push in pushes()) > before
    require_value(us, payload, came=came, others=others, step=step)


def heard_again(us: Dialogue, within: float | None = None) -> Join:
    """The target's next JOIN. Deviates where there is none in time."""
    already = len(us.heard)
    us.wait_until(lambda: bool(joins_in(us.heard[already:])), within or max(us.unit, SOON))
    found = joins_in(us.heard[already:])
    us.require(bool(found), expected="Join", got="silence", step="JOIN")
    return found[0]


def joins_in(heard: Sequence[Seen]) -> list[Join]:
    """The JOINs among what was heard."""
    return [seen.message for seen in heard if isinstance(seen.message, Join)]
