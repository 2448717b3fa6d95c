"""Study a node with a few sane sessions, ended in every way, before anything odd is done. Never raises for what the node does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.kept_waiting import Waits
from zenoh_conformance.messages import Init, sane
from zenoh_conformance.messages.init import Patch, QoS
from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_conformance.reading.kinds import InitSyn
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.talking.fences import Fence, Fencing, best
from zenoh_conformance.talking.patience import Patience, longer, share
from zenoh_conformance.wire import exts
from zenoh_harness.links.timing import Deadline, scaled, stretched
from zenoh_harness.probing.habits.capacity import measure_capacity, open_link
from zenoh_harness.probing.habits.protocol_version import other_version
from zenoh_harness.probing.habits.told_values import largest_told, tells
from zenoh_harness.probing.habits.waiting import first_silence, measure_waits
from zenoh_harness.programs import starvation
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.targets.greeting import odd_statements
from zenoh_harness.targets.habits import CONNECT, LONG_ENOUGH, TIMES, UNIT, Return, SessionEnd, TargetHabits
from zenoh_harness.targets.target import NodeInstance

QUIET_TIMES: Final = 20
"""A node must be silent for this many times its slowest answer before silence is believed."""

LEAST_QUIET: Final = 0.1
"""Least duration of that silence in seconds, before scaling."""

LONGEST: Final = 3.0
"""Seconds that we wait for a restartable node to reconnect after each kind of end."""

LOOKS: Final = 2
"""Number of attempts before a feature counts as missing."""

LATE_LOOKS: Final = 5
"""Number of further first sessions with a node that does not wait for long: we may have been too late."""

ENDS: Final = 0.3
"""Seconds within which a program exits that exits after a link."""

SHORTLY: Final = 0.5
"""Seconds to wait for a reconnect after one wait was in vain."""

PATIENT: Final = 8.0
"""Seconds that we wait for a node that cannot be restarted."""

OTHER_OFFERS: Final[tuple[tuple[Any, ...], ...]] = ((QoS(), Patch(value=1)), (Patch(value=1),), ())
"""Other sane proposals, for a node whose answer to the usual one cannot be decoded."""

ONE_AT_A_TIME: Final = frozenset({"several-links", "several-sessions", "routing"})
"""What a node with a single session cannot show."""

MESSAGES: Final = (200_000, 60_000, 30_000, 4_000)
"""Sizes of values, to find the largest one that a node forwards: the specification sets no limit."""

SMALL_BATCH: Final = 2048
"""Batch size for these values: a node that cannot take a batch as large as it stated is not one of small messages."""

MANY: Final = 6
"""Sessions, or half-open handshakes, that checks with many of them need, such as the models."""

OF_FENCE: Final[Mapping[Fence, str]] = {Fence.QUERY: "finals", Fence.INTEREST: "interests"}
"""What a node must do for a fence to work."""


def study(node: NodeInstance, *, rooms: bool = True) -> TargetHabits:
    """Return the habits of a started node. `rooms`: also measure the capacity of a responder."""
    us, answer, waits = _first_session(node)
    states = odd_statements(getattr(node, "greeting", b""), node.role)
    start = float(getattr(node, "started_in", 0.0))
    bare = TargetHabits(start=start, again=_again(node), waits=waits, states=states)
    if answer is None and node.side is Side.RESPONDER and _ended_after_a_link(node):
        us = open_link(node)
        answer = handshake(us, node) if us is not None else None
    offers = sane.OFFERS
    if us is not None and answer is None and node.side is Side.RESPONDER:
        us, answer, offers = _with_other_offers(us, node)
    if us is None:
        return bare
    if answer is None:
        us.hang_up()
        if us.theirs is not None and us.theirs.version == sane.VERSION:
            return bare  # it speaks our version, whatever ended the handshake
        return replace(bare, version=other_version(node.side, lambda: open_link(node)))
    fencing, lacks = fence_of(us, answer)
    batch = us.theirs.batch_size if us.theirs is not None else None
    lacks = lacks if node.role != "router" else frozenset()  # a router that does not is at fault
    found = replace(
        bare,
        answer=answer,
        fencing=fencing,
        leaves=fencing.how is Fence.NOTHING,
        batch=batch,
        offers=offers,
        lacks=lacks,
    )
    if node.side is Side.INITIATOR:
        found = _note_leaving(us, found, node.role != "router")
        back = measure_returns(node, us)
        dies = None if node.vitals().running or node.vitals().in_order else list(back)[-1]
        found = replace(found, returns={end: one for end, one in back.items() if end is not dies}, dies=dies)
        return found if dies else _note_told_values(node, found)
    us.leave()
    found = replace(found, answer=longer(answer, _second_answer_time(node, offers)), brief=_ends_after_sessions(node))
    if found.brief:
        return replace(found, half_open=1, sessions=1, lacks=found.lacks | missing_capacity(1, 1))
    forwards = forwards_value(node, found)
    found = replace(found if forwards else _note_told_values(node, found), forwards=forwards)
    if node.role != "router" and not forwards:
        found = replace(found, lacks=found.lacks | {"routing"})
    if not rooms:
        return found
    half_open, sessions, turns_away = measure_capacity(node, found.answer, offers, found.impatient)
    if forwards and sessions == 1 and not forwards_value(node, found):
        return found  # two sessions worked, and none does after handshakes that were left half open: that is a fault, no habit
    found = replace(
        found,
        half_open=half_open,
        sessions=sessions,
        turns_away=turns_away,
        lacks=found.lacks | missing_capacity(half_open, sessions),
    )
    return replace(found, message=largest_value(node, found)) if forwards else found


def _first_session(node: NodeInstance) -> tuple[Dialogue | None, float | None, Waits]:
    """A first link, on which we were silent for a moment, its answer time, and how long a node waits that does not wait for long."""
    us = open_link(node)
    waited = first_silence(us) if us is not None else None
    if us is not None and waited is None:
        late = LONG_ENOUGH / 2 if node.side is Side.INITIATOR and not us.heard else 0.0
        answer = handshake(us, node)
        return us, answer + late if answer is not None else None, {}
    if us is None or waited is None:
        return None, None, {}
    us.hang_up()
    waits, answer = measure_waits(node.side, waited, lambda: open_link(node)), None
    for _ in range(1 + LATE_LOOKS):
        us = open_link(node)
        answer = handshake(us, node) if us is not None else None
        if us is None or answer is not None:
            break
    return us, answer, waits


def largest_value(node: NodeInstance, habits: TargetHabits) -> int | None:
    """Return the largest of the tried values that it forwards; None if it forwards all, or none."""
    most, *between, least = MESSAGES
    if forwards_value(node, habits, most) or not forwards_value(node, habits, least):
        return None
    return next((size for size in between if forwards_value(node, habits, size)), least)


def missing_capacity(half_open: int | None, sessions: int | None) -> frozenset[str]:
    """Return what a node of this capacity cannot show; None means that it served all that were tried."""
    lacks = frozenset({"several-links"}) if half_open == 1 else frozenset[str]()
    lacks |= ONE_AT_A_TIME if sessions == 1 else frozenset()
    lacks |= {"many-links"} if half_open is not None and half_open < MANY else frozenset()
    return lacks | ({"many-sessions"} if sessions is not None and sessions < MANY else frozenset())


def study_profile(node: NodeInstance, known: TargetHabits) -> TargetHabits:
    """Return the habits in another profile of a node that was studied: answer time, offers, batch and fences.
    Reconnects and capacity belong to the program, and are not measured again: that takes many links.

    """
    offers = known.offers
    us = open_link(node, max(CONNECT, TIMES * known.longest))
    ours: dict[str, Any] = {"exts": exts(*offers)} if node.side is Side.RESPONDER else {}
    answer = handshake(us, node, **ours) if us is not None else None
    if us is not None and answer is None and node.side is Side.RESPONDER:
        us, answer, offers = _with_other_offers(us, node)
    if us is None or answer is None:
        return known
    fencing, lacks = fence_of(us, answer)
    batch = us.theirs.batch_size if us.theirs is not None else None
    if known.way is SessionEnd.RST:
        us.wire.reset()
    us.leave()
    lacks = lacks if node.role != "router" else frozenset()
    others = known.lacks - frozenset(OF_FENCE.values())
    return replace(
        known,
        answer=longer(answer, known.answer),
        offers=offers,
        fencing=fencing,
        batch=batch,
        lacks=others | lacks,
        leaves=fencing.how is Fence.NOTHING,
    )


def _second_answer_time(node: NodeInstance, offers: tuple[Any, ...]) -> float:
    """Return the answer time of another session: the first one may have been lucky."""
    us = open_link(node, SHORTLY)
    took = handshake(us, node, exts=exts(*offers)) if us is not None else None
    if us is not None:
        us.leave()
    return took or 0.0


def _ended_after_a_link(node: NodeInstance) -> bool:
    """Whether its program exited in order after our greeting; from now on it is restarted for each link."""
    if node.program is None or not _again(node):
        return False
    node.program.wait(Deadline.after(ENDS))
    if node.vitals().in_order:
        node.brief = True  # type: ignore[attr-defined]  # what can be started again has it
    return bool(getattr(node, "is_brief", False))


def _ends_after_sessions(node: NodeInstance) -> bool:
    """Whether the program of a responder exited in order after our sane sessions."""
    return bool(getattr(node, "is_brief", False)) or (_again(node) and node.vitals().in_order)


def forwards_value(node: NodeInstance, habits: TargetHabits, size: int = 1) -> bool:
    """Whether it forwards a publication of that size from one session to another one that subscribes; a peer need not.

    A failure is tried again: one late message is no habit.
    """
    return any(_forwards_once(node, habits, size) for _ in range(LOOKS))


def _forwards_once(node: NodeInstance, habits: TargetHabits, size: int) -> bool:
    near, far = (open_link(node) for _ in range(2))
    batch = {"batch_size": SMALL_BATCH} if node.side is Side.RESPONDER else {}
    key = "zconform/habits/routed"
    within = _work_time(habits)
    try:
        if near is None or far is None:
            return False
        far.unit = within  # the first session was answered: one that serves one link at a time never answers the second
        for us in (near, far):
            us.beside_us = (near, far)
            if handshake(habits.prepare(us), node, exts=exts(*habits.offers), **batch) is None:
                return False
        near.subscribe(key)
        near.fence()
        far.publish(key, bytes(size), block=True)
        _expect_publication(near, within)
    except Deviation:
        return False
    finally:
        for us in filter(None, (near, far)):
            us.leave()
    return True


def _note_told_values(node: NodeInstance, found: TargetHabits) -> TargetHabits:
    """Note the largest value of which its application is told, in a session of its own."""
    if not tells(node):
        return found
    us = _wait_for_return(node, LONGEST)[1] if node.side is Side.INITIATOR else open_link(node)
    if us is None:
        return found
    offers: dict[str, Any] = {"exts": exts(*found.offers)} if node.side is Side.RESPONDER else {}
    works = handshake(found.prepare(us), node, **offers) is not None
    message = largest_told(us, node, _work_time(found)) if works else None
    us.leave()
    return replace(found, message=message)


def _work_time(habits: TargetHabits) -> float:
    """Seconds within which a publication comes."""
    return longer(stretched(UNIT / 2), share(habits.answer, QUIET_TIMES))


def _expect_publication(us: Dialogue, within: float) -> None:
    """Wait for a publication, or the last of its fragments. Raises Deviation."""
    for seen in us.stream(within):
        if seen.kind == "push" or (seen.kind == "fragment" and not seen.message.more):
            return
    us.deviate(expected="Push", got=us.text_of(None))


def _with_other_offers(us: Dialogue, node: NodeInstance) -> tuple[Dialogue | None, float | None, tuple[Any, ...]]:
    """Try other sane offers on a node whose answer to the usual ones cannot be decoded."""
    for offers in OTHER_OFFERS if not isinstance(us.theirs, Init) and us.closed is None else ():
        us.hang_up()
        another = open_link(node)
        if another is None:
            return None, None, sane.OFFERS
        us = another
        answer = handshake(us, node, exts=exts(*offers))
        if answer is not None:
            return us, answer, offers
    return us, None, sane.OFFERS


def _again(node: NodeInstance) -> bool:
    return getattr(node, "again", None) is not None


def handshake(us: Dialogue, node: NodeInstance, **changes: Any) -> float | None:
    """Open the session and return the seconds per answer, fewer if both could have run; None if it does not open."""
    us.wire.held_up(us.wire.now())  # looks now: what was before does not count
    began, ours = us.wire.now(), starvation.own()
    try:
        open_session(us, node.profile, **changes)
    except Deviation:
        return None
    took = us.wire.now() - began
    held_up = us.wire.held_up(began) + starvation.own() - ours
    return Patience(took / 2, max(0.0, took - (held_up if held_up < inf else 0.0)) / 2)


def fence_of(us: Dialogue, answer: float) -> tuple[Fencing, frozenset[str]]:
    """Return the best fence for a live session, and the features that the node lacks; the node may end the session meanwhile."""
    fencing, missed = best(
        us,
        longer(stretched(UNIT / 2), share(answer, QUIET_TIMES)),
        longer(scaled(LEAST_QUIET), share(answer, QUIET_TIMES)),
    )
    return fencing, frozenset(OF_FENCE[how] for how in missed if how in OF_FENCE)


def _note_leaving(us: Dialogue, found: TargetHabits, may: bool) -> TargetHabits:
    """Note whether the node ends a sane session by itself: then no fence is sure. `may`: its role need not answer any."""
    if found.fencing.how not in (Fence.QUERY, Fence.INTEREST, Fence.DECLARATION):
        return found  # of the others our own CLOSE is a part
    for _ in us.stream(max(scaled(ENDS), QUIET_TIMES * found.answer)):
        pass
    if not us.is_over:
        return found
    lacks = found.lacks | (frozenset(OF_FENCE.values()) if may else frozenset())
    return replace(found, leaves=True, fencing=replace(found.fencing, how=Fence.NOTHING), lacks=lacks)


Way = tuple[Callable[[Dialogue], object], Callable[[Dialogue], object]]


def open_live(us: Dialogue) -> object:
    return us.open()


def wait_for_proposal(us: Dialogue) -> object:
    return us.expect(InitSyn)


WAYS: Final[Mapping[SessionEnd, Way]] = {
    SessionEnd.CLOSE: (open_live, lambda us: us.send(sane.close())),
    SessionEnd.FIN: (open_live, lambda us: None),
    SessionEnd.RST: (open_live, lambda us: us.wire.reset()),
    SessionEnd.REFUSED: (wait_for_proposal, lambda us: us.send(sane.close(2))),
    SessionEnd.DROPPED: (wait_for_proposal, lambda us: None),
}
"""How we lead an initiator, and how we end the session; the link is shut afterwards."""


SAID: Final = (SessionEnd.CLOSE, SessionEnd.REFUSED)
"""The ends that a node sees on a link of datagrams; after another one it waits for a lease."""


def measure_returns(node: NodeInstance, first: Dialogue | None) -> dict[SessionEnd, Return]:
    """Return how it reconnects after each kind of end, until its program dies; `first` is its first, live session."""
    found: dict[SessionEnd, Return] = {}
    longest = LONGEST if _again(node) else PATIENT
    us, live = first, True
    for end, way in WAYS.items():
        if node.locator.framing is Framing.DATAGRAM and end not in SAID:
            continue
        if us is None:
            break
        if _lead_and_end(us, way, live):
            found[end], us = _wait_for_return(node, longest)
            longest = longest if found[end].after is not None else min(longest, _shorter_wait(found))
        else:
            us = open_link(node, longest)
        live = False
    if us is not None:
        us.hang_up()
    return found


def _shorter_wait(found: Mapping[SessionEnd, Return]) -> float:
    """Seconds to wait for a node that failed to reconnect before."""
    return max(SHORTLY, *(2 * (back.after or 0.0) for back in found.values()))


def _lead_and_end(us: Dialogue, way: Way, live: bool) -> bool:
    """Lead the node to the state unless it is there already, then end the session; False if that failed."""
    lead, leave = way
    try:
        if not live:
            lead(us)
        leave(us)
    except Deviation:
        return False
    finally:
        us.hang_up()
    return True


def _wait_for_return(node: NodeInstance, longest: float) -> tuple[Return, Dialogue | None]:
    """Wait for a reconnect; restart a program that does not reconnect, where possible."""
    began, starts = time.monotonic(), getattr(node, "starts", 1)
    us = open_link(node, longest)
    took = time.monotonic() - began
    if us is not None:
        ended = str(getattr(node, "last_end", "")) if getattr(node, "starts", 1) > starts else ""
        return Return(after=took, ended=ended), us
    anew: Callable[[], bool] | None = getattr(node, "start_again", None)
    return Return(after=None, waited=longest), open_link(node) if anew is not None and anew() else None
