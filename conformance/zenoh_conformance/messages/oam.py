"""OAM of both layers: management payloads; a node ignores those whose id it does not know."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.wire import NO_EXTS, ByEnc, Enc, Exts, Layer, Vle, Z16Cut, bits, message

from .frame import QoS as Lane
from .network import QoS, TimestampExt

OamBody = Annotated[int | bytes, ByEnc()]

LINK_STATE = 1
"""The id of the link-state messages between routers."""


def purpose(number: int) -> str:
    """`1 link state`."""
    return f"{number} link state" if number == LINK_STATE else str(number)


@message(0x00, "Z|ENC|ENC", layer=Layer.TRANSPORT, ref="message-reference#transport-oam")
class Oam:
    """Carries a management payload of the transport.

     7 6 5 4 3 2 1 0
    |Z|ENC|  0x00   |
    """

    id: Z16Cut
    """The kind of the payload."""

    enc: Enc = bits("ENC")
    """The encoding of the body."""

    exts: Exts[Lane] = NO_EXTS

    body: OamBody | None = None
    """None, an integer or bytes, as `enc` says."""


@message(0x1F, "Z|ENC|ENC", layer=Layer.NETWORK, ref="message-reference#network-oam")
class NetworkOam:
    """Carries a management payload of the network; id 1 is the link state of routers.

     7 6 5 4 3 2 1 0
    |Z|ENC|  0x1f   |
    """

    id: Annotated[int, Vle(16, cut=True, says=purpose)]
    """The kind of the payload."""

    enc: Enc = bits("ENC")
    """The encoding of the body."""

    exts: Exts[QoS | TimestampExt] = NO_EXTS

    body: OamBody | None = None
    """None, an integer or bytes, as `enc` says."""
