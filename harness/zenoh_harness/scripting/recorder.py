"""From a recorded conversation to the script that does it again: ours is sent, what came from the target is bound."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.messages import Request
from zenoh_conformance.messages.sane import DEFAULT_BATCH
from zenoh_conformance.reading.codec import trace
from zenoh_conformance.reading.connection import ConnectionDecoder, Decoders, Direction, Seen
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.reading.explain import explain_batch
from zenoh_conformance.reading.kinds import NAMED, name_of, reason_name
from zenoh_conformance.wire import Layer, registry, vle
from zenoh_harness.files.scripts import Part, Script, Step, Value
from zenoh_harness.scripting.binder import BATCH_SIZE, ENDS, PREFIX, TELLING, case_named

FENCE = "zconform/fence/"
"""Keys of our fences begin so."""

_BOUND_FROM = {
    "open.cookie.bytes": ("init.cookie.bytes",),
    "response.id": ("request.id",),
    "response_final.id": ("request.id",),
    "declare.interest_id": ("interest.id",),
    "u_key_expr.expr_id": ("d_key_expr.expr_id",),
}
"""Path of ours, without what holds it, to the paths of the target's from which its bytes come."""

_KEPT = {"init.zid", *chain.from_iterable(_BOUND_FROM.values())}
_HEARD = {
    kind: [path for path in sorted(_KEPT) if path.startswith(f"{kind}.")]
    for kind in {path.partition(".")[0] for path in _KEPT}
}
"""Kind of a message of the target's to the paths that are kept of it."""

ZID = 8
"""Bytes of a ZenohID that is drawn when a script runs; others stay as they are."""

LARGE = 2048
"""Bytes of a batch, with its length, that every node takes; what is larger is lawful only where it was settled."""

SILENCE = "silence"
"""What a target deviates by that says nothing."""

PAUSE = 0.1
"""Seconds of nothing before an event that are told as a wait."""


@dataclass(slots=True)
class _Link:
    """What is known of one connection while its events go by."""

    connection: Connection
    us: Side
    decoder: ConnectionDecoder
    heard: dict[str, bytes] = field(default_factory=dict)
    """Path, from the message's kind on, to the bytes that the target sent last there."""
    fences: set[int] = field(default_factory=set)
    left: bool = False
    """We let go of it: what the target still does there, nobody sees."""
    over: bool = False
    """The target has ended it: what we still send there, nobody hears."""
    sizes: dict[Side, int] = field(default_factory=dict)
    """The batch size that each side's INIT told."""

    def note(self, seen: Seen) -> None:
        """Keep what later steps depend on."""
        if seen.kind == "init":
            size = seen.message.batch_size
            self.sizes.setdefault(seen.sender, DEFAULT_BATCH if size is None else size)


def is_scriptable(conversation: Conversation) -> bool:
    """Whether a script can say it: each of its links was opened. What is said to a group goes over none."""
    opened = {event.connection for event in conversation if event.kind is Happened.OPEN}
    return opened >= {event.connection for event in conversation}


def record(
    conversation: Conversation, *, header: dict[str, str] | None = None, finding: Finding | None = None
) -> Script:
    """The script of a conversation between the harness and a target; `finding` says what the target deviated by."""
    by_law = (header or {}).get("check", "").startswith("law/")
    writer = _Recorder(conversation, until=math.inf if by_law or finding is None else finding.time or math.inf)
    steps = list(writer.steps())
    facts = {"about": conversation.about.get("case", ""), "requirement": conversation.about.get("requirement", "")}
    facts |= {"target": writer.target.value, **(header or {})}
    if finding is not None:
        facts["cause"] = finding.cause
        facts["circumstances"] = "; ".join(f"{name}={value}" for name, value in finding.circumstances)
        steps = _deviating(steps, finding, facts.get("check", ""))
    return Script(steps=tuple(steps), header={name: value for name, value in facts.items() if value})


