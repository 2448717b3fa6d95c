"""What our sessions asked a routing node and what they heard from it, for cases and their causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zenoh_conformance.messages import Push, Reply, Request, Response
from zenoh_conformance.reading.connection import Seen

if TYPE_CHECKING:
    from .party import Party

BEHIND = "behind another message"
"""How a message came that did not come by itself."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of ours, as it was sent."""

    id: int
    key: str
    """Whole."""
    request: Request
    by: Party = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Heard:
    """A network message that came, with its key spelt out."""

    message: Any
    key: str | None
    """The whole key that it is about; None where it is about none, or where its scope was never declared."""
    seen: Seen


def payload_of(message: Push | Response) -> bytes | None:
    """The value that is published, or the value or error that answers; None for a deletion."""
    body = message.body.body if isinstance(message.body, Reply) else message.body
    return getattr(body, "payload", None)


def told(payloads: Sequence[bytes | None]) -> str:
    """Payloads for a cause."""
    return " ".join("deleted" if one is None else one.hex() or "empty" for one in payloads) or "no answer"
