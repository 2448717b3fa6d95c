"""What the model of queries goes by: which keys meet, queryables, queries, and what tells answers apart. No model of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from zenoh_conformance.cases.routing.circumstances import CARRIED
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import Del, DelAttachment, Err, Put, PutAttachment, Reply, Response, Target
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.talking import Asked, Party
from zenoh_conformance.wire import Exts

from .manners import MARK, payload_of_size

KEYS = ("q/a", "q/b", "q/*", "q/**", "x/a")
MEET = {("q/a", "q/*"), ("q/a", "q/**"), ("q/b", "q/*"), ("q/b", "q/**"), ("q/*", "q/**")}
"""Which two of the keys meet, besides each with itself; by hand."""
WITHIN = {("q/a", "q/*"), ("q/a", "q/**"), ("q/b", "q/*"), ("q/b", "q/**"), ("q/*", "q/**")}
"""Which key lies wholly within which other."""


def answer_of(who: Party, v: Variation, how: str, mark: int) -> Reply | Err:
    """An answer of a kind with the drawn bytes, marked; in full dress, unless they are an attachment."""
    payload = payload_of_size(v, mark)
    if how == "del":
        deletion = who.full_dress.delete()
        others = [ext for ext in deletion.exts if not isinstance(ext, DelAttachment)]
        return Reply(body=replace(deletion, exts=Exts((DelAttachment(payload=payload), *others))))
    if v[CARRIED] != CARRIED.default:
        bare = Put(exts=Exts((PutAttachment(payload=payload),)), payload=payload[:MARK])
        return Err(payload=payload) if how == "err" else Reply(body=bare)
    return who.full_dress.error(payload) if how == "err" else Reply(body=who.full_dress.put(payload))


def mark_of(message: Any) -> bytes | None:
    """By what an answer is known: the beginning of its payload, of a deletion's attachment."""
    body = message.body if isinstance(message, Response) else message
    value = body.body if isinstance(body, Reply) else body
    attachment = value.exts.get(DelAttachment) if isinstance(value, Del) else None
    payload = getattr(attachment or value, "payload", None)
    return None if payload is None else bytes(payload[:MARK])


def essence(body: Any) -> tuple[Any, ...]:
    """What of a value nobody may change on its way: payload, encoding, attachment."""
    value = body.body if isinstance(body, Reply) else body
    kind = DelAttachment if isinstance(value, Del) else PutAttachment
    attachment = None if isinstance(value, Err) else value.exts.get(kind)
    return type(value), getattr(value, "payload", None), getattr(value, "encoding", None) or Encoding(0), attachment


def meets(one: str, other: str) -> bool:
    """Whether two of the keys meet."""
    return one == other or (one, other) in MEET or (other, one) in MEET


def holds(whole: str, part: str) -> bool:
    """Whether one of the keys has all of another."""
    return whole == part or (part, whole) in WITHIN


@dataclass(eq=False)
class Source:
    """A session with one queryable."""

    party: Party
    key: str
    complete: bool
    entity: int
    here: bool = True
    serves: bool = True


@dataclass(eq=False)
class Question:
    """A query and what is due."""

    asked: Asked
    key: str
    target: Target | None
    mode: int | None
    v: Variation
    owing: list[Source] = field(default_factory=list)
    given: list[bytes | None] = field(default_factory=list)
    """What was answered while the source still owed its final, in order."""
    sources: list[Source] = field(default_factory=list)
    said: dict[bytes, Reply | Err] = field(default_factory=dict)
    """What answered, by its mark, which no other has."""
    errors: set[bytes] = field(default_factory=set)
    """Those of `given` that are errors."""
    early: bool = False
    """Asked when the node may not have noticed yet who had gone: it may have asked one of them, and its own timeout ends that."""