def _deviating(steps: list[Step], finding: Finding, check: str) -> list[Step]:
    """The last thing expected on the connection at fault is what it deviated by, where the finding tells it."""
    name, got = _name(finding.connection), with_reason_name(finding.got)
    if not name or not _happens(got) or (got == SILENCE and _waits(check)):
        return steps
    if got not in (SILENCE, *ENDS):
        steps = _without_farewell(steps, name)
    before = [n for n, step in enumerate(steps) if step.connection == name and step.do == "send"]
    if got in ENDS:  # what was said before a pause is no part of the end
        before += [n for n, step in enumerate(steps) if step.do == "wait"]
    if got == SILENCE:
        before += [n for n, step in enumerate(steps) if step.connection == name and step.do == "fence"]
    last = max(before, default=0)
    kept = [step for n, step in enumerate(steps) if n <= last or step.connection != name or step.do != "expect"]
    kept = [step for step in kept if not (step.do == "shut" and step.connection == name)]
    return [*kept, Step(do="deviates", connection=name, what=got)]


def _without_farewell(steps: list[Step], name: str) -> list[Step]:
    """The steps without a CLOSE of ours after which nothing came but the end: what deviated had come before."""
    told = (n for n, step in enumerate(steps) if step.connection == name and step.do != "shut" and step.what != "end")
    last = max(told, default=0)
    came = any(step.do == "expect" and step.connection == name for step in steps[:last])
    own = came and steps[last].connection == name and steps[last].do == "send"
    close = own and all(part.path.startswith(("prefix", "close.")) for part in steps[last].parts)
    return steps[:last] + steps[last + 1 :] if close else steps


def _waits(check: str) -> bool:
    """Return whether the check is a case that times a silence: a node without fault is silent in the script, too."""
    found = case_named(check)
    return found is not None and found[0].timed


def with_reason_name(got: str) -> str:
    """Return a CLOSE with the name of its reason in place of the number."""
    numbered = re.fullmatch(r"Close\((\d+)\)", got)
    return f"Close({reason_name(int(numbered.group(1)))})" if numbered else got


def _happens(got: str) -> bool:
    """Whether it is something that a target does, and not a value that it shows."""
    names = {name for layer in registry.LAYERS for name in registry.kinds(layer)} | {kind.name for kind in NAMED}
    return got in names or got in (SILENCE, *ENDS) or got.startswith(("Close(", "undecodable"))


