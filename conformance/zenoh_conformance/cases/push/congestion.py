"""Publications that nobody reads for a while: which of them may be lost. Toward a node that routes between its clients.

They say more than one batch holds, and read it late. At night one says more than the buffers of a link and the queues of a node hold.
"""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import a_publication_reaches_a_subscriber, heard_of
from zenoh_conformance.messages import Push, Put, sane
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.talking import Party, Scene, payload_of
from zenoh_conformance.wire import Exts

from .qos_defaults import NEEDS

AREA = "congestion"

MANY, LARGE = 48, 4096
"""Publications and bytes of each: three batches of the largest size."""
FLOOD, HUGE = 560, 60000
"""Publications and bytes of each: 32 MiB, more than the buffers of a link and the queues of a node hold."""
DROP, BLOCK, BLOCK_FIRST = 0x05, sane.BLOCK, 0x25
"""QoS bytes of priority Data."""


def said_and_read_late(
    publisher: Party, subscriber: Party, qos: int, count: int = MANY, size: int = LARGE
) -> list[int]:
    """Which of many publications reach a session that reads after all were sent, in the order of arrival.

    The last one, with Block, is said when all before it are dealt with: a full node may wait with it until we read.
    """
    for number in range(count):
        body = Put(payload=number.to_bytes(4, "big") * (size // 4))
        publisher.says(Push(key=publisher.key("k"), exts=Exts((QoS(value=qos),)), body=body))
    publisher.settles("not reached: all was said")
    publisher.says(Push(key=publisher.key("k"), exts=Exts((QoS(value=BLOCK),)), body=Put(payload=b"end")))
    subscriber.awaits(lambda: any(payload_of(one.message) == b"end" for one in subscriber.heard(Push)))
    payloads = (payload_of(one.message) or b"" for one in subscriber.heard(Push))
    return [int.from_bytes(payload[:4], "big") for payload in payloads if len(payload) == size]


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


@case(
    "message-reference/congestion-drop",
    parameters=grid(count=(MANY,), size=(LARGE,)),
    nightly=grid(count=(FLOOD,), size=(HUGE,)),
    needs=NEEDS,
    control=a_publication_reaches_a_subscriber,
)
def what_may_be_dropped_comes_in_order(scene: Scene, *, count: int, size: int) -> None:
    """
    Publications with Drop may be lost; those that come, come in order and once, and the session goes on.

        publisher   PUSH (QoS: Data, Drop), as many as fill three batches; at night the node and its link
        subscriber  reads
        target      to the subscriber: some of them, or all
    """
    publisher, subscriber = heard_of(scene, whole=False)

    got = said_and_read_late(publisher, subscriber, DROP, count, size)

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
