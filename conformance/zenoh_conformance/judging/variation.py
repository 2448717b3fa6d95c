"""Circumstances in which a case runs: dimensions, covering arrays over them, and the fewest that keep a case red.

A dimension has values; the first one is its default. A covering array of strength `t` is a list of rows, a value for each dimension,
in which each `t` values of `t` dimensions stand together at least once. It depends on the dimensions alone. A value or a dimension
that is added later has a later edition: the rows of earlier editions stay as they are, and further ones follow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice, product
from operator import itemgetter
from random import Random
from typing import Final

Value = str | int
Row = tuple[Value, ...]
"""A value for each dimension, in their order."""
Combination = tuple[tuple[int, Value], ...]
"""Values of some dimensions: (place of the dimension, value), by place."""
Bits = Mapping[tuple[int, Value], int]
"""(place of the dimension, value) to a bit of its own."""

STRENGTH: Final[Mapping[str, int]] = {"quick": 2, "full": 2, "nightly": 3}
"""Depth of a run to the strength of the array."""
QUICK_ROWS: Final = 4
"""Rows of a case at depth quick: the first ones of the array for pairs."""
ONLY: Final = "only "
"""What a cause says before the circumstances on which it depends."""
EXPLORED: Final = 8
"""Rows beyond the array in a run that has a seed of its own."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that may differ from run to run without a difference for the requirement."""

    name: str
    says: str
    """The phrase for a value that is not the default, with `{}` for the value: `in lane {}`."""
    editions: tuple[tuple[int, tuple[Value, ...]], ...]
    """(edition, the values that it brought), in order; the first value of all is the default."""
    is_ordered: bool = False
    """Whether larger values include smaller ones: what is red from one on is red at all after it."""

    chancy: frozenset[Value] = frozenset()
    """The values with which a node that is busy may fail and be right: what is red with them must be so several times."""

    @classmethod
    def of(
        cls, name: str, says: str, *values: Value, is_ordered: bool = False, chancy: Collection[Value] = ()
    ) -> Dimension:
        """One of the first edition."""
        return cls(name, says, ((1, values),), is_ordered, frozenset(chancy))

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, the default first."""
        return tuple(value for _, some in self.editions for value in some)

    @property
    def default(self) -> Value:
        """The value of a plain run."""
        return self.values[0]

    def values_by(self, edition: int) -> tuple[Value, ...]:
        """The values of an edition and of those before; the default alone before the first."""
        return tuple(value for at, some in self.editions if at <= edition for value in some) or (self.default,)


Dimensions = tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class Variation:
    """The circumstances of one run of a case."""

    row: Mapping[str, Value]
    """Name of a dimension to its value."""

    def __getitem__(self, dimension: Dimension) -> Value:
        return self.row.get(dimension.name, dimension.default)

    def number(self, dimension: Dimension) -> int:
        """The value of a dimension of numbers."""
        return int(self[dimension])


def odd_of(dimensions: Dimensions, row: Row) -> tuple[tuple[str, Value], ...]:
    """Name and value of each dimension that does not have its default in a row."""
    pairs = zip(dimensions, row, strict=True)
    return tuple((each.name, value) for each, value in pairs if value != each.default)


def row_with(dimensions: Dimensions, odd: Mapping[str, str]) -> Row:
    """The row in which some dimensions have the values that are written, all others their defaults. Raises ValueError for others."""
    if unknown := set(odd) - {each.name for each in dimensions}:
        raise ValueError(f"no dimension is named {min(unknown)}")
    return tuple(_value_written(each, odd.get(each.name, str(each.default))) for each in dimensions)


def _value_written(dimension: Dimension, written: str) -> Value:
    found = next((value for value in dimension.values if str(value) == written), None)
    if found is None:
        raise ValueError(f"{dimension.name} is never {written}")
    return found


def default_row(dimensions: Dimensions) -> Row:
    """The row of a plain run."""
    return tuple(each.default for each in dimensions)


def variation_of(dimensions: Dimensions, row: Row) -> Variation:
    """The variation of a row of an array."""
    return Variation({each.name: value for each, value in zip(dimensions, row, strict=True)})


# -- covering arrays


def covering(dimensions: Dimensions, strength: int = 2) -> Iterator[Row]:
    """The rows of the covering array, the defaults first."""
    bits = _bits_of(dimensions)
    met = sum(bits[one] for one in enumerate(default_row(dimensions)))
    yield default_row(dimensions)
    for edition in sorted({at for each in dimensions for at, _ in each.editions}):
        choices = [each.values_by(edition) for each in dimensions]
        every = ((sum(map(bits.__getitem__, one)), one) for one in _combinations_of(choices, strength))
        wanted = {key: one for key, one in every if key & ~met}  # the rows so far have all others
        while wanted:
            row = _next_row(next(iter(wanted.values())), choices, wanted, bits, strength)
            _strike(wanted, row, bits, strength)
            yield row
        met = sum(bits[at, value] for at, values in enumerate(choices) for value in values)


def _bits_of(dimensions: Dimensions) -> Bits:
    """A bit for each value of each dimension; the sum of some is a combination, which is looked up a million times."""
    every = dict.fromkeys((at, value) for at, each in enumerate(dimensions) for value in each.values)
    return {one: 1 << place for place, one in enumerate(every)}


def _combinations_of(choices: Sequence[Sequence[Value]], strength: int) -> dict[Combination, None]:
    """Every combination of values of so many dimensions, in an order that depends on the choices alone."""
    places = combinations(range(len(choices)), min(strength, len(choices)))
    return {
        tuple(zip(some, values, strict=True)): None
        for some in places for values in product(*(choices[at] for at in some))
    }  # fmt: skip


def _strike(wanted: dict[int, Combination], row: Row, bits: Bits, strength: int) -> None:
    """Take out the combinations that a row has."""
    for some in combinations([bits[one] for one in enumerate(row)], min(strength, len(row))):
        wanted.pop(sum(some), None)


def _next_row(
    first: Combination,
    choices: Sequence[Sequence[Value]],
    wanted: Mapping[int, Combination],
    bits: Bits,
    strength: int,
) -> Row:
    """A row that has one combination, and for each further dimension the value that meets most of what is still wanted."""
    chosen = dict(first)
    for at in range(len(choices)):
        if at not in chosen:
            others = [sum(some) for some in combinations([bits[one] for one in chosen.items()], strength - 1)]
            completed = (sum(other + bits[at, value] in wanted for other in others) for value in choices[at])
            chosen[at] = max(zip(completed, choices[at], strict=True), key=itemgetter(0))[1]
    return tuple(chosen[at] for at in range(len(choices)))


def combinations_in(rows: Sequence[Row], strength: int = 2) -> int:
    """How many combinations of so many values the rows have."""
    return len({each for row in rows for each in combinations(enumerate(row), min(strength, len(row)))})


@cache
def rows_of(dimensions: Dimensions, depth: str) -> tuple[Row, ...]:
    """The rows that a run of a depth has."""
    rows = covering(dimensions, STRENGTH[depth])
    return tuple(islice(rows, QUICK_ROWS) if depth == "quick" else rows)


def draw_rows(dimensions: Dimensions, seed: int) -> tuple[Row, ...]:
    """Further rows for a run with a seed of its own; none for seed 0."""
    random = Random(seed)
    return tuple(tuple(random.choice(each.values) for each in dimensions) for _ in range(EXPLORED if seed else 0))


@dataclass(frozen=True, slots=True)
class PairCoverage:
    """What the rows of one depth have."""

    rows: int
    strength: int
    """2 for pairs, 3 for triples."""
    there: int
    """Combinations of so many values in the rows."""
    of: int
    """All that there are."""


def coverage_of(dimensions: Dimensions, depth: str) -> PairCoverage:
    """Count the rows of a depth and what they have of all combinations."""
    rows, strength = rows_of(dimensions, depth), STRENGTH[depth]
    every = len(_combinations_of([each.values for each in dimensions], strength))
    return PairCoverage(len(rows), strength, combinations_in(rows, strength), every)


# -- the fewest circumstances


def fewest(dimensions: Dimensions, row: Row, is_red: Callable[[Row], bool]) -> Row:
    """The row with as many defaults as keep it red: all of them, else each dimension on its own, until nothing changes.

    Of an ordered dimension it is the least value that does.
    """
    defaults = tuple(dimension.default for dimension in dimensions)
    if row != defaults and is_red(defaults):
        return defaults
    before: Row = ()
    while row != before:
        before = row
        for at, dimension in enumerate(dimensions):
            lesser = dimension.values[: dimension.values.index(row[at])]
            for value in lesser if dimension.is_ordered else lesser[:1]:
                trial = (*row[:at], value, *row[at + 1 :])
                if is_red(trial):
                    row = trial
                    break
    return row


def words_of(dimensions: Dimensions, row: Row) -> tuple[str, ...]:
    """The circumstances that are not the default, each in words."""
    pairs = zip(dimensions, row, strict=True)
    return tuple(each.says.format(value) for each, value in pairs if value != each.default)


def describe(dimensions: Dimensions, row: Row) -> str:
    """The circumstances that are not the default, in one phrase; empty for the defaults."""
    words = words_of(dimensions, row)
    return ONLY + ", ".join(words) if words else ""
