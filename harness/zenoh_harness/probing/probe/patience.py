"""Measure how long a node waits for us in each state and, for an initiator, whether, when and how often it reconnects."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenSyn, reason_code, reason_name
from zenoh_conformance.talking import Dialogue
from zenoh_harness.links.timing import scaled
from zenoh_harness.probing.probe.asker import Asker, ProbeFacts

LONGEST: Final = 15.0
"""Seconds after which a node counts as waiting forever."""

RETURNS: Final = 5
"""Number of reconnects that are measured after each way to end."""

GLANCE: Final = 0.01
"""Seconds for which one link is read before the next one."""

Lead = Callable[[Dialogue], object]


def open_live(us: Dialogue) -> object:
    return us.open()


def wait_for_proposal(us: Dialogue) -> object:
    return us.expect(InitSyn)


def wait_for_open_syn(us: Dialogue) -> object:
    return us.ask(us.init_ack(us.expect(InitSyn)), expect=OpenSyn)


TOWARD_RESPONDER: Final[Mapping[str, Lead]] = {
    "nothing was said": lambda us: None,
    "InitAck": lambda us: us.ask(us.init_syn(), expect=InitAck),
}
"""The states in which we stop talking to a responder."""

TOWARD_INITIATOR: Final[Mapping[str, Lead]] = {"InitSyn": wait_for_proposal, "OpenSyn": wait_for_open_syn}
"""The states in which we stop talking to an initiator."""

ENDS: Final[Mapping[str, tuple[Lead, Callable[[Dialogue], object]]]] = {
    "Close for InitAck": (wait_for_proposal, lambda us: us.send(sane.close(reason_code("INVALID")))),
    "link shut for InitAck": (wait_for_proposal, lambda us: None),
    "link reset for InitAck": (wait_for_proposal, lambda us: us.wire.reset()),
    "Close for OpenAck": (wait_for_open_syn, lambda us: us.send(sane.close(reason_code("MAX_SESSIONS")))),
    "link shut for OpenAck": (wait_for_open_syn, lambda us: None),
    "Close of the session": (open_live, lambda us: us.send(sane.close())),
    "session's link shut": (open_live, lambda us: None),
}
"""How we lead an initiator to a state, and how we end the link there."""


def measure_patience(ask: Asker, facts: ProbeFacts) -> None:
    """Note how long the node waits for us and, for an initiator, how it reconnects."""
    toward = TOWARD_RESPONDER if ask.node.side is Side.RESPONDER else TOWARD_INITIATOR
    facts.note("waits in vain after", _silence_by_state(ask, toward))
    if ask.node.side is Side.INITIATOR:
        facts.note("comes back after", {name: return_pauses(ask.dialogue, *how) for name, how in ENDS.items()})
        ask.leave()


def _silence_by_state(ask: Asker, toward: Mapping[str, Lead]) -> dict[str, str]:
    """Return how the node gives up in each state. A responder is asked on all links at once, an initiator on one after the other."""
    together = [list(toward)] if ask.node.side is Side.RESPONDER else [[name] for name in toward]
    limits: dict[str, str] = {}
    for names in together:
        links = {name: us for name in names if (us := lead_new_link(ask, toward[name])) is not None}
        limits |= silence_limits(links)
        ask.leave()
    return limits


def lead_new_link(ask: Asker, lead: Lead) -> Dialogue | None:
    """Open a link and lead it to a state in which the node waits for us; None if that fails."""
    us = ask.dialogue()
    try:
        if us is not None:
            lead(us)
    except Deviation:
        return None
    return us


def silence_limits(links: Mapping[str, Dialogue], longest: float = LONGEST) -> dict[str, str]:
    """Return how long the node keeps each link while we say nothing, and how it ends the link."""
    began = {name: us.wire.now() for name, us in links.items()}
    found: dict[str, str] = {}
    while len(found) < len(links):
        for name in links.keys() - found.keys():
            us = links[name]
            us.next(GLANCE)
            waited = us.wire.now() - began[name]
            if us.ended is not None:
                found[name] = f"{waited:.1f} s, then {_end_text(us)}"
            elif waited >= scaled(longest):
                found[name] = f"more than {longest:.0f} s"
    return {name: found[name] for name in links}


def _end_text(us: Dialogue) -> str:
    return us.text_of(None) if us.closed is None else f"Close({reason_name(us.closed)})"


def return_pauses(another: Callable[[], Dialogue | None], lead: Lead, end: Callable[[Dialogue], object]) -> str:
    """Return the pauses in milliseconds before the node reconnects after an end, as text."""
    pauses: list[float] = []
    ended: float | None = None
    for _ in range(RETURNS + 1):
        us = another()
        if us is None:
            break
        if ended is not None:
            pauses.append((time.monotonic() - ended) * 1000)
        try:
            lead(us)
            end(us)
        except Deviation:
            break
        us.hang_up()
        ended = time.monotonic()
    return pauses_text(pauses)


def pauses_text(pauses: Sequence[float]) -> str:
    """Return pauses as text."""
    if not pauses:
        return "it does not reconnect"
    more = "" if len(pauses) == RETURNS else ", then not any more"
    return f"{', '.join(f'{pause:.0f}' for pause in pauses)} ms{more}"
