"""Small spaces, tried completely before anything random: odd values in every state of a session, and all pairs of messages.

Messages are those of the golden vectors, one for each set of segments; the odd values follow from their declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from random import Random
from typing import Final, NamedTuple, TypeVar

from zenoh_conformance.messages import (
    Declare,
    Del,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
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
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    sane,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.codec import Segments, encode
from zenoh_conformance.reading.names import undeclared_key
from zenoh_conformance.wire import Segment, exts, vle
from zenoh_fuzz.inputs.seeds import EDGES
from zenoh_fuzz.mutators.edits import ODD_TEXTS
from zenoh_fuzz.mutators.segmented import segments_of
from zenoh_fuzz.mutators.systematic import shapes

from .acts import GREETED, LINKED, Act, Input, count_anew, in_frame, join_batches, trace_batch

T = TypeVar("T")
U = TypeVar("U")
DEPTHS: Final = (4096, 30_000, 512, 64, 8)
"""How often the chunk of a key is repeated. What recurs over a key fails at the first one; the next one nearly fills a batch, and
is refused by old releases, which overflow their stack at the first."""
ODD_BODIES: Final = tuple(
    dict.fromkeys(
        (
            b"",
            b"\x00",
            b"\xff",
            b"\x01",
            b"\x02\x00",
            b"\x80",
            b"\xff" * 9,
            b"\x01" * 16,
            bytes(64),
            *(vle.encode(value) for value in EDGES),
            *(b"\x01" + vle.encode(value) for value in EDGES),
        )
    )
)
"""Bodies whose meaning another page defines: empty, counts and lengths without what they count, long runs."""
STATES: Final = ("live", "declared", "closed", GREETED, LINKED)
"""The states of a session in which each message is sent."""
_OPAQUE: Final = (".body.bytes", ".body", ".payload.bytes", ".value", ".bytes")
TEXT: Final = (".suffix.bytes", ".parameters.bytes", ".schema.bytes", ".name", ".locator")
"""Endings of the paths of texts."""


@cache
def messages() -> tuple[Segments, ...]:
    """Return the segments of one batch for each shape of message that may be sent in a session."""
    done = []
    for shape in shapes():
        found = segments_of(shape)
        if found is not None and shape[0] in (0, 1):
            done.append(in_frame(found[0]) if shape[0] == 1 else count_anew(found[0]))
    return tuple(done)


@cache
def words() -> tuple[Segments, ...]:
    """Return correct messages of one application around one key, with the ids that the vectors use: declared, used, taken back."""
    key = WireExpr(scope=0, suffix="zconform/fuzz", mapping=True)
    wanted = (
        InterestOptions.KEY_EXPRS | InterestOptions.SUBSCRIBERS | InterestOptions.QUERYABLES | InterestOptions.TOKENS
    )
    bodies = (
        DKeyExpr(expr_id=1, key=key),
        DSubscriber(id=1, key=key),
        DQueryable(id=1, key=key),
        DToken(id=1, key=key),
        UKeyExpr(expr_id=1),
        *(kind(id=1, exts=undeclared_key(key)) for kind in (USubscriber, UQueryable, UToken)),
    )
    said = (
        *(Declare(exts=exts(sane.qos(sane.OUR_DECLARE_QOS)), body=body) for body in bodies),
        Interest(id=1, mode=InterestMode.CURRENT_FUTURE, options=wanted),
        Interest(id=1, mode=InterestMode.FINAL),
        Push(key=key, body=Put(payload=b"fuzz")),
        Push(key=key, body=Del()),
        Push(key=WireExpr(scope=1, suffix=None, mapping=True), body=Put(payload=b"fuzz")),
        Request(id=1, key=key, body=Query()),
        Response(id=1, key=key, body=Reply(body=Put(payload=b"fuzz"))),
        ResponseFinal(id=1),
    )
    return tuple(in_frame(found[0]) for one in said if (found := segments_of(b"\x01" + encode(one))))


DECLARATIONS: Final = 4
"""The first of `words` declare something."""


@cache
def alphabet() -> tuple[Segments, ...]:
    """Return `words`, and the shortest message of each other kind that the vectors have."""
    kinds = {_kind(segments): segments for segments in (*sorted(messages(), key=len, reverse=True), *words())}
    return (*words(), *(segments for segments in kinds.values() if segments not in words()))


def _kind(segments: Segments) -> tuple[str, ...]:
    return tuple(one.path for one in segments if one.path.endswith(".header") and ".exts." not in one.path)


def in_state(state: str, segments: Segments) -> Input:
    """Return the input that sends a batch in a state of a session."""
    if state in (GREETED, LINKED):
        return (Act(segments=segments, stage=state),)
    before = {
        "declared": tuple(Act(segments=one) for one in words()[:DECLARATIONS]),
        "closed": (Act(segments=trace_batch(encode(sane.close()))),),
    }.get(state, ())
    return (*before, Act(segments=segments))


# --- odd values


class OddValue(NamedTuple):
    """A message and the segment that gets another value; the batch is made only when it is sent, since there are many."""

    segments: Segments
    path: str
    data: bytes
    recompute: bool
    turn: int = 0
    """How many other values of the same field are tried before it."""

    def batch(self) -> Segments:
        """Return the message with the odd value."""
        return self.segments.replace(self.path, self.data, recompute=self.recompute)


def _replace_each(
    wanted: Callable[[Segment], bool],
    values: Callable[[Segment], Iterable[bytes]],
    *,
    recompute: bool,
    in_order: bool = False,
) -> Iterator[OddValue]:
    """Yield each wanted segment with each value; `in_order`: the first value of all fields is tried before the second one."""
    for segments in messages():
        for one in segments:
            if one.data and wanted(one):
                for turn, value in enumerate(dict.fromkeys(values(one))):
                    yield OddValue(segments, one.path, value, recompute, turn if in_order else 0)


def _measures(one: Segment) -> bool:
    return one.measure is not None and one.measure.form in ("vle", "count")


def _lies(one: Segment) -> Iterator[bytes]:
    """Yield wrong values of a length: first what no memory holds and yet a process may ask for, then others from the largest."""
    true, _ = vle.decode(one.data)
    wrong = (1 << 50, true + 1, *reversed(EDGES), max(true - 1, 0), true + 40)
    yield from (vle.encode(value & vle.MOST) for value in wrong)


def lengths() -> Iterator[OddValue]:
    """Yield every length and count with every edge value, and nothing else changed."""
    return _replace_each(_measures, _lies, recompute=False, in_order=True)


def numbers() -> Iterator[OddValue]:
    """Yield every other segment with every edge value."""
    is_number = lambda one: not _measures(one) and not one.path.endswith((".header", ".bytes", ".sn"))  # noqa: E731
    return _replace_each(is_number, lambda _one: map(vle.encode, EDGES), recompute=True)


def headers() -> Iterator[OddValue]:
    """Yield every header with each bit flipped."""
    return _replace_each(
        lambda one: one.path.endswith((".header", ".packed")),
        lambda one: (bytes([one.data[0] ^ 1 << bit, *one.data[1:]]) for bit in range(8)),
        recompute=False,
    )


def is_opaque(one: Segment) -> bool:
    """Return whether a segment is a body that another page defines."""
    return one.path.endswith(_OPAQUE) and not one.path.endswith(TEXT)


def bodies() -> Iterator[OddValue]:
    """Yield every body that another page defines with every odd body, its length right."""
    return _replace_each(is_opaque, lambda _one: ODD_BODIES, recompute=True)


def texts() -> Iterator[OddValue]:
    """Yield every text with every odd text."""
    return _replace_each(lambda one: one.path.endswith(TEXT), lambda _one: ODD_TEXTS, recompute=True)


def depths() -> Iterator[OddValue]:
    """Yield every text repeated, as chunks of a key and as one long word."""
    return _replace_each(
        lambda one: one.path.endswith(TEXT),
        lambda one: (form for depth in DEPTHS for form in (b"/".join([b"a"] * depth), b"a" * 2 * depth)),
        recompute=True,
        in_order=True,
    )


VALUES: Final[Mapping[str, Callable[[], Iterator[OddValue]]]] = {
    "lengths": lengths,
    "bodies": bodies,
    "depths": depths,
    "texts": texts,
    "headers": headers,
    "numbers": numbers,
}
"""The spaces of odd values, which are tried in each state of `STATES`."""


def pairs() -> Iterator[Input]:
    """Yield every sequence of two messages: in one batch, in two, and from two sessions."""
    for first, second in product(alphabet(), repeat=2):
        yield (Act(segments=join_batches(first, second)),)
        yield Act(segments=first), Act(segments=second)
        yield Act(segments=first), Act(link="b", segments=second)


@cache
def _odd_values() -> Mapping[str, tuple[OddValue, ...]]:
    return {name: tuple(source()) for name, source in VALUES.items()}


class SpaceRow(NamedTuple):
    """What makes one input of a small space, with its group and its turn there."""

    group: str
    turn: int
    make: Callable[[], Input]


BY_MESSAGE: Final = ("depths", "texts")
"""The spaces whose groups are those of a field in one kind of message: a text is read alike everywhere, and used otherwise."""


def spaces(state: str) -> dict[str, list[SpaceRow]]:
    """Return what makes the inputs of the small spaces in one state, by name; the pairs stand in the first one.

    A group has the values of one field, in whatever shape of a message it stands.
    """
    values = {
        f"{name} {state}": [
            SpaceRow(_field(one.path, whole=name in BY_MESSAGE), one.turn, partial(_odd_input, state, one))
            for one in odd
        ]
        for name, odd in _odd_values().items()
    }
    if state == STATES[0]:
        values["pairs"] = [SpaceRow("", 0, partial(tuple, one)) for one in pairs()]
    return values


@cache
def _field(path: str, *, whole: bool) -> str:
    """Return a path without places, or the last three names of it: the same field of different messages."""
    names = re.sub(r"\[\d+\]|unknown_\d+", "", path).split(".")
    return ".".join(names if whole else names[-3:])


def _odd_input(state: str, one: OddValue) -> Input:
    return in_state(state, one.batch())


def _deal(rows: Sequence[SpaceRow], random: Random) -> Iterator[Callable[[], Input]]:
    """Yield one of each group in turn, groups and members of one turn in an order drawn at random, so that each field comes early."""
    groups: dict[str, list[Callable[[], Input]]] = {}
    for row in sorted(random.sample(rows, len(rows)), key=lambda row: row.turn):
        groups.setdefault(row.group, []).append(row.make)
    return _in_turns({name: iter(group) for name, group in groups.items()}, lambda _name, make: make)


def _in_turns(sources: dict[str, Iterator[T]], show: Callable[[str, T], U]) -> Iterator[U]:
    """Yield from each source in turn, as long as it has something."""
    while sources:
        for name in list(sources):
            try:
                yield show(name, next(sources[name]))
            except StopIteration:
                del sources[name]


def in_turns(seed: int) -> Iterator[tuple[str, Callable[[], Input]]]:
    """Yield what makes each input of all spaces with its space: one of each in turn, state by state, shuffled by the seed."""
    random = Random(seed)
    for state in STATES:
        dealt = {name: _deal(rows, random) for name, rows in spaces(state).items()}
        yield from _in_turns(dealt, lambda name, make: (name, make))
