"""Red vectors of several fields, explained by the form of integer that they share: several bytes, or nine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.wire import DecodeError, vle
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_vectors.loader import Vector

Answers = Sequence[tuple[Vector, VectorAnswer]]

WIDEST: Final = 9
"""Bytes of the longest integer (primitives, section variable-length-integers)."""

MORE: Final = 0x80
"""The bit of a byte that says that more follow, except in a ninth byte."""


class Form(NamedTuple):
    """A form of integers of variable length."""

    requirement: str
    """What whoever misreads it breaks."""
    has: Callable[[bytes], bool]


FORMS: Final = (
    Form("primitives/vle-ninth-byte", lambda data: len(data) == WIDEST and data[-1] >= MORE),
    Form("primitives/vle-ninth-byte", lambda data: len(data) == WIDEST),
    Form("primitives/vle-seven-bits", lambda data: len(data) > 1),
)
"""The narrowest one first."""

OTHERS: Final = frozenset({"bytes", "zid", "payload", "batch_size", "suffix", "keyexpr", "name", "slices"})
"""The names of segments of several bytes that are no such integer."""


def forms_of(vector: Vector) -> Iterator[tuple[Form, str]]:
    """The forms of the integers in a vector, each with the path of the integer."""
    for one in vector.segments:
        if len(one.data) > 1 and _is_integer(one.path, one.data):
            yield from ((form, one.path) for form in FORMS if form.has(one.data))


def _is_integer(path: str, data: bytes) -> bool:
    """Whether a segment is one integer of variable length."""
    try:
        return path.rpartition(".")[2] not in OTHERS and vle.decode(data)[1] == len(data)
    except DecodeError:
        return False


def broken_encoding(answers: Answers) -> tuple[str, frozenset[str]]:
    """The requirement of a form that explains red vectors better than that of any field does, and their ids; else nothing.

    What many red vectors have and few passed ones explains well (the coefficient of Ochiai). That the field is read where its integer
    has not the form speaks for the form: it holds for half of the red vectors, or for one where nobody with the form passed.
    """
    well_formed = [(one, each.verdict) for one, each in answers if one.refuses is None]
    red = [one for one, verdict in well_formed if verdict is Verdict.FAIL]
    passed = [one for one, verdict in well_formed if verdict is Verdict.PASS]
    uses = {one.id: frozenset(forms_of(one)) for one in (*red, *passed)}
    read = {
        (form, part.path)
        for one in passed
        for part in one.segments
        for form in FORMS
        if (form, part.path) not in uses[one.id]
    }
    shown: Counter[Any] = Counter(row for one in red for row in one.covers)
    against: Counter[Any] = Counter(each for one in passed for each in {*one.covers, *dict(uses[one.id])})

    def explains(what: Any) -> float:
        return shown[what] / sqrt(len(red) * (shown[what] + against[what])) if shown[what] else 0.0

    for form in FORMS:
        users = [one for one in red if form in dict(uses[one.id])]
        elsewhere = sum(not read.isdisjoint(use for use in uses[one.id] if use[0] is form) for one in users)
        if elsewhere * 2 >= (len(users) if against[form] else 1):
            shown[form] = len(users)
    best = max((*sorted({row for one in red for row in one.covers}), *FORMS), key=explains) if red else ""
    if not isinstance(best, Form):
        return "", frozenset()
    return best.requirement, frozenset(one.id for one in red if best in dict(uses[one.id]))
