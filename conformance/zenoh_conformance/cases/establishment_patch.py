"""What the patch in INIT changes: markers on fragments. Toward a responder."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from zenoh_conformance.case import case, grid
from zenoh_conformance.codec import Layer, decode
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.messages import Fragment, Push, Put
from zenoh_conformance.messages.fragment import Drop, First
from zenoh_conformance.scene import Scene
from zenoh_conformance.wire.errors import DecodeError

from .establishing import takes
from .establishment_sane import a_session_does_work

SMALL = 256
"""Bytes of the batches that we take: what is larger comes in fragments."""


@case(
    "session-establishment/patch-zero-sends-no-markers",
    needs=("routing", "several-sessions"),
    control=a_session_does_work,
    parameters=grid(size=(600, 5000)),
)
def toward_patch_zero_no_marker_is_needed(scene: Scene, *, size: int) -> None:
    """
    We state no patch and take small batches; what comes in fragments makes a message for a node that knows no markers. First on its
    first fragment is what the baseline sends to everybody (erratum first-marker-always); as written there is none.

        us      InitSyn (batch size 256, no Patch) .. a live session
        us      DECLARE (subscriber)
        other   PUSH (larger than our batch)
        target  FRAGMENT, .., to us: no Drop, and together they are the PUSH
    """
    takes(scene, size)
    us = scene.dialogue().open(batch_size=SMALL)
    key = f"zconform/patch/{us.zid.hex()}"
    us.subscribe(key)
    us.fence(step="not reached: subscribed")

    scene.session("other").publish(key, bytes(size), block=True)

    pieces = until_whole(us)
    marks = {type(mark) for piece in pieces for mark in piece.exts}
    us.require(Drop not in marks, expected="no Drop", got="Drop", step="fragment.exts")
    us.require(pushed(pieces) == size, expected="the publication", got="something else", step="the fragments together")
    scene.follows("first-marker-always" if First in marks else None)


def until_whole(us: Dialogue) -> list[Fragment]:
    """The fragments that the target sends us, up to the first that none follows; deviates when there are none, or no end."""
    chains: dict[Any, list[Fragment]] = defaultdict(list)
    for seen in us.stream():
        us.require(
            seen.kind != "push", expected="fragments", got="the publication whole", step="not reached: fragments"
        )
        if isinstance(seen.message, Fragment):
            chains[seen.channel].append(seen.message)
            if not seen.message.more:
                pieces = chains.pop(seen.channel)
                if not is_another(pieces):
                    return pieces
    count = sum(map(len, chains.values()))
    us.deviate(expected="fragments to the last", got=f"{count} of them", step="the fragments together")
    raise AssertionError("deviate raises")


def is_another(pieces: list[Fragment]) -> bool:
    """Whether the fragments are a message that is no PUSH, which the target may say in fragments, too."""
    try:
        return not isinstance(decode(b"".join(piece.payload for piece in pieces), Layer.NETWORK).message, Push)
    except DecodeError:
        return False


def pushed(pieces: list[Fragment]) -> int | None:
    """Bytes of the payload of the PUSH that the fragments are, joined as they come; None when they are none."""
    try:
        message = decode(b"".join(piece.payload for piece in pieces), Layer.NETWORK).message
    except DecodeError:
        return None
    return len(message.body.payload) if isinstance(message, Push) and isinstance(message.body, Put) else None
