"""Studying a node: a few sane sessions, ended in each way, before anything odd is done. Never raises for what it does."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from zenoh_conformance import sane
from zenoh_conformance.conversation import Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.fences import Fence, Fencing, best
from zenoh_conformance.finding import Deviation
from zenoh_conformance.kinds import InitSyn
from zenoh_conformance.messages import Init
from zenoh_conformance.messages.init import Patch, QoS
from zenoh_conformance.wire.extensions import exts
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.timing import Deadline, scaled, stretched
from zenoh_harness.links.wires import Recorder
from zenoh_harness.probing.habits.room import room
from zenoh_harness.probing.habits.speaks import other_version
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.targets.habits import CONNECT, TIMES, UNIT, End, Habits, Return
from zenoh_harness.targets.target import NodeInstance

REQUIREMENT: Final = "target/habits"
QUIET_TIMES: Final = 20
"""How many times its slowest answer a node must be silent for us to believe that nothing comes."""

LEAST_QUIET: Final = 0.1
"""Seconds that a quiet time lasts at least, before scaling."""

LONGEST: Final = 3.0
"""Seconds that a node which can be started again is waited for after each kind of end."""

LOOKS: Final = 2
"""How often a node is asked to do what it was not seen to do, before it is taken not to do it."""

ENDS: Final = 0.3
"""Seconds in which a program ends that ends after a link."""

SHORTLY: Final = 0.5
"""The same, once it was waited for in vain."""

PATIENT: Final = 8.0
"""The same for one that cannot."""

OTHER_OFFERS: Final[tuple[tuple[Any, ...], ...]] = ((QoS(), Patch(value=1)), (Patch(value=1),), ())
"""Other sane proposals, for a node whose answer to the usual one cannot be read."""

ONE_AT_A_TIME: Final = frozenset({"several-links", "several-sessions", "routing"})
"""What a node that holds one session cannot show."""

MESSAGES: Final = (200_000, 60_000, 30_000, 4_000)
"""Sizes of the values of which the largest one is looked for that a node passes on: no page says how large one may be."""

SMALL_BATCH: Final = 2048
"""Bytes of the batches in which they are said: a node that cannot take a batch as large as it stated is not one of small messages."""

MANY: Final = 6
"""Sessions, or half-open handshakes, that a node must serve at once for what opens many of them, as the models do."""

OF_FENCE: Final[Mapping[Fence, str]] = {Fence.QUERY: "finals", Fence.INTEREST: "interests"}
"""What a node does that can be fenced so."""

_ZIDS = itertools.count(1)


def study(node: NodeInstance, *, rooms: bool = True) -> Habits:
    """What a started node is like. `rooms`: also how many it serves at once, of one that listens."""
    bare = Habits(start=_started(node), again=_again(node))
    us = visit(node)
    answer = handshake(us, node) if us is not None else None
    if answer is None and node.side is Side.RESPONDER and _ended_after_a_link(node):
        us = visit(node)
        answer = handshake(us, node) if us is not None else None
    offers = sane.OFFERS
    if us is not None and answer is None and node.side is Side.RESPONDER:
        us, answer, offers = _with_other_offers(us, node)
    if us is None:
        return bare
    if answer is None:
        us.wire.shut()
        return replace(bare, version=other_version(node.side, lambda: visit(node)))
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
        found = _unless_it_leaves(us, found, node.role != "router")
        back = returns(node, us)
        dies = None if node.vitals().running or node.vitals().in_order else list(back)[-1]
        return replace(found, returns={end: one for end, one in back.items() if end is not dies}, dies=dies)
    us.leave()
    found = replace(found, answer=max(answer, _once_more(node, offers)), brief=_ends_after_sessions(node))
    if found.brief:
        return replace(found, half_open=1, sessions=1, lacks=found.lacks | cramped(1, 1))
    if node.role != "router" and not routes(node, found):
        found = replace(found, lacks=found.lacks | {"routing"})
    if not rooms:
        return found
    half_open, sessions, turns_away = room(node, found.answer, offers)
    found = replace(
        found, half_open=half_open, sessions=sessions, turns_away=turns_away,
        lacks=found.lacks | cramped(half_open, sessions),
    )  # fmt: skip
    return found if "routing" in found.lacks else replace(found, message=largest(node, found))


def largest(node: NodeInstance, habits: Habits) -> int | None:
    """The largest value that it passes on, of those that are tried; None where all are, or none is."""
    most, *between, least = MESSAGES
    if routes(node, habits, most) or not routes(node, habits, least):
        return None
    return next((size for size in between if routes(node, habits, size)), least)


def cramped(half_open: int | None, sessions: int | None) -> frozenset[str]:
    """What a node cannot show that serves so many handshakes and sessions at once; None: as many as were tried."""
    lacks = frozenset({"several-links"}) if half_open == 1 else frozenset[str]()
    lacks |= ONE_AT_A_TIME if sessions == 1 else frozenset()
    lacks |= {"many-links"} if half_open is not None and half_open < MANY else frozenset()
    return lacks | ({"many-sessions"} if sessions is not None and sessions < MANY else frozenset())


def glance(node: NodeInstance, known: Habits) -> Habits:
    """What may be otherwise in another profile of a node that was studied: how fast it answers, what it must be offered, its batch, its
    fences. How it comes back, and how many it serves, is its program's, and not asked again: that takes many links.
    """
    offers = known.offers
    us = visit(node, max(CONNECT, TIMES * known.longest))
    ours: dict[str, Any] = {"exts": exts(*offers)} if node.side is Side.RESPONDER else {}
    answer = handshake(us, node, **ours) if us is not None else None
    if us is not None and answer is None and node.side is Side.RESPONDER:
        us, answer, offers = _with_other_offers(us, node)
    if us is None or answer is None:
        return known
    fencing, lacks = fence_of(us, answer)
    batch = us.theirs.batch_size if us.theirs is not None else None
    if known.way is End.RST:
        us.wire.reset()
    us.leave()
    lacks = lacks if node.role != "router" else frozenset()
    others = known.lacks - frozenset(OF_FENCE.values())
    return replace(known, answer=max(answer, known.answer), offers=offers, fencing=fencing, batch=batch, lacks=others | lacks,
                   leaves=fencing.how is Fence.NOTHING)  # fmt: skip


def _once_more(node: NodeInstance, offers: tuple[Any, ...]) -> float:
    """What another session's answers took: a first one may be lucky."""
    us = visit(node, SHORTLY)
    took = handshake(us, node, exts=exts(*offers)) if us is not None else None
    if us is not None:
        us.leave()
    return took or 0.0


