"""Nodes with other delays, sizes of writes, reconnection and exit codes than the reference node."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import CONNECTS, TOLD
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.reference import GENERIC, Base, Habits, Link, refuse

from . import row, variant

TIME = "no page says how fast a node answers"
STREAM = "a stream keeps no boundaries (primitives#framing)"
COMING = "no page says when a node reconnects"
LEFT = "it leaves the first session, and what is to be kept is not seen there"

row("answers-after-5-ms", "Sends everything 5 ms late.", permitted=TIME, habits=Habits(answers_after=0.005))
row("answers-after-50-ms", "Sends everything 50 ms late.", permitted=TIME, habits=Habits(answers_after=0.05))
row("answers-after-500-ms", "Sends everything half a second late.", permitted=TIME, habits=Habits(answers_after=0.5))
row(
    "answers-after-900-ms",
    "Sends everything 0.9 seconds late: nearly a lease of a second.",
    permitted=TIME,
    habits=Habits(answers_after=0.9),
)
row(
    "answers-after-1500-ms",
    "Sends everything 1.5 seconds late, longer than a lease of a second, and permits slow handshakes.",
    permitted=TIME,
    unjudged={
        "establishment-limits/whatever-is-said-renews-the-lease": "our lease is over before it answers",
        "establishment-sane/a-lease-in-either-unit-is-accepted": "our short leases are over before it answers",
    },
    habits=Habits(answers_after=1.5),
    settings={"handshake_s": 60.0},
)
row(
    "answers-now-and-then",
    "Sends everything 20 to 300 ms late, with another delay for each write.",
    permitted=TIME,
    habits=Habits(answers_after=0.02, jitter=0.28),
)

row("writes-byte-by-byte", "Every byte is a write of its own.", permitted=STREAM, habits=Habits(pieces=1))
row(
    "writes-slowly-in-pieces",
    "Seven bytes a write, 10 ms between two.",
    permitted=STREAM,
    habits=Habits(pieces=7, answers_after=0.01),
)
row(
    "takes-one-link-at-a-time",
    "Serves one link at a time; others wait until it has ended.",
    permitted="no page says how many links a node serves at once",
    habits=Habits(links_at_a_time=1),
    lacks=frozenset({"several-links", "several-sessions"}),
)

row(
    "comes-back-at-once",
    "As initiator, reconnects at once.",
    permitted=COMING,
    habits=Habits(comes_back_after=0.0),
)
row(
    "comes-back-after-300-ms",
    "As initiator, reconnects after 0.3 seconds.",
    permitted=COMING,
    habits=Habits(comes_back_after=0.3),
)
row(
    "comes-back-after-3-s",
    "As initiator, reconnects after three seconds.",
    permitted=COMING,
    habits=Habits(comes_back_after=3.0),
)
row(
    "comes-back-after-10-s",
    "As initiator, reconnects after ten seconds.",
    permitted=COMING,
    habits=Habits(comes_back_after=10.0),
)
row(
    "never-comes-back",
    "As initiator, connects once, and must be restarted then.",
    permitted=COMING,
    habits=Habits(comes_back_after=None),
)

row(
    "ends-with-0",
    "As initiator, ends its program with code 0 when its session ends or is refused.",
    permitted=COMING,
    habits=Habits(ends_with=0),
)
row("ends-with-1", "As `ends-with-0`, with code 1.", permitted=COMING, habits=Habits(ends_with=1))
row("ends-with-255", "As `ends-with-0`, with code 255.", permitted=COMING, habits=Habits(ends_with=255))
row(
    "is-another-at-each-start",
    "Has another ZenohID after each start; its program ends with its session.",
    permitted="no page says that a ZenohID outlives a node's process",
    habits=Habits(new_zid=True, ends_with=0),
)
row(
    "writes-an-alarming-log",
    "Mentions errors and panics in its ordinary log.",
    permitted="no page says what a node logs",
    habits=Habits(log="ERROR no panic: the fatal error handler is installed, panics are reported, abort is disabled"),
)


@variant(
    "on_live",
    permitted="session-establishment: no page says how long a session lasts before CLOSE",
    unjudged=dict.fromkeys(
        ("application*", f"*{TOLD}", f"*{CONNECTS}", "settled-terms/its-stated-lease-is-kept", "law/*"), LEFT
    ),
    state={"opened": int},
)
def leaves_every_other_session(node: Any, base: Base[None], link: Link) -> None:
    """As initiator, leaves the first, third .. session as soon as it is open."""
    base()
    node.opened += link.side is Side.INITIATOR
    if link.side is Side.INITIATOR and node.opened % 2:
        refuse(GENERIC)
