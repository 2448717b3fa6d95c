"""The names of everything that can judge, for `--only` and its suggestions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.run.attempt.model_cases import model_cases
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.rows import also_shown, judged_on
from zenoh_harness.run.vectors.rows import check_of as vector_check
from zenoh_harness.run.vectors.seen_rows import TABLES
from zenoh_harness.scripting.shipped import script_cases


def every_name() -> Iterator[str]:
    """Ids of cases with and without parameters, of laws, vectors and requirements."""
    for case in all_cases().values():
        yield case.id
        yield from case.aliases
        yield from (Item(case, parameters).label for parameters in case.every_parameters if parameters)
    yield from (case.id for case in script_cases())
    yield from (case.id for case in model_cases("quick", 0))
    yield from all_laws()
    yield from requirements()
    yield STAYS_UP
    yield from (f"vectors/{vector.id}" for vector in golden())
    yield from of_rows()


def of_rows() -> Mapping[str, tuple[str, ...]]:
    """The checks that judge a row of a node by vectors, by what it writes, and by how it reads, each to its requirement."""
    return {
        **{
            vector_check(row): (row,)
            for table in (judged_on(), also_shown())
            for rows in table.values()
            for row in rows
            if row
        },
        **{prefix + row: (row,) for prefix, table in TABLES.items() for by_row in table().values() for row in by_row},
    }


@cache
def _requirements() -> Mapping[str, tuple[str, ...]]:
    cases = (*all_cases().values(), *script_cases(), *model_cases("quick", 0))
    return {
        **{case.id: (case.requirement,) for case in cases},
        **{name: (law.requirement,) for name, law in all_laws().items()},
        **{f"vectors/{vector.id}": tuple(vector.covers) for vector in golden()},
        **of_rows(),
        STAYS_UP: (STAYS_UP,),
    }


def requirements_of(check: str) -> tuple[str, ...]:
    """What a check judges; nothing for one that does not exist."""
    return _requirements().get(check, ())
