"""What a case sees of the world: links to the target, dialogues over them, an agent, and nothing else.

The harness implements these protocols over sockets; the models and the reference's own tests implement them in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol

from zenoh_conformance.reading.conversation import Conversation, Event, Framing, Side

ANSWERS: Final = 10
"""Answers of a target that fit into one unit of patience."""

if TYPE_CHECKING:
    from zenoh_conformance.judging.finding import Finding

    from .dialogue import Dialogue


def drawn_zid(seed: int, label: str, count: int) -> bytes:
    """The ZenohID of the `count`-th dialogue of one attempt at a case: eight bytes, the same wherever it is drawn again."""
    return blake2b(f"{seed} {label} {count}".encode(), digest_size=7).digest() + b"\x5a"


class Wire(Protocol):
    """One link between the harness and the target, recorded as it is used."""

    @property
    def name(self) -> str:
        """The connection's name in the conversation."""

    @property
    def side(self) -> Side:
        """Which side the harness is."""

    @property
    def framing(self) -> Framing: ...

    @property
    def link(self) -> str:
        """`tcp`, `udp`, ..."""

    @property
    def done(self) -> bool:
        """Whether we have ended the link, or our direction of it."""

    def now(self) -> float:
        """Seconds since the conversation began: the clock of its events."""

    def send(self, data: bytes) -> None:
        """Put bytes on the link as they are; a link that has gone swallows them."""

    def receive(self, within: float) -> Event | None:
        """The next thing that the target does on this link, or None when `within` seconds pass without any.

        An `eof` or `reset` is told once; after it there is None at once.
        """

    def held_up(self, since: float) -> float:
        """Seconds for which the target could not run since a time of `now`; infinite where that cannot be seen."""

    def finish(self) -> None:
        """Send no more (FIN), go on reading."""

    def reset(self) -> None:
        """End the link at once (RST where the link has one)."""

    def shut(self) -> None:
        """End the link in order."""


class Agent(Protocol):
    """What only the application above the target can make it do. Present where the target has one."""

    def ask(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """One command, one answer (line protocol `agent`). Raises HarnessError when it cannot be had."""

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        """The next `count` things that the application was told (samples, replies, ends), fewer when time runs out."""


class Scene(Protocol):
    """One case's stage: any number of dialogues with the target, opened to a responder or accepted from an initiator."""

    left: tuple[int, int]
    """How many circumstances of a varied case there was no time for, and of how many."""
    brief: bool
    """Whether no answer is waited for long in the dialogues to come, because nothing rests on it."""

    @property
    def role(self) -> Side:
        """What the target is."""

    @property
    def unit(self) -> float:
        """One unit of patience in seconds, scaled by the environment: the longest that a healthy target takes to answer."""

    @property
    def profile(self) -> str: ...

    @property
    def conversation(self) -> Conversation:
        """What was said so far, on all links."""

    @property
    def dialogues(self) -> Sequence[Dialogue]:
        """All of ours so far."""

    @property
    def agent(self) -> Agent:
        """The target's application. Raises HarnessError when it has none: cases say `needs=("agent",)`."""

    def fresh_zid(self) -> bytes:
        """Eight bytes that no other dialogue of the run has; the same in every run with the same seed."""

    def can(self, capability: str) -> bool:
        """Whether the probe saw the target do this."""

    def fact(self, name: str, default: Any = None) -> Any:
        """What is known of the target beforehand: `lease_ms`, `max_sessions`, `open_timeout_s`, ...

        `waits_s`: for how many seconds it was seen to wait for our next message of a handshake.
        `quick`: the run shall be. `strain` is how many times as long all takes now as on an idle machine.
        """

    def wire(self, name: str = "us", *, group: str = "") -> Wire:
        """A new link: opened to a target that listens, or accepted from one that connects (it is made to, if need be).

        `group`: to `multicast` or `scouting` instead, the groups of a target in the profile `multicast`.
        """

    def dialogue(self, name: str = "us", *, zid: bytes | None = None, group: str = "") -> Dialogue:
        """A dialogue over a new link, before any handshake, with a ZenohID of its own."""

    def session(self, name: str = "us", *, zid: bytes | None = None, **init: Any) -> Dialogue:
        """A dialogue over a new link, live: the sane handshake is done, with these fields in our INIT."""

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        """As many live ones as names."""

    def wait(self, seconds: float) -> None:
        """Let so much time go by, as who tries again later."""

    def follows(self, erratum: str | None) -> None:
        """Note the reading that the target follows, where either is right: the text's (None), or that of an erratum, by id."""

    def deviate(self, finding: Finding) -> None:
        """Note a fault of the target and go on; `Deviation` is raised by what cannot go on."""
