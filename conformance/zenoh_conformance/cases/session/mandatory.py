"""Network messages and their bodies with a mandatory extension that no page names. Toward a node that routes between its clients.

The messages are examples of each kind; where the extension can stand follows from their declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import ROUTES, a_query_reaches_a_queryable
from zenoh_conformance.messages import (
    Declare,
    Del,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Err,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    UQueryable,
    USubscriber,
    UToken,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Party, Scene, parties
from zenoh_conformance.wire import Enc, Exts, Unknown
from zenoh_conformance.wire.declare import snake

ODD: Final = Unknown(id=0xC, mandatory=True, enc=Enc.UNIT, value=None)
NOWHERE: Final = WireExpr(scope=0, suffix="", mapping=True)
ENTITIES: Final = InterestOptions.SUBSCRIBERS | InterestOptions.QUERYABLES | InterestOptions.TOKENS
WISH: Final = int(ENTITIES | InterestOptions.RESTRICTED | InterestOptions.NAMED | InterestOptions.MAPPING)

KINDS: Final = (
    Push(key=NOWHERE, body=Put(payload=b"")), Push(key=NOWHERE, body=Del()), Request(id=0, key=NOWHERE, body=Query()),
    Response(id=0, key=NOWHERE, body=Reply(body=Put(payload=b""))), Response(id=0, key=NOWHERE, body=Reply(body=Del())),
    Response(id=0, key=NOWHERE, body=Err(payload=b"")), ResponseFinal(id=0),
    *(Declare(body=body(id=0, key=NOWHERE)) for body in (DSubscriber, DQueryable, DToken)),
    *(Declare(body=body(id=0)) for body in (USubscriber, UQueryable, UToken)),
    Interest(id=0, mode=InterestMode.CURRENT, options=WISH, key=NOWHERE),
)  # fmt: skip
"""One message of each kind that has an effect elsewhere; key and id are filled in when it is said."""

DECLARED: Final[Mapping[type[Any], type[Any]]] = {USubscriber: DSubscriber, UQueryable: DQueryable, UToken: DToken}
ENDED: Final[tuple[type[Any], ...]] = (ResponseFinal, *DECLARED)
"""What a node also says for a session that has ended."""


def parts(message: Any) -> Iterator[str]:
    """The path of a message and of each body in it: `push`, `push.put`."""
    path = ""
    while message is not None:
        path += f"{'.' if path else ''}{snake(type(message).__name__)}"
        yield path
        message = getattr(message, "body", None)


EXAMPLES: Final[Mapping[str, Any]] = {path: message for message in reversed(KINDS) for path in parts(message)}
"""Where a mandatory extension can stand, to a message that has it there."""


def filled(message: Any, key: WireExpr, number: int) -> Any:
    """The message with its key and id, or those of its declaration."""
    holder = message.body if isinstance(message, Declare) else message
    values = {name: value for name, value in (("key", key), ("id", number)) if hasattr(holder, name)}
    holder = replace(holder, **values)
    return replace(message, body=holder) if isinstance(message, Declare) else holder


def with_mandatory(message: Any, depth: int) -> Any:
    """The message with the extension on the body at a depth; 0 for the message."""
    if depth:
        return replace(message, body=with_mandatory(message.body, depth - 1))
    return replace(message, exts=Exts((*message.exts, ODD)))


@case(
    "primitives/unknown-mandatory-rejected",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(of=tuple(sorted(EXAMPLES))),
    is_heard=lambda of: of.startswith("push"),
    breaks=("law/what-is-said-decodes",),
)
def what_is_mandatory_and_unknown_has_no_effect(scene: Scene, *, of: str) -> None:
    """
    A network message, or a body in it, has a mandatory extension that no page names: the message has no effect.

        listener  DECLARE (subscriber), DECLARE (queryable), INTEREST, REQUEST
        speaker   the message
        target    to nobody: what it says; the speaker's session may end
    """
    speaker, listener = parties(scene, "speaker", "listener")
    message = EXAMPLES[of]
    number = prepare(speaker, listener, message)
    before = len(listener.now())

    odd = with_mandatory(filled(message, speaker.key("k/odd"), number), of.count("."))
    speaker.says(odd)
    lives = speaker.us.works_or_is_over(step="not reached: the session works")

    came = effects(speaker, listener, number, before)
    effect = next((name for name, ends in came if lives or not ends), "")
    listener.us.require(not effect, expected="no effect", got=effect, step=of)


def prepare(speaker: Party, listener: Party, message: Any) -> int:
    """Make what the message needs to have an effect; the id that it has."""
    kind = type(message.body) if isinstance(message, Declare) else type(message)
    if kind in (Response, ResponseFinal):
        speaker.declares_queryable("k/**")
        return speaker.takes(listener.asks("k/odd", consolidation=1), step="not reached: the query is passed on")
    if isinstance(message, Interest):
        listener.declares_token("k/odd")
        return speaker.us.new_id()
    if kind is Push:
        listener.declares_subscriber("k/**")
    if kind is Request:
        listener.declares_queryable("k/**")
    if isinstance(message, Declare):
        for entity in ENTITIES:
            listener.asks_interest(entity, InterestMode.CURRENT_FUTURE, "k/**")
    number = speaker.us.new_id()
    if kind in DECLARED:
        speaker.declares(DECLARED[kind](id=number, key=speaker.key("k/odd")))
        listener.expect(Declare, lambda heard: isinstance(heard.message.body, DECLARED[kind]), step="not reached: told")
    return number


def effects(speaker: Party, listener: Party, number: int, before: int) -> Iterator[tuple[str, bool]]:
    """What came of the message: its kind, and whether the end of the speaker's session brings it, too."""
    for heard in listener.now()[before:]:
        message = heard.message.body if isinstance(heard.message, Declare) else heard.message
        if isinstance(message, DKeyExpr):  # a number for a key has no effect by itself
            continue
        if heard.key == listener.whole("k/odd") or isinstance(message, ResponseFinal):
            yield type(message).__name__, isinstance(message, ENDED)
    if any(heard.message.interest_id == number for heard in speaker.heard(Declare)):
        yield "an answer", False