def _ended_after_a_link(node: NodeInstance) -> bool:
    """Whether its program has ended in order, after our greeting: it is started again for each link from now on."""
    if node.program is None or not _again(node):
        return False
    node.program.wait(Deadline.after(ENDS))
    if node.vitals().in_order:
        node.brief = True  # type: ignore[attr-defined]  # what can be started again has it
    return bool(getattr(node, "is_brief", False))


def _ends_after_sessions(node: NodeInstance) -> bool:
    """Whether the program of a node that listens has ended in order, now that sane sessions of ours have."""
    return bool(getattr(node, "is_brief", False)) or (_again(node) and node.vitals().in_order)


def routes(node: NodeInstance, habits: Habits, size: int = 1) -> bool:
    """Whether it passes a publication of that size of one session on to another that subscribes; a peer need not.

    It is asked again where nothing came: what was late once is no habit.
    """
    return any(_routed(node, habits, size) for _ in range(LOOKS))


def _routed(node: NodeInstance, habits: Habits, size: int) -> bool:
    near, far = (visit(node) for _ in range(2))
    batch = {"batch_size": SMALL_BATCH} if node.side is Side.RESPONDER else {}
    key = "zconform/habits/routed"
    try:
        if near is None or far is None:
            return False
        for us in (near, far):
            us.beside_us = (near, far)
            if handshake(habits.prepare(us), node, exts=exts(*habits.offers), **batch) is None:
                return False
        near.subscribe(key)
        near.fence()
        far.publish(key, bytes(size), block=True)
        within = max(stretched(UNIT) / 2, QUIET_TIMES * habits.answer)
        _passed(near, within)
    except Deviation:
        return False
    finally:
        for us in filter(None, (near, far)):
            us.leave()
    return True


def _passed(us: Dialogue, within: float) -> None:
    """Hear a publication, or the last of its fragments. Raises Deviation."""
    for seen in us.stream(within):
        if seen.kind == "push" or (seen.kind == "fragment" and not seen.message.more):
            return
    us.deviate(expected="Push", got=us.text_of(None))


def _with_other_offers(us: Dialogue, node: NodeInstance) -> tuple[Dialogue | None, float | None, tuple[Any, ...]]:
    """One whose answer to our sane proposal cannot be read may have one to another that is as sane."""
    for offers in OTHER_OFFERS if not isinstance(us.theirs, Init) and us.closed is None else ():
        us.wire.shut()
        another = visit(node)
        if another is None:
            return None, None, sane.OFFERS
        us = another
        answer = handshake(us, node, exts=exts(*offers))
        if answer is not None:
            return us, answer, offers
    return us, None, sane.OFFERS


