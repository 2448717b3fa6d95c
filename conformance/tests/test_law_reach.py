"""What one instance of a law looks at: a connection, a session (several links of one pair), or the whole conversation."""

import pickle

import pytest

from zenoh_conformance.judging import law as laws
from zenoh_conformance.judging.engine import Judge, judge
from zenoh_conformance.judging.law import MOST_FINDINGS, Law
from zenoh_conformance.messages import KeepAlive, sane
from zenoh_conformance.messages.init import MultiLink
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.wire.declare import Exts

US, PEER, OTHER = b"\x01", b"\x02", b"\x03"
SEVERAL = (MultiLink(payload=b"k"),)


@pytest.fixture
def counting(monkeypatch):
    """A law that is told nothing but how much each instance saw: finding `n` after `n` KEEP_ALIVEs of the responder."""
    monkeypatch.setattr(laws, "_LAWS", {})

    def made(per):
        @laws.law("keep-alive/at-least-every-lease", per=per)
        class Counting(Law):
            """Counts."""

            def __init__(self):
                super().__init__()
                self.last = None

            def on_keep_alive(self, seen, _message):
                self.subject(seen)
                self.last = seen

            def end(self):
                if self.last is not None:
                    self.require(False, at=self.last, why=str(self.subjects[Side.RESPONDER]))

        return Counting

    return made


def link(name, peer=PEER, exts=SEVERAL, answer=None):
    """The INITs of a link, one of several unless `exts` or the responder's `answer` say otherwise, and one KEEP_ALIVE of it."""
    syn = sane.init_syn(US, exts=exts)
    said = [
        (Side.INITIATOR, syn),
        (Side.RESPONDER, sane.init_ack(syn, peer, b"c", exts=Exts(exts if answer is None else answer))),
        (Side.RESPONDER, KeepAlive()),
    ]
    return [Event(0.0, name, side, Happened.BYTES, frame_batch(encode(message))) for side, message in said]


def ended(name):
    return [Event(0.0, name, side, Happened.EOF) for side in Side]


def again(name):
    """One more KEEP_ALIVE of the responder."""
    return link(name)[-1:]


SHAPES = {
    # what happens, and the KEEP_ALIVEs that each instance saw: per connection, per session, per conversation
    "one link": (link("a"), [1], [1], [1]),
    "two links of one pair": (link("a") + link("b"), [1, 1], [2], [2]),
    "two links that nobody offers as several": (link("a", exts=()) + link("b", exts=()), [1, 1], [1, 1], [2]),
    "two links that one side alone offers as several": (
        link("a", answer=()) + link("b", answer=()), [1, 1], [1, 1], [2],
    ),
    "two links of two pairs": (link("a") + link("b", OTHER), [1, 1], [1, 1], [2]),
    "a link joins and the first ends": (link("a") + link("b") + ended("a") + again("b"), [1, 2], [3], [3]),
    "the pair comes again": (link("a") + ended("a") + link("b") + ended("b"), [1, 1], [1, 1], [2]),
    "the name comes again": (link("a") + ended("a") + link("a") + ended("a"), [1, 1], [1, 1], [2]),
    "the INITs are repeated": (link("a") + link("a"), [2], [2], [2]),
    "the INITs of an only link are repeated": (link("a", exts=()) + link("a", exts=()), [2], [2], [2]),
    "reset ends both ways": (
        [*link("a"), Event(0.0, "a", Side.RESPONDER, Happened.RESET), *link("b")], [1, 1], [1, 1], [2],
    ),
    "half an end ends nothing": (link("a") + ended("a")[:1] + again("a"), [2], [2], [2]),
    "the middle of two links": (again("a") + again("b"), [1, 1], [1, 1], [2]),
    "what was said before the pair was known": (again("a") + link("a") + link("b"), [2, 1], [3], [3]),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("at", "per"), list(enumerate(["connection", "session", "conversation"])))
def test_what_an_instance_sees(counting, at, per, shape):
    events, *due = SHAPES[shape]
    conversation = Conversation(events=events)
    running = Judge(conversation, [counting(per)])
    for event in events:
        running.feed(event)
    said = {judged.sender: judged for judged in running.finish()}
    assert sorted(int(finding.why) for finding in said[Side.RESPONDER].findings) == sorted(due[at])
    assert said[Side.RESPONDER].subjects == sum(due[at])
    assert (said[Side.INITIATOR].subjects, said[Side.INITIATOR].findings) == (0, ())


def test_a_law_keeps_a_bounded_number_of_findings_and_counts_the_rest(counting):
    one = counting("connection")()
    [seen] = [each for each in Decoders(Conversation()).feed(again("a")[0]) if each.kind == "keep_alive"]
    for _ in range(MOST_FINDINGS + 7):
        one.require(False, at=seen, why="again")
    assert (len(one.findings), one.more) == (MOST_FINDINGS, 7) == (100, 7)


def test_a_law_that_met_nothing_says_so(counting):
    said = judge(Conversation(events=link("a")[:2]), [counting("session")])
    assert [(judged.subjects, judged.findings) for judged in said] == [(0, ()), (0, ())]


def test_a_state_that_was_written_down_goes_on_as_if_it_had_not():
    """As the audit that follows a folder keeps it between two runs; of every law, cut after each event."""
    events = [*link("a"), *again("a"), *link("b")]
    whole = judge(Conversation(events=events))
    for cut in range(len(events)):
        first = Judge(Conversation())
        for event in events[:cut]:
            first.feed(event)
        resumed = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own
        for event in events[cut:]:
            resumed.feed(event)
        assert resumed.finish() == whole