class _Recorder:
    def __init__(self, conversation: Conversation, *, until: float) -> None:
        """`until`: in seconds, when what is judged was over; a link that we shut after it was only tidied up."""
        self.conversation, self.until = conversation, until
        self.links: dict[str, _Link] = {}
        self.zids: dict[bytes, str] = {}
        self.last = 0.0
        self.target = Side.RESPONDER
        self.finals = _finals(conversation)

    def steps(self) -> Iterator[Step]:
        """Event by event; time that passed since the last step is a wait, where it may matter."""
        for event in self.conversation:
            found = list(self.of(event))
            late = event.time - self.last
            ends = found and found[0].do in ("open", "shut", "reset")
            if found and late > PAUSE and not ends:
                margin = 0 if event.sender is self.links[event.connection].us else PAUSE
                yield Step(do="wait", seconds=round(late + margin, 1))
            yield from found
            self.last = event.time if found else self.last

    def of(self, event: Event) -> Iterator[Step]:
        """What one event is in a script; nothing, where only the target's own accord is seen."""
        link = self.links.get(event.connection) or self.add_link(event.connection)
        if event.kind is Happened.OPEN:
            yield Step(do="open", connection=_name(event.connection))
        else:
            yield from (self.ours if event.sender is link.us else self.theirs)(link, event)

    def add_link(self, name: str) -> _Link:
        """Add the state of a connection whose first event came."""
        connection = self.conversation.connection(name)
        us = Side.RESPONDER if connection.responder == "harness" else Side.INITIATOR
        self.target = us.other
        self.links[name] = _Link(connection, us, ConnectionDecoder(connection))
        return self.links[name]

    # -- what we did

    def ours(self, link: _Link, event: Event) -> Iterator[Step]:
        """What we did becomes a step; a fence is told as one."""
        name = _name(event.connection)
        if link.over and event.kind is Happened.BYTES:
            return
        if event.kind is not Happened.BYTES:
            link.left = True
            if event.time > self.until:
                return
            yield Step(do="reset" if event.kind is Happened.RESET else "shut", connection=name)
            return
        prefix = link.decoder.directions[link.us].prefix if link.connection.framing is Framing.STREAM else 0
        segments = _segments_in(link.decoder.directions[link.us])
        seen = list(link.decoder.feed(event))
        fences = [one.message.id for one in seen if _is_fence(one)]
        if fences and all((event.connection, fence) in self.finals for fence in fences):
            link.fences.update(fences)
            yield Step(do="fence", connection=name)
            return
        largest = max((len(one.raw) + prefix for one in seen if one.kind == "batch"), default=0)
        if LARGE < largest <= min(link.sizes.values(), default=0) and len(link.sizes) == len(Side):
            yield Step(do="needs", connection=name, what=f"{BATCH_SIZE} {largest}")
        for one in seen:
            link.note(one)
        yield Step(do="send", connection=name, parts=tuple(self.bind_parts(link, _parts(event.data, prefix, segments))))

    def bind_parts(self, link: _Link, parts: Sequence[Part]) -> Iterator[Part]:
        """Yield the segments, with expressions for bytes of the target and for our ZenohIDs."""
        values = [self.values(link, part) for part in parts]
        for at, (part, of_part) in enumerate(zip(parts, values, strict=True)):
            follows = values[at + 1] if at + 1 < len(values) else []
            if part.path.endswith(".length") and any(value.bound for value in follows) and _tells(part, parts[at + 1]):
                of_part = [Value(bound="length")]
            for number, value in enumerate(of_part):
                yield Part(part.path, value, part.note if number == 0 else "")

    def values(self, link: _Link, part: Part) -> list[Value]:
        """What stands in a segment: one value, or what the target sent and what we put behind it."""
        data = part.value.data
        for ending, sources in _BOUND_FROM.items():
            if part.path.endswith(ending):
                heard = next((known for path in sources if (known := link.heard.get(path))), b"")
                if heard and len(data) > len(heard) and data.startswith(heard):
                    behind = Part(part.path, Value(data=data[len(heard) :]))
                    return [self.value(link, Part(part.path, Value(data=heard))), self.value(link, behind)]
        return [self.value(link, part)]

    def value(self, link: _Link, part: Part) -> Value:
        data = part.value.data
        if part.path.endswith("init.zid") and (theirs := self.source(link, ("init.zid",), data)) and theirs.xor is None:
            return theirs
        if part.path.endswith("init.zid") and len(data) == ZID:
            return Value(bound="zid", name=self.zids.setdefault(data, _name(link.connection.name)))
        for ending, sources in _BOUND_FROM.items():
            if part.path.endswith(ending):
                found = self.source(link, sources, data)
                if found is not None:
                    return found
        return part.value

    def source(self, link: _Link, sources: Sequence[str], data: bytes) -> Value | None:
        """Where our bytes come from: the same, the beginning, or all but a few bits of what the target sent."""
        for other in (link, *self.links.values()):
            for path in sources:
                heard, name = other.heard.get(path), _name(other.connection.name)
                if heard == data:
                    return Value(bound="heard", name=name, path=path)
                if heard and len(heard) > 4 and len(heard) > len(data) > 0 and heard.startswith(data):
                    return Value(bound="heard", name=name, path=path, last=len(data) - len(heard))
                if heard and len(heard) == len(data) and (xor := _difference(heard, data)) is not None:
                    return Value(bound="heard", name=name, path=path, xor=xor)
        return None

    # -- what the target did

    def theirs(self, link: _Link, event: Event) -> Iterator[Step]:
        """What the target did is expected again, where it tells something."""
        name = _name(event.connection)
        if link.left:
            return
        for seen in link.decoder.feed(event):
            if seen.kind in ("batch", "undecodable"):
                continue
            link.note(seen)
            self.hear(link, seen)
            answers_fence = seen.kind == "response_final" and seen.message.id in link.fences
            if seen.kind in TELLING and not answers_fence:
                yield Step(do="expect", connection=name, what=_expectation(seen))
        if event.kind in (Happened.EOF, Happened.RESET):
            link.over = True
            yield Step(do="expect", connection=name, what="end")

    def hear(self, link: _Link, seen: Seen) -> None:
        """Keep what later bytes of ours may come from."""
        for path in _HEARD.get(seen.kind, ()):
            for layer in (Layer.TRANSPORT, Layer.NETWORK):
                try:
                    whole = seen.path + path.removeprefix(seen.kind)
                    link.heard[path] = trace(seen.raw, layer).segments.get(whole).data
                    break
                except KeyError:
                    continue


