"""SCOUT and HELLO: finding each other on datagrams, before any session."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives.zid import Role, RoleMask, ZidAfterMask, ZidAfterRole
from zenoh_conformance.wire.declare import NO_EXTS, Exts, given, message
from zenoh_conformance.wire.extensions import Unknown
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.nested import Many
from zenoh_conformance.wire.types import U8, Blob, Vle

Locators = Annotated[tuple[str, ...], Many(Blob(Vle(8), text=True), Vle(64))]


@message(0x01, "Z|X|X", layer=Layer.SCOUTING, ref="scouting#scout", lenient=True)
class Scout:
    """Who is there?  Whoever plays one of these roles answers with HELLO.

     7 6 5 4 3 2 1 0
    |Z|X|X|  0x01   |
    """

    version: U8 = 9
    """Of the protocol."""

    what: RoleMask
    """1 router, 2 peer, 4 client."""

    zid: ZidAfterMask | None = None
    """Who asks; bit 3 of the packed byte says whether it is told."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x02, "Z|X|L", layer=Layer.SCOUTING, ref="scouting#hello", lenient=True)
class Hello:
    """I am.

     7 6 5 4 3 2 1 0
    |Z|X|L|  0x02   |
    """

    version: U8 = 9
    """Of the protocol."""

    whatami: Role
    """What the sender is."""

    zid: ZidAfterRole
    """Who the sender is."""

    locators: Locators | None = given("L", default=None)
    """Where it listens; where the answer came from, when absent."""

    exts: Exts[Unknown] = NO_EXTS
