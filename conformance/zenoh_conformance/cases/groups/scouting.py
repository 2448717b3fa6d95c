"""SCOUT to the group, HELLO to the node that asked (companions scout and hello)."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.messages import Hello, Scout
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.talking import Dialogue, Scene

AREA = "scouting"
SCOUTING = ("scouting",)
PROFILE = "multicast"
EVERYBODY = 0b111
OTHERS = (0b00, 0b01, 0b10, 0b11)
"""Which of the two other roles are asked for, too."""


@case("scouting/matching-role-answers", needs=SCOUTING, profile=PROFILE)
def a_scout_for_everybody_is_answered(scene: Scene) -> None:
    """
    A SCOUT for every role is answered with HELLO.

        us      SCOUT (router, peer, client), to the group
        target  HELLO
    """
    asks(asker(scene), EVERYBODY, step="a SCOUT for everybody")


@case(
    "scouting/matching-role-answers",
    needs=SCOUTING,
    profile=PROFILE,
    control=a_scout_for_everybody_is_answered,
    parameters=grid(others=OTHERS),
)
def a_scout_for_its_role_is_answered_by_unicast(scene: Scene, *, others: int) -> None:
    """
    A SCOUT for the target's role, and perhaps for other roles, is answered with HELLO to its sender and to nobody else.

        us      SCOUT (every role); target: HELLO, which shows its role
        us      SCOUT (its role, and others)
        target  HELLO, to us; to another one who listens: nothing
    """
    listener = asker(scene, "listener")
    us = asker(scene)
    role = asks(us, EVERYBODY).whatami
    asks(us, roles(int(role), others), step="a SCOUT for its role")
    require_no_hello(us, listener, "a SCOUT for its role", "Hello by unicast", "Hello to the group")


@case(
    "scouting/unknown-version-silent",
    needs=SCOUTING,
    profile=PROFILE,
    control=a_scout_for_its_role_is_answered_by_unicast,
    parameters=grid(version=(0, 8, 10, 255)),
    breaks=("law/scout-version-current",),
)
def a_scout_of_an_unknown_version_is_not_answered(scene: Scene, *, version: int) -> None:
    """
    A SCOUT of a version that does not exist is not answered, with the ZenohID of its sender or without.

        odd     SCOUT (version, every role), SCOUT (the same, ZID)
        us      SCOUT (version 9)
        target  to us: HELLO; to the odd one: nothing
    """
    odd, us = asker(scene, "odd"), asker(scene)
    for zid in (None, ZenohID(odd.zid)):
        odd.send(Scout(version=version, what=EVERYBODY, zid=zid))
    require_no_hello(us, odd, "a SCOUT of an unknown version", "silence", "Hello")


def require_no_hello(us: Dialogue, listener: Dialogue, step: str, expected: str, got: str) -> None:
    """Deviate if a listener has heard HELLO; what the target said before it answered us is there now."""
    asks(us, EVERYBODY)
    listener.listen(0.0)
    overheard = any(isinstance(seen.message, Hello) for seen in listener.heard)
    listener.require(not overheard, expected=expected, got=got, step=step)


def asker(scene: Scene, name: str = "us") -> Dialogue:
    """One of ours in the group of scouting."""
    return scene.dialogue(name, group="scouting")


def asks(us: Dialogue, what: int, step: str = "not reached: a SCOUT for everybody") -> Hello:
    """SCOUT for some roles; the HELLO. Deviates where there is none."""
    us.send(Scout(what=what))
    for seen in us.stream():
        if isinstance(seen.message, Hello):
            return seen.message
    us.deviate(expected="Hello", got="silence", step=step)
    raise AssertionError("deviate raises")


def roles(own: int, others: int) -> int:
    """The bitmap of a role (0 router, 1 peer, 2 client), and of the two others as `others` says."""
    low = others & ((1 << own) - 1)
    return 1 << own | low | (others >> own) << (own + 1)
