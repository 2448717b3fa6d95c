"""Opens the sessions for a group of vectors: one that says them, and perhaps one that hears what is passed on."""

from __future__ import annotations

from collections.abc import Sequence

from zenoh_conformance.talking import Scene
from zenoh_harness.profiles import Profile
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.run.vectors.carriers import Carrier
from zenoh_harness.run.vectors.effects import BRIEF
from zenoh_harness.run.vectors.exchanges import NoSessionError
from zenoh_harness.run.vectors.handshakes import SMALL
from zenoh_harness.run.vectors.looks import Looks
from zenoh_harness.run.vectors.passed_on import Sessions, declare_for
from zenoh_harness.run.vectors.standing import VectorInSession


def open_for(
    scene: Scene,
    group: Sequence[VectorInSession],
    carrier: Carrier,
    profile: Profile,
    looks: Looks,
    *,
    hears: bool,
    ids: int,
) -> Sessions:
    """Open the sessions and declare what the vectors need, with ids of ours from `ids` on.

    Raises Deviation, CannotConnect, and NoSessionError where the node does not settle the mode of the first vector.
    """
    reader = scene.session("reader", batch_size=SMALL) if hears else None
    writer = scene.dialogue("writer")
    settles = looks.settles and group[0].sn != 0
    writer.initial_sn = max(0, (group[0].sn or 0) - settles)
    open_session(writer, profile, **carrier.offers)
    if not carrier.is_settled(writer) and group[0].mode:
        raise NoSessionError
    if settles and not writer.answers_a_fence() and writer.is_over:
        raise NoSessionError  # it ends a session in which no vector was said
    declare_for(group, writer, reader, ids)
    sessions = Sessions(writer, reader)
    if looks.brief:
        sessions.hasten(BRIEF)
    return sessions
