"""How long a node waits for us in each state, and, of one that comes to us, whether it comes back, when, and how often."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from zenoh_conformance import sane
from zenoh_conformance.conversation import Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation
from zenoh_conformance.kinds import InitAck, InitSyn, OpenSyn, reason_code, reason_name
from zenoh_harness.links.timing import scaled
from zenoh_harness.probing.probe.asker import Asker, Facts

LONGEST: Final = 15.0
"""Seconds after which nobody waits for a node to give up."""

RETURNS: Final = 5
"""How often it is let come back after each end."""

GLANCE: Final = 0.01
"""Seconds for which one link is listened to before it is the next one's turn."""

Lead = Callable[[Dialogue], object]


def _live(us: Dialogue) -> object:
    return us.open()


def _proposed(us: Dialogue) -> object:
    return us.expect(InitSyn)


def _opening(us: Dialogue) -> object:
    return us.ask(us.init_ack(us.expect(InitSyn)), expect=OpenSyn)


TOWARD_RESPONDER: Final[Mapping[str, Lead]] = {
    "nothing was said": lambda us: None,
    "InitAck": lambda us: us.ask(us.init_syn(), expect=InitAck),
}
"""Where we fall silent, toward a node that listens."""

TOWARD_INITIATOR: Final[Mapping[str, Lead]] = {"InitSyn": _proposed, "OpenSyn": _opening}
"""And toward one that comes to us."""

ENDS: Final[Mapping[str, tuple[Lead, Callable[[Dialogue], object]]]] = {
    "Close for InitAck": (_proposed, lambda us: us.send(sane.close(reason_code("INVALID")))),
    "link shut for InitAck": (_proposed, lambda us: None),
    "link reset for InitAck": (_proposed, lambda us: us.wire.reset()),
    "Close for OpenAck": (_opening, lambda us: us.send(sane.close(reason_code("MAX_SESSIONS")))),
    "link shut for OpenAck": (_opening, lambda us: None),
    "Close of the session": (_live, lambda us: us.send(sane.close())),
    "session's link shut": (_live, lambda us: None),
}
"""What we do to one that comes to us: where we lead it, and how we end."""


def patience(ask: Asker, facts: Facts) -> None:
    """Note how long it waits for us, and how it comes back."""
    toward = TOWARD_RESPONDER if ask.node.side is Side.RESPONDER else TOWARD_INITIATOR
    facts.note("waits in vain after", _waits(ask, toward))
    if ask.node.side is Side.INITIATOR:
        facts.note("comes back after", {name: returns(ask.dialogue, *how) for name, how in ENDS.items()})
        ask.leave()


def _waits(ask: Asker, toward: Mapping[str, Lead]) -> dict[str, str]:
    """State to how it gives up. Who listens is asked on all links at once, who comes to us on one after the other."""
    together = [list(toward)] if ask.node.side is Side.RESPONDER else [[name] for name in toward]
    found: dict[str, str] = {}
    for names in together:
        links = {name: us for name in names if (us := led(ask, toward[name])) is not None}
        found |= given_up(links)
        ask.leave()
    return found


def led(ask: Asker, lead: Lead) -> Dialogue | None:
    """A link on which the node waits for us; None when it cannot be had."""
    us = ask.dialogue()
    try:
        if us is not None:
            lead(us)
    except Deviation:
        return None
    return us


def given_up(links: Mapping[str, Dialogue], longest: float = LONGEST) -> dict[str, str]:
    """How long each link is kept while we say nothing, and how it is ended."""
    began = {name: us.wire.now() for name, us in links.items()}
    found: dict[str, str] = {}
    while len(found) < len(links):
        for name in links.keys() - found.keys():
            us = links[name]
            us.next(GLANCE)
            waited = us.wire.now() - began[name]
            if us.ended is not None:
                found[name] = f"{waited:.1f} s, then {_how(us)}"
            elif waited >= scaled(longest):
                found[name] = f"more than {longest:.0f} s"
    return {name: found[name] for name in links}


def _how(us: Dialogue) -> str:
    return us.text_of(None) if us.closed is None else f"Close({reason_name(us.closed)})"


def returns(another: Callable[[], Dialogue | None], lead: Lead, end: Callable[[Dialogue], object]) -> str:
    """The pauses before it comes again after an end, in milliseconds; the first link that it has is none."""
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
        us.wire.shut()
        ended = time.monotonic()
    return told(pauses)


def told(pauses: Sequence[float]) -> str:
    """Pauses as people read them."""
    if not pauses:
        return "it does not"
    more = "" if len(pauses) == RETURNS else ", then not any more"
    return f"{', '.join(f'{pause:.0f}' for pause in pauses)} ms{more}"
