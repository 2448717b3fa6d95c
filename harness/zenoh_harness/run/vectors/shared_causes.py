"""Red vectors of several rows, explained by what they share: a message, or a form of integers.

A node that shuts the link at every DEL breaks no row about its timestamps, one that misreads integers of nine bytes none about the
fields that have such. What many red vectors have and few passed ones explains well (the coefficient of Ochiai).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.wire import DecodeError, vle
from zenoh_harness.run.vectors.answers import Answers
from zenoh_vectors.loader import Vector

WIDEST: Final = 9
"""Bytes of the longest integer (primitives, section variable-length-integers)."""

MORE: Final = 0x80
"""The bit of a byte that says that more follow, except in a ninth byte."""


class IntegerForm(NamedTuple):
    """A form of integers of variable length: of more than `above` bytes, the last one at least `last`."""

    requirement: str
    """The requirement that is broken where it is misread."""
    above: int
    last: int = 0

    def has(self, data: bytes) -> bool:
        """Whether an integer has it."""
        return len(data) > self.above and data[-1] >= self.last


NINTH: Final = "primitives/vle-ninth-byte"
BROKEN: Final = {8: NINTH, 5: "primitives/z64-width", 3: "primitives/z32-width", 2: "primitives/z16-width"}
"""Bytes to what is broken where longer integers are misread: so many take the smaller types (primitives, section vle)."""

FORMS: Final = (
    IntegerForm(NINTH, WIDEST - 1, MORE),
    *(IntegerForm(requirement, above) for above, requirement in BROKEN.items()),
    IntegerForm("primitives/vle-seven-bits", 1),
)
"""The narrowest one first."""

OTHERS: Final = frozenset({"bytes", "zid", "payload", "batch_size", "suffix", "keyexpr", "name", "slices"})
"""The names of segments of several bytes that are no such integer."""


class MessagePart(NamedTuple):
    """A message, or a body in one: `push.del` in that message, `del` in all."""

    path: str


Use = tuple[IntegerForm | MessagePart, str]
"""What a vector has, and the path at which it has it."""


def uses_of(vector: Vector) -> Iterator[Use]:
    """The messages in a vector, and the forms of its integers."""
    for one in vector.segments:
        path, _, name = one.path.rpartition(".")
        if name == "header" and not path.rpartition(".")[0].endswith("exts"):
            yield from ((MessagePart(each), path) for each in {path, path.rpartition(".")[2]})
        elif len(one.data) > 1 and name not in OTHERS and _is_integer(one.data):
            yield from ((form, one.path) for form in FORMS if form.has(one.data))


def _is_integer(data: bytes) -> bool:
    """Whether bytes are one integer of variable length."""
    try:
        return vle.decode(data)[1] == len(data)
    except DecodeError:
        return False


def shared_causes(answers: Answers) -> dict[str, str]:
    """Red vectors that are explained better by what they share than by a row: id to the requirement that is broken.

    A message explains them where the node refuses it whatever is in it. Malformed vectors are left out: refusing them is right.
    """
    well_formed = [(one, each.verdict) for one, each in answers if one.refuses is None]
    red = [one for one, verdict in well_formed if verdict is Verdict.FAIL]
    passed = [one for one, verdict in well_formed if verdict is Verdict.PASS] if red else []
    uses = {one.id: frozenset(uses_of(one)) for one in (*red, *passed)}
    against = Counter(what for one in passed for what in (*one.covers, *dict(uses[one.id])))
    shorter = _read_without(passed, uses)
    shut = {one.id for one, each in answers if each.cause.startswith("refused")}
    found: dict[str, str] = {}
    while red:
        users = _by_what(red, uses)
        forms = [form for form in FORMS if _is_form_of(form, users.get(form, ()), uses, shorter, against[form])]
        parts = sorted(
            what
            for what, some in users.items()
            if isinstance(what, MessagePart) and all(one.id in shut for one in some)
        )
        explains = {what: len(some) / sqrt(len(red) * (len(some) + against[what])) for what, some in users.items()}
        rows = sorted(what for what in users if isinstance(what, str))
        every: list[str | IntegerForm | MessagePart] = [*rows, *forms, *parts]
        best = max(every, key=lambda what: explains[what], default="")
        if isinstance(best, str):
            break
        breaks = best.requirement if isinstance(best, IntegerForm) else _row_of(best, users[best], explains)
        if not breaks:
            break
        found |= {one.id: breaks for one in users[best]}
        red = [one for one in red if one.id not in found]
    return found


def _row_of(part: MessagePart, users: Sequence[Vector], explains: Mapping[Any, float]) -> str:
    """The row of a message's id; of one whose row no vector covers, what explains most in its shortest vector."""
    covered = sorted({row for one in users for row in one.covers})
    ids = [row for row in covered if row.endswith(f"/{part.path.rpartition('.')[2].replace('_', '-')}-id")]
    shortest = min(users, key=lambda one: (not one.covers, len(one.data), one.id))
    return ids[0] if ids else max(shortest.covers, key=lambda row: explains[row], default="")


def _by_what(red: Iterable[Vector], uses: Mapping[str, Collection[Use]]) -> dict[Any, list[Vector]]:
    """The vectors by the rows that they cover, and by what they have."""
    users: dict[Any, list[Vector]] = {}
    for one in red:
        for what in {*one.covers, *dict(uses[one.id])}:
            users.setdefault(what, []).append(one)
    return users


def _read_without(passed: Iterable[Vector], uses: Mapping[str, Collection[Use]]) -> frozenset[Use]:
    """The fields that were read where their integer has not the form."""
    every = ((form, part.path, one.id) for one in passed for part in one.segments for form in FORMS)
    return frozenset((form, path) for form, path, ident in every if (form, path) not in uses[ident])


def _is_form_of(
    form: IntegerForm, users: Sequence[Vector], uses: Mapping[str, frozenset[Use]], shorter: frozenset[Use], passed: int
) -> bool:
    """Whether the fields of red vectors are read without the form: those of half of them, or of one if nobody with the form passed."""
    elsewhere = sum(any(use[0] is form and use in shorter for use in uses[one.id]) for one in users)
    return bool(users) and elsewhere * 2 >= (len(users) if passed else 1)
