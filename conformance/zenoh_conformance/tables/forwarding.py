"""What a router does with each field of a message that it forwards, as one table.

The laws in `laws/forwarding.py` compare every forwarded message with this table, and faulty nodes are generated from its rows. A row
whose sentence has no requirement says `no page says`: nothing is judged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import groupby
from types import SimpleNamespace
from typing import Any, Final

from zenoh_conformance.messages import (
    Budget,
    DelAttachment,
    PutAttachment,
    QueryAttachment,
    QueryBody,
    QueryTarget,
    ResponderId,
    SourceInfo,
    Target,
    Timeout,
)
from zenoh_conformance.messages.network import NodeId, QoS, TimestampExt, TsStack
from zenoh_conformance.messages.sane import DEFAULT_PRIORITY
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.wire import NO_EXTS, Unknown


class Fate(Enum):
    """What a router may do with a field that it forwards."""

    KEEP = "must keep"
    """It goes out as it came in; none is added, and none is lost."""
    MAY_ADD = "may add"
    """As KEEP, but one that is missing may be added, and more of what may repeat."""
    MAY_NAME = "may add who sent it"
    """As KEEP, but where it is missing one may be added that names the node from which the message came."""
    FREE = "may change"


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a page says of several rows."""

    name: str
    """The name of its law, in words: `forwarded-NAME`."""
    requirement: str
    says: str
    """The sentence, with its page and section."""


VALUE: Final = Sentence(
    "value", "push/put-delivers-value", "push#put: delivers a new or updated value to a key expression"
)
DELETION: Final = Sentence(
    "deletion", "push/del-signals-deletion", "push#del: signals that the resource has been deleted"
)
ATTACHMENT: Final = Sentence("attachment", "message-reference/attachment-opaque", "push#attachment: an opaque ZBuf")
SOURCE: Final = Sentence(
    "source", "push/source-info-names-origin", "push#source-info: identifies the origin of a message"
)
QOS: Final = Sentence(
    "qos",
    "push/qos-is-forwarded",
    "push#routing: a PUSH message is forwarded by routers; message-reference#qos-extension: for this message",
)
PARAMETERS: Final = Sentence(
    "parameters", "query/parameters-opaque", "query#parameters: Zenoh does not enforce any format"
)
BODY: Final = Sentence("query-body", "query/query-ext-query-body", "query#query-body: a payload attached to the query")
MODE: Final = Sentence(
    "consolidation", "query/query-consolidation", "query#consolidation: the mode describes the query"
)
ANSWER: Final = Sentence(
    "answer",
    "reply/reply-delivers-value",
    "reply#overview: reply messages carry data from a queryable back to the originating querier",
)
SEMANTICS: Final = Sentence(
    "reply-semantics",
    "reply/reply-carries-put-semantics",
    "reply#reply: reply values carry the full set of PUT and DEL semantics (timestamps, encoding, source info, etc.)",
)
ERROR: Final = Sentence(
    "error", "reply/err-reaches-querier", "reply#overview: carry errors back to the originating querier"
)
RESPONDER: Final = Sentence(
    "responder", "reply/responder-id-names-replier", "reply#responder-id: who generated the reply"
)
UNKNOWN: Final = Sentence(
    "unknown-extensions",
    "primitives/unknown-optional-forwarded",
    "primitives#extensions: should be forwarded unchanged",
)
NO_PAGE: Final = Sentence("", "", "no page says")


@dataclass(frozen=True, slots=True)
class Row:
    """One field or extension of one kind of message."""

    chain: str
    """The kind of the message and of its bodies: `push.put`, `response.reply.del`."""
    path: str
    """The field, as the paths of segments: `push.exts.qos.priority`; `key` is the whole key expression, `kind` the kind of the body."""
    fate: Fate
    sentence: Sentence

    @property
    def is_judged(self) -> bool:
        """Whether a page says it."""
        return bool(self.sentence.requirement) and self.fate is not Fate.FREE

    def holds(self, came: Any, went: Any, sender: bytes = b"") -> bool:
        """Whether the field may go out so, which came in so, from the node with that ZenohID; from any where that is empty."""
        if self.fate is Fate.MAY_NAME and came is None and went is not None:
            return sender in (b"", went.zid.raw)
        if self.fate is Fate.MAY_ADD:
            return came is None or (set(came) <= set(went) if isinstance(came, tuple) else came == went)
        return self.fate is Fate.FREE or came == went


