"""The reference's user and password: the baseline's method inside the opaque Auth extension, seen from the responder.

What a session must show is told in `zenoh_harness.reference.credentials`.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Any

from zenoh_conformance.messages.init import Auth
from zenoh_conformance.wire import vle
from zenoh_harness.reference.credentials import NONCE, USER_METHOD, answer

Credentials = tuple[str, str]


def nonce_for(link: str, secret: bytes) -> int:
    """The challenge of a link: another one for each."""
    return int.from_bytes(hmac.digest(secret, b"nonce " + link.encode(), "sha256")[:7], "little")


def challenge(nonce: int) -> Auth:
    """What InitAck asks."""
    return Auth(payload=bytes([NONCE]) + vle.encode(nonce))


def will_show(exts: Iterable[Any]) -> bool:
    """Whether an InitSyn says that it will show a user."""
    return any(isinstance(ext, Auth) and ext.payload == USER_METHOD for ext in exts)


def shows(exts: Iterable[Any], credentials: Credentials, nonce: int) -> bool:
    """Whether an OpenSyn shows the right user and password for that challenge."""
    wanted = answer(credentials, nonce)
    return any(isinstance(ext, Auth) and hmac.compare_digest(ext.payload, wanted) for ext in exts)
