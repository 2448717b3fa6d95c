"""Compare the messages that we decode in a recording with the messages in the nodes' logs.

A node logs each network message that it sends and each transport message that it receives; both ends log the messages of
the handshake, and all messages of a low-latency session. The messages in one log and direction must be those that we decode
there; unmatched messages of both sides are compared field by field.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.messages import Fragment, Frame, Init
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.connection import Decoders, Seen
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.reading.fragments import Defragmenter
from zenoh_conformance.wire import Layer
from zenoh_harness.codecs.meaning import comparable
from zenoh_harness.foreign.live.company import Recorded
from zenoh_harness.foreign.live.debug import Unreadable, parse
from zenoh_harness.foreign.live.logged import told_of
from zenoh_vectors.judge import parts

_LINE: Final = re.compile(
    r"(?P<way>Scheduled |Sent: |Received: )(?P<what>[A-Z]\w+ \{.*\})(?: for transmission to \S+ \(\w+\))?$"
)

SHOWN: Final = 200
"""The most characters of a value that a difference shows."""

NOT_COMPARABLE: Final[Mapping[str, str]] = {
    "mapping of scope 0": "without a scope it has no effect; the log shows what the reader's struct defaults to",
    "mapping of D_KEYEXPR": "the wire has no such bit there",
    "absent and default": "the struct is the same: encoding 0, consolidation Auto, QoS 5, NodeId 0, ...",
    "unit of the lease": "the log shows a duration",
    "order and repetition of extensions": "the struct has a field for each",
    "unknown extensions outside data messages": "they are skipped unread",
    "content of SHM, AUTH and MULTILINK": "the log shows bytes, which are compared as bytes",
    "a FRAME's messages as received": "the log shows bytes, compared as bytes; their meaning is compared where sent",
    "FRAME, FRAGMENT, CLOSE and KEEP_ALIVE as sent": "the log has them where they are received",
    "network messages as received": "the log has them where they are sent, but for low latency, where it has both",
}
"""Content that the log cannot confirm, and the reason."""

Key = tuple[str, str]
"""A node by its ZenohID, and `sent` or `received`."""


@dataclass(slots=True)
class Agreement:
    """The result of the comparison for one or several recordings."""

    agreed: Counter[str] = field(default_factory=Counter)
    """Logged messages that agree with ours, by kind of message."""
    differ: list[str] = field(default_factory=list)
    """One line for each logged message that does not agree."""
    unwitnessed: Counter[str] = field(default_factory=Counter)
    """Our messages that no log contains, by kind."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Logged messages that were scheduled and are not on the link, and which the sender may drop, by kind."""
    unread: Counter[str] = field(default_factory=Counter)
    """Logged messages that could not be parsed, by reason."""

    def add(self, recorded: Recorded) -> None:
        """Compare one recording."""
        seen: dict[Key, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        logged: dict[Key, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for number, (sender, receiver, means) in enumerate(read(recorded.conversation)):
            kind = next(iter(means))
            for where in ((sender, "sent"), (receiver, "received")):
                seen[where][kind].append((number, bare(means)))
        for where, means in self._statements(recorded.logs):
            logged[where][next(iter(means))].append(bare(means))
        witnessed: set[int] = set()
        for where, kinds in logged.items():
            for kind, statements in kinds.items():
                witnessed |= self._match(where, kind, seen[where].get(kind, []), statements)
        everything = {number: kind for kinds in seen.values() for kind, each in kinds.items() for number, _ in each}
        self.unwitnessed.update(kind for number, kind in everything.items() if number not in witnessed)

    def _statements(self, logs: Mapping[str, str]) -> Iterator[tuple[Key, dict[str, Any]]]:
        for zid, log in logs.items():
            for line in log.splitlines():
                if found := _LINE.search(line):
                    try:
                        means = told_of(parse(found["what"]))
                    except Unreadable as why:
                        self.unread[str(why)] += 1
                        continue
                    yield (zid, "received" if found["way"] == "Received: " else "sent"), means

    def _match(self, where: Key, kind: str, seen: list[tuple[int, Any]], statements: list[Any]) -> set[int]:
        """Match equal messages of log and link, and count the others; return the numbers of our matched messages."""
        waiting: dict[str, list[int]] = defaultdict(list)
        for number, means in reversed(seen):
            waiting[_text(means)].append(number)
        taken, left = set(), []
        for statement in statements:
            if found := waiting[_text(statement)]:
                taken.add(found.pop())
                self.agreed[kind] += 1
            else:
                left.append(statement)
        ours = [means for number, means in seen if number not in taken]
        for index, statement in enumerate(left):
            if index >= len(ours) and where[1] == "sent" and _may_be_dropped(statement):
                self.dropped[kind] += 1
                continue
            self.differ.append(f"{where[0]} {where[1]} {kind}: {_how(statement, ours[index : index + 1])}")
        return taken

    def lines(self) -> list[str]:
        """Return the result as lines of text."""
        kinds = sorted(set(self.agreed) | set(self.unwitnessed))
        rows = [f"{kind:16} {self.agreed[kind]:6} agreed {self.unwitnessed[kind]:6} not witnessed" for kind in kinds]
        rows += [f"{kind:16} {count:6} scheduled and dropped" for kind, count in sorted(self.dropped.items())]
        rows += [f"not read: {count} x {why}" for why, count in sorted(self.unread.items())]
        return rows + [f"differs: {what}" for what in self.differ]


def read(conversation: Conversation) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (sender's ZenohID, receiver's ZenohID, meaning) of each message, including reassembled ones."""
    decoders = Decoders(conversation)
    names = _ends(conversation)
    lanes: dict[tuple[str, Side], Defragmenter] = {}
    for event in conversation:
        for seen in decoders.feed(event):
            sender, receiver = names[seen.connection, seen.sender], names[seen.connection, seen.sender.other]
            if seen.kind not in ("batch", "undecodable") and _is_compared(seen):
                yield sender, receiver, codec.to_json(seen.message)
            if isinstance(seen.message, Frame | Fragment):
                lane = lanes.setdefault((seen.connection, seen.sender), Defragmenter(marks=True))
                if (whole := lane.feed(seen.message)) is not None:
                    yield sender, receiver, codec.to_json(codec.decode_whole(whole, Layer.NETWORK).message)


def _is_compared(seen: Seen) -> bool:
    """Return whether a message is compared by itself: a transport message, or a network message in a FRAME."""
    return all(isinstance(each, Frame) for each in seen.around)


def _ends(conversation: Conversation) -> dict[tuple[str, Side], str]:
    """Return the ZenohID at each end of each connection, as its INIT states it."""
    found = {}
    decoders = Decoders(conversation)
    for event in conversation:
        for seen in decoders.feed(event):
            if isinstance(seen.message, Init):
                found[seen.connection, seen.sender] = str(seen.message.zid)
    return found


def bare(means: dict[str, Any]) -> Any:
    """Return a meaning without the content that logs cannot confirm (`NOT_COMPARABLE`)."""
    return comparable(_without_uncomparable(means, ""))


def _without_uncomparable(means: Any, kind: str) -> Any:
    if isinstance(means, list):
        return [_without_uncomparable(each, kind) for each in means]
    if not isinstance(means, dict):
        return means
    if kind == "Frame" and not isinstance(means["messages"], str):
        inside = b"".join(codec.encode(codec.from_json(each, Layer.NETWORK)) for each in means["messages"])
        means = means | {"messages": inside.hex()}
    found = {name: _without_uncomparable(value, name) for name, value in means.items()}
    if "mapping" in found and (kind == "DKeyExpr" or not found.get("scope")):
        del found["mapping"]
    if kind == "DKeyExpr":
        found["key"].pop("mapping", None)
    if kind == "WireExpr" and not found.get("scope"):
        found["flags"] &= 1
    if kind == "Interest" and not found.get("key", {}).get("scope"):
        found["options"] = found.get("options", 0) & ~0x40
    return found


def _may_be_dropped(means: Any) -> bool:
    """Return whether the sender may drop a message: bit D of its QoS, which means to block, is not set."""
    [fields] = means.values()
    return not dict(fields.get("exts", ())).get("QoS", {"value": 5})["value"] & 0x08


def _text(means: Any) -> str:
    return json.dumps(means, sort_keys=True)


def _how(statement: Any, ours: list[Any]) -> str:
    if not ours:
        return f"only the log has {_text(statement)[:SHOWN]}"
    path, mine, theirs = next(parts(ours[0], statement, ""), ("", ours[0], statement))
    return f"{path}: we read {mine!r:.{SHOWN}}, the log says {theirs!r:.{SHOWN}}"
