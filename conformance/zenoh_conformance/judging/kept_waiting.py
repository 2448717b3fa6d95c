"""Whether it was we who kept the other side waiting in a handshake.

No page says how long a handshake may take. On a busy machine our words come late, and a node that gave the link up meanwhile, without
a word, has refused nothing. How long a target waits is measured before the checks (`TargetHabits.waits`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from zenoh_conformance.reading.conversation import Conversation, Event, Framing, Happened, Side

from .finding import KEPT_WAITING, Finding

SLOW: Final = 0.1
"""Seconds after which we count as late for a target whose patience is not known: zenoh-pico's time for one read."""

SHARE: Final = 0.5
"""The share of its patience after which we count as late for one whose patience is known: its clock began before ours."""

IMPATIENT: Final = 1.0
"""Seconds of patience below which a busy machine may be late."""

ENDS: Final = (Happened.EOF, Happened.RESET)
STEPS: Final = 2
"""Messages of a handshake that one side sends; a side that has sent more has waited long enough."""

OPENING: Final = "the link's opening"
SAID: Final[Mapping[Side, Sequence[str]]] = {
    Side.RESPONDER: (OPENING, "InitAck", "OpenAck"),
    Side.INITIATOR: (OPENING, "InitSyn", "OpenSyn"),
}
"""What a target has said last, by the number of its messages: the states in which it waits for us."""

Waits = Mapping[str, float]
"""Seconds that the target waits for our next message, by what it has said last (`SAID`); empty where nothing is known."""


@dataclass(frozen=True, slots=True)
class Delay:
    """How late we were on a link that the target ended in the handshake."""

    connection: str
    after: str
    """What the target had said last."""
    seconds: float
    patience: float | None
    """Seconds that the target waits there; None where that is not known."""
    answered: bool
    """Whether we did answer before it ended the link."""

    @property
    def cause(self) -> str:
        """What happened, with times."""
        waits = f", the target waits {self.patience * 1000:.0f} ms" if self.patience is not None else ""
        return f"we answered {self.seconds * 1000:.0f} ms after {self.after}{waits}"


def is_impatient(waits: Waits) -> bool:
    """Whether the target waits so shortly that a busy machine may be late."""
    return min(waits.values(), default=IMPATIENT) < IMPATIENT


def delays(conversation: Conversation, target: Side, waits: Waits) -> Iterator[Delay]:
    """The links that the target ended in a handshake that we held up, each with our first delay."""
    links: dict[str, list[Event]] = {}
    for event in conversation:
        links.setdefault(event.connection, []).append(event)
    for name, events in links.items():
        about = conversation.connections.get(name)
        in_pieces = about is None or about.framing is Framing.STREAM
        if (delay := _delay(events, target, waits, in_pieces=in_pieces)) is not None:
            yield delay


def as_seen_in_time(conversation: Conversation, finding: Finding, waits: Waits | None = None) -> Finding:
    """The finding; where the target ended a link without a word in a handshake that we held up, one that says nothing of it."""
    if not finding.got.startswith("link "):
        return finding
    every = delays(conversation, finding.sender, waits or {})
    about = next((delay for delay in every if delay.connection == finding.connection), None)
    return finding if about is None else replace(finding, path=KEPT_WAITING, why=about.cause)


def kept_waiting(
    conversation: Conversation, target: Side, waits: Waits, *, silence_is_meant: bool = False
) -> Finding | None:
    """What a whole conversation says of an impatient target that ended a link which we held up: nothing, good or bad.

    A session is missing then, and an end shows no refusal. None where we were in time. `silence_is_meant`: a link on which we
    said nothing to the end is no delay.
    """
    if not is_impatient(waits):
        return None
    every = (delay for delay in delays(conversation, target, waits) if delay.answered or not silence_is_meant)
    if (delay := next(every, None)) is None:
        return None
    return Finding(requirement="", sender=target, connection=delay.connection, path=KEPT_WAITING, why=delay.cause)


def _delay(events: Sequence[Event], target: Side, waits: Waits, *, in_pieces: bool) -> Delay | None:
    """Our first delay on a link before the target ended it, or that we had said nothing by then.

    Where batches may come `in_pieces`, it is our turn until the last of them.
    """
    over = next((at for at, event in enumerate(events) if event.sender is target and event.kind in ENDS), -1)
    if sum(event.sender is target and event.kind is Happened.BYTES for event in events) > STEPS:
        return None
    said, ours = 0, b""
    for before, now in pairwise(events[: over + 1]):
        said += before.sender is target and before.kind is Happened.BYTES
        ours += b"" if before.sender is target else before.data
        due = before.sender is target or (in_pieces and _is_cut(ours))
        our_turn = now.sender is not target or (now is events[over] and due)
        after = SAID[target][said]
        patience = waits.get(after, min(waits.values(), default=None))
        seconds = max(now.time - before.time, now.waited)
        if our_turn and seconds >= (SLOW if patience is None else SHARE * patience):
            return Delay(now.connection, after, seconds, patience, now.sender is not target)
    return None


def _is_cut(data: bytes) -> bool:
    """Whether the last batch of a stream has not come to its end."""
    while len(data) >= 2 and len(data) >= (end := 2 + int.from_bytes(data[:2], "little")):
        data = data[end:]
    return bool(data)
