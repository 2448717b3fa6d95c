"""Routers that change one field of what they forward: a node for each row of the table that is judged, in each way, by rule.

The name says the way (`lost`, `changed`, `invented`, `swapped` with that of the message before), the kind of message and the field;
`for-the-second` changes it for the second receiver only, `from-the-second-on` spares the first message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any, Final

from zenoh_conformance.laws.origins import chain_of
from zenoh_conformance.messages import Del, Err, Put, QueryBody, Reply, ResponderId, SourceInfo
from zenoh_conformance.primitives import Encoding, Timestamp, WireExpr, ZenohID
from zenoh_conformance.tables.forwarding import ATTACHMENTS, DEFAULTS, EXTENSIONS, KEY, KIND, ROWS, Fate, Row, reader
from zenoh_conformance.wire import Enc, Exts, Unknown

from . import fault

Change = Callable[[Any, Any], Any]
"""(the value, the value of the message before) to the value that is sent; None for none."""

QOS_BITS: Final = {"priority": 7, "block": 8, "express": 16}
KINDS: Final = {"Push": "push", "Request": "request", "Response": "response"}

MISSING: Final = (None, (), "", 0, Encoding(0))
INVENTED: Final[dict[str, Any]] = {
    "timestamp": Timestamp(time=0x6500_0000_4000_0000, zid=ZenohID(b"\x0f")),
    "encoding": Encoding(1),
    "parameters": "odd=1",
    "consolidation": 3,
    "source_info": SourceInfo(zid=ZenohID(b"\x0f"), eid=1, sn=1),
    "responder_id": ResponderId(zid=ZenohID(b"\x0f"), eid=1),
    "query_body": QueryBody(encoding=Encoding(1), payload=b"odd"),
    "unknown": (Unknown(id=0xE, enc=Enc.Z64, value=7),),
}


@singledispatch
def other(value: Any) -> Any:
    """A value of the same type that differs in one detail; an extension that differs in its last field."""
    last = list(value.__dataclass_fields__)[-1]
    return replace(value, **{last: other(getattr(value, last))})


@other.register
def _(value: bytes) -> bytes:
    return value[:-1] + bytes([value[-1] ^ 1]) if value else b"\x00"


@other.register
def _(value: str) -> str:
    return f"{value}!"


@other.register
def _(value: int) -> int:
    return value ^ 1


@other.register
def _(value: Encoding) -> Encoding:
    return replace(value, id=value.id ^ 1)


@other.register
def _(value: Timestamp) -> Timestamp:
    return replace(value, time=value.time + 1)


@other.register
def _(value: Unknown) -> Unknown:
    return replace(value, id=value.id ^ 1)


@other.register
def _(value: tuple) -> tuple[Any, ...]:  # type: ignore[type-arg]
    return tuple(map(other, value))


def write_field(message: Any, path: str, value: Any) -> Any:
    """The message with another value of a field; the inverse of `reader`."""
    head, dot, tail = path.partition(".exts.")
    kind, depth = head.rpartition(".")[2], head.count(".") - (not dot)
    if depth:
        inner = path.partition(".")[2]
        return replace(message, body=write_field(message.body, inner, value))
    if not dot:
        return replace(message, **{kind: value})
    name, _, part = tail.partition(".")
    if name == "unknown":
        return replace(message, exts=Exts((*(ext for ext in message.exts if type(ext) is not Unknown), *(value or ()))))
    cls = ATTACHMENTS[kind] if name == "attachment" else EXTENSIONS[name]
    if part:
        before, bits = message.exts.get(cls) or DEFAULTS["exts.qos"], QOS_BITS[part]
        value = cls(value=before.value & ~bits | (value if part == "priority" else bits * value))
    return replace(
        message,
        exts=Exts((*(ext for ext in message.exts if type(ext) is not cls), *(() if value is None else (value,)))),
    )


def kind_changed(message: Any) -> Any:
    """A value for a deletion, a deletion for a value, a value for an error."""
    body = message.body
    if isinstance(body, Reply):
        return replace(message, body=kind_changed(body))
    if isinstance(body, Err):
        return replace(message, body=Reply(body=Put(encoding=body.encoding, payload=body.payload)))
    return replace(
        message,
        body=Put(timestamp=body.timestamp, payload=b"") if isinstance(body, Del) else Del(timestamp=body.timestamp),
    )


def key_changed(message: Any) -> Any:
    """The key with one more character."""
    return replace(message, key=WireExpr(suffix=f"{message.key.suffix}x", mapping=True))


WAYS: Final[dict[str, Change]] = {
    "lost": lambda value, before: None,
    "changed": lambda value, before: other(value) if value else value,
    "invented": lambda value, before: value,
    "swapped": lambda value, before: value if before is None else before,
}


def changes(row: Row) -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    """The ways in which a row may be broken: name, and a function of the message and of the one before."""
    if row.path in (KEY, KIND):
        yield "changed", lambda message, before: (key_changed if row.path == KEY else kind_changed)(message)
        return
    read, name = reader(row.path), row.path.rpartition(".")[2]
    is_bit, is_payload = ".qos." in row.path, name == "payload"

    def change(message: Any, before: Any, way: str) -> Any:
        value = read(message)
        if way == "invented":
            made = ATTACHMENTS[row.path.split(".")[-3]](payload=b"odd") if name == "attachment" else INVENTED[name]
            return write_field(message, row.path, made) if value in MISSING else message
        if way == "changed" and (is_bit or is_payload):
            return write_field(message, row.path, other(value) if not isinstance(value, bool) else not value)
        wanted = WAYS[way](value, None if before is None else read(before))
        return message if wanted == value else write_field(message, row.path, wanted)

    ways = ["changed", "swapped"] if is_bit or is_payload else ["lost", "changed", "invented", "swapped"]
    if row.fate is Fate.MAY_ADD:
        ways.remove("invented")
    for way in ways:
        yield way, partial(change, way=way)


@dataclass(slots=True)
class Progress:
    """What a node has forwarded of one kind of message."""

    last: Any = None
    before: Any = None
    """The one before the last."""
    count: int = 0
    receiver: int = 0
    """How many sessions got the last one so far."""

    def note(self, message: Any) -> None:
        """One more is forwarded, or the last one to one more session."""
        if self.last is None or self.last.body is not message.body:
            self.before, self.last, self.count, self.receiver = self.last, message, self.count + 1, 0
        self.receiver += 1


def forwarder(chain: str, change: Callable[[Any, Any], Any], circumstance: str) -> Callable[..., None]:
    """The hook that changes messages of one kind, in one circumstance."""

    def forward(node: Any, base: Any, message: Any) -> None:
        if chain_of(KINDS[type(message).__name__], message) != chain:
            base()
            return
        node.progress.note(message)
        spared = {"for-the-second": node.progress.receiver != 2, "from-the-second-on": node.progress.count < 2}
        base(message=message if spared.get(circumstance) else change(message, node.progress.before))

    return forward


CIRCUMSTANCES: Final = {
    "push": ("", "for-the-second", "from-the-second-on"),
    "request": ("", "for-the-second", "from-the-second-on"),
    "response": ("", "from-the-second-on"),
}
"""An answer has one receiver."""
SHOWN_IN: Final = {
    "push": (
        "push-delivery/each-session-gets-it-once",
        "push-values/a-value-comes-with-all-its-fields",
        "push-values/a-deletion-comes-as-one",
    ),
    "request": ("query-targets/all-are-asked", "reply-values/a-query-comes-with-all-its-fields"),
    "response": (
        "reply-kept/answers-may-follow-an-error",
        "reply-kept/an-answer-keeps-its-mode",
        "reply-values/an-answer-comes-with-all-its-fields",
        "reply-values/the-answer-that-it-is-deleted-comes-as-one",
        "reply-values/an-error-comes-as-one",
    ),
}
"""The cases that forward each kind of message plain and in full dress, twice and to several receivers."""
WORDS: Final = {"response": "answer", "request": "query"}


def title(row: Row) -> str:
    """The row in words: `answer-put-source-info`."""
    kind, *bodies = row.chain.split(".")
    field = row.path.partition(".exts.")[2] or row.path.rpartition(".")[2]
    body = [] if bodies == ["query"] else bodies[-1:]
    return "-".join((WORDS.get(kind, kind), *body, *field.replace("_", "-").split(".")))


def register() -> None:
    """Register a faulty node for each row, way and circumstance; only a changed field differs by circumstance."""
    for row in ROWS:
        for way, change in changes(row) if row.is_judged else ():
            for circumstance in CIRCUMSTANCES[row.chain.partition(".")[0]] if way == "changed" else ("",):
                fault(
                    "-".join(filter(None, (way, title(row), circumstance))),
                    f"Forwards {row.chain} with {row.path} {way}{' ' if circumstance else ''}{circumstance.replace('-', ' ')}.",
                    forward=forwarder(row.chain, change, circumstance),
                    caught_by=f"law/forwarded-{row.sentence.name}",
                    shown_in=SHOWN_IN[row.chain.partition(".")[0]],
                    state={"progress": Progress},
                )


register()
