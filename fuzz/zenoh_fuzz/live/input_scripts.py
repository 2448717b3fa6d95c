"""Scripts of live inputs: what a campaign did, written so that `zconform replay` does the same, and read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Final

from zenoh_conformance.messages import Query, Request, sane
from zenoh_conformance.primitives import WhatAmI, WireExpr
from zenoh_conformance.reading.codec import Segments, encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.explain import explain_batch
from zenoh_conformance.wire import DecodeError, Layer, vle
from zenoh_fuzz import inputs
from zenoh_fuzz.mutators import segments_of
from zenoh_harness.files.scripts import Part, Script, Step, Value
from zenoh_harness.scripting.binder import PREFIX, bytes_of_parts
from zenoh_harness.scripting.recorder import FENCE

from .acts import (
    GREETED,
    LINKED,
    LIVE,
    STAGES,
    Act,
    Channel,
    Input,
    NextNumber,
    in_frame,
    in_message,
    is_lawful,
    join_batches,
    rides,
    runs_of,
    trace_batch,
)

Bystander = tuple[Sequence[Step], Sequence[Step]]
"""Steps before and after those of a script."""
_HANDSHAKE: Final = ("init.", "open.")
FENCES: Final = 1 << 16
"""The first id of the queries that fence; those of inputs are smaller."""


class Numbers:
    """The next sequence numbers of the links of a script, by channel."""

    def __init__(self) -> None:
        self._used: Counter[tuple[str, Channel]] = Counter()
        self._first: dict[str, int] = {}

    def begin(self, link: str, first: int) -> None:
        """Take the number with which all channels of a link begin, as its OPEN says."""
        self._first[link] = first

    def on(self, link: str) -> NextNumber:
        """Return the function that counts on a link."""

        def take(reliable: bool, priority: int) -> int:
            self._used[link, (reliable, priority)] += 1
            return self.peek(link, (reliable, priority)) - 1

        return take

    def peek(self, link: str, channel: Channel) -> int:
        """Return the next number without using it up."""
        return self._first.get(link, 0) + self._used[link, channel]

    def are_known(self, link: str, channel: Channel) -> bool:
        """Return whether the number is more than a guess: the script has the OPEN of the link, or an earlier number."""
        return link in self._first or self._used[link, channel] > 0

    def fence(self, link: str) -> None:
        """Count the query of a fence."""
        self.on(link)(True, sane.DEFAULT_PRIORITY)


def script_of(
    made: Iterable[Input], header: dict[str, str], role: WhatAmI = WhatAmI.CLIENT, *, beside: Bystander | None = None
) -> Script:
    """Return inputs as one script: links are opened when they are first used, and fenced where the campaign fences them.

    `beside`: steps of bystanders before and after; without a fence behind odd messages, which need not be answered, at the end.
    """
    author = _Author(role, Side(header.get("target", Side.RESPONDER.value)))
    runs = [run for one in made for run in runs_of(one)]
    before, after = beside or ((), ())
    for at, run in enumerate(runs):
        author.add(run, fenced=is_lawful(run) or at + 1 < len(runs))
    return Script(steps=(*before, *author.steps, *after), header=header)


class _Author:
    """Writes the steps of a script."""

    def __init__(self, role: WhatAmI, target: Side) -> None:
        self.role, self.target = role, target
        self.steps: list[Step] = []
        self._numbers = Numbers()
        self._fences = count(FENCES)
        self._opened: set[str] = set()

    def add(self, run: Input, *, fenced: bool) -> None:
        """Write a run of acts, and the fences of its links."""
        links = dict.fromkeys(act.link for act in run if act.stage == LIVE and not act.seconds)
        riding = rides(run) and run[-1].link in links
        for act in run[: len(run) - riding]:
            self._act(act)
        for link in links if fenced else ():
            if riding:
                self._riding(run)
            else:
                self._numbers.fence(link)
                self.steps.append(Step(do="fence", connection=link))

    def _act(self, act: Act) -> None:
        if act.seconds:
            self.steps.append(Step(do="wait", seconds=act.seconds))
            return
        name = act.link if act.stage == LIVE else f"{act.link}-{act.stage}"
        if name not in self._opened:
            self._opened.add(name)
            self.steps += opening(name, act.stage, self.role, self.target)
        for _ in range(act.times):
            self.steps.append(Step(do="send", connection=name, parts=_parts(act, self._numbers.on(name))))

    def _riding(self, run: Input) -> None:
        """Write the last act with the query that fences it in one batch, and all ends of queries that must follow."""
        act = run[-1]
        request = Request(id=next(self._fences), key=key_of(f"{FENCE}{len(self.steps)}"), body=Query())
        self._act(replace(act, segments=join_batches(act.segments, segments_of_network(request))))
        asked = sum(one.times for one in run for piece in one.segments if piece.path.endswith("].request.header"))
        self.steps += [Step(do="expect", connection=act.link, what="ResponseFinal")] * (asked + 1)


def key_of(name: str) -> WireExpr:
    """Return a key that is written out."""
    return WireExpr(scope=0, suffix=name, mapping=True)


def segments_of_network(message: Any) -> Segments:
    """Return a FRAME with one network message as segments."""
    found = segments_of(b"\x01" + encode(message))
    assert found is not None
    return in_frame(found[0])


def opening(name: str, stage: str, role: WhatAmI, target: Side = Side.RESPONDER) -> Iterator[Step]:
    """Yield the steps that open a link, or accept it from an initiator, and bring its session to a stage."""
    yield Step(do="open", connection=name)
    if target is Side.INITIATOR:
        yield Step(do="expect", connection=name, what="InitSyn")
    if stage == LINKED:
        return
    yield from _init(name, role, target)
    if stage == GREETED:
        return
    ack = target is Side.INITIATOR
    rows = (("header", b"\x62" if ack else b"\x42"), ("lease", b"\x0a"), ("initial_sn", b"\x00"))
    head = [Part(PREFIX, Value(bound="auto")), *(Part(f"open.{field}", Value(data=data)) for field, data in rows)]
    cookie = Value(bound="heard", name=name, path="init.cookie.bytes")
    tail = [Part("open.cookie.length", Value(bound="length")), Part("open.cookie.bytes", cookie)]
    yield Step(do="send", connection=name, parts=(*head, *(() if ack else tail)))
    if not ack:
        yield Step(do="expect", connection=name, what="OpenAck")


def _init(name: str, role: WhatAmI, target: Side) -> Iterator[Step]:
    """Yield the steps that send our INIT and expect what follows it."""
    message = sane.init_syn(b"\x01" * 8, whatami=role)
    if target is Side.INITIATOR:
        message = sane.init_ack(message, b"\x01" * 8, whatami=role, cookie=b"zconform-cookie")
    parts = [Part(PREFIX, Value(bound="auto"))]
    for line in explain_batch(encode(message), Layer.TRANSPORT).lines:
        value = Value(bound="zid", name=name) if line.path == "init.zid" else Value(data=line.data)
        parts.append(Part(line.path.replace("-", "_"), value, line.note))
    yield Step(do="send", connection=name, parts=tuple(parts))
    yield Step(do="expect", connection=name, what="OpenSyn" if target is Side.INITIATOR else "InitAck")


def _parts(act: Act, next_number: NextNumber) -> tuple[Part, ...]:
    """Return the segments of an act for a script."""
    parts = [Part(PREFIX, Value(bound="auto"))]
    for one, channel in act.on_channels():
        data = vle.encode(next_number(*channel)) if channel else one.data
        parts.append(Part(in_message(one.path).replace("-", "_"), Value(data=data)))
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
            bare, rode = _without_fence(step)
            for batch in _batches(bare):
                if _is_handshake(step, sent[step.connection]):
                    _begin(numbers, step)
                else:
                    acts.append(_act(step.connection, batch, numbers))
                sent[step.connection] += 1
            if rode:
                numbers.fence(step.connection)
                done, acts = [*done, tuple(acts)], []
    return (*done, tuple(acts)) if acts else tuple(done)


def _without_fence(step: Step) -> tuple[Step, bool]:
    """Return a `send` without the query that fences it, and whether it had one."""
    heads = [at for at, part in enumerate(step.parts) if part.path == "frame.header"]
    last = step.parts[heads[-1] :] if heads else ()
    key = next((part.value.data for part in last if part.path.endswith("request.key.suffix.bytes")), b"")
    number = next((part.value.data for part in last if part.path.endswith("request.id")), b"\x00")
    if not key.startswith(FENCE.encode()) or len(number) < len(vle.encode(FENCES)):
        return step, False
    return replace(step, parts=step.parts[: heads[-1]]), True


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


def _begin(numbers: Numbers, step: Step) -> None:
    first = next((part.value.data for part in step.parts if part.path == "open.initial_sn"), b"")
    with suppress(DecodeError):
        numbers.begin(step.connection, vle.decode(first)[0])


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
            elif act.stage != LIVE or numbers.are_known(link, channel):
                kept[index] = was
    return replace(act, segments=Segments(kept))
