"""What a node reads and writes in the cases of a run: one judgement for each layout.

A row is judged only where planted faults in it are red: the tables `read_on.json` and `written_on.json` name the checks that were,
for each fault. One of them has to have passed in this run. What a node writes must also have been seen: every message of the run
counts for the rows of the tables that it shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from zenoh_conformance.judging.shown_rows import READ, WRITTEN
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.effects import SURVIVED

Table = Mapping[str, Mapping[str, tuple[tuple[str, ...], ...]]]
"""Role to requirement to the checks, for each fault, that are red on a node with the fault."""


@cache
def _table(file: str) -> Table:
    text = resources.files("zenoh_harness.run.vectors").joinpath(file).read_text(encoding="utf-8")
    return {
        role: {row: tuple(map(tuple, faults)) for row, faults in rows.items()}
        for role, rows in json.loads(text).items()
    }


def written_on() -> Table:
    """The checks that are red on a node that writes a row wrongly."""
    return _table("written_on.json")


def read_on() -> Table:
    """The checks that are red on a node that reads a row wrongly, of rows that vectors judge on no node of that role."""
    return _table("read_on.json")


TABLES: Final[Mapping[str, Callable[[], Table]]] = {WRITTEN: written_on, READ: read_on}
"""What the id of a check begins with, and the table for it."""


class SeenRows:
    """The rows that are judged by what a node of one role writes, and by how it reads what cases say."""

    def __init__(self, selection: Selection, side: Side, *, speaks: bool) -> None:
        """`selection` says which of the judgements are asked for; none is unless cases of the default profile speak."""
        self._noticing = {
            prefix + row: faults for prefix, table in TABLES.items() for row, faults in table()[side.value].items()
        }
        here = (check for check in self._noticing if speaks and selection.here(check))
        self.checks = tuple(check for check in here if selection.takes(check, row_of(check)))

    def planned(self) -> Iterator[str]:
        """The labels of the checks."""
        return iter(self.checks)

    def leave_out(self, judged: Callable[[str], bool]) -> None:
        """Leave out what was judged before the run was resumed."""
        self.checks = tuple(check for check in self.checks if not judged(check))

    def verdicts(
        self, times: Callable[[str], int], laws: Mapping[str, Verdict], judgements: Iterable[Judgement]
    ) -> Iterator[tuple[str, Verdict, str, Mapping[str, object]]]:
        """Yield check, verdict, cause and details: `times` is how often a row was written, `judgements` those of this role."""
        said: dict[str, set[Verdict]] = {law: {verdict} for law, verdict in laws.items()}
        for one in judgements:
            said.setdefault(one.key.check, set()).add(one.verdict)
        passed = {
            check
            for check, verdicts in said.items()
            if Verdict.PASS in verdicts and not any(one.is_wrong for one in verdicts)
        }
        for check in self.checks:
            details: dict[str, Any] = {"by": "node"}
            unseen = [one for one in self._noticing[check] if passed.isdisjoint(one)]
            cause = f"{SURVIVED}: {unseen[0][0]} shows a fault in it, and did not pass" if unseen else ""
            if check.startswith(WRITTEN):
                details["written"] = count = times(row_of(check))
                cause = cause if count else "it was not seen to write it"
            yield check, Verdict.NOT_OBSERVED if cause else Verdict.PASS, cause, details


def row_of(check: str) -> str:
    """The requirement that a check of a row judges."""
    return check.partition("/")[2]
