"""The kinds of message that a dialogue waits for: a message class, for INIT and OPEN with the value of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

from zenoh_conformance.messages import Close, CloseReason, Init, Open

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class MessageKind(Generic[M]):
    """A message class, restricted by the value of its flag A for INIT and OPEN."""

    name: str
    message: type[M]
    ack: bool | None = None

    def matches(self, message: object) -> TypeGuard[M]:
        """Whether a message is of this kind."""
        return isinstance(message, self.message) and (self.ack is None or getattr(message, "ack", None) is self.ack)


AnyKind = MessageKind[Any]

InitSyn = MessageKind("InitSyn", Init, ack=False)
InitAck = MessageKind("InitAck", Init, ack=True)
OpenSyn = MessageKind("OpenSyn", Open, ack=False)
OpenAck = MessageKind("OpenAck", Open, ack=True)
NAMED: tuple[AnyKind, ...] = (InitSyn, InitAck, OpenSyn, OpenAck)


def kind(wanted: MessageKind[M] | type[M]) -> MessageKind[M]:
    """The kind of a message class; a kind itself unchanged."""
    return wanted if isinstance(wanted, MessageKind) else MessageKind(wanted.__name__, wanted)


def name_of(message: object) -> str:
    """The name of a message for people: `InitAck`, `Close(INVALID)`, `Frame`."""
    if isinstance(message, Close):
        return f"Close({reason_name(message.reason)})"
    return next((kind.name for kind in NAMED if kind.matches(message)), type(message).__name__)


REASONS = tuple(reason.name for reason in CloseReason)
"""The reasons of CLOSE by code (close#reason-codes)."""


def reason_name(code: int) -> str:
    """The name of a reason code; the number if the page assigns no name."""
    return REASONS[code] if code < len(REASONS) else str(code)


def reason_code(name: str) -> int:
    """The code of a named reason. Raises ValueError for an unknown name."""
    return REASONS.index(name)
