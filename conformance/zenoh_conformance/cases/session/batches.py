"""Batches of a live session: what is larger than the negotiated size is fragmented."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.establishment.sane import a_session_does_work
from zenoh_conformance.messages import Fragment, Push
from zenoh_conformance.talking import Scene


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
    near.expect(Push, where=lambda push: getattr(push.body, "payload", b"") == bytes(size), step="fragment.payload")
    whole = [seen for seen in near.heard if isinstance(seen.message, Push)][-1]
    near.require(isinstance(whole.around[0], Fragment), expected="fragments", got="a FRAME", step="the publication")
