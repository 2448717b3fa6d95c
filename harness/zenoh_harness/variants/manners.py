"""Nodes that come, answer and write in their own time and pieces."""

from __future__ import annotations

from typing import ClassVar

from zenoh_harness.reference import Habits, Reference

from . import variant

TIME = "no page says how fast a node answers"
STREAM = "a stream keeps no boundaries (primitives#framing)"
COMING = "no page says when a node comes again"


@variant("answers-after-5-ms", permitted=TIME)
class AnswersAfter5Ms(Reference):
    """Says everything 5 ms late."""

    habits = Habits(answers_after=0.005)


@variant("answers-after-50-ms", permitted=TIME)
class AnswersAfter50Ms(Reference):
    """Says everything 50 ms late."""

    habits = Habits(answers_after=0.05)


@variant("answers-after-500-ms", permitted=TIME)
class AnswersAfter500Ms(Reference):
    """Says everything half a second late."""

    habits = Habits(answers_after=0.5)


@variant("answers-after-900-ms", permitted=TIME)
class AnswersAfter900Ms(Reference):
    """Says everything 0.9 seconds late: nearly a lease of a second."""

    habits = Habits(answers_after=0.9)


@variant(
    "answers-after-1500-ms",
    permitted=TIME,
    unjudged={
        "establishment-limits/whatever-is-said-renews-the-lease": "our lease is over before it answers",
        "establishment-sane/a-lease-in-either-unit-is-accepted": "our short leases are over before it answers",
    },
)
class AnswersAfter1500Ms(Reference):
    """Says everything one and a half seconds late, longer than a lease of a second; and gives others more time, too."""

    habits = Habits(answers_after=1.5)
    settings: ClassVar = {"handshake_s": 60.0}


@variant("answers-now-and-then", permitted=TIME)
class AnswersNowAndThen(Reference):
    """Takes from 20 to 300 ms, another time for each utterance."""

    habits = Habits(answers_after=0.02, jitter=0.28)


@variant("writes-byte-by-byte", permitted=STREAM)
class WritesByteByByte(Reference):
    """Every byte is a write of its own."""

    habits = Habits(pieces=1)


@variant("writes-slowly-in-pieces", permitted=STREAM)
class WritesSlowlyInPieces(Reference):
    """Seven bytes a write, 10 ms between two."""

    habits = Habits(pieces=7, answers_after=0.01)


@variant("takes-one-link-at-a-time", permitted="no page says how many links a node serves at once")
class TakesOneLinkAtATime(Reference):
    """Looks at one link; others wait until it has ended."""

    habits = Habits(links_at_a_time=1)
    lacks = frozenset({"several-links", "several-sessions"})


@variant("comes-back-at-once", permitted=COMING)
class ComesBackAtOnce(Reference):
    """As initiator it comes again at once."""

    habits = Habits(comes_back_after=0.0)


@variant("comes-back-after-300-ms", permitted=COMING)
class ComesBackAfter300Ms(Reference):
    """As initiator it comes again after 0.3 seconds."""

    habits = Habits(comes_back_after=0.3)


@variant("comes-back-after-3-s", permitted=COMING)
class ComesBackAfter3S(Reference):
    """As initiator it comes again after three seconds."""

    habits = Habits(comes_back_after=3.0)


@variant("comes-back-after-10-s", permitted=COMING)
class ComesBackAfter10S(Reference):
    """As initiator it comes again after ten seconds."""

    habits = Habits(comes_back_after=10.0)


@variant("never-comes-back", permitted=COMING)
class NeverComesBack(Reference):
    """As initiator it comes once; then it must be started again."""

    habits = Habits(comes_back_after=None)


@variant("ends-with-0", permitted=COMING)
class EndsWith0(Reference):
    """As initiator its program ends with its session, or when it is refused: code 0."""

    habits = Habits(ends_with=0)


@variant("ends-with-1", permitted=COMING)
class EndsWith1(Reference):
    """The same, code 1."""

    habits = Habits(ends_with=1)


@variant("ends-with-255", permitted=COMING)
class EndsWith255(Reference):
    """The same, code 255."""

    habits = Habits(ends_with=255)


@variant("is-another-at-each-start", permitted="no page says that a ZenohID outlives a node's process")
class IsAnotherAtEachStart(Reference):
    """Draws its ZenohID when it starts; its program ends with its session."""

    habits = Habits(new_zid=True, ends_with=0)


@variant("writes-an-alarming-log", permitted="a log is nobody's business")
class WritesAnAlarmingLog(Reference):
    """Speaks of errors and panics in its ordinary log."""

    habits = Habits(log="ERROR no panic: the fatal error handler is installed, panics are reported, abort is disabled")