def _started(node: NodeInstance) -> float:
    return float(getattr(node, "started_in", 0.0))


def _again(node: NodeInstance) -> bool:
    return getattr(node, "again", None) is not None


def visit(node: NodeInstance, within: float = CONNECT) -> Dialogue | None:
    """A fresh link; None when there is none."""
    zid = b"\x68\x61" + next(_ZIDS).to_bytes(5, "big") + b"\x7a"
    try:
        wire = Recorder().wire(node, "habits", Deadline.after(within))
    except CannotConnect:
        return None
    return Dialogue(wire, zid=zid, unit=stretched(max(UNIT, CONNECT)), requirement=REQUIREMENT)


def handshake(us: Dialogue, node: NodeInstance, **changes: Any) -> float | None:
    """Open the session; seconds that each of its answers took, about. None when it is not opened."""
    began = time.monotonic()
    try:
        open_session(us, node.profile, **changes)
    except Deviation:
        return None
    return (time.monotonic() - began) / 2


def fence_of(us: Dialogue, answer: float) -> tuple[Fencing, frozenset[str]]:
    """The best fence that a live session passes, and what it was seen not to do; it may leave meanwhile, by itself."""
    fencing, missed = best(
        us, max(stretched(UNIT) / 2, QUIET_TIMES * answer), max(scaled(LEAST_QUIET), QUIET_TIMES * answer)
    )
    return fencing, frozenset(OF_FENCE[how] for how in missed if how in OF_FENCE)


def _unless_it_leaves(us: Dialogue, found: Habits, may: bool) -> Habits:
    """A node that ends a sane session before long, as who has done its work: no fence is sure to be answered. `may`: none need be."""
    if found.fencing.how not in (Fence.QUERY, Fence.INTEREST, Fence.DECLARATION):
        return found  # of the others our own CLOSE is a part
    for _ in us.stream(max(scaled(ENDS), QUIET_TIMES * found.answer)):
        pass
    if not us.is_over:
        return found
    lacks = found.lacks | (frozenset(OF_FENCE.values()) if may else frozenset())
    return replace(found, leaves=True, fencing=replace(found.fencing, how=Fence.NOTHING), lacks=lacks)


Way = tuple[Callable[[Dialogue], object], Callable[[Dialogue], object]]


def _opened(us: Dialogue) -> object:
    return us.open()


def _proposed(us: Dialogue) -> object:
    return us.expect(InitSyn)


WAYS: Final[Mapping[End, Way]] = {
    End.CLOSE: (_opened, lambda us: us.send(sane.close())),
    End.FIN: (_opened, lambda us: None),
    End.RST: (_opened, lambda us: us.wire.reset()),
    End.REFUSED: (_proposed, lambda us: us.send(sane.close(2))),
    End.DROPPED: (_proposed, lambda us: None),
}
"""How far a node that comes to us is led, and how it is left; the link is shut after it."""


def returns(node: NodeInstance, first: Dialogue | None) -> dict[End, Return]:
    """How it comes back from each end, until its program dies of one; `first` is its first session, live."""
    found: dict[End, Return] = {}
    longest = LONGEST if _again(node) else PATIENT
    us, live = first, True
    for end, way in WAYS.items():
        if us is None:
            break
        if _left(us, way, live):
            found[end], us = _back(node, longest)
            longest = longest if found[end].after is not None else min(longest, _once_in_vain(found))
        else:
            us = visit(node, longest)
        live = False
    if us is not None:
        us.wire.shut()
    return found


def _once_in_vain(found: Mapping[End, Return]) -> float:
    """Seconds to wait for one that was waited for in vain once already."""
    return max(SHORTLY, *(2 * (back.after or 0.0) for back in found.values()))


def _left(us: Dialogue, way: Way, live: bool) -> bool:
    """Lead it there, unless it is there, and leave it so; whether it could be led."""
    lead, leave = way
    try:
        if not live:
            lead(us)
        leave(us)
    except Deviation:
        return False
    finally:
        us.wire.shut()
    return True


def _back(node: NodeInstance, longest: float) -> tuple[Return, Dialogue | None]:
    """Wait for it; one that does not come is started again, where that can be."""
    began, starts = time.monotonic(), getattr(node, "starts", 1)
    us = visit(node, longest)
    took = time.monotonic() - began
    if us is not None:
        ended = str(getattr(node, "last_end", "")) if getattr(node, "starts", 1) > starts else ""
        return Return(after=took, ended=ended), us
    anew: Callable[[], bool] | None = getattr(node, "start_again", None)
    return Return(after=None, waited=longest), visit(node) if anew is not None and anew() else None
