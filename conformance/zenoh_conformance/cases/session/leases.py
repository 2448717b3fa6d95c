"""Leases of several sessions side by side: each is kept alive, each ends by itself, and with it what it declared and owed."""

from __future__ import annotations

from functools import partial

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import calm
from zenoh_conformance.cases.establishment.limits import a_silent_session_expires, opened
from zenoh_conformance.cases.interest.telling import KIND, OPTION, TAKEN_BACK, declares, waits_for
from zenoh_conformance.cases.query.ends import a_query_ends_though_its_source_is_gone
from zenoh_conformance.cases.routing.plain import ROUTES
from zenoh_conformance.messages import Declare, InterestMode, InterestOptions, Request, sane
from zenoh_conformance.reading.names import root_of_scene
from zenoh_conformance.talking import Dialogue, Party, Scene

from .close_scope import what_a_session_declared_ends_with_it
from .modes import half_a_message
from .settled_terms import LITTLE, LONGEST, a_stated_lease_is_kept, listens

LEASE = 2
"""Seconds of the lease of a session that is to die, once it has done something."""


@case(
    "keep-alive/something-every-quarter-lease",
    needs=("several-sessions",),
    control=a_stated_lease_is_kept,
    timed=True,
)
def each_session_is_kept_alive(scene: Scene) -> None:
    """
    Two sessions say nothing but KEEP_ALIVE: in each of them the target says something in each quarter of the lease that it stated,
    whatever it sent there before. Half of a quarter is let pass.

        one, other  OpenSyn (lease 1 hour) .. OpenAck (its lease)
        one, other  to each other: a publication, a query, an answer, a declaration, where the target routes
        one, other  the first FRAGMENT of a message
        one, other  KEEP_ALIVE, now and then
        target      something to both, in each quarter of its lease

    In a quick run for one such time, else for two.
    """
    both = [opened(scene.dialogue(name), lease=3600) for name in ("one", "other")]
    lease = max(sane.lease_of(us.their_open) for us in both)
    waited = lease <= LONGEST
    both[0].require(
        waited, expected="a lease that can be waited for", got="a longer one", step="not reached: the lease"
    )
    for us in both:
        us.expect_live(step="not reached: the lease")
    if scene.can("routing"):
        root = root_of_scene(both[0].zid)
        one, other = (Party(us, name, root) for us, name in zip(both, ("one", "other"), strict=True))
        send_each_kind(one, other, "to/other")
        send_each_kind(other, one, "to/one")
    for us in both:
        us.send(half_a_message(us))

    quarters = 1.05 if scene.fact("quick") else 2.1
    listens(both, 1.5 * lease / 4 + both[0].unit / 4, min(lease / 5, LITTLE), quarters)

    calm(scene)


def hears_query(who: Party, key: str) -> bool:
    """Whether a query for a key came to a party."""
    return any(heard.key == who.whole(key) for heard in who.heard(Request))


def send_each_kind(sender: Party, receiver: Party, key: str) -> None:
    """Send a publication, a query and a declaration to a party, and answer a query of it; others judge whether they come."""
    sender.declares_queryable(f"{key}/answers")
    receiver.declares_subscriber(key)
    receiver.declares_queryable(key)
    receiver.asks_interest(InterestOptions.TOKENS, InterestMode.FUTURE, key)
    receiver.settles()
    sender.puts(key, b"1")
    sender.declares_token(key)
    for asker, asked_one, where in ((sender, receiver, key), (receiver, sender, f"{key}/answers")):
        asked = asker.asks(where)
        if asked_one.awaits(partial(hears_query, asked_one, where)):
            asked_one.replies(asked, b"1")
            asked_one.finishes(asked)
        asker.settles()


