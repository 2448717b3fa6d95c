"""SCOUT and HELLO: find nodes over datagrams, before any session."""

from __future__ import annotations

from typing import Annotated

from zenoh_conformance.primitives import Role, RoleMask, ZidAfterMask, ZidAfterRole
from zenoh_conformance.wire import NO_EXTS, U8, Blob, Exts, Layer, Many, Unknown, Vle, given, message

Locators = Annotated[tuple[str, ...], Many(Blob(Vle(8), text=True), Vle(64))]


@message(0x01, "Z|X|X", layer=Layer.SCOUTING, ref="scouting#scout", lenient=True)
class Scout:
    """Asks for nodes; a node with one of these roles answers with HELLO.

     7 6 5 4 3 2 1 0
    |Z|X|X|  0x01   |
    """

    version: U8 = 9
    """The version of the protocol."""

    what: RoleMask
    """The roles that should answer: 1 router, 2 peer, 4 client."""

    zid: ZidAfterMask | None = None
    """The ZenohID of the asking node; bit 3 of the packed byte says whether it is present."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x02, "Z|X|L", layer=Layer.SCOUTING, ref="scouting#hello", lenient=True)
class Hello:
    """Announces a node, as the answer to SCOUT.

     7 6 5 4 3 2 1 0
    |Z|X|L|  0x02   |
    """

    version: U8 = 9
    """The version of the protocol."""

    whatami: Role
    """The role of the sender."""

    zid: ZidAfterRole
    """The ZenohID of the sender."""

    locators: Locators | None = given("L", default=None)
    """The addresses at which it listens; the source address of the HELLO when absent."""

    exts: Exts[Unknown] = NO_EXTS
