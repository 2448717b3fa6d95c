"""Finds the bytes of one message of a FRAME inside the bytes of the FRAME."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from . import explain

_IN_FRAME: Final = re.compile(r"frame\.messages\[\d+\]")


class MessagePlace(NamedTuple):
    """The bytes of a message, and where they begin."""

    at: int
    """Offset in the transport message that carries it."""
    data: bytes


def place_in_frame(raw: bytes, path: str) -> MessagePlace:
    """The network message of `path` (`frame.messages[2].push.put`) inside the transport message `raw`.

    A path that leads into no FRAME is that of the whole message; so is one that `raw` does not hold.
    """
    found = _IN_FRAME.match(path)
    return _places(raw).get(found[0], MessagePlace(0, raw)) if found else MessagePlace(0, raw)


@lru_cache(maxsize=8)
def _places(raw: bytes) -> Mapping[str, MessagePlace]:
    """The messages of a FRAME by path; kept for the next message of the same FRAME."""
    places: dict[str, MessagePlace] = {}
    for line in explain.explain_batch(raw).lines:
        if found := _IN_FRAME.match(line.path):
            before = places.get(found[0], MessagePlace(line.at, b""))
            places[found[0]] = before._replace(data=before.data + line.data)
    return places
