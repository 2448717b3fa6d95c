"""Messages with an optional extension that no page names: it is skipped, and the rest counts. Toward a node that routes."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.interest.snapshots import who_asks_is_told
from zenoh_conformance.cases.interest.telling import waits_for
from zenoh_conformance.messages import Declare, DToken, Interest, InterestMode, InterestOptions, UToken
from zenoh_conformance.reading.names import undeclared_key
from zenoh_conformance.talking import Party, Scene, parties
from zenoh_conformance.wire import Enc, Exts, Unknown

from .plain import ROUTES, a_query_reaches_a_queryable, asked_of

ENCODINGS = (Enc.UNIT, Enc.Z64, Enc.ZBUF)


def odd(enc: Enc) -> Unknown:
    """An extension that is not mandatory, of an id that no network message has a use for."""
    return Unknown(id=0xC, enc=enc, value={Enc.UNIT: None, Enc.Z64: 300, Enc.ZBUF: b"odd"}[enc])


def wishes(who: Party, key: str, exts: Exts[Any]) -> None:
    """INTEREST in tokens of a key, with extensions."""
    options = InterestOptions.TOKENS | InterestOptions.RESTRICTED | InterestOptions.NAMED | InterestOptions.MAPPING
    mode = InterestMode.CURRENT_FUTURE
    who.says(Interest(id=who.us.new_id(), mode=mode, options=int(options), key=who.key(key), exts=exts))
    who.settles()


@case(
    "primitives/unknown-optional-skipped",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(of=("interest", "declaration", "undeclaration"), enc=ENCODINGS),
)
def what_is_declared_with_an_unknown_extension_counts(scene: Scene, *, of: str, enc: Enc) -> None:
    """
    INTEREST, or DECLARE of a token, or DECLARE that takes it back, has an optional extension that nobody knows: it counts as without.

        watcher  INTEREST (CurrentFuture)
        other    DECLARE (token)
        target   to the watcher: DECLARE (token)
        other    DECLARE (undeclare)
        target   to the watcher: DECLARE (undeclare, the id that it told)
    """
    watcher, other = parties(scene, "watcher", "other")
    kinds = ("interest", "declaration", "undeclaration")
    exts: dict[str, Exts[Any]] = {each: Exts((odd(enc),) if each == of else ()) for each in kinds}
    token = DToken(id=other.us.new_id(), key=other.key("k/a"))

    wishes(watcher, "k/**", exts["interest"])
    other.says(Declare(exts=exts["declaration"], body=token))
    told = waits_for(scene, watcher, "token", "k/a", step="declared").body
    other.says(Declare(exts=exts["undeclaration"], body=UToken(id=token.id, exts=undeclared_key(token.key))))

    gone = watcher.expect(Declare, lambda heard: isinstance(heard.message.body, UToken), step="taken back").message.body
    watcher.us.require(gone.id == told.id, expected="the id that was told", got="another", step="taken back")


@case(
    "primitives/unknown-optional-skipped",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(of=("request", "response", "final"), enc=ENCODINGS),
)
def what_is_asked_with_an_unknown_extension_counts(scene: Scene, *, of: str, enc: Enc) -> None:
    """
    REQUEST, RESPONSE or RESPONSE_FINAL has an optional extension that nobody knows: it counts as without.

        querier    REQUEST
        target     to the queryable: REQUEST
        queryable  RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, queryable = asked_of(scene)
    exts = {each: (odd(enc),) if each == of else () for each in ("request", "response", "final")}

    asked = querier.asks("k", consolidation=1, exts=exts["request"])
    queryable.takes(asked, step="the query is passed on")
    queryable.replies(asked, b"1", exts=exts["response"])
    queryable.finishes(asked, exts=exts["final"])

    querier.expect_answers(asked, [b"1"])
