"""Inputs of live campaigns: acts on links, which are written as scripts and read from scripts.

An act sends one batch of transport messages as segments, so that the mutators of codec campaigns apply to it. A sequence
number that is `NEXT` is count_anew when the act runs: the same act fits at any place of any session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zenoh_conformance.messages import Frame, KeepAlive, sane
from zenoh_conformance.primitives import WhatAmI, keyexpr
from zenoh_conformance.reading.codec import Segments, encode
from zenoh_conformance.reading.explain import explain_batch
from zenoh_conformance.wire import DecodeError, Layer, Segment, vle
from zenoh_fuzz import inputs
from zenoh_fuzz.mutators import segments_of
from zenoh_harness.files.scripts import Part, Script, Step, Value
from zenoh_harness.scripting.binder import PREFIX, bytes_of_parts

NEXT: Final = "the next number of its channel"
"""The note of a sequence number that is count_anew when the act runs."""
LINKED, GREETED, LIVE = "linked", "greeted", "live"
"""The stages of a session in which an act is sent: before INIT, between InitAck and OPEN, after OPEN."""
NOTHING: Final = Segments(())
STAGES: Final = (LIVE, GREETED, LINKED)
RELIABLE: Final = 0x20
_SN: Final = ("frame.sn", "fragment.sn")
_LANE: Final = ("frame.exts.qos.value", "fragment.exts.qos.value")
_HEAD: Final = ("frame.header", "fragment.header")
_PLACE: Final = re.compile(r"^(?:m\[\d+\]\.)+")
_HANDSHAKE: Final = ("init.", "open.")

Channel = tuple[bool, int]
"""Reliability and priority."""
NextNumber = Callable[[bool, int], int]
"""Return the next sequence number of a channel, which it uses up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One batch on one link, sent one or more times; without segments a wait."""

    link: str = "a"
    segments: Segments = NOTHING
    times: int = 1
    seconds: float = 0.0
    """The duration of a wait."""
    stage: str = LIVE
    """The stage of the session; one before OPEN has a link of its own."""

    @property
    def counts(self) -> bool:
        """Whether all its sequence numbers are the next ones."""
        return all(one.note == NEXT for one in self.segments if one.path.endswith(_SN))

    def batch(self, next_number: NextNumber) -> bytes:
        """Return the bytes of the batch, without its length, with its sequence numbers."""
        return b"".join(vle.encode(next_number(*on)) if on else one.data for one, on in self.on_channels())

    def on_channels(self) -> Iterator[tuple[Segment, Channel | None]]:
        """Yield its segments, each with the channel whose next number it is; None for all that are no such number."""
        channel = (True, sane.DEFAULT_PRIORITY)
        for index, one in enumerate(self.segments):
            if one.path.endswith(_HEAD) and one.data:
                channel = (bool(one.data[0] & RELIABLE), _priority(self.segments[index + 1 :]))
            yield one, channel if one.note == NEXT else None


Input = tuple[Act, ...]
"""What a campaign tries at once."""


def _priority(following: Iterable[Segment]) -> int:
    """Return the priority that the extensions of a FRAME or FRAGMENT give."""
    for one in following:
        if one.path.endswith(_HEAD):
            break
        if one.path.endswith(_LANE) and one.data:
            return one.data[0] & 7
    return sane.DEFAULT_PRIORITY


def trace_batch(batch: bytes) -> Segments:
    """Return a batch as segments whose sequence numbers are the next ones; what cannot be decoded is one segment."""
    found = segments_of(inputs.make_input("batch", batch))
    if found is None:
        return Segments([Segment("raw", batch)])
    rest = [Segment("raw", found[1])] if found[1] else []
    return count_anew([*found[0], *rest])


def count_anew(segments: Iterable[Segment]) -> Segments:
    """Return segments whose sequence numbers are the next ones."""
    return Segments(one._replace(data=b"", note=NEXT) if one.path.endswith(_SN) else one for one in segments)


def in_frame(message: Segments, *, reliable: bool = True) -> Segments:
    """Return the segments of a FRAME with one network message."""
    head = [Segment("frame.header", bytes([0x05 | RELIABLE * reliable])), Segment("frame.sn", b"", NEXT)]
    place = "frame.messages[0]."
    return Segments([*head, *(_below(place, one) for one in message)])


def _below(place: str, one: Segment) -> Segment:
    measure = one.measure and one.measure._replace(of=place + one.measure.of)
    return one._replace(path=place + one.path, measure=measure)


def join_batches(first: Segments, second: Segments) -> Segments:
    """Return two batches as one."""
    return Segments([*first, *(_below("m[1].", one) for one in second)])


def _in_batch(path: str) -> str:
    """Return a path without the place of its message in the batch."""
    return _PLACE.sub("", path)


def is_lawful(made: Input) -> bool:
    """Return whether our codec reads every act without a remark, and all are numbered in order after OPEN."""
    return all(_is_lawful(act) for act in made)


def _is_lawful(act: Act) -> bool:
    if act.stage != LIVE or not act.counts:
        return False
    batch = act.batch(lambda _reliable, _priority: 0)
    try:
        read, _ = inputs.messages(inputs.BATCH, batch)
    except DecodeError:
        return not batch
    if not all(isinstance(one.message, Frame | KeepAlive) for one in read):
        return False
    return not inputs.remarks(inputs.BATCH, batch) and all(map(_names_rightly, act.segments))


def _names_rightly(one: Segment) -> bool:
    """Return whether a key is written out, and in canonical form: a scope must have been declared."""
    if one.path.endswith("key.scope"):
        return one.data == b"\x00"
    if not one.path.endswith(("key.suffix.bytes", "wire_expr.suffix")):
        return True
    return keyexpr.is_canonical(one.data.decode(errors="replace"))


# --- scripts


class Numbers:
    """The next sequence numbers of the links of a script, by channel."""

    def __init__(self) -> None:
        self._next: Counter[tuple[str, Channel]] = Counter()

    def on(self, link: str) -> NextNumber:
        """Return the function that counts on a link."""

        def take(reliable: bool, priority: int) -> int:
            key = (link, (reliable, priority))
            self._next[key] += 1
            return self._next[key] - 1

        return take

    def peek(self, link: str, channel: Channel) -> int:
        """Return the next number without using it up."""
        return self._next[link, channel]

    def fence(self, link: str) -> None:
        """Count the query of a fence."""
        self.on(link)(True, sane.DEFAULT_PRIORITY)


def script_of(made: Iterable[Input], header: dict[str, str], role: WhatAmI = WhatAmI.CLIENT) -> Script:
    """Return inputs as one script: its links are opened when they are first used, and fenced after each input."""
    steps: list[Step] = []
    numbers, stages = Numbers(), dict[str, str]()
    for one in made:
        for act in one:
            name = act.link if act.stage == LIVE else f"{act.link}-{act.stage}"
            if act.seconds:
                steps.append(Step(do="wait", seconds=act.seconds))
                continue
            if name not in stages:
                stages[name] = act.stage
                steps += _opening(name, act.stage, role)
            steps += [Step(do="send", connection=name, parts=_parts(act, numbers.on(name))) for _ in range(act.times)]
        for name in dict.fromkeys(act.link for act in one if act.stage == LIVE and not act.seconds):
            numbers.fence(name)
            steps.append(Step(do="fence", connection=name))
    return Script(steps=tuple(steps), header=header)


def _opening(name: str, stage: str, role: WhatAmI) -> Iterator[Step]:
    yield Step(do="open", connection=name)
    if stage == LINKED:
        return
    zid = b"\x01" * 8
    init = explain_batch(encode(sane.init_syn(zid, whatami=role)), Layer.TRANSPORT).lines
    parts = [Part(PREFIX, Value(bound="auto"))]
    for line in init:
        value = Value(bound="zid", name=name) if line.path == "init.zid" else Value(data=line.data)
        parts.append(Part(line.path.replace("-", "_"), value, line.note))
    yield Step(do="send", connection=name, parts=tuple(parts))
    yield Step(do="expect", connection=name, what="InitAck")
    if stage == GREETED:
        return
    cookie = Value(bound="heard", name=name, path="init.cookie.bytes")
    rows = (("header", Value(data=b"\x42")), ("lease", Value(data=b"\x0a")), ("initial_sn", Value(data=b"\x00")))
    head = [Part(PREFIX, Value(bound="auto")), *(Part(f"open.{name}", value) for name, value in rows)]
    tail = [Part("open.cookie.length", Value(bound="length")), Part("open.cookie.bytes", cookie)]
    yield Step(do="send", connection=name, parts=(*head, *tail))
    yield Step(do="expect", connection=name, what="OpenAck")


def _parts(act: Act, next_number: NextNumber) -> tuple[Part, ...]:
    """Return the segments of an act for a script."""
    parts = [Part(PREFIX, Value(bound="auto"))]
    for one, channel in act.on_channels():
        data = vle.encode(next_number(*channel)) if channel else one.data
        parts.append(Part(_in_batch(one.path).replace("-", "_"), Value(data=data)))
    return tuple(parts)


def input_of(script: Script) -> tuple[Input, ...]:
    """Return what a script does as inputs, one up to each fence; openings and expectations are left to the campaign."""
    done: list[Input] = []
    acts: list[Act] = []
    numbers, sent = Numbers(), Counter[str]()
    for step in script.steps:
        if step.do == "wait":
            acts.append(Act(seconds=min(step.seconds, 1.0)))
        elif step.do == "fence":
            numbers.fence(step.connection)
            if acts:
                done, acts = [*done, tuple(acts)], []
        elif step.do == "send":
            for batch in _batches(step):
                if not _is_handshake(step, sent[step.connection]):
                    acts.append(_act(step.connection, batch, numbers))
                sent[step.connection] += 1
    return (*done, tuple(acts)) if acts else tuple(done)


def role_of(script: Script) -> WhatAmI:
    """Return what our first session of a script says it is; a client if it does not say."""
    found = (part.value.data for step in script.steps for part in step.parts if part.path == "init.packed")
    packed = next(found, b"")
    return WhatAmI(packed[0] & 3) if packed and packed[0] & 3 < len(WhatAmI) else WhatAmI.CLIENT


def _batches(step: Step) -> Sequence[bytes]:
    """Return the batches of a `send`, with one byte for what only the target can tell."""
    batches: list[bytes] = []
    for part, data in zip(step.parts, bytes_of_parts(step.parts, lambda _value: b"\x01", 2), strict=True):
        if part.path == PREFIX or not batches:
            batches.append(b"")
        batches[-1] += data if part.path != PREFIX else b""
    return batches


def _is_handshake(step: Step, sent: int) -> bool:
    """Return whether a `send` is one of the first two of a connection, with INIT or OPEN."""
    first = next((part.path for part in step.parts if part.path != PREFIX), "")
    return sent < 2 and first.startswith(_HANDSHAKE)


def _act(link: str, batch: bytes, numbers: Numbers) -> Act:
    """Return a batch as an act; a sequence number that is not the next one of its channel stays."""
    name, _, stage = link.rpartition("-")
    stage = stage if name and stage in STAGES else LIVE
    plain = segments_of(inputs.make_input("batch", batch))
    act = Act(link=link if stage == LIVE else name, segments=trace_batch(batch), stage=stage)
    if plain is None:
        return act
    kept = list(act.segments)
    for index, ((_, channel), was) in enumerate(zip(act.on_channels(), plain[0], strict=False)):
        if channel is not None:
            expected = numbers.peek(link, channel)
            if was.data == vle.encode(expected):
                numbers.on(link)(*channel)
            elif expected or act.stage != LIVE:
                kept[index] = was
    return replace(act, segments=Segments(kept))
