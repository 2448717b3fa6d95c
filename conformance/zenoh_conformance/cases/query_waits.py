"""How long a query waits for its answers: what is said in 64 bits is not read in 32. Toward a node that routes between its clients."""

from __future__ import annotations

from zenoh_conformance.case import case, grid
from zenoh_conformance.party import parties
from zenoh_conformance.scene import Scene

from .query_ends import a_query_does_not_end_before_its_timeout
from .routing_plain import ROUTES

LONG = (1 << 32, (1 << 32) + 1, 1 << 40)
"""Milliseconds, of which the lower 32 bits are next to nothing."""


@case(
    "reply/not-complete-before-finals",
    needs=ROUTES,
    control=a_query_does_not_end_before_its_timeout,
    parameters=grid(timeout=LONG),
)
def a_very_long_timeout_is_no_short_one(scene: Scene, *, timeout: int) -> None:
    """
    A Timeout has 64 bits: one whose lower half is zero does not end the query at once.

        querier    REQUEST (Timeout: seven weeks, or more)
        queryable  after a moment RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL, and nothing before
    """
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable("k")
    asked = querier.asks("k", timeout_ms=timeout)
    queryable.takes(asked, step="the query is passed on")

    for _ in querier.us.stream(scene.unit / 8):
        pass
    early = querier.finals(asked)
    querier.us.require(not early, expected="no ResponseFinal yet", got="ResponseFinal", step="before its timeout")
    queryable.replies(asked, b"1")
    queryable.finishes(asked)

    querier.expect_answers(asked, [b"1"], step="after a moment")
