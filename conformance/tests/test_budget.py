"""No traffic extends a wait or fills our memory, and the cause says which budget was spent."""

from contextlib import suppress
from threading import BoundedSemaphore

import pytest

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Fragment, Init, KeepAlive, Push, Put
from zenoh_conformance.messages.frame import Frame
from zenoh_conformance.primitives import WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Conversation, Event, Framing, Happened, Side
from zenoh_conformance.talking.budget import (
    ALL,
    BYTES,
    DECODING,
    FEW,
    LARGE,
    MESSAGES,
    TOGETHER,
    UNPACKED,
    Budgets,
    ReadBudget,
)
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_conformance.talking.patience import LATE_BYTES, LATE_READS, Patience, Wait, longer, share


class Flood:
    """A wire on which the same bytes come again and again, a thousand times a second."""

    done = False
    name, link, framing, side = "us", "tcp", Framing.STREAM, Side.INITIATOR

    def __init__(self, data, tick=0.001):
        self.data, self.tick, self.time, self.reads = data, tick, 0.0, 0

    def now(self):
        return self.time

    def send(self, data):
        pass

    def receive(self, within):
        self.time += self.tick
        self.reads += 1
        return Event(self.time, self.name, Side.RESPONDER, Happened.BYTES, self.data)


def dialogue(data, **options):
    return Dialogue(Flood(data, **options), zid=b"\x01", unit=1.0, requirement="session-establishment/cookie-echo")


KEEP_ALIVES = frame_batch(encode(KeepAlive()), "stream") * 5
FRAGMENT = frame_batch(encode(Fragment(reliable=True, more=True, sn=0, payload=bytes(60_000))), "stream")
PUSH = Push(key=WireExpr(scope=0, suffix="k", mapping=True), body=Put(payload=bytes(60_000)))
EXTENDED = (5001).to_bytes(2, "little") + b"\x84" + b"\x8f" * 4999 + b"\x0f"
PUSHES = frame_batch(encode(Frame(reliable=True, sn=0, messages=(PUSH,))), "stream")
HALF = b"\x00"
"""A length that never becomes a batch."""


@pytest.mark.parametrize("data", [KEEP_ALIVES, HALF], ids=["keep-alives", "one byte at a time"])
@pytest.mark.parametrize("wait", ["stream", "next", "listen", "wait_until"])
def test_a_wait_ends_soon_after_its_deadline(data, wait):
    us = dialogue(data)
    match wait:
        case "stream":
            list(us.stream(1.0))
        case "next":
            us.next(1.0)
        case "listen":
            us.listen(1.0)
        case _:
            assert not us.wait_until(lambda: False, 1.0)
    assert us.wire.time <= 1.0 + LATE_READS * 0.001 + 0.01


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (KEEP_ALIVES, "the target sent 20,000 messages that nobody asked for"),
        (FRAGMENT, "the target sent 2 Mi bytes that nobody asked for"),
        (PUSHES, "the target sent 2 Mi bytes that nobody asked for"),
        (EXTENDED, "the target sent 4 Ki extensions that nobody asked for"),
    ],
    ids=["keep-alives", "one fragment chain", "pushes", "extensions"],
)
def test_what_nobody_asked_for_ends_the_check_without_a_verdict(data, cause):
    us = dialogue(data, tick=0.0)
    with pytest.raises(Deviation) as ended:
        us.listen(1.0)
    assert (ended.value.finding.reached, ended.value.finding.cause) == (False, f"not reached: {cause}")
    assert us.budget.bytes <= BYTES + len(data)
    assert len(us.heard) <= MESSAGES


def test_a_budget_is_shared_by_the_dialogues_of_a_check():
    one, other = dialogue(PUSHES, tick=0.0), dialogue(PUSHES, tick=0.0)
    other.budget = one.budget
    one.budget.bytes = BYTES - 100
    with pytest.raises(Deviation, match="2 Mi bytes"):
        other.listen(1.0)


def test_a_target_that_spent_several_budgets_gets_a_small_one():
    small = ReadBudget(FEW, messages=1001)
    assert small.spent == "the target sent 1,000 messages that nobody asked for"
    small.messages, small.unpacked = 0, (1 << 20) + 1
    assert small.spent == "the target sent 1 Mi bytes unpacked that nobody asked for"


def test_checks_that_run_together_share_what_they_hold():
    beside = [ReadBudget(bytes=BYTES) for _ in range(TOGETHER)]
    one, other = ReadBudget(beside=beside, bytes=BYTES >> 4), ReadBudget(beside=beside, bytes=(BYTES >> 4) + 1)
    beside += [one]
    assert other.spent == "the target sent 128 Ki bytes that nobody asked for"
    assert one.spent is None
    del beside[0]
    assert other.spent is None


@pytest.mark.parametrize("spent", [False, True])
@pytest.mark.parametrize("breaks", [False, True])
def test_a_check_that_has_ended_holds_nothing_of_what_all_share(spent, breaks):
    """Its overrun stays counted, however it ended."""
    budgets = Budgets()
    with suppress(ZeroDivisionError), budgets.one() as budget:
        assert budgets.under_way == [budget]
        budget.bytes = BYTES + spent
        if breaks:
            raise ZeroDivisionError
    assert (budgets.under_way, budgets.overruns) == ([], spent)


