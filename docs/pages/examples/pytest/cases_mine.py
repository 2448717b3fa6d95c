"""An additional case: a property of this implementation that the specification does not require."""

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.establishing import issued_cookie
from zenoh_conformance.talking.scene import Scene


@case("session-establishment/cookie-must-match")
def a_cookie_has_sixteen_bytes(scene: Scene) -> None:
    """
    Our cookies are random, and sixteen bytes long.

        us      InitSyn
        target  InitAck, with a cookie of sixteen bytes
    """
    us = scene.dialogue()
    _, cookie = issued_cookie(us)
    us.require(len(cookie) == 16, expected="16 bytes", got=f"{len(cookie)} bytes", step="the cookie")
