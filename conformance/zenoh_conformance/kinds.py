"""The kinds of message that a dialogue waits for: a message class, or INIT and OPEN told apart by A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

from .messages import Close, Frame, Init, KeepAlive, Open

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Kind(Generic[M]):
    """A message class, narrowed by the value of its A flag where it has one."""

    name: str
    message: type[M]
    ack: bool | None = None

    def matches(self, message: object) -> TypeGuard[M]:
        """Whether a message is of this kind."""
        return isinstance(message, self.message) and (self.ack is None or getattr(message, "ack", None) is self.ack)


AnyKind = Kind[Any]

InitSyn = Kind("InitSyn", Init, ack=False)
InitAck = Kind("InitAck", Init, ack=True)
OpenSyn = Kind("OpenSyn", Open, ack=False)
OpenAck = Kind("OpenAck", Open, ack=True)
NAMED: tuple[AnyKind, ...] = (InitSyn, InitAck, OpenSyn, OpenAck)


def kind(what: Kind[M] | type[M]) -> Kind[M]:
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
