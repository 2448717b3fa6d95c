"""The kinds of message that a dialogue waits for: a message class, or INIT and OPEN told apart by A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .messages import Close, Frame, Init, KeepAlive, Open


@dataclass(frozen=True, slots=True)
class Kind:
    """A message class, narrowed by the value of its A flag where it has one."""

    name: str
    message: type[Any]
    ack: bool | None = None

    def matches(self, message: object) -> bool:
        """Whether a message is of this kind."""
        return isinstance(message, self.message) and (self.ack is None or message.ack is self.ack)


InitSyn = Kind("InitSyn", Init, ack=False)
InitAck = Kind("InitAck", Init, ack=True)
OpenSyn = Kind("OpenSyn", Open, ack=False)
OpenAck = Kind("OpenAck", Open, ack=True)
NAMED = (InitSyn, InitAck, OpenSyn, OpenAck)


def kind(what: Kind | type[Any]) -> Kind:
    """A kind from itself or from a message class."""
    return what if isinstance(what, Kind) else Kind(what.__name__, what)


def name_of(message: object) -> str:
    """What people call a message: `InitAck`, `Close(INVALID)`, `Frame`."""
    for named in NAMED:
        if named.matches(message):
            return named.name
    if isinstance(message, Close):
        return f"Close({reason_name(message.reason)})"
    return type(message).__name__


REASONS = (
    "GENERIC", "UNSUPPORTED", "INVALID", "MAX_SESSIONS", "MAX_LINKS", "EXPIRED", "UNRESPONSIVE", "CONNECTION_TO_SELF",
)  # fmt: skip
"""The reasons of CLOSE by code (close#reason-codes)."""


def reason_name(code: int) -> str:
    """The name of a reason code; the number where the page assigns none."""
    return REASONS[code] if code < len(REASONS) else str(code)


def reason_code(name: str) -> int:
    """The code of a named reason. Raises ValueError for an unknown name."""
    return REASONS.index(name)


CARRIERS = (Frame, KeepAlive)
"""Session traffic that may come at any time on a live session and says nothing about the last thing sent."""