EXTENSIONS: Final[dict[str, type[Any]]] = {
    "qos": QoS,
    "timestamp": TimestampExt,
    "node_id": NodeId,
    "ts_stack": TsStack,
    "query_target": QueryTarget,
    "budget": Budget,
    "timeout": Timeout,
    "source_info": SourceInfo,
    "query_body": QueryBody,
    "responder_id": ResponderId,
}
ATTACHMENTS: Final[dict[str, type[Any]]] = {"put": PutAttachment, "del": DelAttachment, "query": QueryAttachment}
DEFAULTS: Final[dict[str, Any]] = {
    "encoding": Encoding(0),
    "consolidation": 0,
    "parameters": "",
    "exts.qos": QoS(value=DEFAULT_PRIORITY),
    "exts.query_target": QueryTarget(value=int(Target.BEST_MATCHING)),
    "exts.budget": Budget(value=0),
}
"""What stands for a field that is missing."""

NOTHING: Final = SimpleNamespace(exts=NO_EXTS)
"""A body without extensions."""

KEY: Final = "key"
KIND: Final = "kind"
DATA: Final = {"put": ("timestamp", "encoding", "payload"), "del": ("timestamp",)}


def _network(chain: str, qos: Sentence) -> Iterator[Row]:
    """The rows of the extensions of the network message."""
    kind = chain.partition(".")[0]
    for bit in ("priority", "block", "express"):
        yield Row(chain, f"{kind}.exts.qos.{bit}", Fate.KEEP, qos)
    yield Row(chain, f"{kind}.exts.qos.block_first", Fate.KEEP, NO_PAGE)
    yield Row(chain, f"{kind}.exts.timestamp", Fate.MAY_ADD, NO_PAGE)
    yield Row(chain, f"{kind}.exts.ts_stack", Fate.FREE, NO_PAGE)
    yield Row(chain, f"{kind}.exts.unknown", Fate.KEEP, NO_PAGE)
    if kind == "response":
        yield Row(chain, "response.exts.responder_id", Fate.MAY_NAME, RESPONDER)
    else:
        yield Row(chain, f"{kind}.exts.node_id", Fate.FREE, NO_PAGE)


def _data(chain: str, value: Sentence, fields: Sentence) -> Iterator[Row]:
    """The rows of a PUT or DEL: `value` is about payload, key and kind, `fields` about the rest."""
    kind = chain.rpartition(".")[2]
    yield Row(chain, KIND, Fate.KEEP, value)
    yield Row(chain, KEY, Fate.KEEP, value)
    for name in DATA[kind]:
        fate = Fate.MAY_ADD if name == "timestamp" else Fate.KEEP
        yield Row(chain, f"{chain}.{name}", fate, value if name == "payload" else fields)
    yield Row(chain, f"{chain}.exts.source_info", Fate.KEEP, SOURCE)
    yield Row(chain, f"{chain}.exts.attachment", Fate.KEEP, ATTACHMENT)
    yield Row(chain, f"{chain}.exts.unknown", Fate.MAY_ADD, UNKNOWN)


def _query(chain: str = "request.query") -> Iterator[Row]:
    yield Row(chain, KEY, Fate.KEEP, NO_PAGE)
    for name in ("query_target", "budget", "timeout"):
        yield Row(chain, f"request.exts.{name}", Fate.KEEP, NO_PAGE)
    yield Row(chain, f"{chain}.consolidation", Fate.KEEP, MODE)
    yield Row(chain, f"{chain}.parameters", Fate.KEEP, PARAMETERS)
    yield Row(chain, f"{chain}.exts.source_info", Fate.KEEP, SOURCE)
    yield Row(chain, f"{chain}.exts.query_body", Fate.KEEP, BODY)
    yield Row(chain, f"{chain}.exts.attachment", Fate.KEEP, ATTACHMENT)
    yield Row(chain, f"{chain}.exts.unknown", Fate.MAY_ADD, UNKNOWN)


def _error(chain: str = "response.err") -> Iterator[Row]:
    yield Row(chain, KIND, Fate.KEEP, ERROR)
    yield Row(chain, KEY, Fate.KEEP, NO_PAGE)
    yield Row(chain, f"{chain}.encoding", Fate.KEEP, ERROR)
    yield Row(chain, f"{chain}.payload", Fate.KEEP, ERROR)
    yield Row(chain, f"{chain}.exts.source_info", Fate.KEEP, SOURCE)
    yield Row(chain, f"{chain}.exts.unknown", Fate.MAY_ADD, UNKNOWN)


