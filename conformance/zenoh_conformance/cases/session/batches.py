"""Batches of a live session: what is larger than the negotiated size is fragmented."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.establishment.sane import a_session_does_work
from zenoh_conformance.messages import Fragment, Push
from zenoh_conformance.talking import Dialogue, Scene, payload_of


@case(
    "batching/large-message-fragmented",
    needs=("routing", "several-sessions"),
    control=a_session_does_work,
    parameters=grid(size=(600, 5_000, 40_000)),
)
def what_does_not_fit_is_fragmented(scene: Scene, *, size: int) -> None:
    """
    A subscriber that takes batches of 512 bytes is sent a larger publication: in fragments, each within the batch.

        near    InitSyn (batch size 512) .. OpenAck, subscribes
        us      FRAME or FRAGMENTs (PUT, larger)
        target  FRAGMENTs to near, none larger than its batch
    """
    takes(scene, size)
    near = scene.dialogue("near").open(batch_size=512)
    key = f"zconform/{near.zid.hex()}/large"
    near.subscribe(key)
    near.fence(step="not reached: subscribed")
    us = scene.session()

    us.publish(key, bytes(size), block=True)  # in many pieces: a busy node may drop what may be dropped

    near.expect(Fragment, where=lambda fragment: not fragment.more, step="the publication")
    came = near.wait_until(lambda: bytes(size) in values_in(near))
    require_value(near, bytes(size), came=came, others=bool(values_in(near)), step="the fragments together")
    whole = [seen for seen in near.heard if isinstance(seen.message, Push)][-1]
    near.require(isinstance(whole.around[0], Fragment), expected="fragments", got="a FRAME", step="the publication")


def values_in(us: Dialogue) -> list[bytes | None]:
    """The values of all publications that came, in order."""
    return [payload_of(seen.message) for seen in us.heard if isinstance(seen.message, Push)]


def require_value(us: Dialogue, payload: bytes, *, came: bool, others: bool, step: str) -> None:
    """Deviates where a value did not come: one that came in its place is another fault than one that was lost."""
    with us.about("push/put-delivers-value"):
        us.require(came or not others, expected=f"{len(payload)} bytes as sent", got="others", step=step)
    us.require(came, expected="Push", got=us.text_of(None), step=step)