def _finals(conversation: Conversation) -> set[tuple[str, int]]:
    """Connection and id of each query that came to its end."""
    decoders = Decoders(conversation)
    seen = (one for event in conversation for one in decoders.feed(event))
    return {(one.connection, one.message.id) for one in seen if one.kind == "response_final"}


def _expectation(seen: Seen) -> str:
    """Return what a script expects for a message: its name, or for a CLOSE a refusal with its reason."""
    name = name_of(seen.message)
    return f"refusal {name[6:-1]}" if name.startswith("Close(") else name


def _is_fence(seen: Seen) -> bool:
    return isinstance(seen.message, Request) and (seen.message.key.suffix or "").startswith(FENCE)


def _parts(data: bytes, prefix: int, segments: Callable[[bytes], Iterable[Part]]) -> list[Part]:
    """One write of ours in segments; bytes that are no whole batches stay as they are."""
    parts: list[Part] = []
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + prefix], "little") if prefix else len(data)
        batch = data[at + prefix : at + prefix + size]
        if len(data) < at + prefix or len(batch) < size or (not size and prefix):
            parts.append(Part("raw", Value(data=data[at:])))
            break
        if prefix:
            parts.append(Part(PREFIX, Value(bound="auto"), f"{size} bytes"))
        parts += segments(batch)
        at += prefix + size
    return parts


def _segments_in(ours: Direction) -> Callable[[bytes], Iterator[Part]]:
    """How a batch is told in segments in the state of our direction before it, which its own messages may change."""
    return partial(
        _segments, layer=Layer.LOWLATENCY if ours.lowlatency else Layer.TRANSPORT, compressed=ours.compressed
    )


def _segments(batch: bytes, layer: Layer, *, compressed: bool) -> Iterator[Part]:
    """A batch in segments; an LZ4 block is one."""
    explained = explain_batch(batch, layer, compressed=compressed)
    lines = [line for line in explained.lines if not line.inside]
    if b"".join(line.data for line in lines) != batch:
        yield Part("raw", Value(data=batch))
        return
    for line in lines:
        yield Part(line.path.replace("-", "_") or "raw", Value(data=line.data), line.note)


def _tells(length: Part, following: Part) -> bool:
    return length.value.data == vle.encode(len(following.value.data))


def _difference(heard: bytes, data: bytes) -> tuple[int, bytes] | None:
    """Where and by which bits they differ, if that is within eight bytes."""
    where = [at for at, (a, b) in enumerate(zip(heard, data, strict=True)) if a != b]
    if not where or where[-1] - where[0] >= 8:
        return None
    return where[0], bytes(heard[at] ^ data[at] for at in range(where[0], where[-1] + 1))


def _name(connection: str) -> str:
    """A connection's name as a script may have it."""
    words = "".join(char if char.isalnum() or char in "_-" else "-" for char in connection)
    return words if words[:1].isalpha() else f"c{words}"
