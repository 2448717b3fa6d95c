"""What a CLOSE ends: the session with all its links (S=1), or one link of several (S=0). Toward a responder."""

from __future__ import annotations

from collections.abc import Sequence

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import calm, under_test
from zenoh_conformance.cases.establishment.sane import a_sane_handshake_is_accepted, a_session_does_work
from zenoh_conformance.cases.establishment.states import comes_back
from zenoh_conformance.messages import (
    DToken,
    Interest,
    InterestMode,
    InterestOptions,
    Query,
    Request,
    ResponseFinal,
    UToken,
    sane,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Dialogue, Scene

from .settled_terms import LITTLE, listens, patience_of

AREA = "close-scope"

LOOK = 0.002
"""Seconds for which one link is listened to before it is the other one's turn."""

WATCHED = InterestOptions.TOKENS | InterestOptions.RESTRICTED | InterestOptions.NAMED | InterestOptions.MAPPING
"""Tokens, of one key that is named."""


@case(
    "session-establishment/open-ack-answers-open-syn",
    profile="two-links",
    needs=("multilink", "several-links", "finals"),
    control=a_sane_handshake_is_accepted,
)
def two_links_make_one_session(scene: Scene) -> None:
    """
    A node opens a second link with the key that it showed on the first: both are links of one session, and work asked for on either
    is done.

        link 1  InitSyn (MultiLink: key) .. OpenSyn (MultiLink: proof)
        target  OpenAck
        link 2  InitSyn (MultiLink: the same key) .. OpenSyn (MultiLink: proof)
        target  OpenAck
        link 1  REQUEST
        target  RESPONSE_FINAL, on either link
        link 2  REQUEST, numbered on
        target  RESPONSE_FINAL, on either link
    """
    links = under_test(lambda: two_links(scene))

    for us in links:
        answers(us, links, step=f"asked on {us.wire.name}")


@case(
    "keep-alive/something-every-quarter-lease",
    profile="two-links",
    needs=("multilink", "several-links", "finals"),
    control=two_links_make_one_session,
    timed=True,
)
def each_link_of_a_session_is_kept_alive(scene: Scene) -> None:
    """
    A session has two links: on each of them the target says something in each quarter of the lease that it stated.

        link 1, link 2  a live session; KEEP_ALIVE, now and then
        target          something on each link, in each quarter of its lease
    """
    links = two_links(scene)
    answers(links[1], links, step="not reached: the session works")
    assert links[0].their_open is not None

    listens(links, patience_of(links[0], links[0].their_open), LITTLE)
    calm(scene)


@case(
    "close/session-close-ends-session",
    profile="two-links",
    needs=("multilink", "several-links", "finals"),
    control=two_links_make_one_session,
    parameters=grid(on=(0, 1)),
)
def close_of_a_session_ends_all_its_links(scene: Scene, *, on: int) -> None:
    """
    A session has two links; CLOSE with S on one of them ends both.

        link 1, link 2  a live session
        one of them     Close (S=1)
        target          both links end
    """
    links = two_links(scene)
    answers(links[1], links, step="not reached: the session works")

    links[on].send(sane.close(session=True))

    links[on].expect_end(step="the link that was closed")
    links[1 - on].expect_end(step="the session's other link", silent=False)


@case(
    "close/link-close-ends-link",
    profile="two-links",
    needs=("multilink", "routing", "interests", "several-sessions", "finals"),
    control=two_links_make_one_session,
    parameters=grid(on=(0, 1)),
)
def close_of_a_link_leaves_the_others(scene: Scene, *, on: int) -> None:
    """
    A session has two links and has declared a token; CLOSE without S on one link ends that link, and nothing else: the session works
    on the other, and what it declared stands.

        link 1, link 2  a live session
        one of them     DECLARE (token)
        watcher         hears of it
        one of them     Close (S=0)
        target          that link ends
        the other       REQUEST
        target          RESPONSE_FINAL; the watcher hears of nothing
    """
    links = two_links(scene)
    watcher, token = seen_by_a_watcher(scene, links[on])
    left = links[1 - on]

    links[on].send(sane.close(session=False))

    links[on].expect_end(step="the link that was closed")
    answers(left, [left], step="the session's other link")
    gone = [seen for seen in watcher.fence() if isinstance(seen.message, UToken) and seen.message.id == token]
    left.require(not gone, expected="a token that stands", got="the token taken back", step="what the session declared")


@case(
    "close/session-close-ends-session",
    needs=("routing", "interests", "several-sessions"),
    control=a_session_does_work,
    parameters=grid(how=("close", "close-and-back")),
)
def what_a_session_declared_ends_with_it(scene: Scene, *, how: str) -> None:
    """
    A session has declared a token, and another one watches; CLOSE with S takes the token back, though the node may come again.

        us       DECLARE (token)
        watcher  hears of it
        us       Close (S=1), and perhaps a new session of the same node, as soon as it is let in
        watcher  DECLARE (the token is undeclared)
    """
    us = scene.session()
    watcher, token = seen_by_a_watcher(scene, us)

    us.send(sane.close(session=True))
    us.expect_end(step="the link that was closed")
    if how == "close-and-back":
        comes_back(scene, us.zid, step="not reached: a new session")

    gone = any(isinstance(seen.message, UToken) and seen.message.id == token for seen in watcher.stream())
    watcher.require(gone, expected="the token taken back", got="a token that stands", step="what the session declared")


def two_links(scene: Scene) -> tuple[Dialogue, Dialogue]:
    """Two links of one session."""
    first = scene.session("link-1")
    return first, scene.session("link-2", zid=first.zid).beside(first)


def answers(asked: Dialogue, links: Sequence[Dialogue], *, step: str) -> None:
    """A query that nobody serves, asked on one link, comes back final on any of the session's; deviates when it does not."""
    request = asked.new_id()
    key = WireExpr(scope=0, suffix=f"zconform/fence/{asked.zid.hex()}/{request}", mapping=True)
    asked.say(Request(id=request, key=key, body=Query()))
    deadline = asked.wire.now() + asked.unit
    while asked.wire.now() < deadline:
        for us in links:
            seen = us.next(LOOK)
            if seen is not None and isinstance(seen.message, ResponseFinal) and seen.message.id == request:
                return
            if us.is_over:
                us.deviate(expected="ResponseFinal", got=us.text_of(seen), step=step)
    asked.deviate(expected="ResponseFinal", got="silence", step=step, is_work=True)


def seen_by_a_watcher(scene: Scene, us: Dialogue) -> tuple[Dialogue, int]:
    """We declare a token; who watches such keys, and the id under which it hears of it."""
    key = WireExpr(scope=0, suffix=f"zconform/token/{us.zid.hex()}", mapping=True)
    watcher = scene.session("watcher")
    watcher.say(Interest(id=watcher.new_id(), mode=InterestMode.CURRENT_FUTURE, options=WATCHED, key=key))
    watcher.fence(step="not reached: the watcher")

    us.declare(DToken(id=us.new_id(), key=key))

    token = watcher.expect(DToken, step="not reached: the token is heard of")
    return watcher, token.id
