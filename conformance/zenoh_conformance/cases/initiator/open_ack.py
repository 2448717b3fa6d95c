"""OpenAck, sane or with one thing wrong, toward an initiator."""

from __future__ import annotations

from collections.abc import Callable

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import calm, never_opens, until_open_syn, works_in_the_end
from zenoh_conformance.cases.establishment.limits import LEASE_MS
from zenoh_conformance.messages import Close, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Scene, Sendable

INITIATOR = Side.INITIATOR


@case("session-establishment/session-live-after-open-ack", role=INITIATOR)
def a_sane_handshake_makes_a_session(scene: Scene) -> None:
    """
    After a sane OpenAck the initiator answers a query that it does not serve with a final.

        target  InitSyn
        us      InitAck
        target  OpenSyn
        us      OpenAck
        us      FRAME (REQUEST)
        target  FRAME (RESPONSE_FINAL)
    """
    works_in_the_end(scene, Dialogue.open)


@case(
    "session-establishment/lease-unit",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=[
        {"seconds": True, "lease": 2}, {"seconds": True, "lease": 10}, {"seconds": True, "lease": 3600},
        {"seconds": False, "lease": 1500}, {"seconds": False, "lease": 10_000}, {"seconds": False, "lease": 86_400_000},
    ],
)  # fmt: skip
def our_lease_is_taken_in_either_unit(scene: Scene, *, seconds: bool, lease: int) -> None:
    """
    OpenAck states its lease in seconds (T) or in milliseconds.

        us      OpenAck (T, lease)
        target  a session that works
    """

    def lead(us: Dialogue) -> None:
        until_open_syn(us).send(us.open_ack(lease_in_seconds=seconds, lease=lease))

    works_in_the_end(scene, lead)


@case(
    "session-establishment/lease-expiry-ends-session",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    timed=True,
    parameters=grid(seconds=(True, False)),
)
def a_session_expires_when_we_are_silent(scene: Scene, *, seconds: bool) -> None:
    """
    OpenAck states a lease of a second, in either unit, and we say nothing more: the initiator ends the session.

        us      OpenAck (lease 1 s)
        us      nothing
        target  (KEEP_ALIVEs), then Close or the link's end, when the lease is over
    """
    us = until_open_syn(scene.dialogue())
    us.send(us.open_ack(lease_in_seconds=seconds, lease=1 if seconds else LEASE_MS))

    us.fall_silent()
    for seen in us.stream(2 * LEASE_MS / 1000 + us.unit):
        if isinstance(seen.message, Close):
            break

    us.expect_expired()
    calm(scene)


@case(
    "session-establishment/initial-sn-in-range",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(sn=(0, 1, 0x7F, 0x80, 0x3FFF, 0x4000, SN_MASK[2] - 1, SN_MASK[2])),
)
def our_initial_number_is_taken(scene: Scene, *, sn: int) -> None:
    """
    OpenAck states an initial number anywhere in the resolution, as far as it was settled; our first FRAME carries it.

        us      OpenAck (initial_sn)
        us      FRAME (initial_sn)
        target  answers what is in it
    """

    def lead(us: Dialogue) -> None:
        until_open_syn(us)
        us.initial_sn = sn & us.sn_mask
        us.send(us.open_ack())

    works_in_the_end(scene, lead)


OTHER_ANSWERS: dict[str, Callable[[Dialogue], Sendable]] = {
    "init-syn": lambda us: us.init_syn(),
    "init-ack": lambda us: us.init_ack(us.theirs or us.init_syn()),
    "open-syn": lambda us: sane.open_syn(us.init_ack(us.theirs or us.init_syn())),
    "garbage": lambda us: b"\xff\xff\xff",
    "cut": lambda us: b"\x62\x0a",
}
"""What is no answer to OpenSyn."""


@case(
    "session-establishment/handshake-messages-in-order",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(what=tuple(OTHER_ANSWERS)),
    breaks=(
        "law/handshake-messages-in-order",
        "law/lease-proposed-by-both",
        "law/no-challenge-round",
        "law/no-data-before-open",
        "law/open-ack-answers-open-syn",
        "law/open-is-whole",
    ),
)
def nothing_but_open_ack_activates(scene: Scene, *, what: str) -> None:
    """
    OpenSyn is answered by something that is not OpenAck.

        target  OpenSyn
        us      any other message
        target  Close, or the link ends, or nothing
        us      FRAME (REQUEST), after silence
        target  Close, or the link ends, or nothing
    """
    us = until_open_syn(scene.dialogue())

    us.send(OTHER_ANSWERS[what](us))

    never_opens(us)


@case(
    "close/close-ends-the-link",
    role=INITIATOR,
    control=a_sane_handshake_makes_a_session,
    parameters=grid(reason=(*range(9), 255), session=(True, False)),
    breaks=("law/expired-needs-a-lease", "law/to-self-needs-one-zid"),
)
def a_refusal_of_open_is_taken(scene: Scene, *, reason: int, session: bool) -> None:
    """
    OpenSyn is answered by CLOSE; the initiator gives the link up.

        target  OpenSyn
        us      Close (reason)
        target  the link ends
    """
    us = until_open_syn(scene.dialogue())

    us.send(sane.close(reason, session=session))

    us.expect_end(step="after Close")