ROWS: Final[tuple[Row, ...]] = (
    *_data("push.put", VALUE, VALUE),
    *_network("push.put", QOS),
    *_data("push.del", DELETION, DELETION),
    *_network("push.del", QOS),
    *_query(),
    *_network("request.query", NO_PAGE),
    *_data("response.reply.put", ANSWER, SEMANTICS),
    Row("response.reply.put", "response.reply.consolidation", Fate.KEEP, NO_PAGE),
    *_network("response.reply.put", NO_PAGE),
    *_data("response.reply.del", ANSWER, SEMANTICS),
    Row("response.reply.del", "response.reply.consolidation", Fate.KEEP, NO_PAGE),
    *_network("response.reply.del", NO_PAGE),
    *_error(),
    *_network("response.err", NO_PAGE),
)


def sentences() -> tuple[Sentence, ...]:
    """The sentences by which rows are judged, each once."""
    return tuple(dict.fromkeys(row.sentence for row in ROWS if row.is_judged))


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read of one kind of message: a value for each row that may not change, without key and kind."""

    rows: tuple[Row, ...]
    groups: tuple[tuple[int, tuple[Callable[[Any], Any], ...], tuple[Any, ...] | None], ...]
    """The number of the body that is read, the readers, and what stands there without extensions; None for fields."""

    def read(self, message: Any) -> tuple[Any, ...]:
        """The values, in order of the rows; what is missing reads as its default."""
        values: list[Any] = []
        bodies = [message]
        while (body := getattr(bodies[-1], "body", None)) is not None:
            bodies.append(body)
        for depth, readers, missing in self.groups:
            part = bodies[depth]
            values += [read(part) for read in readers] if missing is None or part.exts else missing
        return tuple(values)


@cache
def columns_of(chain: str) -> Columns:
    """The columns of a kind of message; compiled once."""
    rows = tuple(
        row for row in ROWS if row.chain == chain and row.path not in (KEY, KIND) and row.fate is not Fate.FREE
    )
    groups = []
    for (depth, dot), group in groupby(rows, lambda row: _place_of(row.path)[:2]):
        readers = tuple(_part_reader(row.path) for row in group)
        groups.append((depth, readers, tuple(read(NOTHING) for read in readers) if dot else None))
    return Columns(rows, tuple(groups))


@cache
def only(chain: str, path: str) -> Row:
    """The row of a kind of message for a path: `key` or `kind`."""
    return next(row for row in ROWS if row.chain == chain and row.path == path)


def _place_of(path: str) -> tuple[int, str, str, str]:
    """The number of the body that a path names, whether it names an extension, the kind of the body, and what it names there."""
    head, dot, tail = path.partition(".exts.")
    if not dot:
        head, _, tail = path.rpartition(".")
    return head.count("."), dot, head.rpartition(".")[2], tail


def _part_reader(path: str) -> Callable[[Any], Any]:
    """A function that reads a field off its own body."""
    _, dot, kind, name = _place_of(path)
    return _extension_reader(kind, name) if dot else _field_reader(name)


def reader(path: str) -> Callable[[Any], Any]:
    """A function that reads a field off a network message; what is missing reads as its default."""
    depth, read = _place_of(path)[0], _part_reader(path)

    def in_body(message: Any) -> Any:
        for _ in range(depth):
            message = message.body
        return read(message)

    return in_body


def _field_reader(name: str) -> Callable[[Any], Any]:
    default = DEFAULTS.get(name)

    def read(message: Any) -> Any:
        value = getattr(message, name)
        return default if value is None else value

    return read


def extension_of(path: str) -> type[Any] | None:
    """The class of the extension that a path names; None for a field."""
    head, dot, tail = path.partition(".exts.")
    name = tail.partition(".")[0]
    if not dot or name == "unknown":
        return Unknown if dot else None
    return ATTACHMENTS[head.rpartition(".")[2]] if name == "attachment" else EXTENSIONS[name]


def _extension_reader(kind: str, path: str) -> Callable[[Any], Any]:
    name, _, part = path.partition(".")
    if name == "unknown":
        return lambda message: tuple(ext for ext in message.exts if type(ext) is Unknown)
    cls, default = (ATTACHMENTS[kind] if name == "attachment" else EXTENSIONS[name]), DEFAULTS.get(f"exts.{name}")

    def read(message: Any) -> Any:
        found = message.exts.get(cls) if message.exts else None
        found = default if found is None else found
        return getattr(found, part) if part else found

    return read
