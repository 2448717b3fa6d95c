"""Golden vectors of JOIN and SCOUT, said to the groups of a node: what it passes on then, or answers, shows how it reads them.

What a node says right after its JOIN is passed on to a subscriber, and what it says without one is not. A SCOUT for a node's role is
answered. A node may ignore a JOIN with other terms than its own: only that nothing came of what must be refused is judged of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Frame, Hello, Join, Push, Put, Scout, sane
from zenoh_conformance.messages.frame import QoS as Lane
from zenoh_conformance.messages.join import NextSn, QoS, Shm
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import Layer, from_json
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Scene, payload_of
from zenoh_conformance.wire import Exts, registry
from zenoh_harness.errors import HarnessError
from zenoh_harness.profiles import GROUPS, Profile
from zenoh_harness.run.vectors.answers import VectorAnswer, answer_for
from zenoh_harness.run.vectors.effects import (
    SURVIVOR,
    answer_for_acceptance,
    answer_for_fault,
    answer_for_reading,
    not_played,
    second_answer,
)
from zenoh_harness.run.vectors.handshakes import FEWEST, LONGEST, milliseconds
from zenoh_harness.run.vectors.standing import MOST_SN
from zenoh_vectors.judge import VectorOutcome, judge
from zenoh_vectors.loader import Vector

MULTICAST, SCOUTING = GROUPS

EVERYBODY: Final = 0b111
"""A SCOUT for every role."""

LONG: Final = 5000
"""Milliseconds of a lease after which no node is offline that said JOIN just before."""

LAST: Final = 7
"""The last priority."""

BATCH: Final = 8192
"""The batch size of a JOIN without S."""

SHOWN: Final = frozenset({"unknown-extension", "overlong-vle"})
"""Remarks on a JOIN that a node has to take nevertheless."""

KEY: Final = "zconform/group"

Scenes = Callable[[], AbstractContextManager[Scene]]


def group_of(vector: Vector) -> str:
    """The group to which a vector is said; empty if it is said to none."""
    if not vector.data or (vector.refuses is not None and vector.refuses.why == "trailing-bytes"):
        return ""
    if vector.layer == Layer.SCOUTING:
        return "" if vector.data[0] & 0x1F == registry.of(Hello).id else SCOUTING
    return MULTICAST if vector.layer == Layer.TRANSPORT and vector.data[0] & 0x1F == registry.of(Join).id else ""


def play_in_groups(
    scenes: Scenes, profile: Profile, vectors: Sequence[Vector]
) -> Iterator[tuple[Vector, VectorAnswer]]:
    """Play the vectors that are said to a group which a node in the profile is in; what is wrong is played twice.

    Once a sane message to the group does not work, twice, nothing more is said there: what must be refused comes last. A node may
    pass nothing on from a group for its first seconds there.
    """
    works, waited = dict.fromkeys(profile.groups, True), dict[int, Vector]()
    for vector in sorted(vectors, key=lambda one: one.refuses is not None):
        group = group_of(vector)
        if works.get(group):
            answer = _answer(scenes, profile, vector, waited)
            if answer is NO_WORK:
                answer = _answer(scenes, profile, vector, waited)
            if answer.verdict.is_wrong:
                answer = second_answer(answer, _answer(scenes, profile, vector, waited))
            works[group] = answer is not NO_WORK
            yield vector, answer


NO_WORK: Final = not_played("a sane message to the group does not work")


def _answer(scenes: Scenes, profile: Profile, vector: Vector, waited: dict[int, Vector]) -> VectorAnswer:
    """`waited`: the vector with which a lease in seconds was waited for, which is once for each lease."""
    message = None if vector.refuses else from_json(vector.means or {}, Layer(vector.layer))
    if isinstance(message, Join) and (why := _beyond(message)):
        return not_played(why)
    with suppress(Deviation, HarnessError), scenes() as scene:
        if group_of(vector) == SCOUTING:
            return _scout(scene, vector, message)
        return _join(scene, vector, message, waited, qos="multicast-qos" in profile.offers)
    return NO_WORK


# -- SCOUT


def _scout(scene: Scene, vector: Vector, scout: Scout | None) -> VectorAnswer:
    us, other = scene.dialogue("writer", group=SCOUTING), scene.dialogue("other", group=SCOUTING)
    us.send(vector.data)
    other.send(Scout(what=EVERYBODY))
    if (hello := _hello(other)) is None:
        return NO_WORK
    us.listen(0.0)
    is_answered = _hello(us, 0.0) is not None
    if scout is None:
        return answer_for_acceptance(vector, "it is answered") if is_answered else _right_refusal(vector)
    is_asked = scout.version == sane.VERSION and scout.what >> int(hello.whatami) & 1 and not vector.remarks
    if is_answered or not is_asked:
        return answer_for_reading(vector) if is_answered and is_asked else SURVIVOR
    return answer_for_reading(vector) if _hello(us) else answer_for_fault(vector, "no HELLO comes")


def _hello(us: Dialogue, within: float | None = None) -> Hello | None:
    heard = (seen.message for seen in chain(us.heard[:], us.stream(within)))
    return next((one for one in heard if isinstance(one, Hello)), None)


# -- JOIN


def _join(scene: Scene, vector: Vector, join: Join | None, waited: dict[int, Vector], *, qos: bool) -> VectorAnswer:
    reader = scene.session("reader")
    reader.subscribe(KEY)
    reader.fence()
    us, other = scene.dialogue("writer", group=MULTICAST), scene.dialogue("other", group=MULTICAST)
    us.send(_with_zid(vector, us.zid))
    if join is not None and _shows_its_unit(join, us.unit / 2) and waited.setdefault(join.lease, vector) is vector:
        scene.wait(us.unit / 2)
    said = _said_behind(join)
    for payload, (reliable, priority) in said.items():
        _say(us, _first(join, priority, reliable=reliable), payload, priority, reliable=reliable)
    lanes = (QoS(sns=(NextSn(reliable=0, best_effort=0),) * 8),) if qos else ()
    other.send(_sane_join(other, lanes))
    _say(other, 0, b"sane")
    if not reader.wait_until(lambda: _has(reader, b"sane")):
        return NO_WORK
    if join is None:
        return answer_for_acceptance(vector, TAKEN) if _has(reader, b"reliable") else _right_refusal(vector)
    if not _is_due(vector, join, qos=qos):
        return SURVIVOR
    if reader.wait_until(lambda: _has(reader, *said)):
        return answer_for_reading(vector)
    missing = b", ".join(payload for payload in said if not _has(reader, payload))
    return answer_for_fault(vector, f"what is said behind it is not passed on: {missing.decode()}")


def _shows_its_unit(join: Join, seconds: float) -> bool:
    """Whether a node that takes the lease in seconds for one in milliseconds takes us for offline after so long."""
    return join.lease_in_seconds and join.lease < 1000 * seconds and milliseconds(join) >= LONG


def _said_behind(join: Join | None) -> dict[bytes, tuple[bool, int]]:
    """What is published behind a JOIN, each payload with its channel and priority: the last one, too, where it states lanes."""
    said = {b"reliable": (True, sane.DEFAULT_PRIORITY), b"best effort": (False, sane.DEFAULT_PRIORITY)}
    has_lanes = join is not None and join.exts.get(QoS) is not None
    return said | ({b"background": (True, LAST), b"background, best effort": (False, LAST)} if has_lanes else {})


TAKEN: Final = "a FRAME behind it is passed on"


def _has(reader: Dialogue, *payloads: bytes) -> bool:
    """Whether a subscriber has heard publications with these payloads."""
    return {*payloads} <= {payload_of(one.message) for one in reader.heard if isinstance(one.message, Push)}


def _right_refusal(vector: Vector) -> VectorAnswer:
    return answer_for(vector, judge(vector, VectorOutcome(None, "nothing comes of it")))


def _is_due(vector: Vector, join: Join, *, qos: bool) -> bool:
    """Whether a node has to take what follows a well-formed JOIN."""
    kinds = {type(ext) for ext in join.exts}
    return (
        (join.version, join.whatami) == (sane.VERSION, WhatAmI.PEER)
        and join.resolution in (None, sane.DEFAULT_RESOLUTION)
        and join.batch_size in (None, BATCH)
        and milliseconds(join) >= LONG
        and (QoS in kinds) == qos
        and Shm not in kinds
        and SHOWN.issuperset(remark.kind for remark in vector.remarks)
    )


def _beyond(join: Join) -> str:
    """Why a JOIN is not said: terms that nobody can keep."""
    firsts = (_first(join, priority, reliable=one) for one, priority in _said_behind(join).values())
    if max(join.next_sn_reliable, join.next_sn_best_effort, *firsts) > MOST_SN:
        return "its sequence number is beyond the resolution"
    return "its lease is longer than a year" if milliseconds(join) > LONGEST else ""


def _first(join: Join | None, priority: int, *, reliable: bool) -> int:
    """The first number of a lane, by a JOIN; that of most vectors where it is none."""
    if join is None:
        return 7 if reliable else 8
    lanes: Any = join.exts.get(QoS)
    if lanes is not None:
        return int(getattr(lanes.sns[priority], "reliable" if reliable else "best_effort"))
    return join.next_sn_reliable if reliable else join.next_sn_best_effort


def _sane_join(us: Dialogue, exts: Sequence[Any]) -> Join:
    numbers = {"next_sn_reliable": 0, "next_sn_best_effort": 0}
    return Join(
        whatami=WhatAmI.PEER, zid=ZenohID(us.zid), lease_in_seconds=True, lease=10, exts=Exts(tuple(exts)), **numbers
    )


def _say(
    us: Dialogue, sn: int, payload: bytes, priority: int = sane.DEFAULT_PRIORITY, *, reliable: bool = True
) -> None:
    exts = Exts((Lane(value=priority),) if priority != sane.DEFAULT_PRIORITY else ())
    us.send(Frame(reliable=reliable, sn=sn, exts=exts, messages=(Push(key=plain(KEY), body=Put(payload=payload)),)))


def _with_zid(vector: Vector, zid: bytes) -> bytes:
    """The bytes of a JOIN with a ZenohID of the same length that nobody else in the group has."""
    parts = ((segment.path, segment.data) for segment in vector.segments)
    is_free = vector.refuses is None or vector.refuses.path != "join.zid"
    return b"".join(
        (zid * 2)[: len(data)] if path == "join.zid" and len(data) >= FEWEST and is_free else data
        for path, data in parts
    )
