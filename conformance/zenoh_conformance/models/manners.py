"""How the models say a message, drawn from the dimensions of the routing cases: lane, channel, size, packing and more.

No model of its own.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from zenoh_conformance.cases.routing.circumstances import (
    CARRIED,
    CHANNEL,
    EXPRESS,
    FIELDS,
    LANE,
    PACKING,
    PATTERN,
    SIZE,
    TERMS,
    say,
)
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import Push, Put, PutAttachment
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Party
from zenoh_conformance.wire import Exts

DRAWN: Final = (LANE, CHANNEL, EXPRESS, SIZE, PACKING, CARRIED)
NOBODY: Final = "beside/packed"
"""A key that nobody declares, below our root."""
MARK: Final = 2
"""Bytes at the beginning of a payload that no other has."""

DRESSES: Final[tuple[tuple[Encoding | None, bytes | None], ...]] = (
    (Encoding(5), None), (Encoding(3, b"of ours"), b"beside it"), (Encoding(7), b""), (None, None),
)  # fmt: skip
"""What may go with a value: an encoding, an attachment."""

manners = st.builds(Variation, st.fixed_dictionaries({each.name: st.sampled_from(each.values) for each in DRAWN}))
"""The circumstances of one message; the simplest ones are the defaults."""
terms = st.sampled_from(tuple(FIELDS[str(each)] for each in TERMS.values))
"""What an InitSyn has otherwise."""


def put_with_extras(payload: bytes, number: int) -> Put:
    """A value with what that number says goes with it."""
    encoding, attachment = DRESSES[number % len(DRESSES)]
    beside: Exts[Any] = Exts(() if attachment is None else (PutAttachment(payload=attachment),))
    return Put(encoding=encoding, exts=beside, payload=payload)


def qos_of(v: Variation) -> QoS:
    """The QoS of a message, which blocks: a busy node may drop what does not."""
    return QoS(value=0x08 | v.number(LANE) | 0x10 * v.number(EXPRESS))


def payload_of_size(v: Variation, mark: int) -> bytes:
    """A payload of the drawn size, or of the bytes that its mark takes."""
    size = max(MARK, v.number(SIZE))
    return mark.to_bytes(MARK, "big") + (PATTERN * (size // len(PATTERN) + 1))[: size - MARK]


def say_drawn(who: Party, v: Variation, message: Any) -> None:
    """Say a message as it was drawn; where it is packed, together with one for nobody."""
    other = Push(key=plain(who.whole(NOBODY)), exts=Exts((qos_of(v),)), body=Put(payload=b"packed"))
    say(who, v, *([message] if v[PACKING] == PACKING.default else [other, message]))
