"""Publications that nobody reads for a while: which of them may be lost. Toward a node that routes between its clients.

No case can fill a node to its brim in the same way everywhere; these say more than one batch holds, and read it late.
"""

from __future__ import annotations

from zenoh_conformance import sane
from zenoh_conformance.case import case
from zenoh_conformance.messages import Push, Put
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.party import Party
from zenoh_conformance.scene import Scene
from zenoh_conformance.wire.extensions import Exts

from .qos_defaults import NEEDS
from .routing_plain import a_publication_reaches_a_subscriber, heard_of

MANY, LARGE = 48, 4096
"""Publications and bytes of each: three batches of the largest size."""
DROP, BLOCK, BLOCK_FIRST = 0x05, 0x0D, 0x25
"""QoS bytes of priority Data."""


def said_and_read_late(publisher: Party, subscriber: Party, qos: int) -> list[int]:
    """Which of many publications come to who reads after all were said, in the order in which they come."""
    for number in range(MANY):
        body = Put(payload=bytes([number]) * LARGE)
        publisher.says(Push(key=publisher.key("k"), exts=Exts((QoS(value=qos),)), body=body))
    end = Push(key=publisher.key("k"), exts=Exts((QoS(value=BLOCK),)), body=Put(payload=b"end"))
    publisher.says(end)
    publisher.settles("not reached: all was said")
    subscriber.awaits(lambda: any(one.message.body.payload == b"end" for one in subscriber.heard(Push)))
    return [one.message.body.payload[0] for one in subscriber.heard(Push) if len(one.message.body.payload) == LARGE]


def in_order(subscriber: Party, got: list[int]) -> None:
    """Deviate when something came twice, or before what was said earlier."""
    subscriber.us.require(
        got == sorted(set(got)), expected="each once, in order", got="another order", step="what was read late"
    )


@case("message-reference/congestion-block", needs=NEEDS, control=a_publication_reaches_a_subscriber)
def what_must_not_be_dropped_is_not(scene: Scene) -> None:
    """
    Publications with Block come all, though they are read late.

        publisher   PUSH (QoS: Data, Block), as many as fill three batches
        subscriber  reads
        target      to the subscriber: each of them
    """
    publisher, subscriber = heard_of(scene, whole=False)

    got = said_and_read_late(publisher, subscriber, BLOCK)

    subscriber.us.require(
        set(got) == {*range(MANY)}, expected="all that was said", got="less", step="what was read late"
    )
    in_order(subscriber, got)


@case("message-reference/congestion-drop", needs=NEEDS, control=a_publication_reaches_a_subscriber)
def what_may_be_dropped_comes_in_order(scene: Scene) -> None:
    """
    Publications with Drop may be lost; those that come, come in order and once, and the session goes on.

        publisher   PUSH (QoS: Data, Drop), as many as fill three batches
        subscriber  reads
        target      to the subscriber: some of them, or all
    """
    publisher, subscriber = heard_of(scene, whole=False)

    got = said_and_read_late(publisher, subscriber, DROP)

    in_order(subscriber, got)
    publisher.puts("k", b"after")
    subscriber.settles("the session goes on")


@case("message-reference/congestion-block-first", needs=(*NEEDS, "patch"), control=a_publication_reaches_a_subscriber)
def of_those_that_wait_first_one_comes(scene: Scene) -> None:
    """
    On sessions with patch 1, publications with BlockFirst: the first one waits for space; those after it may be dropped.

        publisher   PUSH (QoS: Data, BlockFirst), as many as fill three batches
        subscriber  reads
        target      to the subscriber: the first one, and some after it, or all
    """
    dialogues = [
        scene.dialogue(name).open(exts=sane.offers("QoS", patch=1)) for name in ("publisher", "subscriber")
    ]  # fmt: skip
    root = f"zconform/{dialogues[0].zid.hex()}"
    publisher, subscriber = (Party(us, "a party", root) for us in dialogues)
    subscriber.declares_subscriber("k")
    publisher.puts("k", b"plain")
    subscriber.expect_push("k", step="not reached: a plain publication")

    got = said_and_read_late(publisher, subscriber, BLOCK_FIRST)

    subscriber.us.require(got[:1] == [0], expected="the first one", got="none of it", step="what was read late")
    in_order(subscriber, got)
