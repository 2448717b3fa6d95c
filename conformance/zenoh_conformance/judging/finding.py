"""A finding: a peer's fault, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.reading.conversation import Event, Side
from zenoh_conformance.spec.errata import AS_WRITTEN

NOT_REACHED: Final = "not reached"
"""How the step of a finding begins where a check did not come to its point: it says nothing about its requirement."""

SILENCE: Final = "silence"
"""What a finding has got where nothing came."""

OVERSLEPT = f"{NOT_REACHED}: we were silent for longer than the lease that we stated"
"""The step of a finding if the target rightly ended the session."""

CALM = "a machine that is not busy"
"""What is expected where a moment tells what is right, and patience is stretched."""

KEPT_WAITING: Final = f"{NOT_REACHED}: we kept it waiting in the handshake"
"""The step of a finding if the target gave a handshake up for which we were late."""

LOST_ON_THE_WAY: Final = "this machine dropped datagrams meanwhile"
"""Why nothing counts that was seen over a link of datagrams."""

STATED_ROLE = "a role that the target string states (?role=)"
"""What is missing where a check needs to know what the target is in a network."""
OUR_FAULT = (OVERSLEPT, CALM, KEPT_WAITING, LOST_ON_THE_WAY)
"""Of what the cause speaks where we, or our machine, were too slow to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a peer did that a requirement forbids, or did not do that it asks for."""

    requirement: str
    sender: Side
    """The side at fault."""
    connection: str = ""
    time: float = 0.0
    path: str = ""
    """The segment at fault (`open.cookie`), or the step (`stage open`)."""
    expected: str = ""
    got: str = ""
    why: str = ""
    """Where expected and got do not tell it: one sentence."""
    end: str = ""
    """How the link ended, where that was judged."""
    event: Event | None = field(default=None, compare=False, repr=False)
    """What shows it: the event whose bytes completed the message at fault."""
    raw: bytes = field(default=b"", compare=False, repr=False)
    """The bytes of the transport message that shows it, or of the network message that fragments held."""
    within: str = field(default="", compare=False, repr=False)
    """The path of the message at fault in `raw`: `frame.messages[2].push`."""
    follows: str = ""
    """The erratum, by its phrase, whose text allows what came, where the baseline does something else."""
    circumstances: tuple[tuple[str, str | int], ...] = field(default=(), compare=False, repr=False)
    """Those on which it depends: name of a dimension and value."""
    links: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The connections that show it, where others of the same case do not; empty: all."""
    is_work: bool = False
    """Seen by asking a session for work: says little of a target whose sessions do none."""
    once: bool = False
    """Seen once, and not again by the same steps."""

    @property
    def reached(self) -> bool:
        """Whether the check came to its point."""
        return not self.path.startswith(NOT_REACHED)

    @property
    def saying(self) -> str:
        """The reason, or what came where something else is required."""
        return self.why or (f"{self.got} where {self.expected} is required" if self.expected else self.got)

    @property
    def cause(self) -> str:
        """One line for verdicts and known deviations; free of times and of values drawn at random."""
        return ": ".join(part for part in (self.path, self.saying, *self._reading) if part)

    @property
    def _reading(self) -> tuple[str, ...]:
        """What it means in practice that the target follows a text from which the baseline differs."""
        if not self.follows:
            return ()
        return (f"{AS_WRITTEN}, does not interoperate with the baseline in {self.follows}",)


class Deviation(Exception):  # noqa: N818 - it carries a peer's fault out of a case; it is no error of ours
    """Ends a case at its first finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.cause)
        self.finding = finding