@pytest.mark.parametrize(("overruns", "most"), [(0, ALL), (2, ALL), (3, FEW), (4, FEW)])
def test_a_check_on_a_target_that_spent_three_budgets_gets_a_small_one(overruns, most):
    with Budgets(overruns=overruns).one() as budget:
        assert budget.most == most


def test_what_may_have_come_in_time_is_read_after_the_deadline():
    budget, wait = ReadBudget(), Wait(0.0, 1.0)
    assert not wait.is_over(0.9, budget)
    assert not wait.is_over(1.0, budget)
    budget.bytes += LATE_BYTES
    assert not wait.is_over(1.1, budget)
    budget.bytes += 1
    assert wait.is_over(1.1, budget)


@pytest.mark.parametrize(
    ("held_up", "due"),
    [([0.0], 1.0), ([0.5, 0.5], 1.5), ([0.5, 0.75, 0.75], 1.75), ([9.0], 5.0), ([float("inf")], 5.0)],
)
def test_a_wait_moves_by_what_the_target_could_not_run(held_up, due):
    asked = []

    def held(since):
        asked.append(since)
        return held_up[len(asked) - 1]

    budget, wait = ReadBudget(), Wait(10.0, Patience(5.0, 1.0), held)
    budget.reads = 1
    while not wait.moves(wait.due) or wait.due < 15.0:
        if len(asked) == len(held_up):
            break
    assert wait.due == 10.0 + due
    assert set(asked) == {10.0}
    assert not wait.is_over(wait.due - 0.01, budget)


def test_a_plain_number_of_seconds_never_moves():
    wait = Wait(0.0, 2.0, lambda _since: 1 / 0)
    assert not wait.moves(2.0)
    assert wait.due == 2.0


def test_a_part_of_a_patience_and_the_longest_are_patiences():
    half, most = share(Patience(4.0, 1.0), 0.5), longer(Patience(4.0, 1.0), 3.0)
    assert (half, half.calm, most, most.calm) == (2.0, 0.5, 4.0, 3.0)


def test_what_we_sent_may_come_back_to_each_of_our_sessions():
    us = dialogue(PUSHES)
    us.budget.bytes = BYTES + 16 * len(PUSHES)
    assert us.budget.spent
    us.send_bytes(PUSHES)
    assert us.budget.spent is None
    us.budget.bytes += 1
    assert us.budget.spent == "the target sent 2 Mi bytes that nobody asked for"


@pytest.mark.parametrize(
    ("sent", "read", "most"),
    [("sent", "bytes", BYTES), ("sent_messages", "messages", MESSAGES), ("sent", "unpacked", UNPACKED)],
)
def test_each_budget_grows_sixteenfold_by_what_we_sent(sent, read, most):
    """The target may pass each message on to sixteen sessions of ours."""
    budget = ReadBudget(**{sent: 10, read: most + 160})
    assert budget.spent is None
    setattr(budget, read, most + 161)
    assert budget.spent


@pytest.mark.parametrize(("bytes_sent", "pieces"), [(7, 0), (8, 1), (80, 10)])
def test_what_we_sent_whole_may_come_back_in_pieces_of_eight_bytes(bytes_sent, pieces):
    budget = ReadBudget(sent=bytes_sent, messages=MESSAGES + 16 * pieces)
    assert budget.spent is None
    budget.messages += 1
    assert budget.spent == "the target sent 20,000 messages that nobody asked for"


def test_each_init_of_ours_may_be_answered_with_a_full_batch():
    us = dialogue(KEEP_ALIVES)
    init = frame_batch(encode(Init(ack=False, whatami=WhatAmI.PEER, zid=ZenohID(b"\x01"))), "stream")
    us.send_bytes(init)
    us.budget.bytes = BYTES + 16 * len(init) + 65_535
    assert us.budget.spent is None
    us.budget.bytes += 1
    assert us.budget.spent == "the target sent 2 Mi bytes that nobody asked for"


def test_the_beginning_of_a_long_conversation_is_kept():
    said = Conversation(events=[Event(0.0, "us", Side.RESPONDER, Happened.BYTES, bytes(10)) for _ in range(5)])
    said.cut(50)
    assert len(said.events) == 5
    said.cut(39)
    assert len(said.events) == 3


def test_large_input_is_decoded_in_turn_with_other_checks():
    turns = []

    class Turn:
        def __enter__(self):
            turns.append(us.budget.bytes)

        def __exit__(self, *_):
            pass

    us = dialogue(PUSHES, tick=0.0)
    us.budget.turn = Turn()
    with pytest.raises(Deviation):
        us.listen(1.0)
    assert turns
    assert min(turns) >= LARGE


def test_all_checks_on_a_target_share_the_turns():
    budgets = Budgets(turn=BoundedSemaphore(DECODING))
    with budgets.one() as one, budgets.one() as other:
        assert one.turn is other.turn
        taken = [one.turn.acquire(blocking=False) for _ in range(DECODING + 1)]
        assert taken == [True] * DECODING + [False]