@case(
    "session-establishment/lease-expiry-ends-session",
    control=a_silent_session_expires,
    timed=True,
    parameters=grid(lease=(700, 1500, 2500)),
)
def a_silent_session_of_any_lease_expires(scene: Scene, *, lease: int) -> None:
    """
    We state a lease that is no whole number of seconds and say nothing more, or one PUSH: the target ends the session.

        us      OpenSyn (lease 1500 ms) .. OpenAck
        us      nothing; with a lease of 2500 ms first PUSH; beside one of 1500 ms another session goes on
        target  (KEEP_ALIVEs), then Close or the link's end, when the lease is over
    """
    if lease == 1500 and scene.can("several-sessions"):
        opened(scene.dialogue("beside"), lease=LEASE)  # it is kept alive while the other one is waited for
    us = opened(scene.dialogue(), lease_in_seconds=False, lease=lease)
    if lease == 2500:
        us.publish(f"zconform/nobody/{us.zid.hex()}", b"1")

    us.fall_silent()
    us.wait_until(lambda: us.is_over, 2 * lease / 1000 + us.unit)

    us.expect_expired()
    calm(scene)


@case(
    "keep-alive/dead-session-withdraws-declarations",
    needs=("routing", "interests", "several-sessions"),
    control=what_a_session_declared_ends_with_it,
    timed=True,
    parameters=grid(kind=KIND),
)
def what_a_dead_session_declared_is_taken_back(scene: Scene, *, kind: str) -> None:
    """
    A session has declared something, and another one watches; it says nothing more, and when its lease is over that is taken back.

        other    OpenSyn (lease 2 s) .. OpenAck
        other    DECLARE (..)
        target   to the watcher: DECLARE (..)
        other    nothing
        target   to the watcher: DECLARE (undeclare)
    """
    us = opened(scene.dialogue("other"), lease=LEASE)
    root = root_of_scene(us.zid)
    other, watcher = Party(us, "other", root), Party(scene.session("watcher"), "watcher", root)
    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")
    declares(other, kind, "k/a")
    told = waits_for(scene, watcher, kind, "k/a", step="not reached: it is heard of").body.id

    us.fall_silent()

    def taken_back() -> bool:
        bodies = [heard.message.body for heard in watcher.heard(Declare)]
        return any(isinstance(body, TAKEN_BACK[kind]) and body.id == told for body in bodies)

    gone = watcher.us.wait_until(taken_back, 2 * LEASE + watcher.us.unit)
    if not gone:
        require_expired(us)
    watcher.us.require(gone, expected=f"the {kind} taken back", got="one that stands", step="what the session declared")
    calm(scene)


@case("reply/final-always-comes", needs=ROUTES, control=a_query_ends_though_its_source_is_gone, timed=True)
def a_source_that_dies_is_waited_for_no_more(scene: Scene) -> None:
    """
    A queryable is asked, answers nothing and says nothing more: when its lease is over the query ends.

        queryable  OpenSyn (lease 2 s) .. OpenAck, DECLARE (queryable)
        querier    REQUEST
        target     to the queryable: REQUEST
        queryable  nothing
        target     to the querier: RESPONSE_FINAL
    """
    us = opened(scene.dialogue("queryable"), lease=LEASE)
    root = root_of_scene(us.zid)
    queryable, querier = Party(us, "queryable", root), Party(scene.session("querier"), "querier", root)
    queryable.declares_queryable("k")
    asked = querier.asks("k", consolidation=1)
    queryable.takes(asked)

    us.fall_silent()

    if not querier.us.wait_until(lambda: bool(querier.finals(asked)), 2 * LEASE + querier.us.unit):
        require_expired(us)
    querier.expect_final(asked, step="its source has died")
    calm(scene)


def require_expired(us: Dialogue) -> None:
    """Deviate where a session lives on after its lease, since nothing is due of its end then; where links show no end, do nothing."""
    if not us.shows_no_end:
        us.wait_until(lambda: us.is_over)
        with us.about("keep-alive/silent-session-is-dead"):
            us.expect_expired()
