"""The MultiLink extension of the reference node as responder; `multilink_method` describes the method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zenoh_conformance.messages import MultiLink, MultiLinkSyn
from zenoh_conformance.wire import DecodeError
from zenoh_harness.reference.multilink_method import REFERENCE, blob, blobs, key_shown


def shows_key(exts: Iterable[Any]) -> bool:
    """Return whether an InitSyn contains a public key for which a challenge can be made."""
    return any(isinstance(ext, MultiLink) and key_shown(ext.payload) is not None for ext in exts)


def challenge(offered: MultiLink, nonce: int) -> MultiLink:
    """Return the MultiLink extension of the InitAck: our public key and the encrypted nonce."""
    theirs = key_shown(offered.payload)
    assert theirs is not None
    return MultiLink(payload=REFERENCE.public.shown + blob(theirs.encrypted(nonce)))


def proves(exts: Iterable[Any], nonce: int) -> bool:
    """Return whether an OpenSyn returns the nonce."""
    return any(isinstance(ext, MultiLinkSyn) and _read(ext.payload) == nonce for ext in exts)


def _read(payload: bytes) -> int | None:
    try:
        parts = blobs(payload)
    except DecodeError:
        return None
    return REFERENCE.read(parts[0]) if parts else None
