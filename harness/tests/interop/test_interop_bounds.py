"""Interop with applications and links that never fall silent: each wait and each step ends, and the run says why."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_harness.errors import AgentError, AgentRefuses
from zenoh_harness.interop import run, voice
from zenoh_harness.interop.run import InteropRun, Tape
from zenoh_harness.interop.talk import Fences, Talk
from zenoh_harness.interop.voice import Voice
from zenoh_harness.run.attempt.options import Options


def test_an_application_that_hears_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(voice, "MOST_HEARD", 1 << 20)
    other = {"event": "sample", "id": "another", "payload": "00" * 1000}
    hearing = Voice(SimpleNamespace(events=lambda _count, _within: [other]), Side.RESPONDER)
    with pytest.raises(AgentError) as told:
        hearing.hear("mine", 60.0)
    assert "1 MiB" in str(told.value.seen)


def test_a_question_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(voice, "ANSWERED", 0.0)
    reply = {"event": "reply", "id": "mine"}
    asking = voice.Ear(Voice(SimpleNamespace(events=lambda _count, _within: [reply]), Side.RESPONDER), "mine")
    assert list(asking.until_end()) == [reply]


def test_earlier_fences_do_not_prolong_the_wait_for_one():
    waits, numbers = [], iter([1, 2, 3])

    def heard(within):
        waits.append(within)
        return next(({"payload": f"{number:016x}"} for number in numbers), None)

    fences = object.__new__(Fences)
    receiver = SimpleNamespace(side=Side.RESPONDER)
    fences._ears = {id(receiver): SimpleNamespace(next=heard)}
    assert not fences._fence_arrives(receiver, 9, 5.0)
    assert len(waits) == 4
    assert waits == sorted(set(waits), reverse=True)
    assert waits[0] <= 5.0


def test_a_library_that_publishes_nothing_before_its_session_is_back_is_waited_for():
    refusals, put = [True] * 3, []

    def puts(_key, payload):
        if refusals and refusals.pop():
            raise AgentRefuses("the agent refuses put", step="agent put", seen="no session")
        put.append(payload)

    voice = SimpleNamespace(side=Side.RESPONDER, put=puts)
    fences = object.__new__(Fences)
    fences._ears = {id(voice): SimpleNamespace(next=lambda _within: {"payload": put[-1].hex()} if put else None)}
    fences._numbers = count(1)
    fences.join(voice, voice)
    assert not refusals


@pytest.mark.parametrize(("is_cut", "verdict"), [(True, Verdict.NOT_APPLICABLE), (False, Verdict.FAIL)])
def test_a_command_that_is_refused_without_a_link_is_no_fault(is_cut, verdict):
    def scenario(_talk):
        raise AgentRefuses("the agent refuses put", step="agent put", seen="no session")

    this = SimpleNamespace(_pair=SimpleNamespace(talk=lambda _here: SimpleNamespace(is_cut=is_cut)))
    step = SimpleNamespace(here=Side.RESPONDER, values=(), scenario=SimpleNamespace(function=scenario))
    assert InteropRun._went(this, step)[0] is verdict


class Flooded(InteropRun):
    """A pair of which one side sends more in each step than may be kept."""

    def __init__(self):
        self.options, self.steps, self.done = Options(out=Path()), [SimpleNamespace(label="a-step")] * 3, 0
        self._pair = SimpleNamespace(lacking="", stir=lambda: None)
        self.recorded = []
        self._tape = Tape(self.recorded.append)

    def _step(self, step, records):
        self.done += 1
        for _ in range(100):
            self._tape(Event(0.0, "a", Side.RESPONDER, Happened.BYTES, bytes(60_000)))


def test_a_run_with_a_link_that_never_falls_silent_does_not_go_on(monkeypatch):
    monkeypatch.setattr(run, "MOST_KEPT", 1 << 20)
    flooded = Flooded()
    stopped = flooded._all(None)
    assert stopped is not None
    assert "1 MiB went over the link in one step" in str(stopped)
    kept = flooded._tape.cut(Conversation({"a": Connection("a")}), "")
    assert flooded.done == 1
    assert len(kept.events) == len(flooded.recorded) == (1 << 20) // 60_200


@pytest.mark.parametrize(("unseen", "within"), [(0.0, 3.0), (10.0, 13.0)])
def test_a_link_that_does_not_show_its_end_is_waited_for_until_its_lease_is_over(unseen, within):
    waited = []

    class Joins:
        def join(self, _here, _there, *, within):
            waited.append(within)
            return 0.0

    link = SimpleNamespace(bar=lambda: None, unbar=lambda: None, newest=0.0)
    Talk(None, None, Joins(), link, unseen=unseen).blink()
    assert waited == [within]
