"""User and password of the reference node as responder.

`zenoh_harness.reference.credentials` describes the method.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Any

from zenoh_conformance.messages import Auth
from zenoh_conformance.wire import vle
from zenoh_harness.reference.credentials import NONCE, USER_METHOD, answer

Credentials = tuple[str, str]


def nonce_for(link: str, secret: bytes) -> int:
    """Return the nonce of a link, which is different for each link."""
    return int.from_bytes(hmac.digest(secret, b"nonce " + link.encode(), "sha256")[:7], "little")


def challenge(nonce: int) -> Auth:
    """Return the Auth extension of the InitAck."""
    return Auth(payload=bytes([NONCE]) + vle.encode(nonce))


def will_show(exts: Iterable[Any]) -> bool:
    """Return whether an InitSyn announces user and password."""
    return any(isinstance(ext, Auth) and ext.payload == USER_METHOD for ext in exts)


def shows(exts: Iterable[Any], credentials: Credentials, nonce: int) -> bool:
    """Return whether an OpenSyn proves the right user and password for this nonce."""
    wanted = answer(credentials, nonce)
    return any(isinstance(ext, Auth) and hmac.compare_digest(ext.payload, wanted) for ext in exts)
