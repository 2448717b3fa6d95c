"""What the reference does with numbers that are released, and with those that there are few of."""

from __future__ import annotations

from typing import ClassVar

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.messages import Declare, DToken
from zenoh_conformance.messages.interest import InterestMode, InterestOptions
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Side
from zenoh_conformance.tables.session import State
from zenoh_conformance.talking import Party, parties
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link, LinkTerms
from zenoh_harness.reference.memory import MemoryScene

RID_8 = 2
"""A resolution byte: numbers of 32 bits, request ids of 8."""
MOST = 256
"""Request ids of 8 bits."""
KEY, SOON_MS = 900, 100


def opened() -> tuple[MemoryScene, Party, Party]:
    """A querier, and a queryable whose session has request ids of 8 bits."""
    scene = MemoryScene("query/request-id-in-range")
    (querier,) = parties(scene, "querier")
    queryable = Party(scene.dialogue("queryable").open(resolution=RID_8), "queryable", querier.root)
    queryable.declares_queryable("k")
    return scene, querier, queryable


def told(watcher: Party) -> list[str | None]:
    """The keys of tokens that it was told of."""
    return [one.key for one in watcher.heard(Declare) if isinstance(one.message.body, DToken)]


def red(scene: MemoryScene) -> list[str]:
    """What laws say of it."""
    return [finding.cause for said in judge(scene.conversation) for finding in said.findings]


def test_an_interest_outlives_the_number_of_its_key() -> None:
    watcher, other = parties(MemoryScene("interests/mode-current-future"), "watcher", "other")
    key = watcher.names_key("k", KEY)
    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, key)
    watcher.releases_key(KEY)
    watcher.settles()

    other.declares_token("k")

    assert watcher.awaits(lambda: told(watcher) == [watcher.whole("k")])


def test_a_number_that_is_given_again_changes_no_interest() -> None:
    watcher, other = parties(MemoryScene("interests/mode-current-future"), "watcher", "other")
    key = watcher.names_key("k", KEY)
    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, key)
    watcher.releases_key(KEY)
    watcher.names_key("other", KEY)
    watcher.settles()

    other.declares_token("other")
    watcher.settles()

    assert told(watcher) == []


def test_request_ids_begin_anew_within_their_range() -> None:
    scene, querier, queryable = opened()

    ids = []
    for number in range(MOST + 44):
        asked = querier.asks("k", parameters=str(number))
        ids.append(queryable.takes(asked))
        queryable.finishes(asked)
        querier.expect_final(asked)

    assert set(ids) == set(range(MOST))
    assert red(scene) == []


def test_an_id_is_not_given_again_before_its_final() -> None:
    """One query stays open from the first on, one is over at its timeout and gets its final late."""
    scene, querier, queryable = opened()
    kept, late = querier.asks("k", parameters="kept"), querier.asks("k", parameters="late", timeout_ms=SOON_MS)
    taken = {queryable.takes(kept), queryable.takes(late)}
    querier.expect_final(late)

    for number in range(MOST):
        asked = querier.asks("k", parameters=str(number))
        assert queryable.takes(asked) not in taken
        queryable.finishes(asked)
        querier.expect_final(asked)

    assert red(scene) == []


@pytest.mark.parametrize("resolution", [0, RID_8, 6, 10, 15])
def test_a_node_of_any_resolution_asks(resolution: int) -> None:
    class Node(Reference):
        settings: ClassVar = {"resolution": resolution}

    querier, queryable = parties(MemoryScene("query/query-reaches-intersecting", Node), "querier", "queryable")
    queryable.declares_queryable("k")

    assert queryable.takes(querier.asks("k")) == 1


def test_the_largest_range_is_one_that_can_be_counted() -> None:
    link = Link("x", Side.INITIATOR, ConnectionDecoder(Connection("x")), 0.0, State.LIVE, LinkTerms(resolution=15))

    assert Reference().free_id(link) == 1


def test_where_all_ids_are_in_use_nobody_is_asked() -> None:
    scene, querier, queryable = opened()
    asked = [querier.asks("k", parameters=str(number)) for number in range(MOST)]
    for one in asked:
        queryable.takes(one)

    querier.expect_final(querier.asks("k", parameters="one too many"))
    queryable.finishes(asked[0])
    again = querier.asks("k", parameters="again")

    assert queryable.takes(again) in range(MOST)
    assert red(scene) == []
